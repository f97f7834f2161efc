"""All rows in one k, with the clusterer and the first seed of a selection."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from small_runs import X, split

from compsil_kit import plan_selection
from compsil_kit.errors import ScaleWarning
from compsil_kit.run.refit import cluster_rows


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


def test_a_function_leaves_no_estimator():
    estimator, labels = cluster_rows(X, 5, {"clusterer": split})
    assert estimator is None
    assert labels.tolist() == [i % 5 for i in range(len(X))]


def test_candidates_of_the_selection_do_not_matter():
    _, labels = cluster_rows(X, 3, {"ks": range(40, 50)})
    assert len(set(labels)) == 3


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
    with pytest.raises(ValueError, match="returned 1 non-empty clusters instead of 3"):
        cluster_rows(X, 3, {"clusterer": lambda X, k, seed: np.zeros(len(X))})
