"""Several starts: the first is the paper's, bit for bit, and the best of them is what scikit-learn would find."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from small_runs import identical, split

import naive
from compsil_kit import plan_selection, select_k
from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.metrics import resolve_metric

# Clusters that touch, and more ks than there are clusters: starts end in different places.
SMALL = make_blobs([70, 50, 30, 20], 2, cluster_std=2.0, center_box=(-5.0, 5.0), random_state=3)[0]
LARGE = make_blobs([700, 500, 300, 200], 3, cluster_std=2.5, center_box=(-5.0, 5.0), random_state=3)[0]
SETTINGS = {"ks": (2, 4, 6, 8), "n_subsamples": 4, "sample_size": 0.8}
# Subsamples that no number of starts here lets compile, those that several starts do, and those that one start does.
POINTS = {"plain": SMALL, "compiled by starts": LARGE[:500], "compiled": LARGE}
N_STARTS = 5


def run(data=SMALL, **keywords):
    return select_k(data, **{**SETTINGS, **keywords})


def labeler(X, clusterer="kmeans", n_starts=N_STARTS):
    return resolve_clusterer(clusterer, resolve_metric("euclidean")).labeler(X, n_starts)


@pytest.mark.parametrize("X", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_first_start_is_the_only_one_of_a_plain_run(X, kind):
    X = X.astype(kind)
    one, several = run(X), run(X, n_starts=N_STARTS)
    assert (one.plan.n_starts, several.plan.n_starts) == (1, N_STARTS)
    for name in ("micro", "macro", "composite", "scores", "selection_probability"):
        np.testing.assert_array_equal(getattr(several, name), getattr(one, name))
    np.testing.assert_array_equal(one.trials.best_micro, one.micro)
    # The best start is another one, somewhere.
    assert not np.array_equal(several.trials.best_micro, several.micro)


@pytest.mark.parametrize("X", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("n_starts", [2, N_STARTS])
def test_labels_are_those_of_scikit_learn(X, n_starts):
    label = labeler(X, n_starts=n_starts)
    differ = 0
    for k in (2, 5, 9):
        for seed in range(4):
            first, best = label(k, seed)
            np.testing.assert_array_equal(first, KMeans(k, n_init=1, random_state=seed).fit_predict(X))
            np.testing.assert_array_equal(best, KMeans(k, n_init=n_starts, random_state=seed).fit_predict(X))
            differ += not np.array_equal(first, best)
    assert differ > 0


def test_the_best_start_in_plain_loops():
    """One start after the other, with the same source of random numbers."""
    for k in (3, 6):
        for seed in range(3):
            random_state = np.random.RandomState(seed)
            fits = [KMeans(k, n_init=1, random_state=random_state).fit(SMALL) for _ in range(N_STARTS)]
            expected = naive.best_start([(fit.labels_.tolist(), fit.inertia_) for fit in fits])
            assert labeler(SMALL)(k, seed)[1].tolist() == expected


@pytest.mark.parametrize(
    ("name", "estimator", "own"),
    [
        ("gmm", lambda k, n: GaussianMixture(k, n_init=n, random_state=1), 1),
        ("minibatch-kmeans", lambda k, n: MiniBatchKMeans(k, n_init=n, random_state=1), 1),
        # By itself, k-means from random points makes ten starts.
        (KMeans(init="random"), lambda k, n: KMeans(k, init="random", n_init=n, random_state=1), 10),
    ],
    ids=["gmm", "minibatch-kmeans", "estimator"],
)
def test_other_clusterers_with_starts(name, estimator, own):
    label = labeler(SMALL, name, n_starts=3)
    for k in (3, 6):
        first, best = label(k, 1)
        assert first.tolist() == estimator(k, own).fit_predict(SMALL).tolist()
        assert best.tolist() == estimator(k, 3).fit_predict(SMALL).tolist()


@pytest.mark.parametrize("clusterer", ["birch", AgglomerativeClustering(), split, KMeans(init=SMALL[:2])])
def test_what_has_no_starts_is_refused(clusterer):
    with pytest.raises(ValueError, match=r"n_starts must be 1 with clusterer=.*; got 2\. Leave n_starts out"):
        plan_selection(SMALL, ks=[2], clusterer=clusterer, n_starts=2)
    for n_starts in (1, "auto"):
        assert plan_selection(SMALL, ks=[2], clusterer=clusterer, n_starts=n_starts).n_starts == 1


@pytest.mark.parametrize(
    ("keywords", "n_starts"),
    [
        ({}, 1),
        ({"criterion": "micro"}, 1),
        ({"criterion": "stable"}, 5),
        ({"criterion": "stable", "n_starts": 2}, 2),
        ({"criterion": "stable", "n_starts": 1}, 1),
        ({"criterion": "stable", "clusterer": "agglomerative"}, 1),
        ({"n_starts": 3}, 3),
    ],
)
def test_how_many_starts_there_are_if_nobody_says(keywords, n_starts):
    assert run(ks=(2, 3), n_subsamples=2, **keywords).plan.n_starts == n_starts


def test_the_stable_silhouette_judges_the_best_start():
    result = run(n_starts=N_STARTS, criterion="stable")
    expected = result.trials.best_micro.mean(axis=1) * np.maximum(result.stability, 0)
    np.testing.assert_allclose(result.scores, expected, rtol=1e-12)
    assert result.best_k == result.choices["stable"] == result.ks[int(expected.argmax())]


# --- however they are run ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole():
    return run(n_starts=3)


def test_another_criterion_and_fewer_subsamples_cost_nothing(whole):
    assert identical(whole.reweigh(n_subsamples=2), run(n_starts=3, n_subsamples=2))
    for criterion in ("micro", "macro", "stable"):
        assert identical(whole.reweigh(criterion=criterion), run(n_starts=3, criterion=criterion))
    assert identical(whole.reweigh(criterion="stable").reweigh(criterion="composite"), whole)
