"""Sums of distances in plain NumPy: tiles, cells and edges, against the whole matrix of distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from compsil_kit._method import kernel_numpy as plain

RNG = np.random.default_rng(0)


def no_tick():
    pass


def test_chunks_cover_everything_once():
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
def test_cells_that_a_slice_touches(part, cells, edges):
    """The cells begin at 0, 4 and 6."""
    found, where = plain.cells_of(np.array([0, 4, 6]), part)
    assert found == cells
    assert where.tolist() == edges


@pytest.mark.parametrize("panel", [slice(0, 700), slice(0, 250), slice(250, 700), slice(699, 700)])
def test_sums_are_those_of_the_whole_matrix(panel):
    points = RNG.normal(size=(700, 4))
    starts = np.array([0, 3, 150, 151, 640])
    expected = np.add.reduceat(cdist(points, points), starts, axis=1).T[:, panel]
    found = plain.accumulate(plain.distance_tile(points), plain.add_distances, starts, panel, 700, no_tick)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_tick_comes_with_every_row_of_tiles():
    points = RNG.normal(size=(2 * plain.TILE_ROWS + 1, 2))
    ticks = []
    tile = plain.distance_tile(points)
    plain.accumulate(
        tile, plain.add_distances, np.array([0]), slice(0, len(points)), len(points), lambda: ticks.append(1)
    )
    assert len(ticks) == 3


def test_squared_distances_far_from_the_origin():
    points = 1e7 + RNG.normal(size=(50, 3))
    found = plain.squared_tile(points)(slice(0, 50), slice(0, 50))
    np.testing.assert_allclose(found, cdist(points, points) ** 2, rtol=1e-9, atol=1e-12)


def test_pairs_that_nearly_coincide_are_computed_from_their_differences():
    points = RNG.normal(size=(40, 3))
    points[20:] = points[:20] + 1e-7
    found = plain.distance_tile(points)(slice(0, 20), slice(20, 40))
    np.testing.assert_allclose(np.diagonal(found), cdist(points[:20], points[20:]).diagonal(), rtol=1e-6)
