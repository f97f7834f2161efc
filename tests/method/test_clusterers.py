"""Clusterers given as a name, an estimator or a function; estimators are seeded and never modified."""

from __future__ import annotations

import importlib.abc
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from small_runs import Fails, same, split

from compsil_kit import select_k
from compsil_kit._method.clusterers import NAMED_CLUSTERERS, resolve_clusterer
from compsil_kit._method.metrics import Metric

CENTERS = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
X = np.random.default_rng(3).normal(np.repeat(CENTERS, [40, 30, 20], axis=0))
EUCLIDEAN = Metric("euclidean")

# scikit-learn-extra 0.3.0 uses functions that are deprecated in scikit-learn and setuptools.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Function stable_cumsum is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
]


def run(clusterer="kmeans", **keywords):
    return select_k(X, **{"ks": (2, 3, 4), "n_subsamples": 4, "sample_size": 60, "clusterer": clusterer, **keywords})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMED_CLUSTERERS)
def test_every_named_clusterer_finds_the_clusters(name, dtype):
    result = select_k(X.astype(dtype), ks=(2, 3, 4), clusterer=name, n_subsamples=4, sample_size=60)
    assert result.best_k == 3
    assert result.plan.clusterer == name
    assert np.isfinite(result.composite).all()


SAME = [
    ("kmeans", KMeans(n_init=1)),
    ("minibatch-kmeans", MiniBatchKMeans(n_init=1)),
    ("bisecting-kmeans", BisectingKMeans()),
    ("gmm", GaussianMixture()),
    ("agglomerative", AgglomerativeClustering()),
    ("spectral", SpectralClustering()),
    ("birch", Birch()),
]


@pytest.mark.parametrize(("name", "estimator"), SAME)
def test_a_name_gives_the_same_result_as_its_estimator(name, estimator):
    by_estimator = run(estimator)
    assert same(run(name), by_estimator)
    assert by_estimator.plan.clusterer == type(estimator).__name__


def test_medoid_clusterers_keep_all_defaults_except_the_initialisation():
    from sklearn_extra.cluster import CLARA, KMedoids

    expected = {"clara": CLARA(metric="manhattan"), "kmedoids": KMedoids(metric="manhattan", init="k-medoids++")}
    for name, estimator in expected.items():
        made = NAMED_CLUSTERERS[name](Metric("manhattan"))
        assert type(made) is type(estimator)
        assert made.get_params() == estimator.get_params()


def test_kmedoids_accepts_a_metric_function():
    small = {"ks": (2, 3), "n_subsamples": 1, "sample_size": 30}
    by_function = run("kmedoids", metric=lambda a, b: float(np.abs(a - b).sum()), **small)
    np.testing.assert_allclose(by_function.micro, run("kmedoids", metric="manhattan", **small).micro)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("name", ["kmedoids", "agglomerative"])
def test_named_clusterers_accept_precomputed_distances(name, form):
    D = pairwise_distances(X)
    keywords = {"ks": (2, 3, 4), "n_subsamples": 4, "sample_size": 60, "metric": "precomputed"}
    result = select_k(form(D), clusterer=name, **keywords)
    assert result.plan.metric == "precomputed"
    average = AgglomerativeClustering(linkage="average")
    assert result.scores == pytest.approx(run(average if name == "agglomerative" else name).scores, abs=1e-10)
    assert result.best_k == 3


class Broken(importlib.abc.MetaPathFinder):
    """An import finder that raises the given error when scikit-learn-extra is imported."""

    def __init__(self, error):
        self.error = error

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn_extra":
            raise self.error


@pytest.mark.parametrize("name", ["kmedoids", "clara"])
@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'sklearn_extra'", name="sklearn_extra"),
        ImportError("cannot import name 'x'"),
        ValueError("numpy.dtype size changed, may indicate binary incompatibility"),
    ],
)
def test_medoid_clusterers_name_the_missing_package(name, error, monkeypatch):
    for module in [module for module in sys.modules if module.partition(".")[0] == "sklearn_extra"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])
    message = rf"clusterer='{name}' needs scikit-learn-extra.*--no-build-isolation --no-binary scikit-learn-extra"
    with pytest.raises(ImportError, match=message) as got:
        run(name)
    assert error in (got.value.__cause__, got.value.__cause__.__cause__)


ESTIMATORS = [
    KMeans(7, init=CENTERS[:2], random_state=5),
    GaussianMixture(n_components=7, random_state=5, covariance_type="diag"),
    AgglomerativeClustering(n_clusters=7, linkage="average"),
    Birch(n_clusters=7, threshold=0.3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_the_estimator_is_not_modified(estimator):
    before, attributes = estimator.get_params(), dict(vars(estimator))
    run(estimator, ks=2, n_jobs=2)
    after = estimator.get_params()
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert vars(estimator) == attributes


def test_fitted_attributes_are_not_used():
    fitted = KMeans(9, n_init=1, random_state=0).fit(X)
    centers = fitted.cluster_centers_.copy()
    assert same(run(fitted), run("kmeans"))
    assert np.array_equal(fitted.cluster_centers_, centers)


def test_later_changes_to_the_estimator_have_no_effect():
    estimator = KMeans(n_init=1)
    clusterer = resolve_clusterer(estimator, EUCLIDEAN)
    estimator.set_params(n_init=10)
    assert clusterer.build(3, 0).n_init == 1


class Recorder(ClusterMixin, BaseEstimator):
    """An estimator that records its parameters."""

    seen: list[tuple[int, int, float]] = []  # noqa: RUF012  (shared by all clones)

    def __init__(self, n_clusters=8, random_state=None, width=1.0):
        self.n_clusters, self.random_state, self.width = n_clusters, random_state, width

    def fit(self, X, y=None):
        self.seen.append((self.n_clusters, self.random_state, self.width))
        self.labels_ = split(X, self.n_clusters, 0)
        return self


def test_estimators_receive_k_and_the_seed_of_the_subsample():
    Recorder.seen.clear()
    run(Recorder(width=2.5), ks=(2, 3), n_subsamples=2, random_state=(70, 80))
    assert sorted(Recorder.seen) == [(2, 70, 2.5), (2, 80, 2.5), (3, 70, 2.5), (3, 80, 2.5)]


def test_nested_estimators_are_copied():
    inner = KMeans(7)
    clusterer = resolve_clusterer(Recorder(width=inner), EUCLIDEAN)
    first, second = clusterer.build(2, 0), clusterer.build(3, 1)
    assert (first.n_clusters, first.width.n_clusters, second.n_clusters) == (2, 7, 3)
    assert len({id(inner), id(first.width), id(second.width)}) == 3


def test_functions_receive_points_k_and_the_seed_of_the_subsample():
    seen = []

    def note(X, k, seed):
        seen.append((X.shape, k, seed))
        return split(X, k, seed)

    result = run(note, ks=(2, 3), n_subsamples=2, random_state=(70, 80))
    assert sorted(seen) == [((60, 2), k, seed) for k in (2, 3) for seed in (70, 80)]
    assert result.plan.clusterer == "note"


@pytest.mark.parametrize(
    "labels",
    [list, lambda codes: codes.astype(float), lambda codes: codes.astype(str), lambda codes: codes * 7 + 3, pd.Series],
    ids=["list", "floats", "strings", "gaps", "series"],
)
def test_functions_may_return_labels_in_many_forms(labels):
    assert same(run(lambda X, k, seed: labels(split(X, k, seed))), run(split))


def test_functions_receive_a_copy_of_sparse_data():
    def spoil(X, k, seed):
        X.data[:] = 0.0
        return split(X, k, seed)

    given = sparse.csr_array(X)
    keywords = {"ks": (2, 3), "n_subsamples": 2}
    assert same(select_k(given, clusterer=spoil, **keywords), select_k(given, clusterer=split, **keywords))
    assert np.array_equal(given.toarray(), X)


def test_spectral_clustering_accepts_precomputed_nearest_neighbours():
    D = pairwise_distances(X[:40])
    spectral = SpectralClustering(affinity="precomputed_nearest_neighbors", n_neighbors=25)
    keywords = {"ks": (2, 3), "n_subsamples": 2, "sample_size": 36}
    by_points = select_k(X[:40], clusterer=SpectralClustering(affinity="nearest_neighbors", n_neighbors=25), **keywords)
    by_distances = select_k(D, clusterer=spectral, metric="precomputed", **keywords)
    assert by_distances.scores == pytest.approx(by_points.scores, abs=1e-6)


NOT_SET = r"clusterer=.* not configured for distances, but with metric='precomputed'"
NEEDS_POINTS = "clusterer='{}' needs points.*X contains distances. Pass clusterer='agglomerative'"
NOT_SPARSE = r"clusterer='{}' does not support sparse data. Pass X.toarray\(\)"
UNFIT = [
    (KMeans, "euclidean", TypeError, r"clusterer must be an instance, not a class; pass KMeans\(\)"),
    (DBSCAN(), "euclidean", ValueError, "clusterer=DBSCAN must have a fit_predict method and a parameter n_clusters"),
    (PCA(), "euclidean", ValueError, "clusterer=PCA must have a fit_predict method.*Wrap the estimator in a function"),
    *((name, "precomputed", ValueError, NEEDS_POINTS.format(name)) for name in ["kmeans", "gmm", "clara", "birch"]),
    (KMeans(), "precomputed", ValueError, NOT_SET),
    (AgglomerativeClustering(), "precomputed", ValueError, NOT_SET),
    (SpectralClustering(affinity="precomputed"), "precomputed", ValueError, NOT_SET),
    *((name, "sparse", TypeError, NOT_SPARSE.format(name)) for name in ["gmm", "agglomerative"]),
]


@pytest.mark.parametrize(("clusterer", "data", "error", "message"), UNFIT)
def test_unsuitable_clusterers_raise(clusterer, data, error, message):
    given = {"euclidean": X, "precomputed": pairwise_distances(X), "sparse": sparse.csr_array(X)}[data]
    with pytest.raises(error, match=message):
        select_k(given, clusterer=clusterer, metric="euclidean" if data == "sparse" else data)


# --- many labelings of the same points --------------------------------------------------------------------------------


def compiled(clusterer, X, n_starts=1):
    """Return whether compiled k-means computes the labels."""
    label = resolve_clusterer(clusterer, EUCLIDEAN).labeler(X, n_starts)
    return "Fits" in str(label.__closure__)


MANY = make_blobs(1200, 3, centers=5, random_state=0)[0]


@pytest.mark.parametrize(
    ("clusterer", "X", "n_starts", "expected"),
    [
        ("kmeans", MANY, 1, True),
        ("kmeans", MANY.astype(np.float32), 1, True),
        (KMeans(n_init=3, tol=1e-3, max_iter=7), MANY, 1, True),
        ("kmeans", MANY[:1000], 1, True),
        ("kmeans", MANY[:999], 1, False),
        ("kmeans", MANY[:200], 5, True),
        ("kmeans", MANY[:199], 5, False),
        ("kmeans", sparse.csr_array(MANY), 1, False),
        # Data with outliers are fitted by scikit-learn on points centred on the median.
        ("kmeans", np.vstack([MANY, [[1e30, 0.0, 0.0]]]), 1, False),
        (KMeans(algorithm="elkan"), MANY, 1, False),
        (KMeans(verbose=1), MANY, 1, False),
        (KMeans(init="random", n_init=1), MANY, 1, False),
        (KMeans(init=lambda X, k, random_state: X[:k], n_init=1), MANY, 1, False),
        ("minibatch-kmeans", MANY, 1, False),
        (split, MANY, 1, False),
    ],
)
def test_compiled_kmeans_is_used_for_enough_points_or_initialisations(clusterer, X, n_starts, expected):
    assert compiled(clusterer, X, n_starts) is expected
    if n_starts == 1 and not getattr(clusterer, "verbose", 0):
        found = resolve_clusterer(clusterer, EUCLIDEAN)
        for k in (2, 5):
            for labels in found.labeler(X)(k, 3):
                np.testing.assert_array_equal(labels, found.labels(X, k, 3))


@pytest.mark.parametrize(
    ("clusterer", "expected"),
    [
        ("kmeans", True),
        ("gmm", True),
        (KMeans(init="random"), True),
        (KMeans(init=CENTERS), False),
        ("agglomerative", False),
        (split, False),
    ],
)
def test_takes_starts_is_true_for_clusterers_with_random_initialisations(clusterer, expected):
    assert resolve_clusterer(clusterer, EUCLIDEAN).takes_starts is expected


@pytest.mark.parametrize(("own", "asked"), [(1, 1), (3, 1), (1, 5), (3, 5)])
def test_first_labels_use_the_n_init_of_the_estimator(own, asked):
    label = resolve_clusterer(KMeans(n_init=own), EUCLIDEAN).labeler(MANY, asked)
    for seed in range(2):
        for found, n_init in zip(label(9, seed), (own, own if asked == 1 else asked), strict=True):
            expected = KMeans(9, n_init=n_init, random_state=seed).fit_predict(MANY)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_raise():
    label = resolve_clusterer("kmeans", EUCLIDEAN).labeler(np.repeat([[0.0, 0.0], [1.0, 7.0], [5.0, 3.0]], 400, axis=0))
    for k in (4, 5):
        with pytest.raises(ValueError, match=f"returned 3 non-empty clusters instead of {k}"):
            label(k, 0)


def test_scikit_learn_computes_the_labels_without_numba(monkeypatch):
    monkeypatch.setattr("compsil_kit._method.clusterers.has", lambda name: False)
    assert not compiled("kmeans", MANY)


@pytest.mark.parametrize("known", [True, False])
def test_only_the_first_run_on_a_machine_must_compile(known, monkeypatch):
    monkeypatch.setattr("compsil_kit._kmeans.fit.is_compiled", lambda: known)
    kmeans = resolve_clusterer("kmeans", EUCLIDEAN)
    assert kmeans.must_compile(MANY, 1200) is not known
    assert not kmeans.must_compile(MANY, 999)
    assert not kmeans.must_compile(sparse.csr_array(MANY), 1200)
    assert not resolve_clusterer("gmm", EUCLIDEAN).must_compile(MANY, 1200)


def test_other_clusterers_named_kmeans_are_recorded_under_a_different_name():
    """Confidence and the comparison of clusterings depend on the name in the plan."""

    def kmeans(X, k, seed):
        return split(X, k, seed)

    class Other(KMeans):
        pass

    Other.__name__ = "KMeans"
    assert resolve_clusterer(kmeans, EUCLIDEAN).name == "kmeans (a function)"
    assert resolve_clusterer(Other(), EUCLIDEAN).name == f"{__name__}.KMeans"
    assert resolve_clusterer(KMeans(), EUCLIDEAN).name == "KMeans"
    assert resolve_clusterer("kmeans", EUCLIDEAN).name == "kmeans"
    assert resolve_clusterer(split, EUCLIDEAN).name == "split"
    assert resolve_clusterer(Fails(3, [], None), EUCLIDEAN).name == "Fails"
    result = select_k(np.random.default_rng(0).normal(size=(300, 2)), ks=(2, 3, 4), clusterer=kmeans)
    assert "this run used kmeans (a function)" in result.confidence_note
