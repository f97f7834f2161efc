"""Whatever the bounds spare, every point has its nearest centre or is listed as too close to call."""

import numpy as np
import pytest

from compsil_kit._kmeans.assign import assign_all, reassign, resolve_unsure
from compsil_kit._kmeans.points import empty_bounds, lay_out, prepare_centers

GAMMA = 1e-13


def distances(data, centers):
    return np.sqrt(np.square(data[:, None] - centers[None]).sum(axis=2))


def follow(points, bounds, old, centers, fixed=1e-12):
    """Move the centres and assign anew; return the numbers of moves and of open points."""
    rows, norms = np.empty(centers.shape), np.empty(len(centers))
    prepare_centers(centers, rows, norms)
    shifts = np.sqrt(np.square(centers - old).sum(axis=1)) + 1e-12
    gaps = distances(centers, centers)
    np.fill_diagonal(gaps, np.inf)
    return reassign(points, bounds, rows, norms, shifts, gaps.min(axis=1) / 2 - 1e-12, fixed, fixed, 1e-12)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
@pytest.mark.parametrize("step", [1e-6, 0.05, 1.0])
def test_bounds_follow_centres_however_far_they_go(k, step):
    rng = np.random.default_rng(k)
    data, centers = rng.normal(size=(500, 3)), rng.normal(size=(k, 3))
    points, bounds = lay_out(data), empty_bounds(len(data))
    assert assign_all(points, bounds, centers, GAMMA, False) == 0
    for _ in range(12):
        old, centers = centers, centers + rng.normal(scale=step, size=centers.shape)
        before = bounds.label.copy()
        n_moved, n_open = follow(points, bounds, old, centers)
        assert n_open == 0
        assert len(set(bounds.moved[:n_moved])) == n_moved
        bounds.label[bounds.moved[:n_moved]] = bounds.target[:n_moved]
        exact = distances(data, centers)
        np.testing.assert_array_equal(bounds.label, exact.argmin(axis=1))
        assert n_moved == (bounds.label != before).sum()
        check_bounds(bounds, exact)


def check_bounds(bounds, exact):
    """What is bounds of each point holds."""
    rows = np.arange(len(exact))
    assert (bounds.upper >= exact[rows, bounds.label] - 1e-9).all()
    assert (bounds.lower <= exact[rows, bounds.second] + 1e-9).all()
    others = exact.copy()
    others[rows, bounds.label] = others[rows, bounds.second] = np.inf
    assert (bounds.others <= others.min(axis=1) + 1e-9).all()


def test_points_in_the_middle_are_left_open():
    centers = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    data = np.array([[0.0, 0.0], [-0.5, 0.0], [1e-17, 1.0], [0.3, 0.0]])
    points, bounds = lay_out(data), empty_bounds(4)
    assert assign_all(points, bounds, centers, GAMMA, False) == 2
    assert sorted(bounds.unsure[:2]) == [0, 2]
    assert bounds.label[[1, 3]].tolist() == [0, 1]
    bounds.label[[0, 2]] = 0
    # They are looked at in the next step again, and once the centres move they are decided.
    assert follow(points, bounds, centers, centers) == (0, 2)
    n_moved, n_open = settle(points, bounds, centers, 2)
    assert (n_moved, n_open) == (0, 2)
    assert follow(points, bounds, centers, centers + np.array([0.1, 0.0])) == (0, 0)


def test_far_from_the_mean_more_is_left_open():
    """Rounding grows with the length of a point: of two that are as close to call, the longer one is."""
    centers, data = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[1e-5, 0.1], [1e-5, 100.0]])
    points, bounds = lay_out(data), empty_bounds(2)
    assert assign_all(points, bounds, centers, GAMMA, False) == 0
    assert follow(points, bounds, centers, centers, fixed=1e-6) == (0, 1)
    assert bounds.unsure[0] == 1


def settle(points, bounds, centers, n_unsure):
    rows, norms = np.empty(centers.shape), np.empty(len(centers))
    prepare_centers(centers, rows, norms)
    return resolve_unsure(points, bounds, rows, norms, GAMMA, 0, n_unsure)


def test_a_far_centre_does_not_leave_the_others_open():
    """One bound for all centres would be that of the farthest; looked at again, each centre has its own."""
    centers = np.array([[-1.0], [1.0], [1e6]])
    points, bounds = lay_out(np.array([[1e-4], [0.5], [1e6]])), empty_bounds(3)
    assert assign_all(points, bounds, centers, 1e-15, False) == 0
    assert bounds.label.tolist() == [1, 1, 2]
    bounds.unsure[0] = 0
    bounds.label[0] = 0
    assert settle(points, bounds, centers, 1) == (1, 0)
    assert (bounds.moved[0], bounds.target[0]) == (0, 1)
