"""From composites to a choice: means, errors, lower bounds, ties, what is lost, and how often another run agrees."""

import numpy as np
import pytest

from compsil_kit._method import selection
from compsil_kit._method.selection import choose, independent_largest, maximised, selectable, summarise
from compsil_kit._method.weights import combine, weigh

NAN = np.nan


def test_means_and_errors_leave_out_what_failed():
    found = summarise(np.array([[1.0, 2.0, 3.0], [4.0, NAN, 6.0], [NAN, NAN, 5.0], [NAN] * 3]), z=2.0)
    assert found.count.tolist() == [3, 2, 1, 0]
    np.testing.assert_array_equal(found.mean, [2.0, 5.0, 5.0, NAN])
    np.testing.assert_allclose(found.sem, [1 / np.sqrt(3), 1.0, NAN, NAN])
    np.testing.assert_allclose(found.lcb, found.mean - 2.0 * found.sem)


def test_rules():
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
def test_the_largest_that_may_be_chosen(values, eligible, expected):
    assert choose(np.array(values), np.array(eligible)) == expected


@pytest.mark.parametrize(
    ("n", "lost", "expected"), [(10, 2, True), (10, 3, False), (5, 1, True), (4, 1, False), (1, 0, True)]
)
def test_a_fifth_may_be_lost(n, lost, expected):
    values = np.ones((1, n))
    values[0, :lost] = NAN
    assert selectable(values).tolist() == [expected]


def test_a_k_that_was_not_run_everywhere_keeps_its_own_share():
    values = np.array([[0.1, 0.2, NAN, NAN, NAN], [0.1, NAN, NAN, NAN, NAN], [0.1, 0.2, 0.3, 0.4, NAN]])
    assert selectable(values, np.array([2, 2, 5])).tolist() == [True, False, True]
    assert selectable(values).tolist() == [False, False, True]


def test_calibration_gives_its_own_largest_discrepancy():
    assert independent_largest(np.empty((2, 0)), np.empty((2, 0))) is None
    found = independent_largest(np.array([[0.5, 0.1]]), np.array([[0.2, 0.6]]))
    np.testing.assert_allclose(found, [[0.5]])


def probability(micro, macro, rule="max", largest=None):
    """Return the selection probability by composites, from silhouettes given as ks by subsamples."""
    micro, macro = np.array(micro), np.array(macro)
    fixed = None if largest is None else largest[:, None, :]

    def values_of(draws):
        some = micro[:, draws], macro[:, draws]
        return maximised(summarise(combine(*some, weigh(*some, "tanh", fixed)), 1.0), rule)

    return selection.selection_probability(micro.shape[1], selectable(micro), values_of)


def test_equal_ks_share_nothing_by_rounding():
    micro = np.array([[0.5, 0.6, 0.4], [0.5, 0.6, 0.4], [0.1, 0.1, 0.1]])
    for last_bit in (-1e-16, 0.0, 1e-16):
        assert probability(micro + last_bit * np.arange(3)[:, None], micro).tolist() == [1, 0, 0]


def test_a_clear_choice_is_certain_and_a_tie_is_not():
    clear = [[0.9, 0.8, 0.85, 0.9], [0.1, 0.2, 0.15, 0.1]]
    assert probability(clear, clear).tolist() == [1.0, 0.0]
    rng = np.random.default_rng(0)
    noise = rng.normal(0.5, 0.1, (2, 40))
    noise[1] = noise[0][::-1]
    assert probability(noise, noise)[0] == pytest.approx(0.5, abs=0.05)


def test_what_cannot_be_selected_has_no_probability():
    rows = [[0.9, NAN, NAN, NAN], [0.5] * 4, [0.4] * 4]
    assert probability(rows, rows).tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(probability([[0.9]], [[0.8]])).all()
    assert np.isnan(probability([[NAN, NAN]], [[NAN, NAN]])).all()


def test_redraws_in_parts_give_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 7))
    whole = probability(micro, macro)
    monkeypatch.setattr(selection, "_RESAMPLE_CELLS", 100)
    assert probability(micro, macro).tolist() == whole.tolist()


def test_long_runs_are_redrawn_less_often(monkeypatch):
    """Otherwise a million subsamples would be drawn a billion times."""
    micro = np.array([[0.50, 0.40, 0.60], [0.48, 0.51, 0.48]])
    for limit, n_redraws in [(3 * 400, 400), (3, selection.FEWEST_RESAMPLES)]:
        monkeypatch.setattr(selection, "_ALL_RESAMPLES", limit)
        counts = probability(micro, micro) * n_redraws
        assert counts == pytest.approx(np.rint(counts))
        assert 0 < counts[1] < n_redraws


def test_another_largest_discrepancy_is_another_weight():
    rng = np.random.default_rng(2)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 9))
    wide = probability(micro, macro, largest=np.full((3, 1), 10.0))
    half = (micro + macro) / 2
    assert wide == pytest.approx(probability(half, half), abs=0.02)


def test_the_noise_of_redraws_is_widened_to_that_of_runs():
    """Redraws of B subsamples vary less than new runs, by (B - 1) / B; worked out in plain steps for B = 3."""
    values = np.array([[0.50, 0.40, 0.60], [0.48, 0.51, 0.48]])
    draws = np.random.default_rng(0).integers(3, size=(1000, 3))
    redrawn = np.array([[row[draw].mean() for draw in draws] for row in values])
    noise = np.sqrt(3 / 2) * (redrawn - np.roll(redrawn, 1, axis=1))
    winners = (values.mean(axis=1)[:, None] + noise).argmax(axis=0)
    expected = np.bincount(winners, minlength=2) / 1000
    found = selection.selection_probability(3, np.array([True, True]), lambda draws: values[:, draws].mean(axis=-1))
    assert found.tolist() == expected.tolist()
    assert 0.05 < found[1] < 0.95


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_in_plain_loops(rule):
    """Another run: these values, plus the difference of two redraws, widened as redraws vary less than runs."""
    rng = np.random.default_rng(5)
    micro, macro = rng.normal(0.5, 0.1, (2, 3, 4))

    def values(draw):
        some = micro[:, draw], macro[:, draw]
        return maximised(summarise(combine(*some, weigh(*some, "tanh")), 1.0), rule)

    redrawn = [values(draw) for draw in np.random.default_rng(0).integers(4, size=(1000, 4))]
    wins = np.zeros(3)
    for at in range(1000):
        others = values(np.arange(4)) + np.sqrt(4 / 3) * (redrawn[at] - redrawn[at - 1])
        wins[np.argmax(np.where(np.isfinite(others), others, -np.inf))] += 1
    assert probability(micro, macro, rule=rule).tolist() == (wins / 1000).tolist()
