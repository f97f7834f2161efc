"""The derived numbers of a selection: scores, choices, selection probability, confidence and guarantee."""

import json
from dataclasses import replace

import numpy as np
import pytest
from samples import made_up, plan_of

from compsil_kit import SelectionResult, hoeffding_radius, subsamples_for_margin
from compsil_kit._method import likelihood, selection
from compsil_kit._method.selection import CRITERIA
from compsil_kit._result.trials import NUMBERS, Trials

NAN = np.nan


def all_numbers(n_subsamples=8, **changes):
    """Return a result with random numbers of every kind, so close that resamples select different ks."""
    rng, ks = np.random.default_rng(4), range(2, 6)
    numbers = {name: rng.normal(0.5, 0.1, (4, n_subsamples)) for name in NUMBERS}
    numbers["agreement"][:, 0] = NAN
    numbers["within"] = np.sort(numbers["within"], axis=0)[::-1]
    plan = replace(plan_of(ks, n_subsamples), n_starts=5)
    empty = Trials((), np.empty((4, 0)), np.empty((4, 0)))
    return SelectionResult(plan, Trials(tuple(range(n_subsamples)), **numbers), empty, **changes)


def test_ties_go_to_the_smaller_k():
    assert made_up([[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.2], [0.2, 0.2]]).best_k == 2


def test_scores_of_each_criterion():
    result = all_numbers()
    for name in ("micro", "macro"):
        np.testing.assert_allclose(result.reweigh(criterion=name).scores, getattr(result, name).mean(axis=1))
    stability = np.nanmean(result.trials.agreement, axis=1)
    np.testing.assert_allclose(result.stability, stability)
    values = result.trials.best_micro * stability[:, None]
    stable = result.reweigh(criterion="stable")
    np.testing.assert_allclose(stable.scores, values.mean(axis=1))
    np.testing.assert_allclose(stable.sem, values.std(axis=1, ddof=1) / np.sqrt(8))
    # Agreement below chance counts as zero; unknown stability leaves the silhouette unchanged.
    agreement = np.full((4, 8), NAN)
    agreement[1, 3] = -0.2
    odd = replace(stable, trials=replace(result.trials, agreement=agreement))
    np.testing.assert_allclose(odd.scores, result.trials.best_micro.mean(axis=1) * [1, 0, 1, 1])
    likely = result.reweigh(criterion="likely")
    np.testing.assert_array_equal(likely.scores, result.confidence)
    assert np.isnan([likely.sem, likely.lcb]).all()


def test_calibration_estimates_the_largest_discrepancy():
    """The scored subsamples may exceed it."""
    calibrated = made_up([[0.5, 0.6]], [[0.3, 0.2]], calibration=[[0.1, 0.05]])
    weights = (1 + np.tanh(np.array([0.2, 0.4]) / (0.1 + 1e-12))) / 2
    np.testing.assert_allclose(calibrated.weights[0], weights, rtol=0, atol=1e-15)
    assert calibrated.reweigh(transform="linear").weights.tolist() == [[1.0, 1.0]]
    assert calibrated.guarantee().independent


@pytest.mark.parametrize(("criterion", "rule"), [*((name, "max") for name in CRITERIA), ("stable", "lcb")])
def test_selection_probability_against_plain_loops(monkeypatch, criterion, rule):
    """Every resample has its own weights, stability and confidence."""
    monkeypatch.setattr(selection, "MAX_RESAMPLES", 50)
    result = all_numbers(criterion=criterion, rule=rule)

    def values(draw):
        numbers = {name: getattr(result.trials, name)[:, draw] for name in NUMBERS}
        run = replace(result, trials=Trials(tuple(range(len(draw))), **numbers))
        return run.scores if rule == "max" else run.lcb

    resampled = [values(draw) for draw in np.random.default_rng(0).integers(8, size=(50, 8))]
    wins = np.zeros(4)
    for at in range(50):
        wins[np.argmax(values(np.arange(8)) + np.sqrt(8 / 7) * (resampled[at] - resampled[at - 1]))] += 1
    assert np.count_nonzero(wins) > 1
    np.testing.assert_array_equal(result.selection_probability, wins / 50)


def test_selection_probability_is_the_frequency_of_agreement():
    """On pairs of runs on many kinds of data, some clear and some tied."""
    rng = np.random.default_rng(1)
    predicted, agreed = [], []
    for _ in range(300):
        means = rng.uniform(0.48, 0.52, (3, 1))
        one, other = (made_up(*(means + rng.normal(0, 0.04, (2, 3, 30)))) for _ in range(2))
        predicted.append(one.selection_probability[one._best_index])
        agreed.append(one.best_k == other.best_k)
    assert 0.7 < np.mean(agreed) < 0.9
    assert np.mean(predicted) == pytest.approx(np.mean(agreed), abs=0.03)


@pytest.mark.parametrize(("radii", "proven"), [(1.99, False), (2.01, True)])
def test_a_lead_of_two_radii_proves_the_choice(radii, proven):
    """Each score may deviate by one radius."""
    radius = hoeffding_radius(400, n_ks=2)
    rows = np.repeat([[0.1 + radii * radius], [0.1]], 400, axis=1)
    run = made_up(rows, rows, calibration=np.zeros((2, 3)))
    found = run.guarantee()
    assert found.proven is proven
    assert found.lead == pytest.approx(radii * radius)
    assert (found.radius_one, found.radius_all, found.delta) == (hoeffding_radius(400), radius, 0.05)
    assert found.needed == subsamples_for_margin(found.lead, n_ks=2)
    assert not made_up(rows, rows).guarantee().proven
    for delta in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match=r"^delta must be a number in \(0, 1\); got"):
            run.guarantee(delta)
    tie = made_up([[0.5] * 3] * 2, [[0.5] * 3] * 2).guarantee()
    assert (tie.needed, tie.proven) == (None, False)
    alone = made_up([[0.5, 0.6]], [[0.5, 0.6]]).guarantee()
    assert np.isnan(alone.lead)
    assert alone.needed is None


def test_the_guarantee_covers_all_ks_and_the_fewest_subsamples():
    rows = [[0.9] * 10, [0.5] * 8 + [NAN] * 2, [0.7] * 2 + [NAN] * 8]
    found = made_up(rows, rows, ks=[2, 3, 4]).guarantee(delta=0.1)
    # k = 4 failed too often to be selected, but it was a candidate.
    assert found.n_subsamples == 8
    assert found.radius_all == hoeffding_radius(8, n_ks=3, delta=0.1)
    assert found.lead == pytest.approx(0.4)
    assert found.needed == subsamples_for_margin(found.lead, n_ks=3, delta=0.1)
    assert not found.independent


def test_runner_up_and_lead_follow_the_rule():
    rows = [[0.5] * 4, [0.9, 0.2, 0.9, 0.2], [0.4] * 4]
    result = made_up(rows, rows)
    assert (result.best_k, result.ks[result._runner_up]) == (3, 2)
    assert result._lead == pytest.approx(0.05)
    bound = result.reweigh(rule="lcb")
    assert (bound.best_k, bound.ks[bound._runner_up]) == (2, 4)
    assert bound._lead == pytest.approx(0.1)
    # The guarantee is about mean scores, under either rule.
    assert bound.guarantee().lead == pytest.approx(-0.05)
    alone = made_up(rows[:1], rows[:1])
    assert alone._runner_up is None
    assert np.isnan(alone._lead)


@pytest.mark.parametrize(
    ("criterion", "rule", "first"),
    [("composite", "lcb", 2), ("micro", "max", 1), ("stable", "max", 1), ("likely", "max", 5)],
)
def test_running_scores_are_those_of_the_first_subsamples(criterion, rule, first):
    """A result of its own has a confidence from five subsamples."""
    result = all_numbers(criterion=criterion, rule=rule)
    scores, chosen = result._running
    assert scores.shape == (4, 8)
    # One subsample has no lower bound.
    assert (chosen[0] is None) is (rule == "lcb")
    for n in range(first, 9):
        np.testing.assert_array_equal(scores[:, n - 1], result.reweigh(n_subsamples=n).scores)
        assert chosen[n - 1] == result.reweigh(n_subsamples=n).best_k


def test_running_scores_of_saved_weights():
    """Weights of a function cannot be computed again."""
    result = SelectionResult.from_dict(all_numbers(transform=np.abs).to_dict())
    scores, chosen = result._running
    np.testing.assert_allclose(scores[:, 2], result.composite[:, :3].mean(axis=1))
    assert chosen[-1] == result.best_k


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_choices(rule):
    result = all_numbers(rule=rule)
    assert tuple(result.choices) == CRITERIA
    assert len(set(result.choices.values())) > 1
    for name, k in result.choices.items():
        # A confidence has no lower bound.
        other = result.reweigh(criterion=name, rule="max" if name == "likely" else rule)
        assert k == other.best_k == result.ks[int(np.argmax(other.scores if other.rule == "max" else other.lcb))]
    assert result.reweigh(criterion="stable").choices == result.choices


def test_confidence():
    result = all_numbers()
    means = likelihood.means({name: getattr(result.trials, name) for name in likelihood.INPUTS})
    expected = likelihood.likelihood(means, result.plan)
    np.testing.assert_allclose([*result.confidence, result.confidence_none], expected, rtol=1e-9)
    assert result.confidence_note == ""
    assert np.isnan(result.reweigh(n_subsamples=4).confidence).all()
    assert np.isfinite(result.reweigh(n_subsamples=5).confidence).all()


@pytest.mark.parametrize(
    ("names", "rows"), [(["within"], slice(None)), (["agreement"], slice(None)), (NUMBERS, slice(3, None))]
)
def test_unknown_confidence(names, rows):
    """If a number is missing, for all ks or for one: the confidence in a k depends on its neighbours."""
    result = all_numbers()
    numbers = {name: getattr(result.trials, name).copy() for name in names}
    for values in numbers.values():
        values[rows] = NAN
    found = replace(result, trials=replace(result.trials, **numbers))
    assert found.confidence_note == "confidence requires dense data and a successful clustering for every k"
    assert np.isnan([*found.confidence, found.confidence_none]).all()
    assert found.choices["likely"] is None
    assert found.choices["micro"] is not None
    assert found.reweigh(criterion="likely")._best_index is None


def test_derived_numbers_do_not_change_each_other():
    untouched, used = (all_numbers() for _ in range(2))
    assert used.guarantee().lead == pytest.approx(used._lead)
    assert used.explain()
    assert used._running[1][-1] == used.best_k
    assert used._selectable.all()
    assert json.dumps(used.to_dict()) == json.dumps(untouched.to_dict())
