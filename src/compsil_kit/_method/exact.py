"""Silhouettes from sums of distances (method step 2), and anew from exact sums where the quick ones lose digits.

The quick sums move the points to their mean and may use a matrix product. Both lose digits for points that are close
to each other compared with the extent of the data: one fill value of 1e36 in one cell, and all other points seem to
coincide. How much is lost is known afterwards, point by point, from the distances that made its silhouette. Points in
doubt are computed again from plain differences of the values as they were given. Ordinary data have none of them, so
they cost nothing and keep every bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# From a power of two and rows to (position of a labeling, rows, sums of distances to its clusters).
Measure = Callable[[int, Array], Iterator[tuple[int, Array, Array]]]

# The error of a silhouette that the quick way may have. Single precision has 1e-7 at best.
_TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
# Squares of floats are in range for half of the exponents only. Each power of two brings distances of other sizes
# there; together they cover all finite values. Distances out of range become 0 or infinite, which is harmless unless
# they are those that make the silhouette, and then another power is the right one.
_POWERS = (0, 800, -800)
_IN_RANGE = 2.0**450


def from_sums(sums: Array, codes: Array, sizes: Array) -> tuple[Array, Array]:
    """Turn sums of distances (clusters by points) into silhouettes; also return the larger of a and b of each point.

    The latter is infinite for a point alone in its cluster, whose silhouette no distance can change.
    """
    here = np.arange(sums.shape[1])
    own_size = sizes[codes]
    within = sums[codes, here] / np.maximum(own_size - 1, 1)
    others = sums / sizes[:, None]
    others[codes, here] = np.inf
    nearest = others.min(axis=0)
    larger = np.maximum(within, nearest)
    # A point alone in its cluster, and 0/0, count as 0 (as in scikit-learn).
    values = np.zeros(sums.shape[1])
    together = own_size > 1
    np.divide(nearest - within, larger, out=values, where=together & (larger > 0))
    larger[~together] = np.inf
    return values, larger


def doubt_limit(points: Array, *, product: bool) -> float:
    """Return the size of a and b below which a silhouette may be off by more than the tolerance.

    Moving the points rounds them by eps times their distance from the mean, at most the radius: relative to a distance
    the error is ``eps * radius / distance``. In a product the squares are rounded: ``eps * (radius / distance)^2``.
    """
    radius = float(np.sqrt(np.einsum("ij,ij->i", points, points).max(initial=0.0)))
    ratio = float(np.finfo(points.dtype).eps) / _TOLERANCE[points.dtype.name]
    return radius * (ratio**0.5 if product else ratio)


def settle(values: Array, doubtful: Array, labelings: Sequence[Array], measure: Measure, *, squared: bool) -> None:
    """Replace the values in doubt (labelings by points) by those from exact sums."""
    for power in _POWERS:
        rows = np.flatnonzero(doubtful.any(axis=0))
        if not rows.size:
            return
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for position, who, sums in measure(power, rows):
                codes = labelings[position]
                found, larger = from_sums(sums, codes[who], np.bincount(codes))
                sure = doubtful[position, who] & _trusted(np.sqrt(larger) if squared else larger, power)
                values[position, who[sure]] = found[sure]
                doubtful[position, who[sure]] = False


def _trusted(larger: Array, power: int) -> Array:
    """Tell which points have their decisive distances in range; at the largest power, what is still 0 is 0."""
    if power < 0:
        return np.ones(len(larger), dtype=bool)
    enough: Array = (larger <= _IN_RANGE) & (larger >= (0.0 if power else 1 / _IN_RANGE))
    return enough
