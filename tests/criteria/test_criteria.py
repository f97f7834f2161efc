"""How each criterion chooses: textbook curves, ties, gaps and zeros."""

import math

import numpy as np
import pytest

from compsil_kit._criteria.criteria import KINDS, Criterion, gap_rule, knee, largest, smallest


@pytest.mark.parametrize(
    ("gaps", "errors", "expected"),
    [
        ([0.1, 0.5, 0.4, 0.9], [0.01] * 4, 1),
        ([0.1, 0.5, 0.55, 0.9], [0.01, 0.01, 0.1, 0.01], 1),
        ([0.5, 0.5, 0.9], [0.0] * 3, 0),
        ([0.1, 0.2, 0.3, 0.4], [0.01] * 4, 3),
        ([0.4], [0.1], 0),
        ([np.nan, 0.3, 0.2], [np.nan, 0.1, 0.1], 1),
        ([0.1, np.nan, 0.3, 0.4], [0.0, np.nan, 0.0, 0.0], 3),
        ([np.nan, np.nan], [np.nan, np.nan], None),
    ],
)
def test_the_rule_of_tibshirani_and_its_fallback(gaps, errors, expected):
    assert gap_rule(np.array(gaps), np.array(errors)) == expected


# The elbow.


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 5, 2, 1.8, 1.7, 1.6, 1.5], 2),
        ([100, 20, 18, 16, 14, 12, 10], 1),
        ([100, 80, 60, 40, 20, 18, 16], 4),
        (1 / np.arange(1, 11), 1),
        ([100, 30, 31, 12, 14, 11, 10], 1),
        ([100, 40, 12, 13, 12, 13, 12], 2),
        # Two bends alike: the first, whatever rounding says.
        ([100, 10, 5, 0.5, 0.25], 1),
        ([90, 9, 4.5, 0.45, 0.225], 1),
        # The first drop is larger, the second one larger for what was left.
        ([1000, 500, 450, 45, 40], 3),
        ([1, 2, 3, 10], 2),
        # Straight in the logarithm, or bent down throughout.
        (3 * 0.7 ** np.arange(12), None),
        ([5, 5, 5, 5], None),
        ([10, 9, 8, 7, 6], None),
        (np.linspace(100, 7, 11), None),
        ([5, 3, 1], None),
        ([5, 3], None),
        ([5], None),
        ([10, np.nan, 2, 1], None),
        ([10, 4, 2, np.nan], None),
        ([10, np.inf, 2, 1], None),
    ],
)
def test_knees_of_textbook_curves(values, expected):
    values = np.array(values, dtype=float)
    assert knee(values, values, range(2, 2 + len(values))) == expected


def test_a_knee_is_found_where_it_was_drawn():
    rng = np.random.default_rng(0)
    for at in range(1, 13):
        slopes = np.r_[0.0, np.full(at, -0.5), np.full(13 - at, -0.05)]
        values = np.exp(np.cumsum(slopes))
        for scale in (1e-300, 1e-6, 1, 7, 1e6, 1e300):
            assert knee(scale * values, values, range(2, 16)) == at
        assert knee(values * np.exp(rng.normal(0, 0.02, 14)), values, range(2, 16)) == at


def test_scale_does_not_matter():
    rng = np.random.default_rng(2)
    for _ in range(100):
        values = np.sort(rng.exponential(size=9))[::-1]
        at = knee(values, values, range(2, 11))
        assert {knee(scale * values, values, range(2, 11)) for scale in (1e-200, 0.1, 3, 1e200)} == {at}


def test_knee_against_plain_loops():
    """Any ks: the largest change of slope, with the logarithms' differences over the distance of the ks."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        ks = sorted(rng.choice(np.arange(2, 40), size=8, replace=False).tolist())
        values = np.sort(rng.uniform(1, 100, size=8))[::-1]
        slopes = [math.log(values[i + 1] / values[i]) / (ks[i + 1] - ks[i]) for i in range(7)]
        bends = [slopes[i + 1] - slopes[i] for i in range(6)]
        expected = bends.index(max(bends)) + 1 if max(bends) > 0 else None
        assert knee(values, values, ks) == expected


def test_candidates_that_are_far_apart_count_as_far_apart():
    values = np.array([100.0, 70.0, 45.0, 30.0, 1.0])
    assert knee(values, values, [2, 3, 4, 5, 6]) == 2
    assert knee(values, values, [2, 3, 4, 5, 50]) == 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100, 50, 20, 0, 0, 0], 3),
        ([100, 10, 0, 0], 2),
        ([100, 0, 0], 1),
        # What rounding leaves of nothing is nothing.
        ([100, 10, 4e-29, 2e-30, 0, 1e-29], 2),
        # The last k is no bend; the bend before it counts.
        ([100, 50, 20, 15, 0], 2),
        ([100, 10, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
@pytest.mark.parametrize("scale", [1e-200, 1, 1e200])
@pytest.mark.filterwarnings("error")
def test_inertia_may_reach_zero(values, expected, scale):
    values = scale * np.array(values, dtype=float)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert knee(values, values, range(2, 2 + len(values))) == expected


def test_no_curve_breaks_the_knee():
    rng = np.random.default_rng(1)
    for size in range(1, 30):
        for values in (rng.normal(size=size), np.sort(rng.exponential(size=size))[::-1], np.zeros(size)):
            at = knee(values, values, range(2, 2 + size))
            assert at is None or 0 < at < size - 1


@pytest.mark.parametrize(
    ("values", "high", "low"),
    [([0.2, 0.5, 0.5, 0.2], 1, 0), ([np.nan, 0.1, np.inf], 1, 1), ([np.nan, np.nan], None, None)],
)
def test_the_first_of_equals_is_chosen_and_what_is_undefined_never(values, high, low):
    assert largest(np.array(values)) == high
    assert smallest(np.array(values)) == low


def test_of_which_criteria_small_values_are_good():
    made = [Criterion(name, np.zeros(2), np.zeros(2)) for name in KINDS]
    assert [criterion.name for criterion in made if criterion.lower_is_better] == ["davies-bouldin", "elbow"]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
def test_rounding_does_not_decide_a_tie(scale):
    for last_bit in (-1e-15, 0.0, 1e-15):
        values = scale * np.array([0.2, 0.7, 0.7 * (1 + last_bit), np.nan])
        assert largest(values) == 1
        assert smallest(-values) == 1
    assert largest(scale * np.array([0.7, 0.7 * (1 + 1e-9)])) == 1
