"""Memory layouts of the points for the compiled loops, and comparisons with centres.

Squared distances are compared as ``|c|² - 2 x·c``, without ``|x|²``, because this term is the same for all centres.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Points per block; their coordinates and running minima fit into the L1 cache.
BLOCK = 128
# Half the distance from 1 to the next float64.
UNIT_ROUNDOFF = 2.0**-53

_options: Any = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
# For functions called only from compiled code, which need no compiled wrapper for C callers.
_inner: Any = {**_options, "no_cfunc_wrapper": True}
_FUSED, _REORDERED = {"contract", "nsz"}, {"reassoc", "contract", "nsz"}
# Fused multiply-adds round once instead of twice; the error bounds hold in both cases.
fused = numba.njit(**_inner, fastmath=_FUSED)
# Inlined by Numba, because a separate function would be optimised again in each of its direct and indirect callers.
inlined = numba.njit(**_inner, fastmath=_FUSED, inline="always")
# Allows any order of summation, so that sums vectorise. The order is the same in every run, and NaN and infinity are
# handled correctly.
reordered = numba.njit(**_inner, fastmath=_REORDERED)
# For sums that must be bit-for-bit identical to scikit-learn's.
strict = numba.njit(**_inner)
# For functions called from Python. Only these are cached, because caching the inner functions would double the time.
cached_fused = numba.njit(**_options, cache=True, fastmath=_FUSED)
cached_reordered = numba.njit(**_options, cache=True, fastmath=_REORDERED)
cached_strict = numba.njit(**_options, cache=True)


class Points(NamedTuple):
    """The centred points in several layouts."""

    # In the dtype of the data, for the same sums as in scikit-learn.
    data: Array
    # In double precision: ``rows`` has one point per row, ``blocks`` has one coordinate per row.
    rows: Array
    blocks: Array
    # Squared lengths of the points, and their lengths rounded up.
    squares: Array
    lengths: Array


class Bounds(NamedTuple):
    """The nearest centres of each point, bounds on the distances, and scratch arrays."""

    # The nearest and second-nearest centre.
    label: Array
    second: Array
    # Upper bound on the distance to the nearest centre; lower bounds on the distances to the second-nearest centre and
    # to all other centres.
    upper: Array
    lower: Array
    others: Array
    # Lists of points to compare, points that move, new labels of these points, ambiguous points, and outcomes.
    pending: Array
    moved: Array
    target: Array
    ambiguous: Array
    outcome: Array
    # Scratch space for the points in the lists above.
    scratch: Array


def lay_out(data: Array) -> Points:
    """Return centred points in all layouts."""
    n_points, n_features = data.shape
    n_blocks = -(-n_points // BLOCK)
    blocks = np.zeros((n_blocks, n_features, BLOCK))
    rows = data.astype(np.float64, copy=False)
    squares, lengths = np.empty(n_points), np.empty(n_points)
    _fill(rows, blocks, squares, lengths)
    return Points(data, rows, blocks, squares, lengths)


@cached_fused
def _fill(rows, blocks, squares, lengths):
    for i in range(rows.shape[0]):
        block, p = i // BLOCK, i % BLOCK
        total = 0.0
        for t in range(rows.shape[1]):
            x = rows[i, t]
            blocks[block, t, p] = x
            total += x * x
        squares[i] = total
        lengths[i] = np.sqrt(total) * (1.0 + 1e-12)


def empty_bounds(n_points: int) -> Bounds:
    """Return new arrays for ``n_points`` points."""
    label, second, pending, moved, target, ambiguous, outcome = np.zeros((7, n_points), np.int64)
    upper, lower, others = np.zeros((3, n_points))
    scratch = np.empty((4, n_points))
    return Bounds(label, second, upper, lower, others, pending, moved, target, ambiguous, outcome, scratch)


@fused
def prepare_centers(centers):
    """Return -2 c and |c|² for all centres, and the largest length of a centre."""
    rows, norms, largest = np.empty(centers.shape), np.empty(centers.shape[0]), 0.0
    for j in range(centers.shape[0]):
        total = 0.0
        for t in range(centers.shape[1]):
            c = centers[j, t]
            rows[j, t] = -2.0 * c
            total += c * c
        norms[j] = total
        largest = max(largest, total)
    return rows, norms, np.sqrt(largest)


@reordered
def dot(a, b):
    """Return the dot product of two rows."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@fused
def compare_block(block, rows, norms, first, n_rows, out):
    """Write |c|² - 2 x·c for the points of a block and up to four centres, starting with centre ``first``.

    Four centres and four coordinates are processed together, so that each loaded number is used in four products.
    """
    r1, r2, r3 = first + min(1, n_rows - 1), first + min(2, n_rows - 1), first + min(3, n_rows - 1)
    b0, b1, b2, b3 = out[0], out[1], out[2], out[3]
    for p in range(BLOCK):
        b0[p], b1[p], b2[p], b3[p] = norms[first], norms[r1], norms[r2], norms[r3]
    t, d = 0, block.shape[0]
    while t + 4 <= d:
        x0, x1, x2, x3 = block[t], block[t + 1], block[t + 2], block[t + 3]
        c0, c1 = rows[first, t : t + 4], rows[r1, t : t + 4]
        if n_rows > 2:
            _four_by_four(b0, b1, b2, b3, c0, c1, rows[r2, t : t + 4], rows[r3, t : t + 4], x0, x1, x2, x3)
        else:
            _two_by_four(b0, b1, c0, c1, x0, x1, x2, x3)
        t += 4
    if t + 2 <= d:
        c0, c1, c2, c3 = rows[first, t : t + 2], rows[r1, t : t + 2], rows[r2, t : t + 2], rows[r3, t : t + 2]
        _four_by_two(b0, b1, b2, b3, c0, c1, c2, c3, block[t], block[t + 1])
        t += 2
    if t < d:
        _four_by_one(b0, b1, b2, b3, rows[first, t], rows[r1, t], rows[r2, t], rows[r3, t], block[t])


@inlined
def _four_by_four(b0, b1, b2, b3, c0, c1, c2, c3, x0, x1, x2, x3):
    c00, c01, c02, c03 = c0[0], c0[1], c0[2], c0[3]
    c10, c11, c12, c13 = c1[0], c1[1], c1[2], c1[3]
    c20, c21, c22, c23 = c2[0], c2[1], c2[2], c2[3]
    c30, c31, c32, c33 = c3[0], c3[1], c3[2], c3[3]
    for p in range(BLOCK):
        u, v, w, z = x0[p], x1[p], x2[p], x3[p]
        b0[p] += c00 * u + c01 * v + c02 * w + c03 * z
        b1[p] += c10 * u + c11 * v + c12 * w + c13 * z
        b2[p] += c20 * u + c21 * v + c22 * w + c23 * z
        b3[p] += c30 * u + c31 * v + c32 * w + c33 * z


@inlined
def _two_by_four(b0, b1, c0, c1, x0, x1, x2, x3):
    c00, c01, c02, c03 = c0[0], c0[1], c0[2], c0[3]
    c10, c11, c12, c13 = c1[0], c1[1], c1[2], c1[3]
    for p in range(BLOCK):
        u, v, w, z = x0[p], x1[p], x2[p], x3[p]
        b0[p] += c00 * u + c01 * v + c02 * w + c03 * z
        b1[p] += c10 * u + c11 * v + c12 * w + c13 * z


@inlined
def _four_by_two(b0, b1, b2, b3, c0, c1, c2, c3, x0, x1):
    c00, c01, c10, c11 = c0[0], c0[1], c1[0], c1[1]
    c20, c21, c30, c31 = c2[0], c2[1], c3[0], c3[1]
    for p in range(BLOCK):
        u, v = x0[p], x1[p]
        b0[p] += c00 * u + c01 * v
        b1[p] += c10 * u + c11 * v
        b2[p] += c20 * u + c21 * v
        b3[p] += c30 * u + c31 * v


@inlined
def _four_by_one(b0, b1, b2, b3, c0, c1, c2, c3, x):
    for p in range(BLOCK):
        u = x[p]
        b0[p] += c0 * u
        b1[p] += c1 * u
        b2[p] += c2 * u
        b3[p] += c3 * u


@fused
def keep_three(values, j, best, second, third, label, second_label):
    """Keep the three smallest values for each point of a block, and the centres for the two smallest."""
    for p in range(BLOCK):
        v, b, s = values[p], best[p], second[p]
        is_first, is_second = v < b, v < s
        third[p] = s if is_second else min(third[p], v)
        second[p] = b if is_first else (v if is_second else s)
        second_label[p] = label[p] if is_first else (j if is_second else second_label[p])
        best[p] = v if is_first else b
        label[p] = j if is_first else label[p]


@fused
def compare_point(x, rows, norms):
    """Return the two nearest centres of a point, and |c|² - 2 x·c for the three nearest."""
    first, second, third = np.inf, np.inf, np.inf
    label, second_label = 0, 0
    for j in range(norms.shape[0]):
        value = norms[j] + dot(rows[j], x)
        if value < first:
            third, second, first = second, first, value
            second_label, label = label, j
        elif value < second:
            third, second, second_label = second, value, j
        elif value < third:
            third = value
    return label, second_label, first, second, third
