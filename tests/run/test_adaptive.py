"""Adaptive number of subsamples: rounds, dropped candidates, resuming, and the result."""

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

# Clear after one round, clear after several rounds, and never clear.
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
    assert "The run stopped at 10 subsamples: the selection probability is at least 99 %." in result.explain()


def test_an_adaptive_run_stops_at_the_maximum_number_of_subsamples():
    result = select_k(UNCLEAR, ks=(2, 3, 4), sample_size=60, n_subsamples="auto")
    assert result.n_subsamples == MAX_AUTO_SUBSAMPLES
    assert result.selection_probability.max() < 0.99
    assert "The run stopped at 200 subsamples, the maximum for n_subsamples='auto'." in result.explain()


def test_adaptive_results_match_a_fixed_run_of_the_same_length(close):
    """The last bits may differ, because the order of summation depends on the candidates in a call."""
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


def test_dropped_candidates_are_not_counted_as_failed(close):
    assert close.n_failed.tolist() == [0] * len(close.ks)
    assert not any("failed" in text for text in close.warnings)
    assert close._selectable.tolist() == (close._n_run == close.n_subsamples).tolist()
    assert close.curve["n_subsamples"].tolist() == close._n_run.tolist()
    assert f"{(~close._selectable).sum()} of 9 candidates were dropped early." in close.explain()


def test_other_criteria_may_select_dropped_candidates(close):
    fixed = select_k(CLOSE, n_subsamples=60)
    assert [close.choices[name] for name in ("micro", "macro")] == [fixed.choices[name] for name in ("micro", "macro")]
    assert not close._selectable[close.ks.index(close.choices["micro"])]
    assert close.reweigh(criterion="micro").best_k == fixed.reweigh(criterion="micro").best_k


def test_saving_preserves_an_adaptive_result(close):
    again = SelectionResult.from_dict(json.loads(json.dumps(close.to_dict())))
    assert again.plan == close.plan
    assert again.explain() == close.explain()
    assert again._n_run.tolist() == close._n_run.tolist()


def test_adaptive_results_do_not_depend_on_workers_or_backends(close):
    assert same(select_k(CLOSE, n_subsamples="auto", n_jobs=2), close)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        small = {"ks": KS, "sample_size": 100, "n_subsamples": "auto"}
        on_processes = select_k(CLEAR, **small)
    assert same(on_processes, select_k(CLEAR, **small))


def test_an_adaptive_stream_ends_with_the_result_of_select_k(close):
    results = list(stream(CLOSE, n_subsamples="auto"))
    assert [result.n_subsamples for result in results] == [*range(1, close.n_subsamples + 1), close.n_subsamples]
    assert [result.partial for result in results] == [True] * close.n_subsamples + [False]
    assert same(results[-1], close)


@pytest.mark.parametrize("finished", [3, ROUND, ROUND + 4])
def test_an_adaptive_run_resumes_from_its_checkpoint(close, tmp_path, finished):
    settings = {"n_subsamples": "auto", "checkpoint": tmp_path / "run.json"}
    for n, _ in enumerate(stream(CLOSE, **settings), start=1):
        if n == finished:
            break
    counts = []
    result = select_k(CLOSE, **settings, progress=lambda done, total: counts.append((done, total)))
    assert same(result, close)
    assert counts[0] == (finished, MAX_AUTO_SUBSAMPLES)
    assert counts[-1] == (close.n_subsamples, MAX_AUTO_SUBSAMPLES)
    # The checkpoint is complete, so nothing is computed again.
    counts.clear()
    assert same(select_k(CLOSE, **settings, progress=lambda done, total: counts.append(done)), close)
    assert counts == [close.n_subsamples]


def test_adaptive_runs_use_the_same_calibration_subsamples():
    result = select_k(CLEAR, ks=KS, n_subsamples="auto", n_calibration=3)
    fixed = select_k(CLEAR, ks=KS, n_subsamples=ROUND, n_calibration=3)
    assert same(result, fixed)
    assert result.calibration.subsamples == fixed.calibration.subsamples


def test_adaptive_runs_count_failures():
    def unreliable(X, k, seed):
        if k == 6 and seed % 2:
            raise RuntimeError("no")
        # Cluster by quantiles of the first column, which gives k clusters for every k.
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

    result = select_k(CLEAR, ks=KS, n_subsamples="auto", clusterer=unreliable, on_failure="skip")
    n_odd = sum(seed % 2 for seed in result.plan.seeds[: result._n_run[-1]])
    assert result.n_failed.tolist() == [0, 0, 0, 0, n_odd]
    assert not result._selectable[-1]
    # If all candidates fail, the run stops after the first round.
    with pytest.raises(SelectionError) as raised:
        select_k(CLEAR, ks=[6], n_subsamples="auto", clusterer=lambda X, k, seed: 1 / 0, on_failure="skip")
    assert raised.value.result.n_subsamples == ROUND


def test_an_adaptive_plan_shows_the_range_of_subsamples():
    plan = plan_selection(CLEAR, ks=KS, n_subsamples="auto", random_state=None)
    assert len(set(plan.seeds)) == MAX_AUTO_SUBSAMPLES
    assert (plan.n_subsamples, plan.adaptive) == (MAX_AUTO_SUBSAMPLES, "composite")
    assert str(plan).startswith("10 to 200 subsamples, ")
    assert "at most 1,000 clusterings" in str(plan)


def test_a_reweighed_adaptive_result_explains_its_limits(close):
    text = close.reweigh(n_subsamples=25).explain()
    assert "at least 99 %" not in text
    assert "chosen for criterion='composite'; 25 may not be enough for the current settings." in text
    micro = close.reweigh(criterion="micro")
    n_best = int(micro._n_run[micro._best_index])
    assert n_best < close.n_subsamples
    assert f"for the current settings. k = {micro.best_k} was run on only {n_best} subsamples." in micro.explain()


def test_an_adaptive_run_rejects_a_checkpoint_with_other_settings(tmp_path):
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
        ({"random_state": seeds[::-1]}, r"another selection: random_state gives different seeds\."),
    ):
        with pytest.raises(ValueError, match=message):
            select_k(CLEAR, **{**auto, **change})
