"""The adjusted Rand index: scikit-learn's numbers, whatever the labels are called and stored as."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import naive
from compsil_kit._method.agreement import adjusted_rand, agreement, nearest_clusters, shared_rows
from compsil_kit._method.subsample import subsample_rows


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.intp])
def test_the_index_is_that_of_scikit_learn(kind):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, k, other = rng.integers(2, 300), *rng.integers(1, 100, 2)
        first, second = rng.integers(k, size=n), rng.integers(other, size=n)
        # From unrelated to equal: some rows have the same code in both.
        second = np.where(rng.random(n) < rng.random(), first, second)
        found = adjusted_rand(first.astype(kind), second.astype(kind))
        assert found == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)
        assert found == adjusted_rand(second.astype(kind), first.astype(kind))


def test_the_index_in_plain_loops():
    rng = np.random.default_rng(1)
    for _ in range(30):
        first, second = rng.integers(3, size=(2, 12))
        assert adjusted_rand(first, second) == pytest.approx(naive.adjusted_rand(first, second), abs=1e-12)


def test_codes_beyond_one_byte_do_not_wrap_around():
    """127 x 127 cells do not fit into the type of the codes."""
    first = np.arange(508) % 127
    assert adjusted_rand(first.astype(np.int8), first[::-1].astype(np.int8)) == pytest.approx(
        adjusted_rand_score(first, first[::-1])
    )


def test_many_rows_are_counted_in_whole_numbers():
    """Pairs of a million rows multiply beyond 64 bits."""
    first = np.arange(1_000_000) % 2
    assert adjusted_rand(first, 1 - first) == 1.0
    assert adjusted_rand(first, np.arange(1_000_000) // 500_000) == pytest.approx(0.0, abs=1e-5)


def test_names_do_not_matter_to_the_last_bit():
    rng = np.random.default_rng(2)
    first, second = rng.integers(7, size=(2, 90))
    names = rng.permutation(7)
    assert adjusted_rand(names[first], second) == adjusted_rand(first, second)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_clusterings_without_a_choice_agree_with_themselves(labels):
    """One cluster, or every row alone: as many pairs are together as by chance, and yet all is the same."""
    assert adjusted_rand(np.array(labels), np.array(labels)) == 1.0 == adjusted_rand_score(labels, labels)


def test_shared_rows_are_found_in_both():
    first, second = np.array([7, 2, 9, 4]), np.array([4, 1, 7])
    here, there = shared_rows(first, second)
    assert first[here].tolist() == second[there].tolist()
    assert sorted(first[here]) == [4, 7]
    for seed in range(5):
        first, second = subsample_rows(seed, 50, 30), subsample_rows(seed + 1, 50, 30)
        here, there = shared_rows(first, second)
        assert first[here].tolist() == second[there].tolist()
        assert sorted(first[here]) == sorted(set(first) & set(second))


def test_nothing_is_shared():
    here, there = shared_rows(np.array([1, 2]), np.array([3, 4]))
    assert len(here) == len(there) == 0
    assert np.isnan(agreement(here, there, 2))


@pytest.mark.parametrize("k", [2, 5])
def test_too_few_rows_say_nothing(k):
    enough = np.arange(3 * k) % k
    assert agreement(enough, enough, k) == 1.0
    assert np.isnan(agreement(enough[1:], enough[1:], k))


@pytest.mark.parametrize("far", [0, 10**9])
def test_few_rows_of_very_many_are_found_without_a_table_of_all(far):
    first, second = np.array([7, 3, 5, far]), np.array([5, far, 9, 7])
    here, there = shared_rows(first, second)
    assert sorted(zip(first[here], second[there], strict=True)) == sorted((row, row) for row in (5, 7, far))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_belong_to_the_nearest_mean(dtype):
    rng = np.random.default_rng(4)
    X, points = (rng.normal(size=(n, 3)).astype(dtype) for n in (60, 20))
    labelings = [np.arange(60) % 2, rng.permutation(np.arange(60) % 5).astype(np.int8)]
    for codes, found in zip(labelings, nearest_clusters(X, labelings, points), strict=True):
        means = np.array([X[codes == c].astype(float).mean(axis=0) for c in range(codes.max() + 1)])
        gaps = np.linalg.norm(points[:, None].astype(float) - means[None], axis=2)
        np.testing.assert_array_equal(found, gaps.argmin(axis=1))


def test_means_of_values_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(400, 2)), np.arange(400) % 3
    (near,) = nearest_clusters(X, [codes], X[:50])
    assert len(np.unique(near)) == 3
    for move in (lambda X: X + 1e9, lambda X: X * 1e200, lambda X: X * 1e-200):
        (found,) = nearest_clusters(move(X), [codes], move(X[:50]))
        np.testing.assert_array_equal(near, found)


@pytest.mark.parametrize("at", [0, 399])
def test_a_single_far_value_leaves_the_others_as_they_are(at):
    """A fill value, alone in its cluster, wherever it stands."""
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(400, 2)), np.arange(400) % 3
    X[at], codes[at] = 9.97e36, 3
    expected = nearest_clusters(np.delete(X, at, axis=0), [np.delete(codes, at)], X[10:60])
    np.testing.assert_array_equal(nearest_clusters(X, [codes], X[10:60]), expected)
    assert nearest_clusters(X, [codes], X[[at]]) == [[3]]


def test_sparse_points():
    X = sparse.random_array((300, 40), density=0.1, rng=np.random.default_rng(6)).tocsr()
    codes = np.arange(300) % 4
    (found,), (expected,) = (
        nearest_clusters(X, [codes], X[:60]),
        nearest_clusters(X.toarray(), [codes], X[:60].toarray()),
    )
    np.testing.assert_array_equal(found, expected)
