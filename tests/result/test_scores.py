"""The numbers of a selection: the choice, its selection probability, the calibration, what a run guarantees."""

from dataclasses import replace

import numpy as np
import pytest
from samples import made_up, plan_of

from compsil_kit import SelectionResult, hoeffding_radius, subsamples_for_margin
from compsil_kit._method import likelihood, selection
from compsil_kit._method.selection import CRITERIA
from compsil_kit._result.trials import NUMBERS, Trials


def test_ties_go_to_the_smaller_k():
    assert made_up([[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.2], [0.2, 0.2]]).best_k == 2


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_against_plain_loops(rule):
    rng = np.random.default_rng(0)
    micro, macro = rng.normal(0.5, 0.1, (3, 8)), rng.normal(0.5, 0.1, (3, 8))

    def values(draw):
        run = made_up(micro[:, draw], macro[:, draw], rule=rule)
        return run.scores if rule == "max" else run.lcb

    redrawn = [values(draw) for draw in np.random.default_rng(0).integers(8, size=(1000, 8))]
    whole, wins = values(np.arange(8)), np.zeros(3)
    for at in range(1000):
        wins[np.argmax(whole + np.sqrt(8 / 7) * (redrawn[at] - redrawn[at - 1]))] += 1
    np.testing.assert_array_equal(made_up(micro, macro, rule=rule).selection_probability, wins / 1000)


def test_probability_is_how_often_a_new_run_agrees():
    """Pairs of runs on many kinds of data, some easy and some tied: what the first says is how often both agree."""
    rng = np.random.default_rng(1)
    said, agreed = [], []
    for _ in range(300):
        means = rng.uniform(0.48, 0.52, (3, 1))
        one, other = (made_up(*(means + rng.normal(0, 0.04, (2, 3, 30)))) for _ in range(2))
        said.append(one.selection_probability[one._best_index])
        agreed.append(one.best_k == other.best_k)
    assert 0.7 < np.mean(agreed) < 0.9
    assert np.mean(said) == pytest.approx(np.mean(agreed), abs=0.03)


def test_calibration_uses_its_own_subsamples():
    """The largest discrepancy comes from the calibration set; scored subsamples may exceed it."""
    calibrated = made_up([[0.5, 0.6]], [[0.3, 0.2]], calibration=[[0.1, 0.05]])
    delta = np.array([0.2, 0.4])
    weights = (1 + np.tanh(delta / (0.1 + 1e-12))) / 2
    np.testing.assert_allclose(calibrated.weights[0], weights, rtol=0, atol=1e-15)
    assert calibrated.reweigh(transform="linear").weights.tolist() == [[1.0, 1.0]]
    assert calibrated.guarantee().independent


def test_guarantee_of_a_run():
    run = made_up([[0.9] * 400, [0.1] * 400], [[0.9] * 400, [0.1] * 400], calibration=np.zeros((2, 3)))
    found = run.guarantee()
    assert found.proven
    assert found.lead == pytest.approx(0.8)
    assert found.radius_one < found.radius_all < 0.4
    assert found.needed == subsamples_for_margin(0.8, n_ks=2)
    assert not made_up([[0.9] * 400, [0.1] * 400], [[0.9] * 400, [0.1] * 400]).guarantee().proven
    noisy = made_up([[0.5] * 4, [0.9, 0.2, 0.9, 0.2]], [[0.5] * 4, [0.9, 0.2, 0.9, 0.2]], rule="lcb")
    assert noisy.best_k == 2
    assert noisy._lead > 0 > noisy.guarantee().lead
    for delta in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match=r"^delta must be a number in \(0, 1\); got"):
            run.guarantee(delta)
    tie = made_up([[0.5] * 3, [0.5] * 3], [[0.5] * 3, [0.5] * 3]).guarantee()
    assert tie.needed is None
    assert not tie.proven


def test_the_guarantee_covers_all_candidates_and_the_one_with_fewest_subsamples():
    lost = np.nan
    rows = [[0.9] * 10, [0.5] * 8 + [lost] * 2, [0.7] * 2 + [lost] * 8]
    found = made_up(rows, rows, ks=[2, 3, 4]).guarantee(delta=0.1)
    # k = 4 lost too many to be chosen; it was a candidate all the same.
    assert found.n_subsamples == 8
    assert found.radius_all == hoeffding_radius(8, n_ks=3, delta=0.1)
    assert found.lead == pytest.approx(0.4)
    assert found.needed == subsamples_for_margin(found.lead, n_ks=3, delta=0.1)
    assert not found.independent


def test_one_candidate_leads_nobody():
    found = made_up([[0.5, 0.6]], [[0.5, 0.6]])
    assert found._runner_up is None
    assert np.isnan(found._lead)
    assert np.isnan(found.guarantee().lead)
    assert found.guarantee().needed is None


def test_the_score_of_the_first_subsamples():
    rng = np.random.default_rng(0)
    result = made_up(*rng.uniform(0.2, 0.8, (2, 3, 5)), rule="lcb")
    scores, chosen = result._running
    assert scores.shape == (3, 5)
    for n in range(2, 6):
        first = result.reweigh(n_subsamples=n)
        np.testing.assert_array_equal(scores[:, n - 1], first.scores)
        assert chosen[n - 1] == first.best_k
    # One subsample has no lower bound.
    assert chosen[0] is None


def test_the_runner_up_and_the_lead_follow_the_rule():
    rows = [[0.5] * 4, [0.9, 0.2, 0.9, 0.2], [0.4] * 4]
    result = made_up(rows, rows)
    assert (result.best_k, result.ks[result._runner_up]) == (3, 2)
    assert result._lead == pytest.approx(0.05)
    careful = result.reweigh(rule="lcb")
    assert (careful.best_k, careful.ks[careful._runner_up]) == (2, 4)
    assert careful._lead == pytest.approx(0.1)


# --- other criteria ---------------------------------------------------------------------------------------------------


def several(n_subsamples=8, **changes):
    """A result of made-up numbers of every kind, close enough that redraws choose differently."""
    rng, ks = np.random.default_rng(4), range(2, 6)
    numbers = {name: rng.normal(0.5, 0.1, (4, n_subsamples)) for name in NUMBERS}
    numbers["agreement"][:, 0] = np.nan
    numbers["within"] = np.sort(numbers["within"], axis=0)[::-1]
    plan = replace(plan_of(ks, n_subsamples), n_starts=5)
    empty = Trials((), np.empty((4, 0)), np.empty((4, 0)))
    return SelectionResult(plan, Trials(tuple(range(n_subsamples)), **numbers), empty, **changes)


def redraw(result, draw):
    numbers = {name: getattr(result.trials, name)[:, draw] for name in NUMBERS}
    return replace(result, trials=Trials(tuple(range(len(draw))), **numbers))


@pytest.mark.parametrize(("criterion", "rule"), [*((name, "max") for name in CRITERIA), ("stable", "lcb")])
def test_redraws_are_scored_as_runs_would_be(monkeypatch, criterion, rule):
    """Each redraw has weights, a stability and a confidence of its own."""
    monkeypatch.setattr(selection, "MAX_RESAMPLES", 50)
    result = several(criterion=criterion, rule=rule)

    def values(draw):
        run = redraw(result, draw)
        return run.scores if rule == "max" else run.lcb

    redrawn = [values(draw) for draw in np.random.default_rng(0).integers(8, size=(50, 8))]
    wins = np.zeros(4)
    for at in range(50):
        wins[np.argmax(values(np.arange(8)) + np.sqrt(8 / 7) * (redrawn[at] - redrawn[at - 1]))] += 1
    assert np.count_nonzero(wins) > 1
    np.testing.assert_array_equal(result.selection_probability, wins / 50)


def test_the_score_of_each_criterion():
    result = several()
    for name in ("micro", "macro"):
        np.testing.assert_allclose(result.reweigh(criterion=name).scores, getattr(result, name).mean(axis=1))
    stability = np.nanmean(result.trials.agreement, axis=1)
    np.testing.assert_allclose(result.stability, stability)
    stable = result.trials.best_micro * stability[:, None]
    found = result.reweigh(criterion="stable")
    np.testing.assert_allclose(found.scores, stable.mean(axis=1))
    np.testing.assert_allclose(found.sem, stable.std(axis=1, ddof=1) / np.sqrt(8))
    likely = result.reweigh(criterion="likely")
    np.testing.assert_array_equal(likely.scores, result.confidence)
    assert np.isnan(likely.sem).all()
    assert np.isnan(likely.lcb).all()


def test_the_table_of_trials_has_the_numbers_of_each():
    result = several()
    weights = result.weights
    expected = {
        **{name: getattr(result.trials, name) for name in ("micro", "macro", "best_micro", "best_macro", "agreement")},
        "weight": weights,
        "composite": weights * result.micro + (1 - weights) * result.macro,
    }
    frame = result.to_frame()
    assert set(frame) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(frame[name].unstack(), values)


def test_saved_weights_serve_the_first_subsamples_too():
    """Those of a function of an earlier session are not computed again."""
    result = SelectionResult.from_dict(several(transform=np.abs).to_dict())
    scores, chosen = result._running
    np.testing.assert_allclose(scores[:, 2], result.composite[:, :3].mean(axis=1))
    assert chosen[-1] == result.best_k


def test_the_confidence_is_the_model_s_opinion_of_the_means():
    result = several()
    means = likelihood.means({name: getattr(result.trials, name) for name in likelihood.INPUTS})
    expected = likelihood.likelihood(means, result.plan)
    np.testing.assert_allclose([*result.confidence, result.confidence_none], expected, rtol=1e-9)
    assert result.confidence_note == ""


def test_each_criterion_chooses_the_largest():
    result = several()
    for name, k in result.choices.items():
        other = result.reweigh(criterion=name)
        assert k == other.best_k == result.ks[int(np.argmax(other.scores))]
    assert tuple(result.choices) == CRITERIA
    assert len(set(result.choices.values())) > 1
    # Whatever the criterion in use, the others choose the same.
    assert result.reweigh(criterion="stable").choices == result.choices


def test_by_the_lower_bound_only_the_confidence_has_none():
    result = several(rule="lcb")
    for name in ("composite", "micro", "macro", "stable"):
        assert result.choices[name] == result.ks[int(np.argmax(result.reweigh(criterion=name).lcb))]
    assert result.choices["likely"] == several().choices["likely"]


@pytest.mark.parametrize(("criterion", "first"), [("micro", 1), ("macro", 1), ("stable", 1), ("likely", 5)])
def test_the_first_subsamples_under_each_criterion(criterion, first):
    """From five subsamples on there is a confidence."""
    result = several(criterion=criterion)
    scores, chosen = result._running
    for n in range(first, 9):
        np.testing.assert_array_equal(scores[:, n - 1], result.reweigh(n_subsamples=n).scores)
        assert chosen[n - 1] == result.reweigh(n_subsamples=n).best_k


@pytest.mark.parametrize("name", ["within", "agreement"])
def test_what_the_model_does_not_know_has_no_confidence(name):
    result = several()
    unknown = replace(result.trials, **{name: np.full((4, 8), np.nan)})
    found = replace(result, trials=unknown)
    assert found.confidence_note
    assert np.isnan([*found.confidence, found.confidence_none]).all()
    assert found.choices["likely"] is None
    assert found.reweigh(criterion="likely")._best_index is None


def test_one_k_without_clusterings_leaves_all_without_a_confidence():
    """Its neighbours are judged by how far they stick out of it."""
    result = several()
    numbers = {name: getattr(result.trials, name).copy() for name in NUMBERS}
    for values in numbers.values():
        values[3] = np.nan
    found = replace(result, trials=replace(result.trials, **numbers))
    assert found.confidence_note == "confidence requires dense data and a successful clustering for every k"
    assert np.isnan([*found.confidence, found.confidence_none]).all()
    assert found.choices["likely"] is None
    assert found.choices["micro"] is not None


def test_too_few_subsamples_have_no_confidence():
    assert np.isnan(several().reweigh(n_subsamples=4).confidence).all()
    assert np.isfinite(several().reweigh(n_subsamples=5).confidence).all()


def test_what_is_asked_for_changes_nothing_else():
    rng = np.random.default_rng(1)
    micro, macro = rng.normal(0.5, 0.1, (4, 10)), rng.normal(0.5, 0.1, (4, 10))
    micro[3, :5] = macro[3, :5] = np.nan

    def numbers(run):
        return run._selectable.tolist(), run.choices, run.curve.to_string(), run.to_frame().to_string()

    untouched, asked = (made_up(micro, macro) for _ in range(2))
    assert asked._runner_up is not None
    assert asked._runner_up != asked._best_index
    assert asked._lead > 0
    assert asked.guarantee().lead == pytest.approx(asked._lead)
    assert asked.explain()
    assert asked._running[1][-1] == asked.best_k
    assert numbers(asked) == numbers(asked) == numbers(untouched)
    assert asked._selectable.tolist() == [True, True, True, False]
