"""Whatever the bounds spare, every point has its nearest centre or is listed as too close to call."""

import numpy as np
import pytest

from compsil_kit._kmeans.arrays import lay_out, make_room
from compsil_kit._kmeans.assign import begin, reassign, settle_alone
from compsil_kit._kmeans.distances import double

GAMMA = 1e-13


def distances(data, centers):
    return np.sqrt(np.square(data[:, None] - centers[None]).sum(axis=2))


def follow(points, known, old, centers, fixed=1e-12):
    """Move the centres and assign anew; return the numbers of moves and of open points."""
    rows, norms = np.empty(centers.shape), np.empty(len(centers))
    double(centers, rows, norms)
    shifts = np.sqrt(np.square(centers - old).sum(axis=1)) + 1e-12
    gaps = distances(centers, centers)
    np.fill_diagonal(gaps, np.inf)
    return reassign(points, known, rows, norms, shifts, gaps.min(axis=1) / 2 - 1e-12, fixed, fixed, 1e-12)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
@pytest.mark.parametrize("step", [1e-6, 0.05, 1.0])
def test_bounds_follow_centres_however_far_they_go(k, step):
    rng = np.random.default_rng(k)
    data, centers = rng.normal(size=(500, 3)), rng.normal(size=(k, 3))
    points, known = lay_out(data), make_room(len(data))
    assert begin(points, known, centers, GAMMA, False) == 0
    for _ in range(12):
        old, centers = centers, centers + rng.normal(scale=step, size=centers.shape)
        before = known.label.copy()
        n_moved, n_open = follow(points, known, old, centers)
        assert n_open == 0
        assert len(set(known.moved[:n_moved])) == n_moved
        known.label[known.moved[:n_moved]] = known.to[:n_moved]
        exact = distances(data, centers)
        np.testing.assert_array_equal(known.label, exact.argmin(axis=1))
        assert n_moved == (known.label != before).sum()
        check_bounds(known, exact)


def check_bounds(known, exact):
    """What is known of each point holds."""
    rows = np.arange(len(exact))
    assert (known.upper >= exact[rows, known.label] - 1e-9).all()
    assert (known.near <= exact[rows, known.other] + 1e-9).all()
    others = exact.copy()
    others[rows, known.label] = others[rows, known.other] = np.inf
    assert (known.rest <= others.min(axis=1) + 1e-9).all()


def test_points_in_the_middle_are_left_open():
    centers = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    data = np.array([[0.0, 0.0], [-0.5, 0.0], [1e-17, 1.0], [0.3, 0.0]])
    points, known = lay_out(data), make_room(4)
    assert begin(points, known, centers, GAMMA, False) == 2
    assert sorted(known.unsure[:2]) == [0, 2]
    assert known.label[[1, 3]].tolist() == [0, 1]
    known.label[[0, 2]] = 0
    # They are looked at in the next step again, and once the centres move they are decided.
    assert follow(points, known, centers, centers) == (0, 2)
    n_moved, n_open = settle(points, known, centers, 2)
    assert (n_moved, n_open) == (0, 2)
    assert follow(points, known, centers, centers + np.array([0.1, 0.0])) == (0, 0)


def test_far_from_the_mean_more_is_left_open():
    """Rounding grows with the length of a point: of two that are as close to call, the longer one is."""
    centers, data = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[1e-5, 0.1], [1e-5, 100.0]])
    points, known = lay_out(data), make_room(2)
    assert begin(points, known, centers, GAMMA, False) == 0
    assert follow(points, known, centers, centers, fixed=1e-6) == (0, 1)
    assert known.unsure[0] == 1


def settle(points, known, centers, n_unsure):
    rows, norms = np.empty(centers.shape), np.empty(len(centers))
    double(centers, rows, norms)
    return settle_alone(points, known, rows, norms, GAMMA, 0, n_unsure)


def test_a_far_centre_does_not_leave_the_others_open():
    """One bound for all centres would be that of the farthest; looked at again, each centre has its own."""
    centers = np.array([[-1.0], [1.0], [1e6]])
    points, known = lay_out(np.array([[1e-4], [0.5], [1e6]])), make_room(3)
    assert begin(points, known, centers, 1e-15, False) == 0
    assert known.label.tolist() == [1, 1, 2]
    known.unsure[0] = 0
    known.label[0] = 0
    assert settle(points, known, centers, 1) == (1, 0)
    assert (known.moved[0], known.to[0]) == (0, 1)
