"""Labels: validation, codes, adjusted Rand index, shared rows, nearest clusters, and sums of squares."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import naive
from compsil_kit import silhouettes
from compsil_kit._method.labels import (
    adjusted_rand,
    agreement,
    encode_labels,
    nearest_clusters,
    number_by_size,
    shared_rows,
    within_shares,
)
from compsil_kit._method.subsample import subsample_rows

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (np.zeros(40), ValueError, "labels must name at least 2 clusters.*got 1 clusters for 40 points"),
        (np.arange(40), ValueError, "fewer clusters than points; got 40 clusters for 40 points"),
        (np.zeros(39), ValueError, r"labels must hold one label for each of the 40 points; got shape \(39,\)"),
        ([], ValueError, r"labels must hold one label for each of the 40 points; got shape \(0,\)"),
        (3, ValueError, r"labels must be one label per point.*got an array of shape \(\)"),
        (np.zeros((2, 2, 2)), ValueError, r"labels must be one label per point.*got an array of shape \(2, 2, 2\)"),
        (np.zeros((0, 40)), ValueError, r"labels must be one label per point.*got an array of shape \(0, 40\)"),
        (np.where(np.arange(40) == 3, np.nan, np.arange(40) % 2), ValueError, "labels must not hold NaN"),
        (np.arange(40) % 2 * 1j, ValueError, "labels must not hold NaN, infinity or complex"),
        (np.array([None, *"ab" * 19, "a"], object), ValueError, "labels must not hold missing values"),
        (pd.Series([pd.NA, *[1, 2] * 19, 1], dtype="object"), ValueError, "labels must not hold missing values"),
        (pd.Series([(0, 1), (1, 2)] * 20), TypeError, "labels must be integers or strings; got values of type tuple"),
        ([np.arange(40) % 2, np.arange(39) % 2], ValueError, r"one label for each of the 40 points; got shape \(39,\)"),
    ],
)
def test_invalid_labels_raise(labels, error, message):
    with pytest.raises(error, match=message):
        silhouettes(GOOD, labels)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 9, 3, 7, 9],
        np.array([0.5, 2.5, 0.5, 1.5, 2.5]),
        ["a", "c", "a", "b", "c"],
        pd.Series(["a", "c", "a", "b", "c"]),
        np.array(["a", "c", "a", "b", "c"], object),
    ],
)
def test_codes_follow_the_sorted_labels(labels):
    single, ((names, codes),) = encode_labels(labels, 5)
    assert single
    assert list(names) == sorted(set(labels))
    assert codes.tolist() == [0, 2, 0, 1, 2]
    assert codes.dtype == np.int64


def test_several_labelings_are_encoded_separately():
    single, encoded = encode_labels([[0, 0, 1], [5, 4, 4]], 3)
    assert not single
    assert [codes.tolist() for _, codes in encoded] == [[0, 0, 1], [1, 0, 0]]
    assert not encode_labels(np.array([[0, 0, 1]]), 3)[0]


def test_clusters_are_numbered_by_size():
    assert number_by_size(np.array([7, 7, 3, 9, 9, 9])).tolist() == [1, 1, 2, 0, 0, 0]
    # Clusters of equal size keep their order.
    assert number_by_size(np.array(["b", "a", "c", "c"])).tolist() == [2, 1, 0, 0]
    assert number_by_size(np.arange(200)).tolist() == list(range(200))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.intp])
def test_adjusted_rand_index_equals_scikit_learn(kind):
    """The number of pairs of clusters may exceed the range of the code dtype."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, k, other = rng.integers(2, 300), *rng.integers(1, 127, 2)
        first, second = rng.integers(k, size=n), rng.integers(other, size=n)
        # From unrelated to equal labelings.
        second = np.where(rng.random(n) < rng.random(), first, second)
        found = adjusted_rand(first.astype(kind), second.astype(kind))
        assert found == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)
        assert found == adjusted_rand(second.astype(kind), first.astype(kind))


def test_pair_counts_of_many_rows_do_not_overflow():
    """With a million rows, the product of two pair counts exceeds 64 bits."""
    first = np.arange(1_000_000) % 2
    assert adjusted_rand(first, 1 - first) == 1.0
    assert adjusted_rand(first, np.arange(1_000_000) // 500_000) == pytest.approx(0.0, abs=1e-5)


def test_adjusted_rand_index_is_bitwise_invariant_to_relabelling():
    rng = np.random.default_rng(2)
    first, second = rng.integers(7, size=(2, 90))
    names = rng.permutation(7)
    assert adjusted_rand(names[first], second) == adjusted_rand(first, second)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3], [0]])
def test_trivial_clusterings_agree_with_themselves(labels):
    """With a single cluster, or one cluster per row, the observed and expected numbers of pairs are equal."""
    assert adjusted_rand(np.array(labels), np.array(labels)) == 1.0 == adjusted_rand_score(labels, labels)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([7, 2, 9, 4], [4, 1, 7]),
        ([1, 2], [3, 4]),
        ([7, 3, 5, 0], [5, 0, 9, 7]),
        ([7, 3, 5, 10**9], [5, 10**9, 9, 7]),
        *((subsample_rows(seed, 50, 30), subsample_rows(seed + 1, 50, 30)) for seed in range(3)),
    ],
)
def test_shared_rows_returns_the_positions_of_common_rows(first, second):
    here, there = shared_rows(np.array(first), np.array(second))
    assert np.array(first)[here].tolist() == np.array(second)[there].tolist()
    assert sorted(np.array(first)[here]) == sorted(set(first) & set(second))


@pytest.mark.parametrize("k", [2, 5])
def test_agreement_is_nan_for_too_few_rows(k):
    enough = np.arange(3 * k) % k
    assert agreement(enough, enough, k) == 1.0
    assert np.isnan(agreement(enough[1:], enough[1:], k))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_are_assigned_to_the_nearest_mean(dtype):
    rng = np.random.default_rng(4)
    X, points = (rng.normal(size=(n, 3)).astype(dtype) for n in (60, 20))
    labelings = [np.arange(60) % 2, rng.permutation(np.arange(60) % 5).astype(np.int8)]
    for codes, found in zip(labelings, nearest_clusters(X, labelings, points), strict=True):
        means = np.array([X[codes == c].astype(float).mean(axis=0) for c in range(codes.max() + 1)])
        gaps = np.linalg.norm(points[:, None].astype(float) - means[None], axis=2)
        np.testing.assert_array_equal(found, gaps.argmin(axis=1))


@pytest.mark.parametrize(
    "change",
    [lambda X: X + 1e9, lambda X: X * 1e200, lambda X: X * 1e-200, sparse.csr_array],
    ids=["far", "huge", "tiny", "sparse"],
)
def test_nearest_clusters_are_correct_for_extreme_values_and_sparse_data(change):
    X, codes = np.random.default_rng(5).normal(size=(400, 2)), np.arange(400) % 3
    (found,), (expected,) = nearest_clusters(change(X), [codes], change(X[:50])), nearest_clusters(X, [codes], X[:50])
    assert len(np.unique(expected)) == 3
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("at", [0, 399])
def test_an_outlier_does_not_change_other_assignments(at):
    """The outlier is a fill value that is alone in its cluster, in the first or the last row."""
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(400, 2)), np.arange(400) % 3
    X[at], codes[at] = 9.97e36, 3
    expected = nearest_clusters(np.delete(X, at, axis=0), [np.delete(codes, at)], X[10:60])
    np.testing.assert_array_equal(nearest_clusters(X, [codes], X[10:60]), expected)
    assert nearest_clusters(X, [codes], X[[at]]) == [[3]]


@pytest.mark.parametrize("shape", [(12, 1), (40, 3), (25, 10)])
def test_within_shares_equal_naive_sums(shape):
    X = np.random.default_rng(0).normal(3.0, 2.0, shape)
    X.setflags(write=False)
    # Use more labelings than fit into one matrix product.
    labelings = [np.resize(np.arange(k), len(X)) for k in (1, 2, 3, 5) * 5]
    for found, labels in zip(within_shares(X, labelings), labelings, strict=True):
        assert found == pytest.approx(naive.within_share(X, labels), rel=1e-12)
    assert within_shares(X, []) == []
    # Identical points in each cluster.
    assert within_shares(np.repeat(X, 2, axis=0), [np.arange(2 * len(X)) // 2]) == [pytest.approx(0.0, abs=1e-12)]


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_within_shares_do_not_depend_on_the_code_dtype(kind):
    X = np.random.default_rng(1).normal(size=(400, 2))
    labelings = [np.arange(400) % 100, np.arange(400) % 99]
    assert within_shares(X, [labels.astype(kind) for labels in labelings]) == within_shares(X, labelings)


def test_within_shares_accumulate_in_double_precision():
    """Far from the origin, sums in single precision would be too inaccurate for the spread."""
    X = (np.random.default_rng(2).normal(size=(500, 3)) + 3000.0).astype(np.float32)
    labels = np.arange(500) % 4
    assert within_shares(X, [labels]) == within_shares(X.astype(np.float64), [labels])
    assert within_shares(X, [labels])[0] == pytest.approx(naive.within_share(X, labels), rel=1e-9)


@pytest.mark.parametrize(
    "X", [*(np.full((n, 2), value) for n in (6, 999) for value in (0.0, 0.5, 0.1, 1e9 / 3)), [[-1e200], [1e200], [0.0]]]
)
def test_within_shares_are_nan_without_spread_or_on_overflow(X):
    labelings = [np.arange(len(X)) % 2, np.arange(len(X)) % 3]
    assert np.isnan(within_shares(np.array(X), labelings)).all()
