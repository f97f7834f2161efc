"""How much of the spread of the points is left within clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


def within_shares(X: Array, labelings: Iterable[Array]) -> list[float]:
    """Return, per labeling by codes, the share of the sum of squares that is within clusters; NaN without any spread.

    The share between clusters follows from the sums of their points, so each labeling takes one pass over X.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # From the first point on: points that are all the same then have no spread at all, whatever a mean rounds to.
        centred = np.asarray(X, dtype=np.float64) - X[0]
        centred -= centred.mean(axis=0)
        total = float(np.square(centred).sum())
        return [1.0 - _between(centred, codes) / total if 0.0 < total < np.inf else np.nan for codes in labelings]


def _between(centred: Array, codes: Array) -> float:
    sizes = np.bincount(codes)
    places = np.arange(len(codes) + 1)
    members = sparse.csc_array((np.ones(len(codes)), codes, places), shape=(len(sizes), len(codes)))
    return float((np.square(members @ centred).sum(axis=1) / sizes).sum())
