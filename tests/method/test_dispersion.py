"""The share of the sum of squares within clusters: that of plain sums, in either precision."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import naive
from compsil_kit._method.dispersion import within_shares


@pytest.mark.parametrize("shape", [(12, 1), (40, 3), (25, 10)])
def test_against_plain_sums(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, shape)
    labelings = [np.resize(np.arange(k), len(X)) for k in (2, 3, 5)]
    for found, labels in zip(within_shares(X, labelings), labelings, strict=True):
        assert found == pytest.approx(naive.within_share(X, labels), rel=1e-12)


def test_it_is_the_inertia_of_k_means():
    X = make_blobs(300, 4, centers=4, random_state=0)[0]
    fitted = [KMeans(k, n_init=1, random_state=0).fit(X) for k in (2, 4, 8)]
    total = ((X - X.mean(axis=0)) ** 2).sum()
    expected = [fit.inertia_ / total for fit in fitted]
    # The centres of k-means are those of the step before, unless it has converged strictly.
    assert within_shares(X, [fit.labels_ for fit in fitted]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.intp])
def test_compact_codes(kind):
    X = np.random.default_rng(1).normal(size=(400, 2))
    labels = np.arange(400) % 100
    assert within_shares(X, [labels.astype(kind)]) == within_shares(X, [labels])


def test_single_precision_is_summed_in_double():
    """Far from the origin, sums in single precision would lose the spread."""
    X = (np.random.default_rng(2).normal(size=(500, 3)) + 3000.0).astype(np.float32)
    labels = np.arange(500) % 4
    assert within_shares(X, [labels]) == within_shares(X.astype(np.float64), [labels])
    assert within_shares(X, [labels])[0] == pytest.approx(naive.within_share(X, labels), rel=1e-9)


def test_both_ends():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], 4, axis=0)
    everything, nothing = within_shares(X, [np.zeros(12, dtype=int), np.arange(12) // 4])
    assert everything == pytest.approx(1.0)
    assert nothing == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.1, 1e9 / 3])
@pytest.mark.parametrize("n", [6, 999])
def test_without_spread_there_is_no_share(value, n):
    X = np.full((n, 2), value)
    assert np.isnan(within_shares(X, [np.arange(n) % 2, np.arange(n) % 3])).all()


def test_squares_that_are_no_numbers():
    X = np.array([[-1e200], [1e200], [0.0]])
    assert np.isnan(within_shares(X, [np.array([0, 1, 1])])).all()


def test_no_labelings_no_shares():
    assert within_shares(np.ones((3, 1)), []) == []


def test_the_points_stay_as_they_are():
    X = np.random.default_rng(3).normal(size=(9, 2))
    X.setflags(write=False)
    before = X.copy()
    within_shares(X, [np.arange(9) % 3])
    assert np.array_equal(X, before)
