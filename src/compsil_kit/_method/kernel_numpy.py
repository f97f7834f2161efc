"""Sums of distances from every point to every cell (for a_i and b_i in method step 2), in plain NumPy.

Points are sorted by cell, so that each cell is a range of columns. The distance matrix is computed tile by tile and
never stored. An off-diagonal tile is used twice: summed by row and, because distances are symmetric, by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[Any]
Tile = Callable[[slice, slice], Array]
# add(block, column edges, row edges, row sums, column sums, whether to update the column sums)
Add = Callable[[Array, Array, Array, Array, Array, bool], None]

# 200 x 500 float64 values take 0.8 MB, so a tile stays in the L2 cache during all passes over it. If the sizes were
# powers of two, rows would be multiples of 4 KiB apart and evict each other, and the product would take twice as long.
TILE_ROWS = 200
TILE_COLUMNS = 500


def chunks(start: int, stop: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` elements that cover the range from ``start`` to ``stop``."""
    for low in range(start, stop, size):
        yield slice(low, min(low + size, stop))


def cells_of(starts: Array, part: slice) -> tuple[slice, Array]:
    """Return the cells that a slice of the sorted points overlaps, and where each cell begins within the slice."""
    first = int(np.searchsorted(starts, part.start, side="right")) - 1
    last = int(np.searchsorted(starts, part.stop, side="left"))
    edges = np.append(np.maximum(starts[first:last], part.start), part.stop) - part.start
    return slice(first, last), edges


def accumulate(tile: Tile, add: Add, starts: Array, panel: slice, n_points: int, tick: Callable[[], None]) -> Array:
    """Return sums of distances from the points in ``panel`` to every cell, as an array of shape (n_cells, panel size).

    ``starts`` contains the index of the first point of each cell. Pairs within the panel are computed only once.
    """
    sums = np.zeros((len(starts), panel.stop - panel.start))

    def add_tile(rows: slice, columns: slice, *, both: bool) -> None:
        block = tile(rows, columns)
        if rows == columns:
            np.fill_diagonal(block, 0.0)
        row_cells, row_edges = cells_of(starts, rows)
        column_cells, column_edges = cells_of(starts, columns)
        by_row = sums[column_cells, rows.start - panel.start : rows.stop - panel.start]
        by_column = sums[row_cells, columns.start - panel.start : columns.stop - panel.start] if both else by_row
        add(block, column_edges, row_edges, by_row, by_column, both)

    for rows in chunks(panel.start, panel.stop, TILE_ROWS):
        tick()
        add_tile(rows, rows, both=False)
        for columns in chunks(rows.stop, panel.stop, TILE_COLUMNS):
            add_tile(rows, columns, both=True)
        for outside in (slice(0, panel.start), slice(panel.stop, n_points)):
            for columns in chunks(outside.start, outside.stop, TILE_COLUMNS):
                add_tile(rows, columns, both=False)
    return sums


def add_distances(
    block: Array, column_edges: Array, row_edges: Array, by_row: Array, by_column: Array, both: bool
) -> None:
    """Add a tile of distances to the sums for its rows and, if ``both`` is set, for its columns."""
    by_row += np.add.reduceat(block, column_edges[:-1], axis=1, dtype=np.float64).T
    if both:
        # Loop over the few cells that overlap the rows; reduceat along this axis would be far slower.
        for out, low, high in zip(by_column, row_edges[:-1], row_edges[1:], strict=True):
            out += block[low:high].sum(axis=0, dtype=np.float64)


def accumulate_rows(points: Array, starts: Array, rows: Array, tick: Callable[[], None]) -> Array:
    """Return the sums of distances from the given points to every cell, computed from coordinate differences."""
    sums = np.zeros((len(starts), len(rows)))
    for part in chunks(0, len(rows), TILE_ROWS):
        tick()
        for columns in chunks(0, len(points), TILE_COLUMNS):
            cells, edges = cells_of(starts, columns)
            by_row = sums[cells, part]
            add_distances(cdist(points[rows[part]], points[columns]), edges, edges, by_row, by_row, False)
    return sums


def squared_tile(points: Array) -> Tile:
    """Return a function that computes the squared Euclidean distances in a tile with one matrix product.

    ``|x - y|^2 = |x|^2 - 2 x.y + |y|^2`` loses precision if two points are much farther from the origin than from each
    other. A point in the tile therefore becomes the origin, because sorting places neighbours together. The
    few pairs that are still too close are recomputed from their differences; this includes pairs with a result of 0.
    """
    n_features = points.shape[1]

    def tile(rows: slice, columns: slice) -> Array:
        origin = points[(rows.start + rows.stop) // 2]
        left = np.empty((rows.stop - rows.start, n_features + 2), points.dtype)
        right = np.empty((columns.stop - columns.start, n_features + 2), points.dtype)
        near = np.subtract(points[rows], origin, out=left[:, :n_features])
        far = np.subtract(points[columns], origin, out=right[:, :n_features])
        left[:, n_features] = np.einsum("ij,ij->i", near, near)
        right[:, n_features + 1] = np.einsum("ij,ij->i", far, far)
        left[:, n_features + 1] = right[:, n_features] = 1.0
        too_close = left[:, n_features].max() * np.finfo(points.dtype).eps ** 0.4
        near *= -2.0
        # Rounding can turn an exact 0 into a small negative value; np.abs is twice as fast as clipping.
        product: Array = left @ right.T
        np.abs(product, out=product)
        flat = product.reshape(-1)
        pairs = np.flatnonzero(flat < too_close)
        i, j = np.divmod(pairs, len(right))
        step = points[rows][i] - points[columns][j]
        flat[pairs] = np.einsum("ij,ij->i", step, step)
        return product

    return tile


def distance_tile(points: Array) -> Tile:
    """Return a function that computes the Euclidean distances in a tile."""
    squared = squared_tile(points)

    def tile(rows: slice, columns: slice) -> Array:
        block = squared(rows, columns)
        return np.sqrt(block, out=block)

    return tile
