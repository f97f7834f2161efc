"""Adjusted Rand index, shared rows, nearest clusters, and within-cluster sum of squares."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import naive
from compsil_kit._method.labels import adjusted_rand, agreement, nearest_clusters, shared_rows, within_shares
from compsil_kit._method.subsample import subsample_rows


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.intp])
def test_index_equals_scikit_learn(kind):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, k, other = rng.integers(2, 300), *rng.integers(1, 100, 2)
        first, second = rng.integers(k, size=n), rng.integers(other, size=n)
        # From unrelated to equal labelings.
        second = np.where(rng.random(n) < rng.random(), first, second)
        found = adjusted_rand(first.astype(kind), second.astype(kind))
        assert found == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)
        assert found == adjusted_rand(second.astype(kind), first.astype(kind))


def test_index_against_naive_loops():
    rng = np.random.default_rng(1)
    for _ in range(30):
        first, second = rng.integers(3, size=(2, 12))
        assert adjusted_rand(first, second) == pytest.approx(naive.adjusted_rand(first, second), abs=1e-12)


def test_small_code_types_do_not_overflow():
    """127 x 127 cells do not fit into the type of the codes."""
    first = np.arange(508) % 127
    assert adjusted_rand(first.astype(np.int8), first[::-1].astype(np.int8)) == pytest.approx(
        adjusted_rand_score(first, first[::-1])
    )


def test_pair_counts_of_many_rows_do_not_overflow():
    """Pairs of a million rows multiply beyond 64 bits."""
    first = np.arange(1_000_000) % 2
    assert adjusted_rand(first, 1 - first) == 1.0
    assert adjusted_rand(first, np.arange(1_000_000) // 500_000) == pytest.approx(0.0, abs=1e-5)


def test_index_is_bitwise_invariant_to_relabelling():
    rng = np.random.default_rng(2)
    first, second = rng.integers(7, size=(2, 90))
    names = rng.permutation(7)
    assert adjusted_rand(names[first], second) == adjusted_rand(first, second)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_trivial_clusterings_agree_with_themselves(labels):
    """One cluster, or every row alone: observed and expected pairs are equal."""
    assert adjusted_rand(np.array(labels), np.array(labels)) == 1.0 == adjusted_rand_score(labels, labels)


def test_shared_rows():
    first, second = np.array([7, 2, 9, 4]), np.array([4, 1, 7])
    here, there = shared_rows(first, second)
    assert first[here].tolist() == second[there].tolist()
    assert sorted(first[here]) == [4, 7]
    for seed in range(5):
        first, second = subsample_rows(seed, 50, 30), subsample_rows(seed + 1, 50, 30)
        here, there = shared_rows(first, second)
        assert first[here].tolist() == second[there].tolist()
        assert sorted(first[here]) == sorted(set(first) & set(second))


def test_no_shared_rows():
    here, there = shared_rows(np.array([1, 2]), np.array([3, 4]))
    assert len(here) == len(there) == 0
    assert np.isnan(agreement(here, there, 2))


@pytest.mark.parametrize("k", [2, 5])
def test_agreement_of_too_few_rows_is_nan(k):
    enough = np.arange(3 * k) % k
    assert agreement(enough, enough, k) == 1.0
    assert np.isnan(agreement(enough[1:], enough[1:], k))


@pytest.mark.parametrize("far", [0, 10**9])
def test_shared_rows_of_a_huge_table(far):
    first, second = np.array([7, 3, 5, far]), np.array([5, far, 9, 7])
    here, there = shared_rows(first, second)
    assert sorted(zip(first[here], second[there], strict=True)) == sorted((row, row) for row in (5, 7, far))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_are_assigned_to_the_nearest_mean(dtype):
    rng = np.random.default_rng(4)
    X, points = (rng.normal(size=(n, 3)).astype(dtype) for n in (60, 20))
    labelings = [np.arange(60) % 2, rng.permutation(np.arange(60) % 5).astype(np.int8)]
    for codes, found in zip(labelings, nearest_clusters(X, labelings, points), strict=True):
        means = np.array([X[codes == c].astype(float).mean(axis=0) for c in range(codes.max() + 1)])
        gaps = np.linalg.norm(points[:, None].astype(float) - means[None], axis=2)
        np.testing.assert_array_equal(found, gaps.argmin(axis=1))


def test_nearest_clusters_of_extreme_values_keep_precision():
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(400, 2)), np.arange(400) % 3
    (near,) = nearest_clusters(X, [codes], X[:50])
    assert len(np.unique(near)) == 3
    for move in (lambda X: X + 1e9, lambda X: X * 1e200, lambda X: X * 1e-200):
        (found,) = nearest_clusters(move(X), [codes], move(X[:50]))
        np.testing.assert_array_equal(near, found)


@pytest.mark.parametrize("at", [0, 399])
def test_an_outlier_does_not_change_other_assignments(at):
    """A fill value, alone in its cluster, at any position."""
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(400, 2)), np.arange(400) % 3
    X[at], codes[at] = 9.97e36, 3
    expected = nearest_clusters(np.delete(X, at, axis=0), [np.delete(codes, at)], X[10:60])
    np.testing.assert_array_equal(nearest_clusters(X, [codes], X[10:60]), expected)
    assert nearest_clusters(X, [codes], X[[at]]) == [[3]]


def test_nearest_clusters_of_sparse_data():
    X = sparse.random_array((300, 40), density=0.1, rng=np.random.default_rng(6)).tocsr()
    codes = np.arange(300) % 4
    (found,), (expected,) = (
        nearest_clusters(X, [codes], X[:60]),
        nearest_clusters(X.toarray(), [codes], X[:60].toarray()),
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(12, 1), (40, 3), (25, 10)])
def test_within_shares_against_naive_sums(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, shape)
    labelings = [np.resize(np.arange(k), len(X)) for k in (2, 3, 5)]
    for found, labels in zip(within_shares(X, labelings), labelings, strict=True):
        assert found == pytest.approx(naive.within_share(X, labels), rel=1e-12)


def test_within_shares_equal_k_means_inertia():
    X = make_blobs(300, 4, centers=4, random_state=0)[0]
    fitted = [KMeans(k, n_init=1, random_state=0).fit(X) for k in (2, 4, 8)]
    total = ((X - X.mean(axis=0)) ** 2).sum()
    expected = [fit.inertia_ / total for fit in fitted]
    # Unless k-means converged strictly, its centres are those of the previous iteration.
    assert within_shares(X, [fit.labels_ for fit in fitted]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.intp])
def test_within_shares_of_small_code_types(kind):
    X = np.random.default_rng(1).normal(size=(400, 2))
    labels = np.arange(400) % 100
    assert within_shares(X, [labels.astype(kind)]) == within_shares(X, [labels])


def test_within_shares_accumulate_in_double_precision():
    """Far from the origin, sums in single precision would lose the spread."""
    X = (np.random.default_rng(2).normal(size=(500, 3)) + 3000.0).astype(np.float32)
    labels = np.arange(500) % 4
    assert within_shares(X, [labels]) == within_shares(X.astype(np.float64), [labels])
    assert within_shares(X, [labels])[0] == pytest.approx(naive.within_share(X, labels), rel=1e-9)


def test_within_shares_of_one_cluster_and_of_identical_points():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], 4, axis=0)
    everything, nothing = within_shares(X, [np.zeros(12, dtype=int), np.arange(12) // 4])
    assert everything == pytest.approx(1.0)
    assert nothing == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.1, 1e9 / 3])
@pytest.mark.parametrize("n", [6, 999])
def test_within_shares_without_spread_are_nan(value, n):
    X = np.full((n, 2), value)
    assert np.isnan(within_shares(X, [np.arange(n) % 2, np.arange(n) % 3])).all()


def test_within_shares_are_nan_on_overflow():
    X = np.array([[-1e200], [1e200], [0.0]])
    assert np.isnan(within_shares(X, [np.array([0, 1, 1])])).all()


def test_within_shares_of_no_labelings():
    assert within_shares(np.ones((3, 1)), []) == []


def test_within_shares_do_not_modify_the_input():
    X = np.random.default_rng(3).normal(size=(9, 2))
    X.setflags(write=False)
    before = X.copy()
    within_shares(X, [np.arange(9) % 3])
    assert np.array_equal(X, before)
