"""The starts are scikit-learn's, and where rounding might decide, nothing is decided."""

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

from compsil_kit._kmeans.plus_plus import plus_plus
from compsil_kit._kmeans.points import empty_bounds, lay_out

GAMMA, SHARE = 1e-14, 1e-12


def choose(data, k, seed, gamma=GAMMA):
    """Return what k-means++ chooses, by the draws that a RandomState makes for it."""
    points, bounds, centers = lay_out(data), empty_bounds(len(data)), np.empty((k, data.shape[1]))
    n_trials = 2 + int(np.log(k))
    draws = np.random.RandomState(seed).random_sample(1 + (k - 1) * n_trials)
    first = int(draws[0] * len(data))
    certain = plus_plus(points, bounds, first, draws[1:], n_trials, centers, gamma, SHARE)
    return certain, centers, bounds


@pytest.mark.parametrize("k", [2, 3, 7, 8, 20, 21, 55])
def test_as_scikit_learn_chooses(k):
    data = make_blobs(700, 3, centers=5, random_state=1)[0]
    data -= data.mean(axis=0)
    for seed in range(10):
        certain, centers, bounds = choose(data, k, seed)
        assert certain
        np.testing.assert_array_equal(centers, kmeans_plusplus(data, k, random_state=seed)[0])
        distances = np.square(data[:, None] - centers[None]).sum(axis=2)
        order = distances.argsort(axis=1, kind="stable")
        np.testing.assert_array_equal(bounds.label, order[:, 0])
        np.testing.assert_array_equal(bounds.second, order[:, 1])
        np.testing.assert_allclose(bounds.upper + np.square(data).sum(axis=1), distances.min(axis=1), atol=1e-9)


def test_a_tie_is_not_decided():
    """Seen from the centre of a square, two corners leave the same sum."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert not all(choose(np.repeat(corners, 50, axis=0), 3, seed)[0] for seed in range(10))


def test_equal_rows_are_no_tie():
    """Whichever copy of a row is chosen, the centre is the same."""
    data = np.repeat(make_blobs(60, 2, centers=4, random_state=0)[0], 5, axis=0)
    data -= data.mean(axis=0)
    found = [choose(data, 4, seed) for seed in range(10)]
    assert all(certain for certain, *_ in found)
    for seed, (_, centers, _) in enumerate(found):
        np.testing.assert_array_equal(centers, kmeans_plusplus(data, 4, random_state=seed)[0])


def test_a_wide_bound_decides_nothing():
    data = make_blobs(300, 2, random_state=0)[0]
    assert not choose(data - data.mean(axis=0), 5, 0, gamma=1e-3)[0]


def test_fewer_distinct_points_than_centres():
    assert not choose(np.repeat([[1.0], [-1.0]], 20, axis=0), 3, 0)[0]
