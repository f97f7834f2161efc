"""Criteria, scores per k, the choice, its selection probability, and adaptive stopping."""

import numpy as np
import pytest

from compsil_kit._method import selection
from compsil_kit._method.selection import (
    LIKELY,
    STABLE,
    choose,
    combine,
    criterion_values,
    finite_mean,
    maximised,
    review_candidates,
    second_criterion,
    selectable,
    summarise,
    weigh,
)

NAN = np.nan
TRIALS = {
    "micro": np.array([[0.5, 0.4, 0.6], [0.3, NAN, 0.2]]),
    "macro": np.array([[0.1, 0.2, 0.3], [0.4, NAN, 0.6]]),
    "best_micro": np.array([[0.8, 0.6, 0.7], [0.5, NAN, 0.4]]),
    "agreement": np.array([[NAN, 0.5, 0.7], [NAN, NAN, -0.2]]),
}
COMPOSITE = np.array([[0.2, 0.3, 0.4], [0.5, NAN, 0.7]])


def values(name, at=slice(None)):
    return criterion_values(name, lambda number: TRIALS[number][:, at], lambda: COMPOSITE[:, at])


def test_composite_micro_and_macro_are_taken_unchanged():
    np.testing.assert_array_equal(values("composite"), COMPOSITE)
    for name in ("micro", "macro"):
        np.testing.assert_array_equal(values(name), TRIALS[name])


def test_only_the_composite_computes_weights():
    def never():
        raise AssertionError("weights are not needed here")

    for name in ("micro", "macro", STABLE):
        criterion_values(name, TRIALS.__getitem__, never)


def test_stable_silhouette_is_best_micro_times_stability():
    """Agreement below chance counts as zero; unknown stability leaves the silhouette unchanged."""
    np.testing.assert_allclose(values(STABLE), [[0.48, 0.36, 0.42], [0.0, NAN, 0.0]])
    np.testing.assert_array_equal(values(STABLE, slice(1)), [[0.8], [0.5]])


def test_each_resample_has_its_own_stability():
    draws = np.array([[0, 1, 1], [2, 2, 0], [0, 1, 2]])
    found = values(STABLE, draws)
    assert found.shape == (2, 3, 3)
    for at, draw in enumerate(draws):
        np.testing.assert_array_equal(found[:, at], values(STABLE, draw))


@pytest.mark.parametrize(
    ("row", "expected"), [([1.0, NAN, 3.0], 2.0), ([NAN, NAN], NAN), ([], NAN), ([0.5], 0.5), ([np.inf, 1.0], 1.0)]
)
def test_finite_mean(row, expected):
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
def test_second_criterion(criterion, known, unknown):
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
def test_review_of_candidates(probability, eligible, candidates, expected):
    assert review_candidates(np.array(probability), eligible, candidates) == expected


def test_summary_ignores_failed_subsamples():
    found = summarise(np.array([[1.0, 2.0, 3.0], [4.0, NAN, 6.0], [NAN, NAN, 5.0], [NAN] * 3]), z=2.0)
    assert found.count.tolist() == [3, 2, 1, 0]
    np.testing.assert_array_equal(found.mean, [2.0, 5.0, 5.0, NAN])
    np.testing.assert_allclose(found.sem, [1 / np.sqrt(3), 1.0, NAN, NAN])
    np.testing.assert_allclose(found.lcb, found.mean - 2.0 * found.sem)


def test_rule_selects_mean_or_lower_bound():
    summary = summarise(np.array([[1.0, 2.0]]), z=1.0)
    assert maximised(summary, "max") is summary.mean
    assert maximised(summary, "lcb") is summary.lcb


@pytest.mark.parametrize(
    ("values", "eligible", "expected"),
    [
        ([0.1, 0.3, 0.2], [True] * 3, 1),
        ([0.1, 0.3, 0.2], [True, False, True], 2),
        ([0.3, 0.3, 0.2], [True] * 3, 0),
        ([NAN, -0.5, NAN], [True] * 3, 1),
        ([NAN, NAN, NAN], [True] * 3, None),
        ([0.1, 0.3, 0.2], [False] * 3, None),
        ([-0.5, -0.1], [True] * 2, 1),
    ],
)
def test_choice_is_the_largest_eligible_value(values, eligible, expected):
    assert choose(np.array(values), np.array(eligible)) == expected


@pytest.mark.parametrize(
    ("n", "lost", "expected"), [(10, 2, True), (10, 3, False), (5, 1, True), (4, 1, False), (1, 0, True)]
)
def test_a_k_may_lose_a_fifth_of_its_subsamples(n, lost, expected):
    values = np.ones((1, n))
    values[0, :lost] = NAN
    assert selectable(values).tolist() == [expected]


def test_failures_are_counted_on_the_subsamples_that_were_run():
    values = np.array([[0.1, 0.2, NAN, NAN, NAN], [0.1, NAN, NAN, NAN, NAN], [0.1, 0.2, 0.3, 0.4, NAN]])
    assert selectable(values, np.array([2, 2, 5])).tolist() == [True, False, True]
    assert selectable(values).tolist() == [False, False, True]


def probability(micro, macro, rule="max", largest=None):
    """Return the selection probability by composites, from silhouettes given as ks by subsamples."""
    micro, macro = np.array(micro), np.array(macro)
    fixed = None if largest is None else largest[:, None, :]

    def values_of(draws):
        some = micro[:, draws], macro[:, draws]
        return maximised(summarise(combine(*some, weigh(*some, "tanh", fixed)), 1.0), rule)

    return selection.selection_probability(micro.shape[1], selectable(micro), values_of)


def test_ties_ignore_rounding_errors():
    micro = np.array([[0.5, 0.6, 0.4], [0.5, 0.6, 0.4], [0.1, 0.1, 0.1]])
    for last_bit in (-1e-16, 0.0, 1e-16):
        assert probability(micro + last_bit * np.arange(3)[:, None], micro).tolist() == [1, 0, 0]


def test_probability_of_a_clear_choice_and_of_a_tie():
    clear = [[0.9, 0.8, 0.85, 0.9], [0.1, 0.2, 0.15, 0.1]]
    assert probability(clear, clear).tolist() == [1.0, 0.0]
    rng = np.random.default_rng(0)
    noise = rng.normal(0.5, 0.1, (2, 40))
    noise[1] = noise[0][::-1]
    assert probability(noise, noise)[0] == pytest.approx(0.5, abs=0.05)


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
    """Otherwise a million subsamples would need a billion draws."""
    micro = np.array([[0.50, 0.40, 0.60], [0.48, 0.51, 0.48]])
    for limit, n_resamples in [(3 * 400, 400), (3, selection.MIN_RESAMPLES)]:
        monkeypatch.setattr(selection, "_ALL_RESAMPLES", limit)
        counts = probability(micro, micro) * n_resamples
        assert counts == pytest.approx(np.rint(counts))
        assert 0 < counts[1] < n_resamples


def test_probability_uses_the_given_largest_discrepancy():
    rng = np.random.default_rng(2)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 9))
    wide = probability(micro, macro, largest=np.full((3, 1), 10.0))
    half = (micro + macro) / 2
    assert wide == pytest.approx(probability(half, half), abs=0.02)


def test_bootstrap_noise_is_scaled_to_that_of_runs():
    """Resamples of B subsamples vary less than new runs, by (B - 1) / B; computed step by step for B = 3."""
    values = np.array([[0.50, 0.40, 0.60], [0.48, 0.51, 0.48]])
    draws = np.random.default_rng(0).integers(3, size=(1000, 3))
    resampled = np.array([[row[draw].mean() for draw in draws] for row in values])
    noise = np.sqrt(3 / 2) * (resampled - np.roll(resampled, 1, axis=1))
    winners = (values.mean(axis=1)[:, None] + noise).argmax(axis=0)
    expected = np.bincount(winners, minlength=2) / 1000
    found = selection.selection_probability(3, np.array([True, True]), lambda draws: values[:, draws].mean(axis=-1))
    assert found.tolist() == expected.tolist()
    assert 0.05 < found[1] < 0.95


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_against_a_naive_loop(rule):
    """A new run has these values plus the scaled difference of two resamples."""
    rng = np.random.default_rng(5)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 4))

    def values(draw):
        some = micro[:, draw], macro[:, draw]
        return maximised(summarise(combine(*some, weigh(*some, "tanh")), 1.0), rule)

    resampled = [values(draw) for draw in np.random.default_rng(0).integers(4, size=(1000, 4))]
    wins = np.zeros(3)
    for at in range(1000):
        others = values(np.arange(4)) + np.sqrt(4 / 3) * (resampled[at] - resampled[at - 1])
        wins[np.argmax(np.where(np.isfinite(others), others, -np.inf))] += 1
    assert probability(micro, macro, rule=rule).tolist() == (wins / 1000).tolist()
