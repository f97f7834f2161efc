"""Measure clusterings: agreement with another one (adjusted Rand index), and the within-cluster sum of squares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

Array = NDArray[Any]

# With fewer shared rows per cluster the index is mostly noise.
MIN_SHARED_PER_CLUSTER = 3
# A lookup table of all rows beats sorting unless it is this many times larger than a subsample.
MAX_TABLE_RATIO = 100
# Labelings per matrix product; each needs 16 bytes per point.
LABELINGS_PER_PRODUCT = 16


def shared_rows(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the positions of the shared rows in each of two subsamples."""
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
    """Assign each point to the cluster of X with the nearest mean, once per labeling (codes from 0)."""
    if not sparse.issparse(X):
        # Centre and rescale robustly: values far from zero, and those beside a single outlier, keep their precision.
        middle = np.median(X, axis=0).astype(np.float64)
        size = float(np.abs(X - middle).max()) or 1.0
        X, points = (X - middle) / size, (points - middle) / size
    return [pairwise_distances_argmin(points, _means(X, codes)) for codes in labelings]


def _means(X: Any, codes: Array) -> Array:
    sums = _cluster_sums(X, codes[:, None])
    means: Array = (sums.toarray() if sparse.issparse(sums) else sums) / np.bincount(codes)[:, None]
    return means


def _cluster_sums(X: Any, clusters: Array) -> Any:
    """Return the sum of the points of each cluster; each point belongs to one cluster per column of ``clusters``."""
    starts = np.arange(len(clusters) + 1) * clusters.shape[1]
    return sparse.csc_array((np.ones(clusters.size), clusters.ravel(), starts)) @ X


def adjusted_rand(first: Array, second: Array) -> float:
    """Return the adjusted Rand index of two labelings (codes from 0).

    Counts stay integers, so that the result is independent of the order of the clusters to the last bit.
    """
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
    """Return the within-cluster share of the total sum of squares per labeling (codes from 0); NaN without spread."""
    with np.errstate(over="ignore", invalid="ignore"):
        # Subtract the first point before the mean: identical points then have exactly zero spread.
        centred = np.asarray(X, dtype=np.float64) - X[0]
        centred -= centred.mean(axis=0)
        total = float(np.square(centred).sum())
        if not 0.0 < total < np.inf:
            return [float("nan")] * len(labelings)
        groups = [labelings[at : at + LABELINGS_PER_PRODUCT] for at in range(0, len(labelings), LABELINGS_PER_PRODUCT)]
        return [1.0 - between / total for group in groups for between in _between(centred, group)]


def _between(centred: Array, labelings: Sequence[Array]) -> list[float]:
    """Return the between-cluster sum of squares per labeling; all labelings share one pass over the points."""
    firsts = np.cumsum([0, *(int(codes.max()) + 1 for codes in labelings)])[:-1]
    clusters = np.stack([codes.astype(np.intp) for codes in labelings], axis=1) + firsts
    squares = np.square(_cluster_sums(centred, clusters)).sum(axis=1) / np.bincount(clusters.ravel())
    return list(np.add.reduceat(squares, firsts).tolist())
