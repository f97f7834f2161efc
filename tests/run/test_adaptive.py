"""As many subsamples as it takes: rounds, ks that are left out, continuing, and what the result says."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from small_runs import same

from compsil_kit import SelectionResult, plan_selection, select_k, stream
from compsil_kit._method.selection import MAX_AUTO_SUBSAMPLES, ROUND
from compsil_kit._result.trials import NUMBERS
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.errors import SelectionError

# Clear at once, clear after a while, and never clear.
CLEAR = make_blobs(400, 2, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
CLOSE = imbalanced_blobs()[0]
UNCLEAR = np.random.default_rng(1).uniform(size=(300, 2))
KS = (2, 3, 4, 5, 6)


@pytest.fixture(scope="module")
def close():
    return select_k(CLOSE, n_subsamples="auto")


def test_one_round_is_enough_for_clear_data():
    result = select_k(CLEAR, ks=KS, n_subsamples="auto")
    assert (result.best_k, result.n_subsamples, result.partial) == (3, ROUND, False)
    assert result._n_run.tolist() == [ROUND] * 5
    assert result.selection_probability[1] >= 0.99
    assert "10 subsamples were enough: the selection probability is at least 99 %." in result.explain()


def test_it_ends_at_the_most_subsamples():
    result = select_k(UNCLEAR, ks=(2, 3, 4), sample_size=60, n_subsamples="auto")
    assert result.n_subsamples == MAX_AUTO_SUBSAMPLES
    assert result.selection_probability.max() < 0.99
    assert "The run stopped at 200 subsamples, the maximum with n_subsamples='auto'." in result.explain()


def test_numbers_are_those_of_a_run_with_so_many_subsamples(close):
    """Up to the last bits: what is summed beside other ks is summed in another order."""
    fixed = select_k(CLOSE, n_subsamples=close.n_subsamples)
    assert ROUND < close.n_subsamples < MAX_AUTO_SUBSAMPLES
    assert close.plan.seeds == fixed.plan.seeds
    assert set(close._n_run) > {ROUND, close.n_subsamples}
    for name in NUMBERS:
        ours, theirs = getattr(close.trials, name), getattr(fixed.trials, name)
        for at, n in enumerate(close._n_run):
            np.testing.assert_allclose(ours[at, :n], theirs[at, :n], rtol=0, atol=1e-12)
            assert np.isnan(ours[at, n:]).all()
    assert close.best_k == fixed.best_k
    assert close.best_score == pytest.approx(fixed.best_score, abs=1e-12)
    assert close.confidence_note == ""
    assert close.confidence[3] == pytest.approx(fixed.confidence[3], abs=0.2)


def test_left_out_is_not_failed(close):
    assert close.n_failed.tolist() == [0] * len(close.ks)
    assert not any("failed" in text for text in close.warnings)
    assert close._selectable.tolist() == (close._n_run == close.n_subsamples).tolist()
    assert close.curve["n_subsamples"].tolist() == close._n_run.tolist()
    assert f"{(~close._selectable).sum()} of 9 candidates were dropped early." in close.explain()


def test_other_criteria_may_choose_what_was_left_out(close):
    fixed = select_k(CLOSE, n_subsamples=60)
    assert [close.choices[name] for name in ("micro", "macro")] == [fixed.choices[name] for name in ("micro", "macro")]
    assert not close._selectable[close.ks.index(close.choices["micro"])]
    assert close.reweigh(criterion="micro").best_k == fixed.reweigh(criterion="micro").best_k


def test_a_saved_result_says_the_same(close):
    again = SelectionResult.from_dict(json.loads(json.dumps(close.to_dict())))
    assert again.plan == close.plan
    assert again.explain() == close.explain()
    assert again._n_run.tolist() == close._n_run.tolist()


def test_workers_and_backends_do_not_matter(close):
    assert same(select_k(CLOSE, n_subsamples="auto", n_jobs=2), close)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        small = {"ks": KS, "sample_size": 100, "n_subsamples": "auto"}
        on_processes = select_k(CLEAR, **small)
    assert same(on_processes, select_k(CLEAR, **small))


def test_stream_ends_with_the_same_result(close):
    results = list(stream(CLOSE, n_subsamples="auto"))
    assert [result.n_subsamples for result in results] == [*range(1, close.n_subsamples + 1), close.n_subsamples]
    assert [result.partial for result in results] == [True] * close.n_subsamples + [False]
    assert same(results[-1], close)


@pytest.mark.parametrize("finished", [3, ROUND, ROUND + 4])
def test_a_checkpoint_is_continued(close, tmp_path, finished):
    settings = {"n_subsamples": "auto", "checkpoint": tmp_path / "run.json"}
    for n, _ in enumerate(stream(CLOSE, **settings), start=1):
        if n == finished:
            break
    counts = []
    result = select_k(CLOSE, **settings, progress=lambda done, total: counts.append((done, total)))
    assert same(result, close)
    assert counts[0] == (finished, MAX_AUTO_SUBSAMPLES)
    assert counts[-1] == (close.n_subsamples, MAX_AUTO_SUBSAMPLES)
    # All of it is known now: nothing is computed again.
    counts.clear()
    assert same(select_k(CLOSE, **settings, progress=lambda done, total: counts.append(done)), close)
    assert counts == [close.n_subsamples]


def test_calibration_subsamples_keep_their_place():
    result = select_k(CLEAR, ks=KS, n_subsamples="auto", n_calibration=3)
    fixed = select_k(CLEAR, ks=KS, n_subsamples=ROUND, n_calibration=3)
    assert same(result, fixed)
    assert result.calibration.subsamples == fixed.calibration.subsamples


def test_failures_are_counted_beside_what_was_left_out():
    def unreliable(X, k, seed):
        if k == 6 and seed % 2:
            raise RuntimeError("no")
        # Clusters by distance from a corner: unlike each other for all ks.
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

    result = select_k(CLEAR, ks=KS, n_subsamples="auto", clusterer=unreliable, on_failure="skip")
    odd = sum(seed % 2 for seed in result.plan.seeds[: result._n_run[-1]])
    assert result.n_failed.tolist() == [0, 0, 0, 0, odd]
    assert not result._selectable[-1]
    # Without a candidate the first round is the last one.
    with pytest.raises(SelectionError) as raised:
        select_k(CLEAR, ks=[6], n_subsamples="auto", clusterer=lambda X, k, seed: 1 / 0, on_failure="skip")
    assert raised.value.result.n_subsamples == ROUND


def test_the_plan_says_how_many_there_can_be():
    plan = plan_selection(CLEAR, ks=KS, n_subsamples="auto", random_state=None)
    assert len(set(plan.seeds)) == MAX_AUTO_SUBSAMPLES
    assert (plan.n_subsamples, plan.adaptive) == (MAX_AUTO_SUBSAMPLES, "composite")
    assert str(plan).startswith("10 to 200 subsamples of")
    assert "at most 1,000 clusterings" in str(plan)


def test_read_under_other_settings_it_does_not_claim_to_be_sure(close):
    said = close.reweigh(n_subsamples=25).explain()
    assert "were enough" not in said
    assert "chosen for other settings (criterion='composite'); 25 may not be enough for these." in said
    micro = close.reweigh(criterion="micro")
    n_best = int(micro._n_run[micro._best_index])
    assert n_best < close.n_subsamples
    assert f"may not be enough for these. k = {micro.best_k} was run on only {n_best} of them." in micro.explain()


def test_a_checkpoint_of_other_decisions_is_refused(tmp_path):
    path = tmp_path / "run.json"
    auto = {"ks": KS, "n_subsamples": "auto", "checkpoint": path}
    first = select_k(CLEAR, **auto)
    seeds = plan_selection(CLEAR, ks=KS, n_subsamples=MAX_AUTO_SUBSAMPLES).seeds
    assert same(select_k(CLEAR, random_state=seeds, **auto), first)
    for change, message in (
        ({"n_subsamples": 30}, "n_subsamples was auto and is now not given"),
        ({"rule": "lcb"}, "rule was 'max' and is now 'lcb'"),
        ({"criterion": "micro"}, "criterion was 'composite' and is now 'micro'"),
        ({"n_calibration": 3}, "another selection: n_calibration was 0 and is now 3; random_state"),
        ({"random_state": seeds[::-1]}, r"another selection: random_state gives other seeds\."),
    ):
        with pytest.raises(ValueError, match=message):
            select_k(CLEAR, **{**auto, **change})
