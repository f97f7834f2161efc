"""Compiled version of ``kernel_numpy`` (needs the ``fast`` extra): computes distances and both sums in one pass.

With few features, squared distances are computed directly from coordinate differences, four rows at a time, so that
each loaded column value is used for four points. With many features, a matrix product is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._kmeans.points import cached_reordered, reordered
from compsil_kit._method.kernel_numpy import chunks

Array = NDArray[Any]

# With more features, a matrix product is faster than coordinate differences.
MAX_DIRECT_FEATURES = 64
# Columns per pass, so that the buffers for four rows and the coordinates of the columns stay in the L2 cache.
PASS_COLUMNS = 1024
# Padding between the rows of the buffer; rows a power of two apart would evict each other from the cache.
PADDING = 24


def accumulate_direct(columns_of: Array, starts: Array, cell: Array, panel: slice, tick: Callable[[], None]) -> Array:
    """Return sums of distances from the points in ``panel`` to every cell.

    ``columns_of`` has one row per coordinate and one column per point.
    """
    n_points = columns_of.shape[1]
    sums = np.zeros((len(starts), panel.stop - panel.start))
    ends = np.append(starts[1:], n_points)
    for columns in (panel, slice(0, panel.start), slice(panel.stop, n_points)):
        for part in chunks(columns.start, columns.stop, PASS_COLUMNS):
            tick()
            inside = columns is panel
            _pass(columns_of, ends, cell, sums, panel.start, panel.stop, part.start, part.stop, inside)
    return sums


def accumulate_rows(columns_of: Array, starts: Array, cell: Array, rows: Array, tick: Callable[[], None]) -> Array:
    """Return sums of distances from the given points to every cell, computed from coordinate differences.

    ``columns_of`` has one row per coordinate and one column per point.
    """
    n_points = columns_of.shape[1]
    sums = np.zeros((len(starts), len(rows)))
    ends = np.append(starts[1:], n_points)
    for part in chunks(0, n_points, PASS_COLUMNS):
        tick()
        _pass_rows(columns_of, ends, cell, sums, rows, part.start, part.stop)
    return sums


@cached_reordered
def _pass_rows(x, ends, cell, sums, rows, start, stop):
    """Add the distances from the given points to the columns from ``start`` to ``stop`` to the sums of these points."""
    buffer = np.empty((1, PASS_COLUMNS), x.dtype)
    unused = np.zeros(PASS_COLUMNS, np.float64)
    for at in range(rows.shape[0]):
        _one_row(x, ends, cell, sums, rows[at], start, start, stop, buffer, unused, rows[at] - at)


@cached_reordered
def _pass(x, ends, cell, sums, panel_start, panel_stop, start, stop, inside):
    """Add the distances between the points in the panel and the columns from ``start`` to ``stop``.

    Pairs within the panel are computed only once.
    """
    buffer = np.empty((4, PASS_COLUMNS + PADDING), x.dtype)
    by_column = np.zeros(PASS_COLUMNS, np.float64)
    i = panel_start
    limit = stop if inside else panel_stop
    while i < limit:
        own = cell[i]
        until = min(ends[own], limit)
        # All rows of a cell add to the same sum for each column.
        while i < until:
            block_end = min(until, start) if inside and i < start else until
            if block_end - i >= 4:
                low = max(start, i + 4) if inside else start
                if inside and i >= start:
                    _pairs_of_four(x, sums, own, i, panel_start)
                if low < stop:
                    _four_rows(x, ends, cell, sums, i, low, start, stop, buffer, by_column, panel_start)
                i += 4
            else:
                low = max(start, i + 1) if inside else start
                if low < stop:
                    _one_row(x, ends, cell, sums, i, low, start, stop, buffer, by_column, panel_start)
                i += 1
        if inside:
            _flush(sums[own, start - panel_start : stop - panel_start], by_column[: stop - start])


@reordered
def _flush(target, by_column):
    for j in range(by_column.shape[0]):
        target[j] += by_column[j]
        by_column[j] = 0.0


@reordered
def _pairs_of_four(x, sums, own, i, panel_start):
    for p in range(i, i + 4):
        for q in range(p + 1, i + 4):
            squared = x.dtype.type(0)
            for t in range(x.shape[0]):
                step = x[t, p] - x[t, q]
                squared += step * step
            distance = np.sqrt(squared)
            sums[own, p - panel_start] += distance
            sums[own, q - panel_start] += distance


@reordered
def _four_rows(x, ends, cell, sums, i, low, start, stop, buffer, by_column, panel_start):
    width = stop - low
    b0, b1, b2, b3 = buffer[0, :width], buffer[1, :width], buffer[2, :width], buffer[3, :width]
    buffer[:, :width] = 0
    t = 0
    while t + 2 <= x.shape[0]:
        _add_two_coordinates(b0, b1, b2, b3, x[t, i : i + 4], x[t + 1, i : i + 4], x[t, low:stop], x[t + 1, low:stop])
        t += 2
    if t < x.shape[0]:
        _add_one_coordinate(b0, b1, b2, b3, x[t, i : i + 4], x[t, low:stop])
    _four_roots(b0, b1, b2, b3, by_column[low - start : stop - start])
    begin = low
    while begin < stop:
        other = cell[begin]
        end = min(stop, ends[other])
        part, row = slice(begin - low, end - low), i - panel_start
        s0, s1, s2, s3 = _four_sums(b0[part], b1[part], b2[part], b3[part])
        sums[other, row] += s0
        sums[other, row + 1] += s1
        sums[other, row + 2] += s2
        sums[other, row + 3] += s3
        begin = end


@reordered
def _add_two_coordinates(b0, b1, b2, b3, own, own_next, column, column_next):
    p0, p1, p2, p3 = own[0], own[1], own[2], own[3]
    q0, q1, q2, q3 = own_next[0], own_next[1], own_next[2], own_next[3]
    for j in range(b0.shape[0]):
        u, v = column[j], column_next[j]
        b0[j] += (p0 - u) * (p0 - u) + (q0 - v) * (q0 - v)
        b1[j] += (p1 - u) * (p1 - u) + (q1 - v) * (q1 - v)
        b2[j] += (p2 - u) * (p2 - u) + (q2 - v) * (q2 - v)
        b3[j] += (p3 - u) * (p3 - u) + (q3 - v) * (q3 - v)


@reordered
def _add_one_coordinate(b0, b1, b2, b3, own, column):
    p0, p1, p2, p3 = own[0], own[1], own[2], own[3]
    for j in range(b0.shape[0]):
        u = column[j]
        b0[j] += (p0 - u) * (p0 - u)
        b1[j] += (p1 - u) * (p1 - u)
        b2[j] += (p2 - u) * (p2 - u)
        b3[j] += (p3 - u) * (p3 - u)


@reordered
def _four_roots(b0, b1, b2, b3, by_column):
    for j in range(b0.shape[0]):
        r0, r1, r2, r3 = np.sqrt(b0[j]), np.sqrt(b1[j]), np.sqrt(b2[j]), np.sqrt(b3[j])
        b0[j], b1[j], b2[j], b3[j] = r0, r1, r2, r3
        by_column[j] += (r0 + r1) + (r2 + r3)


@reordered
def _four_sums(b0, b1, b2, b3):
    s0 = s1 = s2 = s3 = 0.0
    for j in range(b0.shape[0]):
        s0 += b0[j]
        s1 += b1[j]
        s2 += b2[j]
        s3 += b3[j]
    return s0, s1, s2, s3


@reordered
def _one_row(x, ends, cell, sums, i, low, start, stop, buffer, by_column, panel_start):
    row = buffer[0, : stop - low]
    row[:] = 0
    for t in range(x.shape[0]):
        _add_squares(row, x[t, i], x[t, low:stop])
    _root_and_add(row, by_column[low - start : stop - start])
    begin = low
    while begin < stop:
        other = cell[begin]
        end = min(stop, ends[other])
        sums[other, i - panel_start] += _sum(row[begin - low : end - low])
        begin = end


@reordered
def _add_squares(row, own, column):
    for j in range(row.shape[0]):
        row[j] += (own - column[j]) * (own - column[j])


@reordered
def _root_and_add(row, by_column):
    for j in range(row.shape[0]):
        root = np.sqrt(row[j])
        row[j] = root
        by_column[j] += root


@reordered
def _sum(row):
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j]
    return total


@cached_reordered
def add_squared(block, column_edges, row_edges, by_row, by_column, both):
    """Add the square roots of a tile to the sums for its rows and, if ``both`` is set, for its columns."""
    columns = np.zeros(block.shape[1], np.float64)
    for c in range(row_edges.shape[0] - 1):
        for i in range(row_edges[c], row_edges[c + 1]):
            row = block[i]
            _root_and_add(row, columns)
            for other in range(column_edges.shape[0] - 1):
                by_row[other, i] += _sum(row[column_edges[other] : column_edges[other + 1]])
        if both:
            _flush(by_column[c], columns)
