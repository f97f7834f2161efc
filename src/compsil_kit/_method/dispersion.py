"""How much of the spread of the points is left within clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


# Labelings that share one product; each takes 16 bytes per point while it lasts.
TOGETHER = 16


def within_shares(X: Array, labelings: Sequence[Array]) -> list[float]:
    """Return, per labeling by codes, the share of the sum of squares that is within clusters; NaN without any spread.

    The share between clusters follows from the sums of their points, so a few labelings take one pass over X.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # From the first point on: points that are all the same then have no spread at all, whatever a mean rounds to.
        centred = np.asarray(X, dtype=np.float64) - X[0]
        centred -= centred.mean(axis=0)
        total = float(np.square(centred).sum())
        if not 0.0 < total < np.inf:
            return [float("nan")] * len(labelings)
        groups = [labelings[at : at + TOGETHER] for at in range(0, len(labelings), TOGETHER)]
        return [1.0 - between / total for group in groups for between in _between(centred, group)]


def _between(centred: Array, labelings: Sequence[Array]) -> list[float]:
    """Return, per labeling, the sum of squares between clusters."""
    firsts = np.cumsum([0, *(int(codes.max()) + 1 for codes in labelings)])
    clusters = np.stack([codes.astype(np.intp) for codes in labelings], axis=1)
    clusters += firsts[:-1]
    places = np.arange(len(centred) + 1) * len(labelings)
    shape = (firsts[-1], len(centred))
    members = sparse.csc_array((np.ones(clusters.size), clusters.ravel(), places), shape=shape)
    shares = np.square(members @ centred).sum(axis=1) / np.bincount(clusters.ravel())
    return list(np.add.reduceat(shares, firsts[:-1]).tolist())
