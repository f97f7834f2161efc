"""How well two clusterings agree on the rows that they share, or on others: the adjusted Rand index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

Array = NDArray[Any]

# On fewer shared rows per cluster the index is mostly noise.
FEWEST_SHARED_PER_CLUSTER = 3
# A table of all rows finds shared ones faster than sorting, unless the subsamples are a very small part of the rows.
MOST_PER_ROW = 100


def shared_rows(first: Array, second: Array) -> tuple[Array, Array]:
    """Return where the rows stand that two subsamples share: their places in the one and in the other."""
    n_rows = int(max(first.max(), second.max())) + 1
    if n_rows > MOST_PER_ROW * len(first):
        _, here, there = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        return here, there
    place = np.full(n_rows, -1, dtype=np.intp)
    place[first] = np.arange(len(first))
    here = place[second]
    there = np.flatnonzero(here >= 0)
    return here[there], there


def nearest_clusters(X: Any, labelings: Iterable[Array], points: Any) -> list[Array]:
    """Return, per labeling of X by codes, the cluster of each point: that whose mean is nearest."""
    if not sparse.issparse(X):
        # From the middle on, and by their size: so values far from zero, very large or very small keep their digits,
        # and so do all others beside a single far one.
        middle = np.median(X, axis=0).astype(np.float64)
        size = float(np.abs(X - middle).max()) or 1.0
        X, points = (X - middle) / size, (points - middle) / size
    return [pairwise_distances_argmin(points, _means(X, codes)) for codes in labelings]


def _means(X: Any, codes: Array) -> Array:
    places = np.arange(len(codes) + 1)
    members = sparse.csc_array((np.ones(len(codes)), codes, places))
    sums = members @ X
    means: Array = (sums.toarray() if sparse.issparse(sums) else sums) / np.bincount(codes)[:, None]
    return means


def adjusted_rand(first: Array, second: Array) -> float:
    """Return the adjusted Rand index of two labelings by codes from 0 on: 1 for equal clusters, 0 as by chance."""
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    cells = np.bincount(first.astype(np.intp) * n_second + second, minlength=n_first * n_second).reshape(
        n_first, n_second
    )
    # Pairs of rows that are together in both, in the one, in the other; whole numbers, so that no digit depends on the
    # order of the clusters.
    both, one, other = (int((counts * (counts - 1) // 2).sum()) for counts in (cells, cells.sum(1), cells.sum(0)))
    pairs = len(first) * (len(first) - 1) // 2
    expected, most = one * other / pairs if pairs else 0.0, (one + other) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def agreement(first: Array, second: Array, k: int) -> float:
    """Return the adjusted Rand index of two clusterings of the same rows; NaN where these are too few to tell."""
    return adjusted_rand(first, second) if len(first) >= FEWEST_SHARED_PER_CLUSTER * k else float("nan")
