"""Assignment to the nearest centre, ambiguous points, and Lloyd's iterations compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from compsil_kit._kmeans import assign, lloyd
from compsil_kit._kmeans.points import empty_bounds, lay_out, prepare_centers

GAMMA = 1e-13


def assigned(data, centers, gamma=GAMMA):
    """Return the points, the bounds after the first assignment, and the number of ambiguous points."""
    points, bounds = lay_out(np.asarray(data)), empty_bounds(len(data))
    return points, bounds, assign.assign_all(points, bounds, centers, gamma, False)


def distances(data, centers):
    return np.sqrt(np.square(data[:, None] - centers[None]).sum(axis=2))


def follow(points, bounds, old, centers, fixed=1e-12):
    """Move the centres and reassign the points; return the number of points that move and of ambiguous points."""
    shifts = np.sqrt(np.square(centers - old).sum(axis=1)) + 1e-12
    gaps = distances(centers, centers)
    np.fill_diagonal(gaps, np.inf)
    rows, norms, _ = prepare_centers(centers)
    return assign.reassign(points, bounds, rows, norms, shifts, gaps.min(axis=1) / 2 - 1e-12, fixed, fixed, 1e-12)


def resolve(points, bounds, centers, n_ambiguous):
    return assign.resolve_ambiguous(points, bounds, *prepare_centers(centers)[:2], GAMMA, 0, n_ambiguous)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
@pytest.mark.parametrize("step", [1e-6, 0.05, 1.0])
def test_bounds_are_correct_for_any_shift_of_the_centres(k, step):
    rng = np.random.default_rng(k)
    data, centers = rng.normal(size=(500, 3)), rng.normal(size=(k, 3))
    points, bounds, n_ambiguous = assigned(data, centers)
    assert n_ambiguous == 0
    for _ in range(12):
        old, centers = centers, centers + rng.normal(scale=step, size=centers.shape)
        before = bounds.label.copy()
        n_moved, n_ambiguous = follow(points, bounds, old, centers)
        assert n_ambiguous == 0
        assert len(set(bounds.moved[:n_moved])) == n_moved
        bounds.label[bounds.moved[:n_moved]] = bounds.target[:n_moved]
        exact, rows = distances(data, centers), np.arange(len(data))
        np.testing.assert_array_equal(bounds.label, exact.argmin(axis=1))
        assert n_moved == (bounds.label != before).sum()
        assert (bounds.upper >= exact[rows, bounds.label] - 1e-9).all()
        assert (bounds.lower <= exact[rows, bounds.second] + 1e-9).all()
        exact[rows, bounds.label] = exact[rows, bounds.second] = np.inf
        assert (bounds.others <= exact.min(axis=1) + 1e-9).all()


def test_points_midway_between_centres_are_ambiguous():
    centers = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    points, bounds, n_ambiguous = assigned([[0.0, 0.0], [-0.5, 0.0], [1e-17, 1.0], [0.3, 0.0]], centers)
    assert sorted(bounds.ambiguous[:n_ambiguous]) == [0, 2]
    assert bounds.label[[1, 3]].tolist() == [0, 1]
    bounds.label[[0, 2]] = 0
    # Unsure points are compared again in the next iteration, and are assigned once the centres move.
    assert follow(points, bounds, centers, centers) == (0, 2)
    assert resolve(points, bounds, centers, 2) == (0, 2)
    assert follow(points, bounds, centers, centers + np.array([0.1, 0.0])) == (0, 0)


def test_the_error_bound_grows_with_the_length_of_a_point():
    centers = np.array([[-1.0, 0.0], [1.0, 0.0]])
    points, bounds, n_ambiguous = assigned([[1e-5, 0.1], [1e-5, 100.0]], centers)
    assert n_ambiguous == 0
    assert follow(points, bounds, centers, centers, fixed=1e-6) == (0, 1)
    assert bounds.ambiguous[0] == 1


def test_a_distant_centre_does_not_make_other_points_ambiguous():
    """Each centre needs its own error bound; a common bound would be determined by the farthest centre."""
    centers = np.array([[-1.0], [1.0], [1e6]])
    points, bounds, n_ambiguous = assigned([[1e-4], [0.5], [1e6]], centers, gamma=1e-15)
    assert n_ambiguous == 0
    assert bounds.label.tolist() == [1, 1, 2]
    bounds.ambiguous[0] = 0
    bounds.label[0] = 0
    assert resolve(points, bounds, centers, 1) == (1, 0)
    assert (bounds.moved[0], bounds.target[0]) == (0, 1)


def blobs(n_features=3, dtype=np.float64):
    data = make_blobs(600, n_features, centers=5, cluster_std=3.0, random_state=2)[0].astype(dtype)
    return data - data.mean(axis=0)


def run(data, centers, tol=0.0, max_iter=300):
    centers = centers.copy()
    points, bounds, n_ambiguous = assigned(data, centers)
    assert n_ambiguous == 0
    sums, counts, state = np.empty(centers.shape), np.empty(len(centers), np.int64), np.zeros(6, np.int64)
    lloyd.add_up(points.data, bounds.label, sums, counts)
    state[lloyd.N_MOVED] = 1
    end = lloyd.lloyd(points, bounds, centers, sums, counts, state, GAMMA, tol, max_iter, False)
    return end, bounds.label, centers, int(state[lloyd.N_ITERATIONS])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 2, 5, 11])
def test_sums_add_the_points_in_row_order(dtype, n_features):
    data, label = blobs(n_features, dtype), np.random.default_rng(0).integers(0, 4, 600)
    sums, counts = np.empty((4, n_features), dtype), np.empty(4, np.int64)
    lloyd.add_up(data, label, sums, counts)
    np.testing.assert_array_equal(sums, [data[label == j].cumsum(axis=0)[-1] for j in range(4)])
    assert counts.tolist() == np.bincount(label).tolist()


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 300])
@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_iterations_labels_and_centres_match_scikit_learn(max_iter, tol):
    data = blobs()
    plain = KMeans(6, init=data[:6], n_init=1, max_iter=max_iter, tol=tol).fit(data)
    end, label, centers, n_iter = run(data, data[:6], np.mean(np.var(data, axis=0)) * tol, max_iter)
    assert (end, n_iter) == (lloyd.DONE, plain.n_iter_)
    np.testing.assert_array_equal(label, plain.labels_)
    np.testing.assert_allclose(centers, plain.cluster_centers_, rtol=0, atol=1e-12)
    assert lloyd.inertia(data, plain.cluster_centers_, label) == pytest.approx(plain.inertia_, rel=1e-12)


def test_an_empty_cluster_ends_the_iterations():
    assert run(np.array([[0.0], [0.1], [10.0], [10.1]]), np.array([[0.0], [10.0], [50.0]]))[0] == lloyd.EMPTY


def test_convergence_is_undecided_if_the_shift_equals_the_tolerance():
    data = blobs()
    shift = np.square(run(data, data[:6], max_iter=1)[2] - data[:6]).sum()
    assert run(data, data[:6], tol=shift)[0] == lloyd.UNDECIDED
    assert run(data, data[:6], tol=shift * 1.001)[3] == 1
