"""Weights, criteria, scores per k, the choice of k, selection probabilities, adaptive stopping, Hoeffding bounds."""

import numpy as np
import pytest

from compsil_kit import hoeffding_radius, select_k, subsamples_for_margin
from compsil_kit._method import selection
from compsil_kit._method.selection import (
    LIKELY,
    STABLE,
    check_transform,
    choose,
    combine,
    finite_mean,
    largest_discrepancy,
    maximised,
    review_candidates,
    second_criterion,
    selectable,
    summarise,
    transform_name,
    weigh,
)

NAN = np.nan
MICRO, MACRO = np.array([[0.5, 0.1, 0.4]]), np.array([[0.3, 0.5, 0.4]])


def test_invalid_transforms_fail_before_any_clustering():
    def forbidden(X, k, seed):
        raise AssertionError("work was done")

    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="transform 'int' must map an array"):
        select_k(X, ks=2, n_subsamples=2, transform=int, clusterer=forbidden)


def test_transform_names_are_validated():
    assert check_transform("tanh") == "tanh"
    assert (transform_name("tanh"), transform_name(np.abs)) == ("tanh", "absolute")
    rule = r"^transform must be one of 'tanh', 'linear', 'sigmoid', 'step', or a function"
    for wrong, error in (("cube", ValueError), (3, TypeError)):
        with pytest.raises(error, match=rule):
            check_transform(wrong)


def test_largest_discrepancy_ignores_failed_subsamples():
    micro, macro = np.array([[0.5, NAN, 0.1], [NAN] * 3]), np.array([[0.4, NAN, 0.4], [NAN] * 3])
    np.testing.assert_allclose(largest_discrepancy(micro, macro), [[0.3], [NAN]])
    np.testing.assert_array_equal(np.isnan(weigh(micro, macro, "tanh")), np.isnan(micro))


def test_calibrated_discrepancies_beyond_one_are_clipped():
    assert weigh(MICRO, MACRO, "linear", np.array([[0.1]])).tolist() == [[1.0, 0.0, 0.5]]


def test_custom_transforms_receive_clipped_discrepancies():
    seen = []

    def record(x):
        seen.append((x.min(), x.max()))
        return np.where(x > 0, 1.0, 0.0)

    weights = weigh(np.array([[0.9, 0.1, NAN]]), np.array([[0.1, 0.1, NAN]]), record, np.array([[0.1]]))
    assert seen == [(0.0, 1.0)]
    np.testing.assert_array_equal(weights, [[1.0, 0.0, NAN]])


def test_zero_discrepancy_gives_equal_weights():
    assert weigh(MICRO, MICRO, lambda x: np.ones(x.shape)).tolist() == [[0.5, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("row", "expected"), [([1.0, NAN, 3.0], 2.0), ([NAN, NAN], NAN), ([], NAN), ([0.5], 0.5), ([np.inf, 1.0], 1.0)]
)
def test_finite_mean_ignores_nan_and_infinity(row, expected):
    np.testing.assert_array_equal(finite_mean(np.array([row, row])), [expected, expected])


@pytest.mark.parametrize(
    ("criterion", "known", "unknown"),
    [
        ("composite", LIKELY, STABLE),
        ("micro", LIKELY, STABLE),
        ("macro", LIKELY, STABLE),
        (STABLE, LIKELY, "composite"),
        (LIKELY, "composite", "composite"),
    ],
)
def test_second_criterion_depends_on_known_confidence(criterion, known, unknown):
    assert second_criterion(criterion, confidence_known=True) == known
    assert second_criterion(criterion, confidence_known=False) == unknown


ALL = np.array([True, True, True, True])


@pytest.mark.parametrize(
    ("probability", "eligible", "candidates", "expected"),
    [
        pytest.param([0.5, 0.5, 0.0, 0.0], ALL, (0, 1, 2, 3), (False, (0, 1)), id="two remain"),
        pytest.param([0.99, 0.01, 0.0, 0.0], ALL, (0, 1, 2, 3), (True, (0, 1)), id="stop"),
        pytest.param([0.989, 0.01, 0.001, 0.0], ALL, (0, 1, 2, 3), (False, (0, 1, 2)), id="almost"),
        pytest.param([0.9, 0.0991, 0.0009, 0.0], ALL, (0, 1, 2, 3), (False, (0, 1)), id="drop"),
        pytest.param([0.5, 0.3, 0.2, 0.0], ALL, (0, 2), (False, (0, 2)), id="dropped earlier"),
        pytest.param([NAN] * 4, ALL, (0, 1, 2, 3), (False, (0, 1, 2, 3)), id="unknown"),
        pytest.param([0.5, 0.2, 0.2, 0.1], np.arange(4) != 1, (0, 1, 2, 3), (False, (0, 2, 3)), id="not selectable"),
        pytest.param([NAN] * 4, ~ALL, (0, 1, 2, 3), (True, ()), id="none selectable"),
    ],
)
def test_review_drops_unlikely_candidates_and_stops_at_a_clear_winner(probability, eligible, candidates, expected):
    assert review_candidates(np.array(probability), eligible, candidates) == expected


def test_summary_ignores_failed_subsamples():
    found = summarise(np.array([[1.0, 2.0, 3.0], [4.0, NAN, 6.0], [NAN, NAN, 5.0], [NAN] * 3]), z=2.0)
    assert found.count.tolist() == [3, 2, 1, 0]
    np.testing.assert_array_equal(found.mean, [2.0, 5.0, 5.0, NAN])
    np.testing.assert_allclose(found.sem, [1 / np.sqrt(3), 1.0, NAN, NAN])
    np.testing.assert_allclose(found.lcb, found.mean - 2.0 * found.sem)
    assert maximised(found, "max") is found.mean
    assert maximised(found, "lcb") is found.lcb


@pytest.mark.parametrize(
    ("values", "eligible", "expected"),
    [
        ([0.1, 0.3, 0.2], [True, False, True], 2),
        ([NAN, -0.5, NAN], [True] * 3, 1),
        ([0.1, 0.3, 0.2], [False] * 3, None),
    ],
)
def test_choose_returns_the_largest_eligible_value(values, eligible, expected):
    assert choose(np.array(values), np.array(eligible)) == expected


def test_failures_are_counted_only_among_subsamples_that_were_run():
    values = np.array([[0.1, 0.2, NAN, NAN, NAN], [0.1, NAN, NAN, NAN, NAN], [0.1, 0.2, 0.3, 0.4, NAN]])
    assert selectable(values, np.array([2, 2, 5])).tolist() == [True, False, True]
    assert selectable(values, 5).tolist() == [False, False, True]


def values_of(micro, macro, rule="max", largest=None):
    """Return a function that maps drawn subsamples to the composite values that the rule maximises."""

    def maximised_of(draws):
        some = micro[:, draws], macro[:, draws]
        return maximised(summarise(combine(*some, weigh(*some, "tanh", largest)), 1.0), rule)

    return maximised_of


def probability(micro, macro, rule="max", largest=None):
    """Return the selection probability by composite scores, for silhouettes of shape (n_ks, n_subsamples)."""
    micro, macro = np.array(micro), np.array(macro)
    values = values_of(micro, macro, rule, largest)
    return selection.selection_probability(micro.shape[1], selectable(micro, micro.shape[1]), values)


def test_ties_ignore_rounding_errors():
    micro = np.array([[0.5, 0.6, 0.4], [0.5, 0.6, 0.4], [0.1, 0.1, 0.1]])
    for last_bit in (-1e-16, 0.0, 1e-16):
        assert probability(micro + last_bit * np.arange(3)[:, None], micro).tolist() == [1, 0, 0]


def test_ineligible_ks_have_probability_zero():
    rows = [[0.9, NAN, NAN, NAN], [0.5] * 4, [0.4] * 4]
    assert probability(rows, rows).tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(probability([[0.9]], [[0.8]])).all()
    assert np.isnan(probability([[NAN, NAN]], [[NAN, NAN]])).all()


def test_chunked_resampling_gives_equal_results(monkeypatch):
    rng = np.random.default_rng(1)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 7))
    whole = probability(micro, macro)
    monkeypatch.setattr(selection, "_RESAMPLE_CELLS", 100)
    assert probability(micro, macro).tolist() == whole.tolist()


def test_long_runs_use_fewer_resamples(monkeypatch):
    """With all resamples, a million subsamples would need a billion draws."""
    micro = np.array([[0.50, 0.40, 0.60], [0.48, 0.51, 0.48]])
    for limit, n_resamples in [(3 * 400, 400), (3, selection.MIN_RESAMPLES)]:
        monkeypatch.setattr(selection, "_ALL_RESAMPLES", limit)
        counts = probability(micro, micro) * n_resamples
        assert counts == pytest.approx(np.rint(counts))
        assert 0 < counts[1] < n_resamples


def test_probability_uses_the_given_largest_discrepancy():
    micro, macro = np.random.default_rng(2).normal(0.5, 0.1, (2, 3, 9))
    half = (micro + macro) / 2
    wide = probability(micro, macro, largest=np.full((3, 1, 1), 10.0))
    assert wide == pytest.approx(probability(half, half), abs=0.02)


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_equals_a_naive_loop(rule):
    """A new run is simulated as these values plus the scaled difference between two resamples.

    The scale is needed because resamples of B subsamples vary less than new runs, by a factor of (B - 1) / B.
    """
    micro, macro = np.random.default_rng(5).normal(0.5, 0.1, (2, 3, 4))
    values = values_of(micro, macro, rule)
    resampled = [values(draw) for draw in np.random.default_rng(0).integers(4, size=(1000, 4))]
    wins = np.zeros(3)
    for at in range(1000):
        others = values(np.arange(4)) + np.sqrt(4 / 3) * (resampled[at] - resampled[at - 1])
        wins[np.argmax(np.where(np.isfinite(others), others, -np.inf))] += 1
    assert probability(micro, macro, rule=rule).tolist() == (wins / 1000).tolist()
    assert (wins > 50).sum() > 1


def test_hoeffding_functions_equal_their_formulas():
    assert hoeffding_radius(30) == pytest.approx(np.sqrt(2 * np.log(40) / 30))
    assert hoeffding_radius(30, n_ks=9, delta=0.1) == pytest.approx(np.sqrt(2 * np.log(180) / 30))
    n = subsamples_for_margin(0.5, n_ks=9, delta=0.05)
    assert 2 * hoeffding_radius(n, n_ks=9) <= 0.5 < 2 * hoeffding_radius(n - 1, n_ks=9)
    assert subsamples_for_margin(2, n_ks=1) == 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0), "n_subsamples must be an integer of at least 1; got 0"),
        (lambda: hoeffding_radius(10, delta=0), r"delta must be a number in \(0, 1\); got 0"),
        (lambda: hoeffding_radius(10, n_ks=0), "n_ks must be an integer of at least 1; got 0"),
        (lambda: subsamples_for_margin(0.0, n_ks=3), r"margin must be a number in \(0, 2\]; got 0.0"),
        (lambda: subsamples_for_margin(3, n_ks=3), r"margin must be a number in \[0, 2\]; got 3"),
        (lambda: subsamples_for_margin(0.5, n_ks=0), "n_ks must be an integer of at least 1; got 0"),
        (lambda: subsamples_for_margin(0.5, n_ks=3, delta=1.0), r"delta must be a number in \(0, 1\)"),
    ],
)
def test_invalid_arguments_of_hoeffding_functions_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
