"""Memory layouts, comparisons with centres, and k-means++, compared with plain NumPy and scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

from compsil_kit._kmeans.plus_plus import plus_plus
from compsil_kit._kmeans.points import (
    BLOCK,
    compare_block,
    compare_point,
    empty_bounds,
    keep_three,
    lay_out,
    prepare_centers,
)

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n_points", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_layouts_contain_the_points(n_points, dtype):
    data = RNG.normal(size=(n_points, 3)).astype(dtype)
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


def test_the_arrays_in_bounds_do_not_share_memory():
    bounds = empty_bounds(7)
    for at, array in enumerate(bounds):
        array[:] = at
    assert [np.unique(array).tolist() for array in bounds] == [[at] for at in range(len(bounds))]


@pytest.mark.parametrize("n_features", range(1, 10))
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
def test_compare_block_equals_plain_numpy(n_features, n_rows):
    data, centers = RNG.normal(size=(BLOCK, n_features)), RNG.normal(size=(6, n_features))
    rows, norms, furthest = prepare_centers(centers)
    assert furthest == pytest.approx(np.sqrt(np.square(centers).sum(axis=1).max()))
    out = np.full((4, BLOCK), np.nan)
    compare_block(lay_out(data).blocks[0], rows, norms, 2, n_rows, out)
    expected = np.square(centers).sum(axis=1) - 2 * data @ centers.T
    np.testing.assert_allclose(out[:n_rows], expected[:, 2 : 2 + n_rows].T, rtol=1e-12, atol=1e-12)


def test_keep_three_keeps_the_three_smallest_values():
    values = RNG.normal(size=(7, BLOCK))
    best, second, third = np.full((3, BLOCK), np.inf)
    label, other = np.zeros((2, BLOCK), np.int64)
    for j, row in enumerate(values):
        keep_three(row, j, best, second, third, label, other)
    order = values.argsort(axis=0)
    np.testing.assert_array_equal([best, second, third], np.sort(values, axis=0)[:3])
    np.testing.assert_array_equal([label, other], order[:2])


@pytest.mark.parametrize("k", [2, 3, 9])
def test_compare_point_finds_the_nearest_centres(k):
    point, centers = RNG.normal(size=5), RNG.normal(size=(k, 5))
    values = np.square(centers).sum(axis=1) - 2 * centers @ point
    own, other, *three = compare_point(point, *prepare_centers(centers)[:2])
    assert [own, other] == values.argsort()[:2].tolist()
    np.testing.assert_allclose(three, [*np.sort(values), np.inf][:3], rtol=1e-12)


def choose(data, k, seed, gamma=1e-14):
    """Run k-means++ with the random numbers for this seed; return whether it finished, and the stored distances."""
    data = data - data.mean(axis=0)
    points, bounds, centers = lay_out(data), empty_bounds(len(data)), np.empty((k, data.shape[1]))
    n_trials = 2 + int(np.log(k))
    draws = np.random.RandomState(seed).random_sample(1 + (k - 1) * n_trials)
    rounding = 2 * gamma * (points.squares.sum() + len(data) * points.squares.max())
    certain = plus_plus(points, bounds, int(draws[0] * len(data)), draws[1:], n_trials, centers, rounding, 1e-12)
    if certain:
        np.testing.assert_array_equal(centers, kmeans_plusplus(data, k, random_state=seed)[0])
    return certain, np.square(data[:, None] - centers[None]).sum(axis=2), points, bounds


@pytest.mark.parametrize("k", [2, 3, 7, 8, 20, 21, 55])
def test_initial_centres_equal_scikit_learn(k):
    for seed in range(10):
        certain, distances, points, bounds = choose(make_blobs(700, 3, centers=5, random_state=1)[0], k, seed)
        assert certain
        order = distances.argsort(axis=1, kind="stable")
        np.testing.assert_array_equal([bounds.label, bounds.second], order[:, :2].T)
        stored = [bounds.upper, bounds.lower, bounds.others][:k]
        np.testing.assert_allclose(stored + points.squares, np.sort(distances)[:, :3].T, atol=1e-9)


SQUARE = np.repeat([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], 50, axis=0)


@pytest.mark.parametrize(
    ("data", "k", "gamma"),
    [
        # After the first corner of a square, two corners leave the same sum of squared distances.
        pytest.param(SQUARE, 3, 1e-14, id="tie"),
        pytest.param(make_blobs(300, 2, random_state=0)[0], 5, 1e-3, id="wide bound"),
        pytest.param(np.repeat([[1.0], [-1.0]], 20, axis=0), 3, 1e-14, id="fewer distinct points than centres"),
    ],
)
def test_plus_plus_gives_up_if_the_choice_might_depend_on_rounding(data, k, gamma):
    assert not all(choose(data, k, seed, gamma)[0] for seed in range(10))


def test_identical_rows_are_not_treated_as_a_tie():
    data = np.repeat(make_blobs(60, 2, centers=4, random_state=0)[0], 5, axis=0)
    assert all(choose(data, 4, seed)[0] for seed in range(10))
