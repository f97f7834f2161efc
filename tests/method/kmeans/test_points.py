"""Comparisons of points with centres, against plain NumPy."""

import numpy as np
import pytest

from compsil_kit._kmeans.points import BLOCK, compare_block, compare_point, keep_three, lay_out, prepare_centers

RNG = np.random.default_rng(3)


def rows_of(centers):
    rows, norms = np.empty(centers.shape), np.empty(len(centers))
    furthest = prepare_centers(centers, rows, norms)
    assert furthest == pytest.approx(np.sqrt(np.square(centers).sum(axis=1).max()))
    return rows, norms


@pytest.mark.parametrize("n_features", range(1, 10))
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
def test_up_to_four_centres_and_any_number_of_features(n_features, n_rows):
    data, centers = RNG.normal(size=(BLOCK, n_features)), RNG.normal(size=(6, n_features))
    rows, norms = rows_of(centers)
    out = np.full((4, BLOCK), np.nan)
    compare_block(lay_out(data).blocks[0], rows, norms, 2, n_rows, out)
    expected = np.square(centers).sum(axis=1) - 2 * data @ centers.T
    np.testing.assert_allclose(out[:n_rows], expected[:, 2 : 2 + n_rows].T, rtol=1e-12, atol=1e-12)


def test_the_three_smallest_are_kept():
    values = RNG.normal(size=(7, BLOCK))
    best, second, third = np.full((3, BLOCK), np.inf)
    label, other = np.zeros((2, BLOCK), np.int64)
    for j, row in enumerate(values):
        keep_three(row, j, best, second, third, label, other)
    order = values.argsort(axis=0)
    np.testing.assert_array_equal([best, second, third], np.sort(values, axis=0)[:3])
    np.testing.assert_array_equal([label, other], order[:2])


def test_one_point():
    point, centers = RNG.normal(size=5), RNG.normal(size=(9, 5))
    rows, norms = rows_of(centers)
    values = np.square(centers).sum(axis=1) - 2 * centers @ point
    own, other, *three = compare_point(point, rows, norms)
    assert [own, other] == values.argsort()[:2].tolist()
    np.testing.assert_allclose(three, np.sort(values)[:3], rtol=1e-12)


def test_of_two_centres_there_is_no_third():
    rows, norms = rows_of(np.array([[0.0], [1.0]]))
    assert compare_point(np.array([0.9]), rows, norms)[:2] == (1, 0)
    assert compare_point(np.array([0.9]), rows, norms)[4] == np.inf
