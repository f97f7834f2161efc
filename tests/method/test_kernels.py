"""Sums of distances in plain NumPy and compiled code, compared with the full distance matrix."""

import importlib.util

import numba
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from compsil_kit._method import kernel_numba as compiled
from compsil_kit._method import kernel_numpy as plain

RNG = np.random.default_rng(0)


def no_tick():
    pass


def cells(n_points, starts):
    return np.searchsorted(starts, np.arange(n_points), side="right") - 1


def expected(points, starts, panel):
    return np.add.reduceat(cdist(points, points), starts, axis=1).T[:, panel]


def test_chunks_cover_the_range_once():
    assert list(plain.chunks(0, 7, 3)) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert list(plain.chunks(4, 4, 3)) == []
    assert list(plain.chunks(2, 5, 3)) == [slice(2, 5)]


@pytest.mark.parametrize(
    ("part", "cells", "edges"),
    [
        (slice(0, 10), slice(0, 3), [0, 4, 6, 10]),
        (slice(0, 4), slice(0, 1), [0, 4]),
        (slice(4, 6), slice(1, 2), [0, 2]),
        (slice(3, 7), slice(0, 3), [0, 1, 3, 4]),
        (slice(7, 9), slice(2, 3), [0, 2]),
    ],
)
def test_cells_of_returns_the_overlapping_cells_and_their_edges(part, cells, edges):
    found, where = plain.cells_of(np.array([0, 4, 6]), part)
    assert found == cells
    assert where.tolist() == edges


@pytest.mark.parametrize("add", [plain.add_distances, compiled.add_squared])
@pytest.mark.parametrize("panel", [slice(0, 700), slice(0, 250), slice(250, 700), slice(699, 700)])
def test_tiled_sums_equal_the_full_matrix(add, panel):
    points, starts = RNG.normal(size=(700, 4)), np.array([0, 3, 150, 151, 640])
    tile = (plain.distance_tile if add is plain.add_distances else plain.squared_tile)(points)
    found = plain.accumulate(tile, add, starts, panel, 700, no_tick)
    np.testing.assert_allclose(found, expected(points, starts, panel), rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("n_features", [1, 2, 3, 8])
@pytest.mark.parametrize("panel", [slice(0, 1300), slice(0, 5), slice(3, 1100), slice(1024, 1300)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_direct_sums_equal_the_full_matrix(n_features, panel, dtype, tolerance):
    points = RNG.normal(size=(1300, n_features)).astype(dtype)
    # Cells with one to five points, and cells that span two passes.
    starts = np.array([0, 1, 3, 6, 10, 15, 900, 1023, 1025])
    found = compiled.accumulate_direct(points.T.copy(), starts, cells(1300, starts), panel, no_tick)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected(points, starts, panel), rtol=tolerance / 10, atol=tolerance)


@pytest.fixture
def interpreted(monkeypatch):
    """The kernel as plain Python with short passes, so that an index outside an array raises an error."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    module = importlib.util.module_from_spec(compiled.__spec__)
    compiled.__spec__.loader.exec_module(module)
    monkeypatch.setattr(module, "PASS_COLUMNS", 8)
    return module


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("panel", [slice(0, 45), slice(0, 5), slice(3, 38), slice(16, 45)])
def test_no_index_is_outside_its_array(interpreted, n_features, panel):
    """The last pass is shorter than the others; compiled code could read beyond it and still give correct sums."""
    points, starts = RNG.normal(size=(45, n_features)), np.array([0, 1, 3, 6, 10, 15, 23, 25])
    columns_of, cell, rows = points.T.copy(), cells(45, starts), np.arange(panel.start, panel.stop)
    for found in (
        interpreted.accumulate_direct(columns_of, starts, cell, panel, no_tick),
        interpreted.accumulate_rows(columns_of, starts, cell, rows, no_tick),
        plain.accumulate_rows(points, starts, rows, no_tick),
        plain.accumulate(plain.squared_tile(points), interpreted.add_squared, starts, panel, 45, no_tick),
    ):
        np.testing.assert_allclose(found, expected(points, starts, panel), rtol=1e-7, atol=1e-7)


def test_tick_is_called_once_per_tile_row_and_per_pass():
    points, starts, ticks = RNG.normal(size=(compiled.PASS_COLUMNS + 1, 2)), np.array([0]), []
    cell, panel = cells(len(points), starts), slice(0, len(points))
    compiled.accumulate_direct(points.T.copy(), starts, cell, panel, lambda: ticks.append("pass"))
    tile = plain.distance_tile(points)
    plain.accumulate(tile, plain.add_distances, starts, panel, len(points), lambda: ticks.append("tiles"))
    assert (ticks.count("pass"), ticks.count("tiles")) == (2, -(-len(points) // plain.TILE_ROWS))


def test_squared_distances_are_accurate_far_from_the_origin():
    points = 1e7 + RNG.normal(size=(50, 3))
    found = plain.squared_tile(points)(slice(0, 50), slice(0, 50))
    np.testing.assert_allclose(found, cdist(points, points) ** 2, rtol=1e-9, atol=1e-12)


def test_nearly_identical_pairs_have_accurate_distances():
    points = RNG.normal(size=(40, 3))
    points[20:] = points[:20] + 1e-7
    found = plain.distance_tile(points)(slice(0, 20), slice(20, 40))
    np.testing.assert_allclose(np.diagonal(found), cdist(points[:20], points[20:]).diagonal(), rtol=1e-6)
