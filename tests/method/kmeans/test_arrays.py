"""The two layouts of the points say the same."""

import numpy as np
import pytest

from compsil_kit._kmeans.points import BLOCK, empty_bounds, lay_out


@pytest.mark.parametrize("n_points", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_layouts_hold_the_points(n_points, dtype):
    data = np.random.default_rng(n_points).normal(size=(n_points, 3)).astype(dtype)
    points = lay_out(data)
    assert points.data is data
    assert points.rows.dtype == points.blocks.dtype == np.float64
    np.testing.assert_array_equal(points.rows, data)
    flat = points.blocks.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(flat[:n_points], data)
    assert not flat[n_points:].any()
    np.testing.assert_allclose(points.squares, np.square(points.rows).sum(axis=1), rtol=1e-14)
    assert (points.lengths**2 >= points.squares).all()
    np.testing.assert_allclose(points.lengths**2, points.squares, rtol=1e-11)


def test_rooms_do_not_overlap():
    room = empty_bounds(7)
    for at, array in enumerate(room):
        array[:] = at
    assert [np.unique(array).tolist() for array in room] == [[at] for at in range(len(room))]
