"""Labels of all rows for one k, with the clusterer and the first seed of a selection."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from small_runs import X, split
from tables import LARGE, CutSource, columns_of

from compsil_kit import label_rows, plan_selection, prepare
from compsil_kit._method.labels import number_by_size
from compsil_kit._method.subsample import subsample_rows
from compsil_kit.adapters import fit_rows
from compsil_kit.config import SelectionConfig


def labels_of(data, k, **settings):
    return np.concatenate(list(label_rows(data, k, **settings)))


def test_kmeans_keeps_the_best_of_ten_initialisations_from_the_first_seed():
    seed = plan_selection(X, random_state=7).seeds[0]
    expected = KMeans(4, n_init=10, random_state=seed).fit(X)
    assert np.array_equal(labels_of(X, 4, random_state=7), number_by_size(expected.labels_))


def test_seeds_of_a_finished_selection_can_be_passed():
    seeds = plan_selection(X, random_state=None).seeds
    assert np.array_equal(labels_of(X, 3, random_state=seeds), labels_of(X, 3, random_state=seeds[:1]))


def test_a_function_labels_the_rows_and_scale_is_not_reported_again():
    # Warnings are errors.
    assert labels_of(X * [1.0, 1000.0], 5, clusterer=split).tolist() == [i % 5 for i in range(len(X))]


@pytest.mark.parametrize(
    ("k", "keywords", "error", "message"),
    [
        (1, {}, ValueError, "k must be an integer of at least 2; got 1"),
        ("3", {}, TypeError, "k must be an integer of at least 2; got '3'"),
        (90, {}, ValueError, "ks must be smaller than the number of rows, 90; got k=90"),
        (3, {"n_jobs": 2}, TypeError, "unexpected keyword argument 'n_jobs'"),
        (3, {"clusterer": lambda X, k, seed: np.zeros(len(X))}, ValueError, "returned 1 non-empty clusters instead of"),
    ],
)
def test_invalid_arguments_raise_for_data_in_memory(k, keywords, error, message):
    with pytest.raises(error, match=message):
        label_rows(X, k, **keywords)


# --- labels in chunks -------------------------------------------------------------------------------------------------

FEW = {"sample_size": 2_000, "random_state": 3}


def test_a_table_in_memory_is_clustered_as_a_whole():
    small = prepare(CutSource(columns_of(300)))
    (labels,) = label_rows(small, 3)
    assert np.array_equal(labels, labels_of(small.matrix, 3))


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", KMeans(n_init=2)])
def test_out_of_core_rows_are_labelled_in_a_second_pass(scale, clusterer):
    source = CutSource(columns_of(), chunk_rows=9_000)
    table = prepare(source, scale=scale)
    chunks = list(label_rows(table, 3, clusterer=clusterer, **FEW))
    assert [len(labels) for labels in chunks] == [9_000] * 5 + [5_500]
    assert len(source.handed) == 12
    # Compute the expected labels from the data in memory.
    matrix, plan = table.load().matrix, plan_selection(table, clusterer=clusterer, n_subsamples=3, **FEW)
    rows = matrix[subsample_rows(plan.seeds[0], LARGE, 2_000)]
    estimator, labels = fit_rows(SelectionConfig(clusterer=clusterer), rows, 3, plan.seeds[0])
    names, first = np.unique(labels, return_index=True)
    expected = number_by_size(labels)[first][np.searchsorted(names, estimator.predict(matrix))]
    assert np.array_equal(np.concatenate(chunks), expected)
    assert (np.diff(np.bincount(expected)) < 0).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"clusterer": "agglomerative"},
            r"has no predict method, so it can label only the rows it was fitted to.*'kmeans'",
        ),
        ({"clusterer": split}, "has no predict"),
        ({"clusterer": "gmmm"}, "clusterer must be one of"),
        ({"sample_size": 1.5}, "sample_size"),
    ],
)
def test_invalid_settings_raise_before_reading(keywords, message):
    source = CutSource(columns_of())
    with pytest.raises(ValueError, match=message):
        label_rows(prepare(source), 3, **keywords)
    assert source.handed == []


def test_rows_added_after_fitting_raise():
    source = CutSource(columns_of())
    labels = label_rows(prepare(source), 3, **FEW)
    source.n_rows = LARGE - 1
    chunks = source.chunks
    source.chunks = lambda at: (chunk for part in (chunks(at), [[np.ones(1)] * 3] * 2) for chunk in part)
    with pytest.raises(ValueError, match="X has changed: a table of the tests had"):
        list(labels)
