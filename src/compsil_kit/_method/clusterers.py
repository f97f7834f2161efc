"""Clusterers (method step 1), given as a name, a scikit-learn estimator or a function ``f(X, k, seed) -> labels``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import cluster as sk
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from compsil_kit._method.labels import check_clusters
from compsil_kit._method.metrics import Metric
from compsil_kit._method.precision import check_magnitude, fit_predict, loses_precision
from compsil_kit._util.checks import check_choice, describe
from compsil_kit._util.imports import gc_paused, has, require

Array = NDArray[Any]

_MEDOIDS_HELP = (
    "clusterer={name!r} needs scikit-learn-extra. Install it with: pip install scikit-learn-extra. If its wheel, which "
    "was built for NumPy 1, cannot be imported, build it for your NumPy version: pip install cython setuptools wheel, "
    "then pip install --no-cache-dir --no-build-isolation --no-binary scikit-learn-extra scikit-learn-extra"
)


def _medoids(metric: Metric, name: str, kind: str, **params: str) -> Any:
    try:
        module = require("sklearn_extra.cluster", purpose=f"clusterer={name!r}")
    except (ImportError, ValueError) as error:
        # With NumPy 2, importing the wheel of scikit-learn-extra raises a ValueError ("numpy.dtype size changed").
        raise ImportError(_MEDOIDS_HELP.format(name=name)) from error
    return getattr(module, kind)(metric=metric.function or metric.name, **params)


def _agglomerative(metric: Metric) -> Any:
    params = {"metric": "precomputed", "linkage": "average"} if metric.precomputed else {}
    return sk.AgglomerativeClustering(**params)


# k-means uses one initialisation, as in the authors' package, because a wrong k then lowers the score more clearly.
NAMED_CLUSTERERS: dict[str, Callable[[Metric], Any]] = {
    "kmeans": lambda _: sk.KMeans(n_init=1),
    "minibatch-kmeans": lambda _: sk.MiniBatchKMeans(n_init=1),
    "bisecting-kmeans": lambda _: sk.BisectingKMeans(),
    "gmm": lambda _: GaussianMixture(),
    "agglomerative": _agglomerative,
    "spectral": lambda _: sk.SpectralClustering(),
    "birch": lambda _: sk.Birch(),
    # The default initialisation is poor; k-medoids++ halves the inertia.
    "kmedoids": lambda metric: _medoids(metric, "kmedoids", "KMedoids", init="k-medoids++"),
    "clara": lambda metric: _medoids(metric, "clara", "CLARA"),
}
# How plans record scikit-learn's k-means when it is given by name or as an estimator.
PLAIN_KMEANS = ("kmeans", "KMeans")
# Reserved names in plans and results; a user's function or class with one of these names is recorded under a different
# name.
_RESERVED = (*NAMED_CLUSTERERS, *PLAIN_KMEANS)
# With fewer points, loading compiled k-means takes more time than it saves.
MIN_COMPILED_KMEANS_POINTS = 1000
# Bytes per pair of points, including copies, for clusterers that store a matrix of all pairs.
_QUADRATIC_BYTES = {"AgglomerativeClustering": 16, "SpectralClustering": 32, "KMedoids": 24}


@dataclass(frozen=True)
class Clusterer:
    """A validated clusterer with its name and either an estimator to copy or a function to call."""

    name: str
    estimator: Any = None
    function: Callable[[Any, int, int], Any] | None = None

    @cached_property
    def _params(self) -> dict[str, Any]:
        return dict(self.estimator.get_params(deep=False))

    @cached_property
    def count_parameter(self) -> str:
        """Name of the parameter that sets the number of clusters; empty if there is none."""
        return next((name for name in ("n_clusters", "n_components") if name in self._params), "")

    @property
    def expects_distances(self) -> bool:
        """Whether the estimator is configured for precomputed distances instead of points."""
        # SpectralClustering(affinity="precomputed") expects similarities, which are the opposite of distances.
        nearest = "precomputed_nearest_neighbors" in str(self._params.get("affinity"))
        return nearest or str(self._params.get("metric")) == "precomputed"

    @property
    def by_name(self) -> bool:
        """Whether the clusterer was given by name, so that scikit-learn can skip validating parameters at every fit."""
        return self.function is None and self.name in NAMED_CLUSTERERS

    def build(self, k: int, seed: int, n_starts: int | None = None) -> Any:
        """Return a new estimator for k clusters with this seed and, unless None, this number of initialisations.

        This method replaces ``clone`` and ``set_params``, which inspect signatures; on small subsamples, that took half
        as long as k-means itself.
        """
        params = {name: _copied(value) for name, value in self._params.items()}
        params[self.count_parameter] = k
        if "random_state" in params:
            params["random_state"] = seed
        if n_starts is not None:
            params["n_init"] = n_starts
        return type(self.estimator)(**params)

    def labels(self, X: Any, k: int, seed: int, n_starts: int | None = None) -> Array:
        """Cluster X into k clusters and return codes 0 .. k-1; raise if the labels cannot be scored."""
        # Some compiled code requires writable sparse data, so it gets a copy to protect the shared subsample.
        points = X.copy() if sparse.issparse(X) else X
        found = self.function(points, k, seed) if self.function else fit_predict(self.build(k, seed, n_starts), points)
        return check_clusters(found, X.shape[0], k)

    def labeler(self, X: Any, n_starts: int = 1) -> Callable[[int, int], tuple[Array, Array]]:
        """Return a function of k and seed that clusters X; all calls share the preparation of X.

        The function returns two label arrays: labels from the clusterer as configured, and labels from the best of
        ``n_starts`` initialisations. If ``n_starts`` is 1, both are the same array.
        """
        if not self._uses_compiled(X, X.shape[0] * n_starts) or loses_precision(X):

            def plain(k: int, seed: int) -> tuple[Array, Array]:
                found = self.labels(X, k, seed)
                return found, found if n_starts == 1 else self.labels(X, k, seed, n_starts)

            return plain
        with gc_paused():
            from compsil_kit._kmeans.fit import Fits, load_loops

            load_loops(X.dtype.name)
        fits, one = Fits(X, self.estimator.tol), self._params["n_init"] == 1

        def codes(labels: Array, k: int) -> Array:
            # Run the full check only if a cluster is empty, because it takes as long as an initialisation.
            valid = np.bincount(labels, minlength=k).min() > 0
            return labels.astype(np.intp) if valid else check_clusters(labels, X.shape[0], k)

        def label(k: int, seed: int) -> tuple[Array, Array]:
            if n_starts > 1 and one:
                first, best = fits.first_and_best(self.build(k, seed, n_starts))
                return codes(first, k), codes(best, k)
            found = codes(fits.labels(self.build(k, seed)), k)
            return found, found if n_starts == 1 else codes(fits.labels(self.build(k, seed, n_starts)), k)

        return label

    @property
    def takes_starts(self) -> bool:
        """Whether the clusterer can keep the best of several initialisations."""
        return self.function is None and "n_init" in self._params and isinstance(self._params.get("init", ""), str)

    def _uses_compiled(self, X: Any, n_points: int) -> bool:
        """Return whether compiled k-means replaces scikit-learn's: Lloyd's algorithm and enough dense points."""
        kmeans = self.estimator
        if type(kmeans) is not sk.KMeans or kmeans.algorithm != "lloyd" or kmeans.verbose:
            return False
        known = kmeans.init == "k-means++" if isinstance(kmeans.init, str) else not callable(kmeans.init)
        return known and not sparse.issparse(X) and n_points >= MIN_COMPILED_KMEANS_POINTS and has("numba")

    def must_compile(self, X: Any, n_points: int) -> bool:
        """Return whether a run on ``n_points`` rows of X would first compile k-means, because it is not cached yet."""
        if not self._uses_compiled(X, n_points):
            return False
        with gc_paused():
            from compsil_kit._kmeans.fit import is_compiled

        return not is_compiled()

    @property
    def bytes_per_pair(self) -> int:
        """Bytes that the clusterer needs per pair of points."""
        return _QUADRATIC_BYTES.get(type(self.estimator).__name__, 0)


def _copied(value: Any) -> Any:
    """Return a copy of a parameter value; immutable values are returned as they are."""
    return value if value is None or isinstance(value, str | int | float) else clone(value, safe=False)


def resolve_clusterer(clusterer: Any, metric: Metric) -> Clusterer:
    """Return the :class:`Clusterer` for a ``clusterer`` argument."""
    if isinstance(clusterer, str):
        return _by_name(clusterer, metric)
    if isinstance(clusterer, type):
        raise TypeError(f"clusterer must be an instance, not a class; pass {clusterer.__name__}().")
    if hasattr(clusterer, "get_params") and hasattr(clusterer, "set_params"):
        return _by_estimator(clusterer, metric)
    if callable(clusterer):
        name = getattr(clusterer, "__name__", type(clusterer).__name__)
        return Clusterer(f"{name} (a function)" if name in _RESERVED else name, function=clusterer)
    raise TypeError(
        f"clusterer must be a name ({', '.join(NAMED_CLUSTERERS)}), a scikit-learn estimator, or a function "
        f"f(X, k, seed) -> labels; got {describe(clusterer)}."
    )


def _by_name(name: str, metric: Metric) -> Clusterer:
    check_choice("clusterer", name, tuple(NAMED_CLUSTERERS))
    if metric.precomputed and name not in ("agglomerative", "kmedoids"):
        raise ValueError(
            f"clusterer={name!r} needs points, but with metric='precomputed' X contains distances. Pass "
            "clusterer='agglomerative' or 'kmedoids', an estimator that accepts precomputed distances, or a function."
        )
    return Clusterer(name, NAMED_CLUSTERERS[name](metric))


def _by_estimator(estimator: Any, metric: Metric) -> Clusterer:
    name = type(estimator).__name__
    # Another class named KMeans may behave differently from scikit-learn's.
    plain = name not in _RESERVED or type(estimator) is sk.KMeans
    clusterer = Clusterer(name if plain else f"{type(estimator).__module__}.{name}", clone(estimator))
    if not clusterer.count_parameter or not hasattr(estimator, "fit_predict"):
        raise ValueError(
            f"clusterer={name} must have a fit_predict method and a parameter n_clusters or n_components that sets the "
            "number of clusters. Wrap the estimator in a function f(X, k, seed) -> labels."
        )
    if metric.precomputed and not clusterer.expects_distances:
        raise ValueError(
            f"clusterer={name} is not configured for distances, but with metric='precomputed' X contains distances. If "
            "the estimator has a metric parameter, set it to 'precomputed' (affinity='precomputed' expects "
            "similarities); otherwise wrap the estimator in a function."
        )
    return clusterer


def takes_sparse(clusterer: Clusterer) -> bool:
    """Return whether the clusterer accepts sparse data; for a function this is unknown, so return True."""
    tags = getattr(clusterer.estimator, "__sklearn_tags__", None)
    return tags is None or bool(tags().input_tags.sparse)


def check_input_kind(clusterer: Clusterer, X: Any) -> None:
    """Raise if X is sparse or has values of a magnitude that the clusterer does not support."""
    if sparse.issparse(X) and not takes_sparse(clusterer):
        raise TypeError(
            f"clusterer={clusterer.name!r} does not support sparse data. Pass X.toarray() or another clusterer."
        )
    if clusterer.estimator is not None and not clusterer.expects_distances:
        check_magnitude(clusterer.estimator, clusterer.name, X)
