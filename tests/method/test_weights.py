"""Transforms of discrepancies into weights, and invalid functions."""

from __future__ import annotations

import numpy as np
import pytest

from compsil_kit import select_k
from compsil_kit._method.selection import check_transform, combine, largest_discrepancy, transform_name, weigh

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


def test_an_invalid_transform_fails_before_any_clustering():
    def forbidden(X, k, seed):
        raise AssertionError("work was done")

    with pytest.raises(ValueError, match="transform 'int' must map an array"):
        select_k(GOOD, ks=2, n_subsamples=2, transform=int, clusterer=forbidden)


MICRO, MACRO = np.array([[0.5, 0.1, 0.4]]), np.array([[0.3, 0.5, 0.4]])
# The discrepancies are 0.2, -0.4 and 0, the largest is 0.4.
EXPECTED = {
    "tanh": [(1 + np.tanh(0.5)) / 2, (1 - np.tanh(1)) / 2, 0.5],
    "linear": [0.75, 0.0, 0.5],
    "sigmoid": [1 / (1 + np.exp(-0.5)), 1 / (1 + np.e), 0.5],
    "step": [1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("transform", EXPECTED)
def test_weights_by_hand(transform):
    np.testing.assert_allclose(weigh(MICRO, MACRO, transform)[0], EXPECTED[transform], rtol=0, atol=1e-11)


def test_composite_by_hand():
    np.testing.assert_allclose(combine(MICRO, MACRO, np.array([[1.0, 0.0, 0.25]])), [[0.5, 0.5, 0.4]])


def test_largest_discrepancy_ignores_failed_subsamples():
    micro, macro = np.array([[0.5, np.nan, 0.1], [np.nan] * 3]), np.array([[0.4, np.nan, 0.4], [np.nan] * 3])
    np.testing.assert_allclose(largest_discrepancy(micro, macro), [[0.3], [np.nan]])
    np.testing.assert_array_equal(np.isnan(weigh(micro, macro, "tanh")), np.isnan(micro))


def test_calibrated_discrepancies_beyond_one_are_clipped():
    weights = weigh(MICRO, MACRO, "linear", np.array([[0.1]]))
    assert weights.tolist() == [[1.0, 0.0, 0.5]]


def test_custom_transforms_receive_clipped_discrepancies():
    seen = []

    def record(x):
        seen.append((x.min(), x.max()))
        return np.full(x.shape, 0.5)

    weigh(np.array([[0.9, np.nan]]), np.array([[0.1, np.nan]]), record, np.array([[0.1]]))
    assert seen == [(0.0, 1.0)]


def test_zero_discrepancy_gives_equal_weights():
    assert weigh(MICRO, MICRO, lambda x: np.ones(x.shape)).tolist() == [[0.5, 0.5, 0.5]]


def test_transform_names_are_validated():
    assert check_transform("tanh") == "tanh"
    assert (transform_name("tanh"), transform_name(np.abs)) == ("tanh", "absolute")
    for wrong, error in (("cube", ValueError), (3, TypeError)):
        with pytest.raises(
            error, match=r"^transform must be one of 'tanh', 'linear', 'sigmoid', 'step', or a function"
        ):
            check_transform(wrong)
