"""All rows in one k, with the clusterer and the first seed of a selection."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from small_runs import X, split
from tables import LARGE, CutSource, columns_of

from compsil_kit import label_rows, plan_selection, prepare, select_k
from compsil_kit._method.labels import number_by_size
from compsil_kit._method.subsample import subsample_rows
from compsil_kit._run.refit import cluster_rows
from compsil_kit.errors import ScaleWarning


def test_the_named_kmeans_has_ten_starts_and_the_first_seed():
    estimator, labels = cluster_rows(X, 4, {"random_state": 7})
    seed = plan_selection(X, random_state=7).seeds[0]
    expected = KMeans(4, n_init=10, random_state=seed).fit(X)
    assert np.array_equal(labels, expected.labels_)
    assert (estimator.n_clusters, estimator.n_init, estimator.random_state) == (4, 10, seed)


def test_seeds_may_be_those_of_a_finished_selection():
    plan = plan_selection(X, random_state=None)
    estimator, _ = cluster_rows(X, 3, {"random_state": plan.seeds})
    assert estimator.random_state == plan.seeds[0]


@pytest.mark.parametrize("n_calibration", [0, 2])
def test_seeds_may_be_those_of_as_many_subsamples_as_it_took(n_calibration):
    open_ended = {"n_subsamples": "auto", "n_calibration": n_calibration}
    plan = select_k(X, ks=(2, 3), random_state=None, **open_ended).plan
    estimator, _ = cluster_rows(X, 3, {"random_state": plan.seeds, "rule": "lcb", **open_ended})
    assert estimator.random_state == plan.seeds[0]


def test_a_function_leaves_no_estimator():
    estimator, labels = cluster_rows(X, 5, {"clusterer": split})
    assert estimator is None
    assert labels.tolist() == [i % 5 for i in range(len(X))]


def test_candidates_of_the_selection_do_not_matter():
    _, labels = cluster_rows(X, 3, {"ks": range(40, 50)})
    assert len(set(labels)) == 3


@pytest.mark.parametrize("keywords", [{"criterion": "likely"}, {"structure": True}, {"rule": "lcb"}])
def test_how_k_was_chosen_does_not_matter(keywords):
    expected = cluster_rows(X, 3, {"random_state": 1})[1]
    assert np.array_equal(cluster_rows(X, 3, {"random_state": 1, **keywords})[1], expected)


def test_what_the_selection_has_said_of_scale_is_not_said_again():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        cluster_rows(X * [1.0, 1000.0], 3, {})


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (1, ValueError, "k must be an integer of at least 2; got 1"),
        ("3", TypeError, "k must be an integer of at least 2; got '3'"),
        (90, ValueError, "ks must be smaller than the number of rows, 90; got k=90"),
    ],
)
def test_a_k_that_cannot_be(k, error, message):
    with pytest.raises(error, match=message):
        cluster_rows(X, k, {})


def test_keywords_are_checked():
    with pytest.raises(TypeError, match="unexpected keyword argument 'clustrer'"):
        cluster_rows(X, 3, {"clustrer": "gmm"})
    for name, value in (("rule", "best"), ("criterion", "luck"), ("structure", "yes")):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
            cluster_rows(X, 3, {name: value})
    with pytest.raises(ValueError, match="returned 1 non-empty clusters instead of 3"):
        cluster_rows(X, 3, {"clusterer": lambda X, k, seed: np.zeros(len(X))})


# --- the labels of all rows, some at a time ---------------------------------------------------------------------------

FEW = {"n_subsamples": 3, "sample_size": 2_000, "random_state": 3}


def test_a_table_in_memory_is_clustered_whole():
    (labels,) = label_rows(X, 4, random_state=7)
    assert np.array_equal(labels, number_by_size(cluster_rows(X, 4, {"random_state": 7})[1]))
    small = columns_of(300)
    (labels,) = label_rows(prepare(CutSource(small)), 3)
    assert np.array_equal(labels, number_by_size(cluster_rows(prepare(CutSource(small)), 3, {})[1]))


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", KMeans(n_init=2)])
def test_rows_outside_memory_are_labelled_by_a_second_pass(scale, clusterer):
    source = CutSource(columns_of(), chunk_rows=9_000)
    table = prepare(source, scale=scale)
    chunks = list(label_rows(table, 3, clusterer=clusterer, **FEW))
    assert [len(labels) for labels in chunks] == [9_000] * 5 + [5_500]
    assert len(source.handed) == 12
    # The same by hand, on the data in memory.
    matrix, plan = table.load().matrix, plan_selection(table, clusterer=clusterer, **FEW)
    rows = matrix[subsample_rows(plan.seeds[0], LARGE, 2_000)]
    estimator, labels = cluster_rows(
        rows, 3, {"clusterer": clusterer, "random_state": plan.seeds[:1], "n_subsamples": 1}
    )
    names, first = np.unique(labels, return_index=True)
    expected = number_by_size(labels)[first][np.searchsorted(names, estimator.predict(matrix))]
    assert np.array_equal(np.concatenate(chunks), expected)
    assert (np.diff(np.bincount(expected)) < 0).all()


def test_what_is_asked_for_later_is_checked_at_once():
    for keywords, message in (
        ({"clusterer": "gmmm"}, "clusterer must be one of"),
        ({"sample_size": 1.5}, "sample_size"),
    ):
        with pytest.raises(ValueError, match=message):
            label_rows(prepare(CutSource(columns_of())), 3, **keywords)


@pytest.mark.parametrize("clusterer", ["agglomerative", "spectral", split])
def test_clusterers_that_know_no_other_rows_are_refused_before_the_pass(clusterer):
    source = CutSource(columns_of())
    with pytest.raises(ValueError, match=r"has no predict, so it can label only rows that it was fitted to.*'kmeans'"):
        label_rows(prepare(source), 3, clusterer=clusterer)
    assert source.handed == []


def test_rows_that_come_after_the_fit_are_told():
    source = CutSource(columns_of())
    labels = label_rows(prepare(source), 3, **FEW)
    source.n_rows = LARGE - 1
    chunks = source.chunks
    source.chunks = lambda at: (chunk for part in (chunks(at), [[np.ones(1)] * 3] * 2) for chunk in part)
    with pytest.raises(ValueError, match="X has changed: a table of the tests had"):
        list(labels)
