"""A failed subsample raises or is counted; interrupts and memory errors are never swallowed."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import BayesianGaussianMixture
from small_runs import Fails, X, no_luck, raising, run, split

from compsil_kit import ClusteringError, Interrupted, SelectionError, SelectionResult, plan_selection
from compsil_kit._run.subsample import run_subsample
from compsil_kit._run.workers import Cancelled


def skipping(n_failed, *, how=no_luck, n=10, k=3, **keywords):
    """Run n subsamples with seeds 0, 1, 2, ...; the first n_failed subsamples fail for one k."""
    clusterer = Fails(k, range(n_failed), how)
    return run(clusterer=clusterer, n_subsamples=n, random_state=range(n), on_failure="skip", **keywords)


BAD_LABELS = {
    "too few": (lambda X, k, seed: np.zeros(len(X), int), "returned 1 non-empty clusters instead of 3"),
    "too many": (lambda X, k, seed: split(X, k + 1, seed), "returned 4 non-empty clusters instead of 3"),
    "noise": (lambda X, k, seed: split(X, k + 1, seed) - 1, "labelled 15 of 60 points as noise"),
    "too short": (lambda X, k, seed: split(X, k, seed)[1:], r"one label for each of the 60 points; got shape \(59,\)"),
    "table": (
        lambda X, k, seed: split(X, k, seed)[:, None],
        r"one label for each of the 60 points; got shape \(60, 1\)",
    ),
    "nothing": (lambda X, k, seed: None, r"one label for each of the 60 points; got shape \(\)"),
    "pair": (
        lambda X, k, seed: (split(X, k, seed), X),
        "one label for each of the 60 points; .* a tuple with parts of different lengths",
    ),
    "nan": (lambda X, k, seed: np.where(np.arange(60) == 5, np.nan, split(X, k, seed)), "must not contain NaN"),
    "none": (lambda X, k, seed: [None, *split(X, k, seed)[1:]], "must not contain missing values"),
    "NA": (lambda X, k, seed: pd.array([pd.NA, *split(X, k, seed)[1:]], dtype="Int64"), "must not contain"),
    "exception": (raising(ZeroDivisionError("one over nothing")), "ZeroDivisionError: one over nothing"),
    "no message": (raising(RuntimeError()), "RuntimeError"),
    "three arguments": (lambda X, k: split(X, k, 0), "TypeError.*takes 2 positional arguments but 3 were given"),
    "writes": (lambda X, k, seed: X.__setitem__(0, 0.0), "read-only"),
}


@pytest.mark.parametrize(("how", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_invalid_labels_raise_or_are_counted(how, message):
    before = X.copy()
    clusterer = Fails(3, [1], how)
    with pytest.raises(ClusteringError, match=f"k=3 failed on subsample 1 .*clusterer='Fails': .*{message}") as got:
        run(clusterer=clusterer, n_subsamples=3, random_state=range(3))
    assert "on_failure='skip'" in str(got.value)
    assert got.value.__cause__ is not None
    assert np.array_equal(X, before)
    result = skipping(1, how=how)
    assert result.n_failed.tolist() == [0, 1, 0]
    (failure,) = result.failures
    assert (failure.k, failure.subsample, failure.seed) == (3, 0, 0)
    assert re.search(message, failure.cause)


def test_a_clustering_error_has_the_partial_result():
    with pytest.raises(ClusteringError, match="subsample 2") as got:
        run(clusterer=Fails(3, [2], no_luck), n_subsamples=5, random_state=range(5))
    partial = got.value.result
    assert partial.trials.subsamples == (0, 1)
    assert partial.partial
    assert np.array_equal(partial.micro, run(n_subsamples=2, random_state=range(2)).micro)
    with pytest.raises(ClusteringError, match="subsample 0") as got:
        run(clusterer=no_luck)
    assert got.value.result is None


def test_an_estimator_that_makes_fewer_clusters_is_named():
    sparse_mixture = BayesianGaussianMixture(weight_concentration_prior=1e-9, max_iter=500, random_state=0)
    with pytest.raises(
        ClusteringError, match=r"clusterer='BayesianGaussianMixture': .*non-empty clusters instead of 9"
    ):
        run(clusterer=sparse_mixture, ks=9)


@pytest.mark.parametrize("n_failed", [1, 2])
def test_a_k_with_at_most_a_fifth_of_failures_can_be_selected(n_failed):
    result = skipping(n_failed)
    assert result.best_k == 3
    assert result._selectable.tolist() == [True, True, True]
    assert result.n_failed.tolist() == [0, n_failed, 0]
    kept = run(ks=3, n_subsamples=10 - n_failed, random_state=range(n_failed, 10))
    assert result.scores[1] == pytest.approx(kept.scores[0], abs=1e-14)
    assert result.sem[1] == pytest.approx(kept.sem[0], abs=1e-14)


@pytest.mark.parametrize("n_failed", [3, 9, 10])
@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_a_k_with_more_than_a_fifth_of_failures_cannot_be_selected(n_failed, rule):
    result = skipping(n_failed, rule=rule)
    assert result._selectable.tolist() == [True, False, True]
    assert result.best_k == 2
    assert 3 not in result.choices.values()
    assert result.selection_probability[1] == 0.0
    assert "k = 3" in next(text for text in result.warnings if "Excluded from the selection" in text)


@pytest.mark.parametrize(("n", "n_failed", "selectable"), [(5, 1, True), (5, 2, False), (4, 1, False), (15, 3, True)])
def test_the_failure_limit_applies_to_any_number_of_subsamples(n, n_failed, selectable):
    assert bool(skipping(n_failed, n=n)._selectable[1]) is selectable


@pytest.mark.parametrize(("n_failed", "defined"), [(8, True), (9, False), (10, False)])
def test_the_standard_error_needs_two_subsamples(n_failed, defined):
    result = skipping(n_failed)
    assert np.isfinite(result.sem).tolist() == np.isfinite(result.lcb).tolist() == [True, defined, True]
    assert math.isfinite(result.scores[1]) is (n_failed < 10)


def test_failures_are_shown_in_every_view_of_the_result():
    result = skipping(2)
    (warning,) = (text for text in result.warnings if "failed" in text)
    assert "10 subsamples (k = 3: 2)" in warning
    assert "ValueError: no luck" in warning
    assert warning in result.explain()
    assert result.curve["n_failed"].tolist() == [0, 2, 0]
    assert result.curve["n_subsamples"].tolist() == [10, 8, 10]
    header, row = (next(line for line in repr(result).splitlines() if mark in line) for mark in ("score  ", "*   3"))
    assert header.split()[-1] == "failed"
    assert row.split()[-1] == "2"
    assert "failed" not in repr(run())
    restored = SelectionResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert restored.failures == result.failures
    assert restored.n_failed.tolist() == [0, 2, 0]


def test_failures_do_not_change_other_trials():
    whole, damaged = run(n_subsamples=10, random_state=range(10)), skipping(4)
    expected = whole.micro.copy()
    expected[1, :4] = np.nan
    np.testing.assert_allclose(damaged.micro, expected, rtol=0, atol=1e-12)


def test_failures_for_every_k_raise_with_their_causes():
    with pytest.raises(SelectionError, match=r"No k of 2\.\.4 can be selected.*RuntimeError: no luck") as got:
        run(clusterer=raising(RuntimeError("no luck")), n_subsamples=3, on_failure="skip")
    result = got.value.result
    assert result.n_failed.tolist() == [3, 3, 3]
    assert len(result.failures) == 9
    assert result._best_index is None
    assert not result.partial
    with pytest.raises(SelectionError, match="can be selected"):
        result.best_k  # noqa: B018  (asking is what raises)
    assert "no k of 2..4 can be selected" in repr(result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["best_k"] is None


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_errors_and_interrupts_are_never_swallowed(on_failure, n_jobs):
    settings = {"random_state": range(4), "n_subsamples": 4, "on_failure": on_failure, "n_jobs": n_jobs}
    with pytest.raises(MemoryError, match="all gone") as got:
        run(clusterer=Fails(3, [3], raising(MemoryError("all gone"))), **settings)
    assert got.value.result.n_subsamples >= 1
    with pytest.raises(Interrupted, match="stopped after") as got:
        run(clusterer=Fails(3, [3], raising(KeyboardInterrupt())), **settings)
    assert isinstance(got.value, KeyboardInterrupt)
    assert 3 not in got.value.result.trials.subsamples
    assert got.value.result.n_subsamples >= 1
    assert got.value.result.partial


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
def test_cancellation_is_never_counted_as_a_failure(on_failure):
    plan = plan_selection(X, ks=[2, 3], clusterer=split, on_failure=on_failure)
    # There is one tick for each clustering, and another tick for the distances.
    for n_ticks in range(3):
        left = iter(range(n_ticks))

        def tick(left=left):
            if next(left, None) is None:
                raise Cancelled

        with pytest.raises(Cancelled):
            run_subsample((0, True, (0, 1)), tick, plan, X, None)


def test_system_exit_is_never_swallowed():
    with pytest.raises(SystemExit, match="4"):
        run(clusterer=raising(SystemExit(4)), on_failure="skip")
