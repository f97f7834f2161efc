"""The arrays that k-means works on: the points, laid out twice, and what is known of each while centres move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Points in a block: its coordinates and the running minima stay in the first-level cache.
WIDTH = 128
# Half the distance between 1 and the next number.
UNIT = 2.0**-53

_options: Any = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
# Nothing takes these loops as values, so that a wrapper for C would be compiled in vain.
_inner: Any = {**_options, "no_cfunc_wrapper": True}
_FUSED, _REORDERED = {"contract", "nsz"}, {"reassoc", "contract", "nsz"}
# Fused products round once instead of twice: the bounds hold for both.
fused = numba.njit(**_inner, fastmath=_FUSED)
# Written into the loop that uses it: a function of its own is optimised anew in all that call it, and their callers.
inlined = numba.njit(**_inner, fastmath=_FUSED, inline="always")
# Sums in any order, where a bound on their rounding is at hand.
reordered = numba.njit(**_inner, fastmath=_REORDERED)
# Sums that must be scikit-learn's to the last bit.
strict = numba.njit(**_inner)
# What Python calls. Only this is kept in the cache: machine code of its own for every part takes as long again.
kept_fused = numba.njit(**_options, cache=True, fastmath=_FUSED)
kept_reordered = numba.njit(**_options, cache=True, fastmath=_REORDERED)
kept_strict = numba.njit(**_options, cache=True)


class Points(NamedTuple):
    """The points, moved to their mean."""

    # In the type of the data, as scikit-learn adds them up.
    data: Array
    # In double precision, by rows, and in blocks whose coordinates stand in rows.
    rows: Array
    blocks: Array
    # Squared lengths, and lengths rounded up.
    squares: Array
    lengths: Array


class Known(NamedTuple):
    """What is known of each point, and room to work in."""

    # The nearest centre and the second nearest.
    label: Array
    other: Array
    # Bounds on distances: at most, to the nearest centre; at least, to the second; at least, to all others.
    upper: Array
    near: Array
    rest: Array
    # Lists of points: to be compared, that move, and where to, that are too close to call; and outcomes.
    todo: Array
    moved: Array
    to: Array
    unsure: Array
    outcome: Array
    # Room for values of listed points.
    values: Array


def lay_out(data: Array) -> Points:
    """Return the centred points in both layouts."""
    n_points, n_features = data.shape
    n_blocks = -(-n_points // WIDTH)
    blocks = np.zeros((n_blocks, n_features, WIDTH))
    rows = data if data.dtype == np.float64 else data.astype(np.float64)
    squares, lengths = np.empty(n_points), np.empty(n_points)
    _fill(rows, blocks, squares, lengths)
    return Points(data, rows, blocks, squares, lengths)


@kept_fused
def _fill(rows, blocks, squares, lengths):
    for i in range(rows.shape[0]):
        block, p = i // WIDTH, i % WIDTH
        total = 0.0
        for t in range(rows.shape[1]):
            x = rows[i, t]
            blocks[block, t, p] = x
            total += x * x
        squares[i] = total
        lengths[i] = np.sqrt(total) * (1.0 + 1e-12)


def make_room(n_points: int) -> Known:
    """Return empty arrays for so many points."""
    label, other, todo, moved, to, unsure, outcome = np.zeros((7, n_points), np.int64)
    upper, near, rest = np.zeros((3, n_points))
    return Known(label, other, upper, near, rest, todo, moved, to, unsure, outcome, np.empty((4, n_points)))
