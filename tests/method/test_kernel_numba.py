"""The compiled sums are those of the plain kernel, for every way, width and type."""

import numpy as np
import pytest

from compsil_kit.method import kernel_numba as compiled
from compsil_kit.method import kernel_numpy as plain

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
    points, starts = RNG.normal(size=(compiled.WIDTH + 1, 2)), np.array([0])
    ticks = []
    compiled.accumulate_direct(
        points.T.copy(), starts, cells(len(points), starts), slice(0, len(points)), lambda: ticks.append(1)
    )
    assert len(ticks) == 2
