"""Labels of points: validate them, turn them into codes 0 .. k-1, and compute them for all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.precision import fit_predict

if TYPE_CHECKING:
    from compsil_kit._method.clusterers import Clusterer

Array = NDArray[Any]


def encode_labels(labels: Any, n_points: int) -> tuple[bool, list[tuple[Array, Array]]]:
    """Return whether ``labels`` is a single labeling, and per labeling its distinct labels and the codes."""
    single, rows = _as_rows(labels)
    return single, [_encode(row, n_points) for row in rows]


def _as_rows(labels: Any) -> tuple[bool, list[Array]]:
    if isinstance(labels, list | tuple) and labels and not np.isscalar(labels[0]):
        return False, [np.asarray(row) for row in labels]
    array = np.asarray(labels)
    if array.ndim == 1:
        return True, [array]
    if array.ndim == 2 and len(array):
        return False, list(array)
    raise ValueError(
        f"labels must be one label per point, or a sequence of such labelings; got an array of shape {array.shape}."
    )


def _encode(row: Array, n_points: int) -> tuple[Array, Array]:
    names, codes = distinct_labels(row, n_points, who="labels")
    if not 2 <= len(names) < n_points:
        raise ValueError(
            f"labels must name at least 2 clusters and fewer clusters than points; got {len(names)} "
            f"clusters for {n_points} points."
        )
    return names, codes


def distinct_labels(row: Array, n_points: int, *, who: str) -> tuple[Array, Array]:
    """Return the distinct labels, sorted, and each point's index into them."""
    if row.ndim != 1 or len(row) != n_points:
        raise ValueError(f"{who} must hold one label for each of the {n_points} points; got shape {row.shape}.")
    if row.dtype.kind == "c" or (row.dtype.kind == "f" and not np.all(np.isfinite(row))):
        raise ValueError(f"{who} must not hold NaN, infinity or complex values.")
    if row.dtype.kind == "O":
        row = _from_objects(row, who)
    names, codes = np.unique(row, return_inverse=True)
    return names, codes.astype(np.int64, copy=False)


def _from_objects(row: Array, who: str) -> Array:
    """Return labels given as Python objects in a dtype that NumPy can sort."""
    # NaN and NaT differ from themselves; comparing pandas.NA gives NA.
    if any(value is None or (value != value) is not False for value in row):
        raise ValueError(f"{who} must not hold missing values.")
    typed = np.asarray(row.tolist())
    if typed.ndim != 1 or typed.dtype.kind == "O":
        raise TypeError(f"{who} must be integers or strings; got values of type {type(row[0]).__name__}.")
    return typed


def check_clusters(labels: Any, n_points: int, k: int) -> Array:
    """Return a clusterer's labels as codes; raise unless they form k non-empty clusters of all points."""
    try:
        labels = np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            f"the clusterer must return one label for each of the {n_points} points; it returned a "
            f"{type(labels).__name__} of parts that differ in length"
        ) from error
    names, codes = distinct_labels(labels, n_points, who="the clusterer's labels")
    if names.dtype.kind in "if" and names[0] < 0:
        n_noise = int((labels < 0).sum())
        raise ValueError(f"the clusterer left {n_noise} of {n_points} points as noise (a negative label)")
    if len(names) != k:
        raise ValueError(f"the clusterer returned {len(names)} non-empty clusters instead of {k}")
    return codes


def number_by_size(labels: Array) -> Array:
    """Renumber the clusters by size, 0 for the largest; clusters of equal size keep their order."""
    _, codes = np.unique(labels, return_inverse=True)
    rank = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))
    return np.asarray(rank[codes])


def fit_all_rows(clusterer: Clusterer, X: Any, k: int, seed: int) -> tuple[Any, Array]:
    """Cluster all rows into the chosen k; return the fitted estimator (None for a function) and the labels.

    The name ``kmeans`` uses ten initialisations here: one is right for judging k, the final labels deserve the best.
    """
    # Clusterers that write into sparse input change a copy; into dense input, they fail.
    X = X.copy() if sparse.issparse(X) else read_only(X)
    if clusterer.function is not None:
        return None, check_clusters(clusterer.function(X, k, seed), X.shape[0], k)
    estimator = clusterer.build(k, seed)
    if clusterer.name == "kmeans":
        estimator.set_params(n_init=10)
    labels = np.asarray(fit_predict(estimator, X))
    check_clusters(labels, X.shape[0], k)
    return estimator, labels


def read_only(X: Any) -> Any:
    """Return a read-only view of dense X, so that a clusterer cannot change the caller's data; sparse X as it is."""
    if sparse.issparse(X):
        return X
    view = X.view()
    view.setflags(write=False)
    return view
