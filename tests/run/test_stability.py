"""Stability is a number of the data and the seeds: the same however subsamples were run, stopped and divided."""

import json
from functools import partial
from threading import Event

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from small_runs import Counting, identical

import naive
from compsil_kit import combine_batches, plan_batches, run_batch, select_k
from compsil_kit._method.subsample import make_seeds
from compsil_kit._util.schema import signed

# Clusters that touch: clusterings of subsamples differ, and so do their agreements.
X = make_blobs([70, 50, 30, 20], 2, cluster_std=2.0, center_box=(-5.0, 5.0), random_state=3)[0]
SETTINGS = {"ks": (2, 3, 4, 5), "n_subsamples": 6, "sample_size": 100}


def run(data=X, **keywords):
    return select_k(data, **{**SETTINGS, **keywords})


@pytest.fixture(scope="module")
def whole():
    return run()


def assert_same_agreements(left, right):
    np.testing.assert_array_equal(left.trials.agreement, right.trials.agreement)
    np.testing.assert_array_equal(left.stability, right.stability)


def one_start(X, k, seed, n_init=1):
    return KMeans(k, n_init=n_init, random_state=seed).fit_predict(X)


@pytest.mark.parametrize("n_starts", [1, 5])
def test_against_plain_loops(n_starts):
    result = run(n_starts=n_starts)
    expected = naive.stability(X, result.ks, result.plan.seeds, 100, partial(one_start, n_init=n_starts))
    for at, k in enumerate(result.ks):
        mean, parts = expected[k]
        # They are kept in single precision: half a unit in the last place of numbers below 1.
        np.testing.assert_allclose(result.trials.agreement[at], [np.nan, *parts], rtol=0, atol=2.0**-25 + 1e-12)
        assert result.stability[at] == pytest.approx(mean, abs=2.0**-25 + 1e-12)
    # There is something to be compared: neither all the same, nor all equal to 1.
    assert len(np.unique(result.trials.agreement[:, 1:])) > 10


@pytest.mark.parametrize("n_starts", [1, 5])
def test_few_of_many_rows_are_compared_on_the_same_points(n_starts):
    """Subsamples of 100 of 4,000 rows share two or three."""
    many = make_blobs([1600, 1200, 800, 400], 2, cluster_std=2.0, center_box=(-5.0, 5.0), random_state=3)[0] + 1e6
    result = run(many, n_starts=n_starts)
    # Drawn by a seed that belongs to no selection.
    seed = int(np.random.SeedSequence((0, 0), spawn_key=(5,)).generate_state(1)[0])
    common = many[naive.subsample(seed, 4000, 100)]
    cluster = partial(one_start, n_init=n_starts)
    expected = naive.stability_on(common, many, result.ks, result.plan.seeds, 100, cluster)
    for at, k in enumerate(result.ks):
        parts = [np.nan, *expected[k]]
        np.testing.assert_allclose(result.trials.agreement[at], parts, rtol=0, atol=2.0**-25 + 1e-12)
    assert len(np.unique(result.trials.agreement[:, 1:])) > 10
    assert result.plan.n_common == 100


def test_other_clusterers_are_compared_on_shared_rows_alone():
    many = make_blobs(4000, 2, random_state=3)[0]
    result = run(many, clusterer=one_start, ks=(5, 6, 7))
    assert np.isnan(result.stability).all()


# --- who computes -----------------------------------------------------------------------------------------------------


def test_late_subsamples_are_compared_all_the_same(whole):
    """The first subsample is finished last: the second waits for it, and nothing else does."""
    others_done, waited = Event(), Event()
    first = whole.plan.seeds[0]

    def slow_first(X, k, seed):
        if seed == first and k == 2:
            assert others_done.wait(180)
            waited.set()
        elif seed == whole.plan.seeds[-1] and k == 5:
            others_done.set()
        return one_start(X, k, seed)

    result = run(clusterer=slow_first, n_jobs=2)
    assert waited.is_set()
    assert_same_agreements(result, whole)


# --- prefixes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_first_subsamples_are_a_shorter_run(whole, n):
    shorter = run(n_subsamples=n)
    assert identical(whole.reweigh(n_subsamples=n), shorter)
    assert np.isnan(shorter.stability).all() == (n == 1)


def test_calibration_subsamples_do_not_come_between(whole):
    calibrated = run(n_calibration=3)
    assert_same_agreements(calibrated, whole)
    assert np.isnan(calibrated.calibration.agreement).all()
    assert_same_agreements(calibrated.reweigh(n_subsamples=4), run(n_subsamples=4))


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [(0,), (2,), (2, 3), (0, 5), (1, 3, 5)], ids=str)
def test_gaps_in_a_checkpoint_are_filled(tmp_path, gap):
    """Only what is missing is scored; of those before it the clusterings alone are computed again."""
    path, counted = tmp_path / "run.json", Counting(one_start)
    expected = run(clusterer=counted, checkpoint=path)
    data = json.loads(path.read_text())
    seeds = expected.plan.seeds
    data["trials"] = [trial for trial in data["trials"] if trial["seed"] not in {seeds[at] for at in gap}]
    del data["digest"]
    path.write_text(json.dumps(signed(data)))
    counted.calls.clear()
    assert identical(run(clusterer=counted, checkpoint=path), expected)
    needed = set(gap) | {at - 1 for at in gap if at}
    assert sorted(counted.calls) == sorted(seeds[at] for at in needed for _ in SETTINGS["ks"])


def test_seeds_in_another_order_have_other_neighbours(tmp_path):
    """A checkpoint knows subsamples by their seeds; the agreements of those that now follow another one are not its."""
    path, seeds = tmp_path / "run.json", list(make_seeds(42, 6, 0))
    counted = Counting(one_start)
    assert identical(
        run(clusterer=counted, random_state=seeds), run(clusterer=counted, random_state=seeds, checkpoint=path)
    )
    for order in (seeds[::-1], [*seeds[3:], *seeds[:3]], [seeds[0], seeds[2], seeds[1], *seeds[3:]], seeds):
        expected = run(clusterer=counted, random_state=order)
        assert identical(run(clusterer=counted, random_state=order, checkpoint=path), expected)
        counted.calls.clear()
        assert identical(run(clusterer=counted, random_state=order, checkpoint=path), expected)
        assert counted.calls == []


def test_only_changed_neighbours_are_computed_again(tmp_path):
    path, seeds = tmp_path / "run.json", list(make_seeds(42, 6, 0))
    counted = Counting(one_start)
    run(clusterer=counted, random_state=seeds, checkpoint=path)
    counted.calls.clear()
    # The second half comes first: only its beginning, and that of the other half, follow another subsample.
    run(clusterer=counted, random_state=[*seeds[3:], *seeds[:3]], checkpoint=path)
    assert set(counted.calls) == {seeds[3], seeds[5], seeds[0]}


def test_a_seed_that_is_there_twice(tmp_path):
    """Both are the same subsample, but they do not follow the same one."""
    path, seeds = tmp_path / "run.json", [5, 5, 7, 8, 7, 7]
    expected = run(random_state=seeds)
    assert (expected.trials.agreement[:, [1, 5]] == 1.0).all()
    for _ in range(2):
        assert identical(run(random_state=seeds, checkpoint=path), expected)
    assert len(json.loads(path.read_text())["trials"]) == 3


# --- batches ----------------------------------------------------------------------------------------------------------

DIVISIONS = {
    "whole": [range(6)],
    "halves": [range(3), range(3, 6)],
    "one by one": [[at] for at in range(6)],
    "odd and even": [[0, 2, 4], [5, 3, 1]],
    "crosswise": [[5, 0], [3, 1], [4, 2]],
}


@pytest.mark.parametrize("parts", DIVISIONS.values(), ids=DIVISIONS)
def test_any_division_into_batches(whole, parts):
    (batch,) = plan_batches(X, **SETTINGS, n_batches=1)
    done = [json.loads(json.dumps(run_batch(X, {**batch, "indices": list(part)}))) for part in parts]
    assert identical(combine_batches(done[::-1]), whole)


def test_a_trial_that_followed_another_subsample_is_refused():
    """Such as one of another order of the same seeds."""
    batches = [run_batch(X, batch) for batch in plan_batches(X, **SETTINGS, n_batches=2)]
    batches[1]["trials"][0]["after"] = batches[1]["plan"]["seeds"][0]
    del batches[1]["digest"]
    with pytest.raises(ValueError, match=r"batches\[1\] is damaged"):
        combine_batches(batches)


# --- what there is to know --------------------------------------------------------------------------------------------


def test_subsamples_that_share_too_few_rows():
    """50 of 170 rows: neighbours share about 15, three for each of five clusters."""
    result = run(ks=(2, 16), sample_size=50, clusterer=one_start)
    assert np.isfinite(result.stability[0])
    assert np.isnan(result.stability[1])
    assert np.isfinite(result.scores).all()


def test_a_subsample_that_failed_is_compared_with_none():
    seeds = make_seeds(42, 6, 0)

    def fails(X, k, seed):
        if k == 4 and seed == seeds[2]:
            raise RuntimeError("no")
        return one_start(X, k, seed)

    result, untouched = run(clusterer=fails, on_failure="skip"), run()
    unknown = np.isnan(result.trials.agreement)
    assert unknown[:, 0].all()
    assert np.argwhere(unknown[:, 1:]).tolist() == [[2, 1], [2, 2]]
    np.testing.assert_array_equal(result.trials.agreement[~unknown], untouched.trials.agreement[~unknown])
