"""Validate labels, encode them as 0 .. k-1, compute them for all rows, and compare clusterings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from compsil_kit._method.precision import fit_predict

if TYPE_CHECKING:
    from compsil_kit._method.clusterers import Clusterer

Array = NDArray[Any]

# With fewer shared rows per cluster, the adjusted Rand index is mostly noise.
MIN_SHARED_PER_CLUSTER = 3
# A lookup table for all rows is faster than sorting unless it is more than this many times larger than a subsample.
MAX_TABLE_RATIO = 100
# Labellings per matrix product; each needs 16 bytes per point.
LABELINGS_PER_PRODUCT = 16


def encode_labels(labels: Any, n_points: int) -> tuple[bool, list[tuple[Array, Array]]]:
    """Return whether ``labels`` is a single labelling, and the distinct labels and codes of each labelling."""
    if isinstance(labels, list | tuple) and labels and not np.isscalar(labels[0]):
        single, rows = False, [np.asarray(row) for row in labels]
    else:
        array = np.asarray(labels)
        if array.ndim not in (1, 2) or (array.ndim == 2 and not len(array)):
            raise ValueError(
                "labels must be one label per point, or a sequence of such labelings; got an array of shape "
                f"{array.shape}."
            )
        single, rows = array.ndim == 1, list(np.atleast_2d(array))
    encoded = []
    for row in rows:
        names, codes = distinct_labels(row, n_points, who="labels")
        if not 2 <= len(names) < n_points:
            raise ValueError(
                f"labels must define at least 2 clusters, and fewer clusters than points; got {len(names)} "
                f"clusters for {n_points} points."
            )
        encoded.append((names, codes))
    return single, encoded


def distinct_labels(row: Array, n_points: int, *, who: str) -> tuple[Array, Array]:
    """Return the sorted distinct labels, and the index of each point's label."""
    if row.ndim != 1 or len(row) != n_points:
        raise ValueError(f"{who} must contain one label for each of the {n_points} points; got shape {row.shape}.")
    if row.dtype.kind == "c" or (row.dtype.kind == "f" and not np.all(np.isfinite(row))):
        raise ValueError(f"{who} must not contain NaN, infinity or complex values.")
    if row.dtype.kind == "O":
        # NaN and NaT are not equal to themselves; comparing pandas.NA gives NA.
        if any(value is None or (value != value) is not False for value in row):
            raise ValueError(f"{who} must not contain missing values.")
        kind = type(row[0]).__name__
        row = np.asarray(row.tolist())
        if row.ndim != 1 or row.dtype.kind == "O":
            raise TypeError(f"{who} must be integers or strings; got values of type {kind}.")
    names, codes = np.unique(row, return_inverse=True)
    return names, codes.astype(np.int64, copy=False)


def check_clusters(labels: Any, n_points: int, k: int) -> Array:
    """Return a clusterer's labels as codes; raise unless they assign all points to k non-empty clusters."""
    try:
        labels = np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            f"the clusterer must return one label for each of the {n_points} points; it returned a "
            f"{type(labels).__name__} with parts of different lengths"
        ) from error
    names, codes = distinct_labels(labels, n_points, who="the clusterer's labels")
    if names.dtype.kind in "if" and names[0] < 0:
        n_noise = int((labels < 0).sum())
        raise ValueError(f"the clusterer labelled {n_noise} of {n_points} points as noise (negative labels)")
    if len(names) != k:
        raise ValueError(f"the clusterer returned {len(names)} non-empty clusters instead of {k}")
    return codes


def number_by_size(labels: Array) -> Array:
    """Renumber the clusters by decreasing size, starting at 0; clusters of equal size keep their order."""
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-sizes, kind="stable"))
    return np.asarray(rank[codes])


def fit_all_rows(clusterer: Clusterer, X: Any, k: int, seed: int) -> tuple[Any, Array]:
    """Cluster all rows into k clusters; return the fitted estimator (None for a function) and the labels."""
    # Pass a copy of sparse input and a read-only view of dense input, so that clusterers cannot modify the data.
    X = X.copy() if sparse.issparse(X) else read_only(X)
    if clusterer.function is not None:
        return None, check_clusters(clusterer.function(X, k, seed), X.shape[0], k)
    estimator = clusterer.build(k, seed)
    if clusterer.name == "kmeans":
        # A single initialisation is sufficient for selecting k, but not for the final labels.
        estimator.set_params(n_init=10)
    labels = np.asarray(fit_predict(estimator, X))
    check_clusters(labels, X.shape[0], k)
    return estimator, labels


def read_only(X: Any) -> Any:
    """Return a read-only view of dense X, which protects the caller's data; return sparse X itself."""
    if sparse.issparse(X):
        return X
    view = X.view()
    view.setflags(write=False)
    return view


def shared_rows(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the positions of the shared rows in each subsample."""
    n_rows = int(max(first.max(), second.max())) + 1
    if n_rows > MAX_TABLE_RATIO * len(first):
        _, here, there = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        return here, there
    position = np.full(n_rows, -1, dtype=np.intp)
    position[first] = np.arange(len(first))
    here = position[second]
    there = np.flatnonzero(here >= 0)
    return here[there], there


def nearest_clusters(X: Any, labelings: Iterable[Array], points: Any) -> list[Array]:
    """Assign each point to the cluster of X with the nearest mean, once per labelling (codes from 0)."""
    if not sparse.issparse(X):
        # Centre and rescale robustly, so that large offsets and outliers do not reduce precision.
        middle = np.median(X, axis=0).astype(np.float64)
        size = float(np.abs(X - middle).max()) or 1.0
        X, points = (X - middle) / size, (points - middle) / size
    found = []
    for codes in labelings:
        sums = _cluster_sums(X, codes[:, None])
        means = (sums.toarray() if sparse.issparse(sums) else sums) / np.bincount(codes)[:, None]
        found.append(pairwise_distances_argmin(points, means))
    return found


def _cluster_sums(X: Any, clusters: Array) -> Any:
    """Return the sum of the points in each cluster; ``clusters`` has one column per labelling."""
    starts = np.arange(len(clusters) + 1) * clusters.shape[1]
    return sparse.csc_array((np.ones(clusters.size), clusters.ravel(), starts)) @ X


def adjusted_rand(first: Array, second: Array) -> float:
    """Return the adjusted Rand index of two labellings (codes from 0)."""
    # Use integer counts, so that the result does not depend on the order of the clusters.
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    joint = np.bincount(first.astype(np.intp) * n_second + second, minlength=n_first * n_second)
    cells = joint.reshape(n_first, n_second)
    both, one, other = (int((counts * (counts - 1) // 2).sum()) for counts in (cells, cells.sum(1), cells.sum(0)))
    pairs = len(first) * (len(first) - 1) // 2
    expected, maximum = one * other / pairs if pairs else 0.0, (one + other) / 2
    return 1.0 if maximum == expected else (both - expected) / (maximum - expected)


def agreement(first: Array, second: Array, k: int) -> float:
    """Return the adjusted Rand index of two clusterings of the same rows; NaN if there are too few rows."""
    return adjusted_rand(first, second) if len(first) >= MIN_SHARED_PER_CLUSTER * k else float("nan")


def within_shares(X: Array, labelings: Sequence[Array]) -> list[float]:
    """Return within-cluster shares of the total sum of squares per labelling (codes from 0); NaN if the total is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        # Subtract the first point before the mean, so that identical points have exactly zero spread.
        centred = np.asarray(X, dtype=np.float64) - X[0]
        centred -= centred.mean(axis=0)
        total = float(np.square(centred).sum())
        if not 0.0 < total < np.inf:
            return [float("nan")] * len(labelings)
        shares: list[float] = []
        for at in range(0, len(labelings), LABELINGS_PER_PRODUCT):
            group = labelings[at : at + LABELINGS_PER_PRODUCT]
            firsts = np.cumsum([0, *(int(codes.max()) + 1 for codes in group)])[:-1]
            clusters = np.stack([codes.astype(np.intp) for codes in group], axis=1) + firsts
            squares = np.square(_cluster_sums(centred, clusters)).sum(axis=1) / np.bincount(clusters.ravel())
            shares += (1.0 - np.add.reduceat(squares, firsts) / total).tolist()
    return shares
