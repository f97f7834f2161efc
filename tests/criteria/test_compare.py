"""compare: exact values of all criteria, types of data, failures, threads and interrupts."""

import json
import math
import threading
from contextlib import nullcontext
from typing import get_args

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    pairwise_distances,
    silhouette_samples,
    silhouette_score,
)
from threadpoolctl import threadpool_info

from compsil_kit import ClusteringError, Interrupted, compare, select_k
from compsil_kit._criteria.compare import run_comparison
from compsil_kit._method.subsample import REFERENCE_STREAM, REPEAT_STREAM, derive_seed
from compsil_kit._types import ComparedCriterion
from compsil_kit.config import ComparisonConfig
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.events import Events

CRITERIA = get_args(ComparedCriterion)
KS = [2, 3, 4, 5]
SMALL = {"ks": KS, "n_subsamples": 4, "n_references": 3}


@pytest.fixture(scope="module")
def found(blobs):
    return compare(blobs, **SMALL)


def test_choices_match_the_paper_for_its_imbalanced_data():
    assert compare(imbalanced_blobs()[0], n_jobs=2).choices == {
        "composite": 5, "micro": 2, "macro": 5, "full-micro": 2, "full-macro": 5, "calinski-harabasz": 10,
        "davies-bouldin": 5, "elbow": 5, "gap": 3,
    }  # fmt: skip


def macro_silhouette(points, labels):
    values = silhouette_samples(points, labels)
    return np.mean([values[labels == c].mean() for c in np.unique(labels)])


def inertia(points, labels):
    """Return the sum of squared distances to the centres, computed in plain loops."""
    parts = [points[labels == c].astype(float).tolist() for c in np.unique(labels)]
    centres = [[math.fsum(values) / len(part) for values in zip(*part, strict=True)] for part in parts]
    return math.fsum(math.dist(point, at) ** 2 for part, at in zip(parts, centres, strict=True) for point in part)


MEASURES = {
    "full-micro": silhouette_score, "full-macro": macro_silhouette, "calinski-harabasz": calinski_harabasz_score,
    "davies-bouldin": davies_bouldin_score, "elbow": inertia,
}  # fmt: skip


@pytest.mark.parametrize("n_repeats", [1, 4, 6])
def test_values_on_the_full_data_match_scikit_learn(blobs, n_repeats):
    found = compare(blobs, criteria=list(MEASURES), n_repeats=n_repeats, **SMALL)
    assert found.n_repeats == n_repeats
    first = found.plan.seeds[0]
    seeds = [*found.plan.seeds, *(derive_seed(first, i, stream=REPEAT_STREAM) for i in range(2))][:n_repeats]
    assert len(set(seeds)) == n_repeats
    for k in KS:
        runs = [KMeans(k, n_init=1, random_state=seed).fit_predict(blobs) for seed in seeds]
        for name, measure in MEASURES.items():
            values = [measure(blobs, labels) for labels in runs]
            assert found.values.loc[k, name] == pytest.approx(np.mean(values), rel=1e-9)
            error = np.std(values, ddof=1) / math.sqrt(n_repeats) if n_repeats > 1 else np.nan
            assert found.errors.loc[k, name] == pytest.approx(error, rel=1e-6, abs=1e-9, nan_ok=True)


def test_subsample_values_match_select_k(blobs, found):
    selection = select_k(blobs, ks=KS, n_subsamples=4)
    np.testing.assert_array_equal(found.selection.micro, selection.micro)
    np.testing.assert_array_equal(found.errors["composite"], selection.sem)
    for name, values in {"composite": selection.scores, **selection.curve[["micro", "macro"]]}.items():
        np.testing.assert_array_equal(found.values[name], values)
        assert found.choices[name] == selection.choices[name]


def test_silhouettes_use_the_metric(blobs):
    found = compare(blobs, criteria=["full-micro", "elbow"], metric="manhattan", ks=[3], n_subsamples=1)
    fit = KMeans(3, n_init=1, random_state=found.plan.seeds[0]).fit(blobs)
    expected = silhouette_samples(blobs, fit.labels_, metric="manhattan").mean()
    assert found.values.loc[3, "full-micro"] == pytest.approx(expected)
    assert found.values.loc[3, "elbow"] == pytest.approx(fit.inertia_, rel=1e-3)


@pytest.mark.parametrize(("dtype", "shift"), [("float64", 0), ("float32", 1e4)])
def test_inertia_is_computed_in_double_precision(blobs, dtype, shift):
    X = (blobs + shift).astype(dtype)
    found = compare(X, criteria="elbow", clusterer=lambda X, k, seed: np.arange(len(X)) % k, **SMALL)
    expected = [inertia(X, np.arange(len(X)) % k) for k in KS]
    np.testing.assert_allclose(found.values["elbow"], expected, rtol=1e-12)


def naive_gap(X, k, run_seeds, null_seeds):
    """Return the gap statistic of Tibshirani, Walther and Hastie and its error, computed in plain loops."""

    def log_dispersion(points, seed):
        return math.log(inertia(points, KMeans(k, n_init=1, random_state=seed).fit_predict(points)))

    low, high = X.min(axis=0), X.max(axis=0)
    nulls = [log_dispersion(np.random.default_rng(seed).uniform(low, high, size=X.shape), seed) for seed in null_seeds]
    observed = [log_dispersion(X, seed) for seed in run_seeds]
    mean = sum(nulls) / len(nulls)
    spread = math.sqrt(sum((value - mean) ** 2 for value in nulls) / len(nulls))
    return mean - sum(observed) / len(observed), spread * math.sqrt(1 + 1 / len(nulls))


def test_gap_matches_plain_loops(blobs, found):
    seeds = found.plan.seeds
    null_seeds = [derive_seed(seeds[0], i, stream=REFERENCE_STREAM) for i in range(3)]
    assert not set(seeds) & set(null_seeds)
    expected = [naive_gap(blobs, k, seeds, null_seeds) for k in KS]
    np.testing.assert_allclose(found.values["gap"], [gap for gap, _ in expected], rtol=1e-9)
    np.testing.assert_allclose(found.errors["gap"], [error for _, error in expected], rtol=1e-6)
    assert found.n_references == 3


@pytest.mark.filterwarnings("error")
def test_elbow_and_gap_handle_one_cluster_per_distinct_point():
    """An inertia of 0 has no logarithm, and an inertia due to tiny differences counts as 0."""
    X = np.repeat([[0.0, 0.0], [1.0, 7.0], [5.0, 3.0], [9.0, 9.0]], 10, axis=0)
    settings = {"criteria": "elbow", "clusterer": "agglomerative", "n_subsamples": 2}
    found = compare(X, ks=range(2, 5), **settings)
    assert found.values.loc[4, "elbow"] == 0
    assert found.choices["elbow"] is None
    gap = compare(X, ks=range(2, 5), **{**settings, "criteria": "gap"}, n_references=2).values["gap"]
    assert np.isfinite(gap).tolist() == [True, True, False]
    nearly = X + np.random.default_rng(0).normal(0, 1e-9, X.shape)
    assert compare(nearly, ks=range(2, 8), **settings).choices["elbow"] == 4


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ("all", CRITERIA),
        (["all"], CRITERIA),
        ("gap", ("gap",)),
        (["elbow", "composite"], ("composite", "elbow")),
        (("micro", "micro"), ("micro",)),
    ],
)
def test_criteria_can_be_selected(blobs, found, criteria, expected):
    some = compare(blobs, criteria=criteria, **SMALL)
    assert tuple(some.choices) == expected
    for name in expected:
        np.testing.assert_array_equal(some.values[name], found.values[name])
    assert (some.selection is None) == (not {"composite", "micro", "macro"} & set(expected))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"criteria": ["luck"]}, ValueError, "criteria must be among composite, .*gap; got 'luck'"),
        ({"criteria": []}, TypeError, "criteria must be 'all' or a list of names"),
        ({"criteria": {"gap"}}, TypeError, "got a value of type set"),
        ({"criteria": np.array(["gap", "micro"])}, TypeError, "got a value of type ndarray"),
        ({"progress": "yes"}, TypeError, "progress must be"),
    ],
)
def test_invalid_settings_raise(blobs, settings, error, message):
    with pytest.raises(error, match=message):
        compare(blobs, **settings)


DISTANCES = {"metric": "precomputed", "clusterer": "agglomerative"}


@pytest.mark.parametrize(
    ("convert", "settings", "what"),
    [(sparse.csr_array, {}, "a sparse matrix"), (pairwise_distances, DISTANCES, "a distance matrix")],
    ids=["sparse", "distances"],
)
def test_sparse_data_and_distances_support_only_silhouettes(blobs, convert, settings, what):
    X = np.where(blobs > 0, blobs, 0)
    for criteria, needing in (("all", "calinski-harabasz, davies-bouldin, elbow, gap"), (["micro", "elbow"], "elbow")):
        with pytest.raises(ValueError, match=f"criteria {needing} need dense points, but X is {what}"):
            compare(convert(X), criteria=criteria, **settings, **SMALL)
    criteria = ["composite", "micro", "macro", "full-micro", "full-macro"]
    found = compare(convert(X), criteria=criteria, **settings, **SMALL)
    assert found.n_failed == 0
    assert found.choices["full-micro"] in KS
    if not settings:
        np.testing.assert_allclose(found.values, compare(X, criteria=criteria, **SMALL).values, rtol=0, atol=1e-9)


def fails_at(*ks):
    def clusterer(points, k, seed):
        if k in ks:
            raise ValueError("not this one")
        return KMeans(k, n_init=1, random_state=seed).fit_predict(points)

    return clusterer


def test_failures_are_raised_or_skipped(blobs, found):
    with pytest.raises(ClusteringError, match="not this one"):
        compare(blobs, criteria="elbow", clusterer=fails_at(4), **SMALL)
    some = compare(blobs, clusterer=fails_at(4), on_failure="skip", **SMALL)
    # Four subsamples, four runs on the full data, and three reference data sets.
    assert some.n_failed == 11
    assert some.values.loc[4].isna().all()
    rest = some.values.drop(index=4)
    np.testing.assert_allclose(rest, found.values.drop(index=4), rtol=1e-9)
    assert 4 not in some.choices.values()
    assert some.choices["elbow"] is None
    assert "No choice: elbow." in some.explain()
    assert json.loads(json.dumps(some.to_dict(), allow_nan=False))["values"]["gap"][2] is None
    assert repr(some).splitlines()[5].split()[1:] == ["–"] * 9
    assert "nan" not in some._repr_html_()
    nothing = compare(blobs, clusterer=fails_at(*KS), on_failure="skip", **SMALL)
    assert set(nothing.choices.values()) == {None}
    assert nothing.n_failed == 4 * 11


def test_clusterers_cannot_modify_the_input(blobs):
    def greedy(points, k, seed):
        points -= points.mean(axis=0)
        return np.arange(len(points)) % k

    X = np.array(blobs)
    for criterion in ("composite", "elbow"):
        with pytest.raises(ClusteringError, match="read-only"):
            compare(X, criteria=criterion, clusterer=greedy, **SMALL)
    np.testing.assert_array_equal(X, blobs)
    assert X.flags.writeable


@pytest.mark.parametrize(
    ("criteria", "total"), [("all", 4 + 6 + 3), ("composite", 4), ("elbow", 6), (["gap", "micro"], 4 + 6 + 3)]
)
def test_progress_counts_all_steps(blobs, criteria, total):
    seen = []
    compare(blobs, criteria=criteria, n_repeats=6, progress=lambda *counts: seen.append(counts), **SMALL)
    assert seen == [(done, total) for done in range(1, total + 1)]


def thread_limits():
    return {(pool["filepath"], pool["user_api"]): pool["num_threads"] for pool in threadpool_info()}


# Stop during the subsamples, the runs on the full data, and the runs on reference data.
FINISHED = [(2, ()), (6, CRITERIA[:3]), (10, CRITERIA[:-1])]


@pytest.mark.parametrize(
    ("how", "stop_at", "finished"),
    [
        *((how, *case) for how in (KeyboardInterrupt, LookupError) for case in FINISHED),
        *(("event", *case) for case in [(0, ()), (2, ()), (5, CRITERIA[:3]), (9, CRITERIA[:-1]), (11, CRITERIA)]),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stopping_keeps_finished_parts_and_restores_thread_limits(blobs, how, stop_at, finished, n_jobs):
    stop = threading.Event()

    def progress(done, total):
        if done == stop_at and how != "event":
            raise how
        if done == stop_at:
            stop.set()

    if stop_at == 0:
        stop.set()
    before, config = thread_limits(), ComparisonConfig(**SMALL, n_jobs=n_jobs)
    rule = f"stopped after {stop_at} of 11 steps" if how is KeyboardInterrupt else None
    with nullcontext() if how == "event" else pytest.raises((Interrupted, LookupError), match=rule) as stopped:
        kept = run_comparison(blobs, config, Events(progress=progress, stop=stop))
    if how != "event":
        kept = stopped.value.result
    assert thread_limits() == before
    found = () if kept is None else tuple(kept.values.columns)
    # With two workers, more steps may be finished when the event is noticed.
    exact = found == finished or (how == "event" and n_jobs == 2)
    assert exact
    assert found[: len(finished)] == finished
