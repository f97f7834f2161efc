"""What each criterion makes of the trials."""

import numpy as np
import pytest

from compsil_kit._method.criterion import (
    CRITERIA,
    LIKELY,
    OF_SEVERAL_STARTS,
    STABLE,
    criterion_values,
    mean_known,
    second_criterion,
)

NAN = np.nan
NUMBERS = {
    "micro": np.array([[0.5, 0.4, 0.6], [0.3, NAN, 0.2]]),
    "macro": np.array([[0.1, 0.2, 0.3], [0.4, NAN, 0.6]]),
    "best_micro": np.array([[0.8, 0.6, 0.7], [0.5, NAN, 0.4]]),
    "agreement": np.array([[NAN, 0.5, 0.7], [NAN, NAN, -0.2]]),
}
COMPOSITE = np.array([[0.2, 0.3, 0.4], [0.5, NAN, 0.7]])


def values(name, at=slice(None)):
    return criterion_values(name, lambda number: NUMBERS[number][:, at], lambda: COMPOSITE[:, at])


def test_the_names():
    assert CRITERIA == ("composite", "micro", "macro", "stable", "likely")
    assert set(OF_SEVERAL_STARTS) == {STABLE, LIKELY} < set(CRITERIA)


def test_the_paper_s_numbers_are_taken_as_they_are():
    assert values("composite") is not None
    np.testing.assert_array_equal(values("composite"), COMPOSITE)
    for name in ("micro", "macro"):
        np.testing.assert_array_equal(values(name), NUMBERS[name])


def test_only_the_composite_is_weighed():
    def never():
        raise AssertionError("weights are not needed here")

    for name in ("micro", "macro", STABLE):
        criterion_values(name, NUMBERS.__getitem__, never)


def test_the_stable_silhouette_is_that_of_the_best_start_times_the_stability():
    """Agreement below chance counts as none, and so nothing is gained by being worse."""
    np.testing.assert_allclose(values(STABLE), [[0.48, 0.36, 0.42], [0.0, NAN, 0.0]])


def test_where_stability_is_unknown_the_silhouette_stands_alone():
    np.testing.assert_array_equal(values(STABLE, slice(1)), [[0.8], [0.5]])


def test_a_redraw_has_a_stability_of_its_own():
    """Draws by subsamples, as the selection probability asks for them."""
    draws = np.array([[0, 1, 1], [2, 2, 0], [0, 1, 2]])
    found = values(STABLE, draws)
    assert found.shape == (2, 3, 3)
    for at, draw in enumerate(draws):
        np.testing.assert_array_equal(found[:, at], values(STABLE, draw))


@pytest.mark.parametrize(
    ("row", "expected"), [([1.0, NAN, 3.0], 2.0), ([NAN, NAN], NAN), ([], NAN), ([0.5], 0.5), ([np.inf, 1.0], 1.0)]
)
def test_means_of_what_is_known(row, expected):
    np.testing.assert_array_equal(mean_known(np.array([row, row])), [expected, expected])


@pytest.mark.parametrize(
    ("criterion", "known", "unknown"),
    [
        ("composite", "likely", "stable"),
        ("micro", "likely", "stable"),
        ("macro", "likely", "stable"),
        ("stable", "likely", "composite"),
        ("likely", "composite", "composite"),
    ],
)
def test_the_criterion_to_compare_with(criterion, known, unknown):
    assert second_criterion(criterion, confidence_known=True) == known
    assert second_criterion(criterion, confidence_known=False) == unknown
