"""How each criterion selects k: known curves, ties, gaps and zeros."""

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
def test_gap_rule(gaps, errors, expected):
    assert gap_rule(np.array(gaps), np.array(errors)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 5, 2, 1.8, 1.7, 1.6, 1.5], 2),
        ([100, 20, 18, 16, 14, 12, 10], 1),
        ([100, 80, 60, 40, 20, 18, 16], 4),
        ([100, 30, 31, 12, 14, 11, 10], 1),
        # Equal slope changes: the first, whatever the rounding.
        ([100, 10, 5, 0.5, 0.25], 1),
        ([90, 9, 4.5, 0.45, 0.225], 1),
        # The first drop is larger, the second one relatively larger.
        ([1000, 500, 450, 45, 40], 3),
        ([1, 2, 3, 10], 2),
        # The slope of the logarithm increases nowhere.
        (3 * 0.7 ** np.arange(12), None),
        ([5, 5, 5, 5], None),
        (np.linspace(100, 7, 11), None),
        ([5, 3, 1], None),
        ([5, 3], None),
        ([5], None),
        ([10, np.nan, 2, 1], None),
        ([10, 4, 2, np.nan], None),
        ([10, np.inf, 2, 1], None),
    ],
)
def test_knee(values, expected):
    values = np.array(values, dtype=float)
    assert knee(values, values, range(2, 2 + len(values))) == expected


def test_the_knee_does_not_depend_on_scale_or_small_noise():
    rng = np.random.default_rng(0)
    for at in range(1, 13):
        slopes = np.r_[0.0, np.full(at, -0.5), np.full(13 - at, -0.05)]
        values = np.exp(np.cumsum(slopes))
        for scale in (1e-300, 1e-6, 1, 7, 1e6, 1e300):
            assert knee(scale * values, values, range(2, 16)) == at
        assert knee(values * np.exp(rng.normal(0, 0.02, 14)), values, range(2, 16)) == at


def test_knee_against_plain_loops():
    """For any ks: the largest change of the slope of the logarithm."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        ks = sorted(rng.choice(np.arange(2, 40), size=8, replace=False).tolist())
        values = np.sort(rng.uniform(1, 100, size=8))[::-1]
        slopes = [math.log(values[i + 1] / values[i]) / (ks[i + 1] - ks[i]) for i in range(7)]
        changes = [slopes[i + 1] - slopes[i] for i in range(6)]
        expected = changes.index(max(changes)) + 1 if max(changes) > 0 else None
        assert knee(values, values, ks) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100, 50, 20, 0, 0, 0], 3),
        ([100, 10, 0, 0], 2),
        ([100, 0, 0], 1),
        # Rounding errors count as zero.
        ([100, 10, 4e-29, 2e-30, 0, 1e-29], 2),
        # The slope does not change at the last k.
        ([100, 50, 20, 15, 0], 2),
        ([100, 10, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
@pytest.mark.parametrize("scale", [1e-200, 1, 1e200])
def test_knee_of_inertia_that_reaches_zero(values, expected, scale):
    values = scale * np.array(values, dtype=float)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert knee(values, values, range(2, 2 + len(values))) == expected


@pytest.mark.parametrize(
    ("values", "high", "low"),
    [
        ([0.2, 0.5, 0.5, 0.2], 1, 0),
        ([np.nan, 0.1, np.inf], 1, 1),
        ([np.nan, np.nan], None, None),
        # Differences due to rounding are ties.
        ([0.2, 0.7, 0.7 + 1e-15, 0.2 - 1e-16], 1, 0),
        ([-0.2e9, 0.7e9, 0.7e9 * (1 + 1e-15), np.nan], 1, 0),
        ([0.2 + 1e-9, 0.7, 0.7 + 1e-9, 0.2], 2, 3),
    ],
)
def test_largest_and_smallest(values, high, low):
    assert largest(np.array(values)) == high
    assert smallest(np.array(values)) == low


def test_labels_and_directions():
    found = [Criterion(name, np.array([0.5]), np.zeros(1)) for name in KINDS]
    assert [criterion.name for criterion in found if criterion.kind.lower_is_better] == ["davies-bouldin", "elbow"]
    assert found[0].kind.label == "composite silhouette"
    rules = {"davies-bouldin": smallest, "elbow": knee, "gap": gap_rule}
    assert {name: kind.choose for name, kind in KINDS.items()} == {name: rules.get(name, largest) for name in KINDS}
