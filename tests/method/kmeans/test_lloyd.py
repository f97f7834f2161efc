"""Lloyd's steps, one at a time against scikit-learn's own."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from compsil_kit._kmeans import lloyd
from compsil_kit._kmeans.assign import assign_all
from compsil_kit._kmeans.points import empty_bounds, lay_out

GAMMA = 1e-13


def centred(n_features=3, **keywords):
    data = make_blobs(600, n_features, centers=5, cluster_std=3.0, random_state=2, **keywords)[0]
    return data - data.mean(axis=0)


def run(data, centers, tol=0.0, max_iter=300, exact=False):
    points, bounds, centers = lay_out(data), empty_bounds(len(data)), centers.copy()
    assert assign_all(points, bounds, centers, GAMMA, False) == 0
    sums, counts = np.empty(centers.shape, data.dtype), np.empty(len(centers), np.int64)
    lloyd.add_up(points.data, bounds.label, sums, counts)
    state = np.zeros(6, np.int64)
    state[lloyd.N_MOVED] = 1
    end = lloyd.lloyd(points, bounds, centers, sums, counts, state, GAMMA, tol, max_iter, exact)
    return end, bounds.label, centers, int(state[lloyd.N_ITERATIONS])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 2, 5, 11])
def test_sums_are_those_of_scikit_learn_to_the_last_bit(dtype, n_features):
    """Its centres after one step are the sums of the points in their order, times the inverse of their number."""
    data = centred(n_features).astype(dtype)
    data -= data.mean(axis=0)
    sums, counts = np.empty((4, n_features), dtype), np.empty(4, np.int64)
    label = np.random.default_rng(0).integers(0, 4, len(data))
    lloyd.add_up(data, label, sums, counts)
    for j in range(4):
        total = np.zeros(n_features, dtype)
        for row in data[label == j]:
            total += row
        np.testing.assert_array_equal(sums[j], total)
    assert counts.tolist() == np.bincount(label).tolist()


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 300])
@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_as_many_steps_as_scikit_learn(max_iter, tol):
    data = centred()
    start = data[:6].copy()
    plain = KMeans(6, init=start, n_init=1, max_iter=max_iter, tol=tol).fit(data)
    end, label, centers, n_steps = run(data, start, np.mean(np.var(data, axis=0)) * tol, max_iter)
    assert end == lloyd.DONE
    assert n_steps == plain.n_iter_
    np.testing.assert_array_equal(label, plain.labels_)
    np.testing.assert_allclose(centers, plain.cluster_centers_, rtol=0, atol=1e-12)


def test_a_cluster_that_runs_empty_ends_the_steps():
    data = np.array([[0.0], [0.1], [10.0], [10.1]])
    assert run(data, np.array([[0.0], [10.0], [50.0]]))[0] == lloyd.EMPTY


def test_a_tolerance_that_is_just_met_is_left_open():
    data = centred()
    start = data[:6].copy()
    first = run(data, start, max_iter=1)[2]
    shift = np.square(first - start).sum()
    assert run(data, start, tol=shift)[0] == lloyd.UNDECIDED
    assert run(data, start, tol=shift * 1.001)[3] == 1


def test_inertia():
    data = centred()
    plain = KMeans(4, n_init=1, random_state=0).fit(data)
    found = lloyd.inertia(data, plain.cluster_centers_, plain.labels_.astype(np.int64))
    assert found == pytest.approx(plain.inertia_, rel=1e-12)
