"""Hoeffding bounds."""

import numpy as np
import pytest

from compsil_kit import hoeffding_radius, subsamples_for_margin
from compsil_kit._method.selection import achieved


def test_hoeffding_formulas():
    assert hoeffding_radius(30) == pytest.approx(np.sqrt(2 * np.log(40) / 30))
    assert hoeffding_radius(30, n_ks=9, delta=0.1) == pytest.approx(np.sqrt(2 * np.log(180) / 30))
    n = subsamples_for_margin(0.5, n_ks=9, delta=0.05)
    assert 2 * hoeffding_radius(n, n_ks=9) <= 0.5 < 2 * hoeffding_radius(n - 1, n_ks=9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0), "n_subsamples must be an integer of at least 1; got 0"),
        (lambda: hoeffding_radius(10, delta=0), r"delta must be a number in \(0, 1\); got 0"),
        (lambda: hoeffding_radius(10, delta=1.0), r"delta must be a number in \(0, 1\)"),
        (lambda: subsamples_for_margin(0.0, n_ks=3), "margin"),
        (lambda: subsamples_for_margin(3, n_ks=3), "margin"),
        (lambda: subsamples_for_margin(0.5, n_ks=0), "n_ks must be an integer of at least 1; got 0"),
        (lambda: subsamples_for_margin(0.5, n_ks=3, delta=1.0), r"delta must be a number in \(0, 1\)"),
        (lambda: subsamples_for_margin(0.5, n_ks=3, delta=1.2), r"delta must be a number in \(0, 1\)"),
        (lambda: hoeffding_radius(10, n_ks=0), "n_ks must be an integer of at least 1; got 0"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_lead_of_two_radii_proves_the_choice():
    """Each score may deviate by one radius."""
    radius = hoeffding_radius(100, n_ks=4, delta=0.1)
    settings = {"n_subsamples": 100, "n_ks": 4, "delta": 0.1, "independent": True}
    assert not achieved(1.99 * radius, **settings).proven
    assert achieved(2.01 * radius, **settings).proven
    assert not achieved(2.01 * radius, **{**settings, "independent": False}).proven
    found = achieved(0.5, **settings)
    assert (found.radius_all, found.radius_one) == (radius, hoeffding_radius(100, delta=0.1))
    assert found.needed == subsamples_for_margin(0.5, n_ks=4, delta=0.1)


def test_extreme_valid_arguments():
    assert subsamples_for_margin(2, n_ks=1) == subsamples_for_margin(2.0, n_ks=1, delta=0.05) == 8


@pytest.mark.parametrize("lead", [0.0, -0.1, float("nan")])
def test_no_lead_cannot_be_proven(lead):
    found = achieved(lead, n_subsamples=10, n_ks=3, delta=0.05, independent=True)
    assert found.needed is None
    assert not found.proven
