"""The compiled sums are those of the plain kernel, for every way, width and type."""

import importlib.util

import numba
import numpy as np
import pytest

from compsil_kit._method import kernel_numba as compiled
from compsil_kit._method import kernel_numpy as plain

RNG = np.random.default_rng(0)


def no_tick():
    pass


def cells(n_points, starts):
    return np.searchsorted(starts, np.arange(n_points), side="right") - 1


def expected(points, starts, panel):
    tile = plain.distance_tile(points)
    return plain.accumulate(tile, plain.add_distances, starts, panel, len(points), no_tick)


@pytest.mark.parametrize("n_features", [1, 2, 3, 8])
@pytest.mark.parametrize("panel", [slice(0, 1300), slice(0, 5), slice(3, 1100), slice(1024, 1300)])
def test_direct_sums(n_features, panel):
    points = RNG.normal(size=(1300, n_features))
    # Cells of one, two, three, four and five points, and cells across the edge of a walk.
    starts = np.array([0, 1, 3, 6, 10, 15, 900, 1023, 1025])
    found = compiled.accumulate_direct(points.T.copy(), starts, cells(1300, starts), panel, no_tick)
    np.testing.assert_allclose(found, expected(points, starts, panel), rtol=1e-11, atol=1e-10)


@pytest.fixture
def interpreted(monkeypatch):
    """The kernel as Python runs it, with short walks: an index outside an array is an error, not a foreign byte."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    module = importlib.util.module_from_spec(compiled.__spec__)
    compiled.__spec__.loader.exec_module(module)
    monkeypatch.setattr(module, "PASS_COLUMNS", 8)
    return module


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("panel", [slice(0, 45), slice(0, 5), slice(3, 38), slice(16, 45)])
def test_no_sum_touches_what_lies_beside_its_array(interpreted, n_features, panel):
    """The last walk is shorter than the others, which a comparison of sums alone does not see."""
    points, starts = RNG.normal(size=(45, n_features)), np.array([0, 1, 3, 6, 10, 15, 23, 25])
    columns_of, cell, rows = points.T.copy(), cells(45, starts), np.arange(panel.start, panel.stop)
    sums = expected(points, starts, panel)
    direct = interpreted.accumulate_direct(columns_of, starts, cell, panel, no_tick)
    some = interpreted.accumulate_rows(columns_of, starts, cell, rows, no_tick)
    product = plain.accumulate(plain.squared_tile(points), interpreted.add_squared, starts, panel, 45, no_tick)
    for found in (direct, some, product):
        np.testing.assert_allclose(found, sums, rtol=1e-7, atol=1e-7)


def test_sums_from_a_matrix_product():
    points = RNG.normal(size=(800, 5))
    starts, panel = np.array([0, 2, 450, 799]), slice(0, 800)
    tile = plain.squared_tile(points)
    found = plain.accumulate(tile, compiled.add_squared, starts, panel, 800, no_tick)
    np.testing.assert_allclose(found, expected(points, starts, panel), rtol=1e-11, atol=1e-10)


def test_single_precision_adds_up_in_double():
    points = RNG.normal(size=(600, 2)).astype(np.float32)
    starts = np.array([0, 300])
    found = compiled.accumulate_direct(points.T.copy(), starts, cells(600, starts), slice(0, 600), no_tick)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected(points.astype(np.float64), starts, slice(0, 600)), rtol=1e-5)


def test_the_tick_comes_with_every_walk():
    points, starts = RNG.normal(size=(compiled.PASS_COLUMNS + 1, 2)), np.array([0])
    ticks = []
    compiled.accumulate_direct(
        points.T.copy(), starts, cells(len(points), starts), slice(0, len(points)), lambda: ticks.append(1)
    )
    assert len(ticks) == 2
