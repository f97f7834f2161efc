"""What a result says, how it is changed without recomputing, and how it is saved."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from compsil_kit import SelectionError, SelectionResult, hoeffding_radius, select_k, subsamples_for_margin
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.method.plan import Plan
from compsil_kit.method.selection import selection_probability
from compsil_kit.result.result import collect
from compsil_kit.result.trials import Failure, Saved, Trial, Trials
from compsil_kit.util.format import percent


def made_up(micro, macro, *, ks=None, calibration=None, **changes):
    """A result from given silhouettes, ks by subsamples."""
    micro, macro = np.array(micro, dtype=float), np.array(macro, dtype=float)
    n_ks, n = micro.shape
    extra = np.empty((n_ks, 0)) if calibration is None else np.array(calibration, dtype=float)
    planned = changes.pop("planned", n)
    plan = Plan(
        n_rows=1000, n_features=2, ks=tuple(ks or range(2, 2 + n_ks)), n_subsamples=planned,
        n_calibration=extra.shape[1], sample_size=changes.pop("sample_size", 800),
        seeds=tuple(range(planned + extra.shape[1])), clusterer="kmeans", metric="euclidean", dtype="float64",
    )  # fmt: skip
    side = Trials(tuple(range(planned, planned + extra.shape[1])), extra, np.zeros_like(extra))
    return SelectionResult(plan, Trials(tuple(range(n)), micro, macro), side, **changes)


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


def test_shapes_and_curve(imbalanced):
    result = imbalanced
    assert result.best_k == 5
    assert {a.shape for a in (result.micro, result.macro, result.weights, result.composite)} == {(9, 12)}
    curve = result.curve
    assert curve.index.tolist() == list(range(2, 11))
    assert curve.columns.tolist()[:8] == [
        "score", "sem", "lcb", "micro", "macro", "weight", "n_subsamples", "n_failed",
    ]  # fmt: skip
    assert curve.loc[5, "score"] == result.best_score == result.scores.max()
    np.testing.assert_allclose(curve["score"] - curve["sem"], curve["lcb"])
    assert result.to_frame().shape == (9 * 12, 4)


def test_results_are_frozen(imbalanced):
    with pytest.raises(dataclasses.FrozenInstanceError):
        imbalanced.rule = "lcb"
    for name in ("micro", "macro", "weights", "composite", "probability"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(imbalanced, name)[0] = 0


def test_lower_bound_rule_and_its_width():
    result = made_up([[0.5, 0.5, 0.5, 0.5], [0.9, 0.2, 0.9, 0.2]], [[0.5] * 4, [0.9, 0.2, 0.9, 0.2]])
    assert result.best_k == 3
    assert result.reweigh(rule="lcb").best_k == 2
    assert result.reweigh(rule="lcb", z=0).best_k == 3
    assert result.reweigh(rule="lcb", z=2).lcb[1] == pytest.approx(0.55 - 2 * result.sem[1])


def test_ties_go_to_the_smaller_k():
    assert made_up([[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.2], [0.2, 0.2]]).best_k == 2


def test_changing_the_transformation_does_not_recompute(imbalanced):
    linear = imbalanced.reweigh(transform="linear")
    assert linear.trials is imbalanced.trials
    assert not np.array_equal(linear.weights, imbalanced.weights)
    direct = select_k(imbalanced_blobs()[0], n_subsamples=12, transform="linear")
    assert np.array_equal(direct.scores, linear.scores)
    assert np.array_equal(imbalanced.reweigh(transform=lambda x: (1 + np.tanh(x)) / 2).scores, imbalanced.scores)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (lambda x: x.mean(), "one weight for each discrepancy"),
        (lambda x: x * 3, r"weights in \[0, 1\]"),
        (lambda x: x * np.nan, r"weights in \[0, 1\]"),
    ],
)
def test_functions_that_are_no_transformation(imbalanced, transform, message):
    with pytest.raises(ValueError, match=message):
        _ = imbalanced.reweigh(transform=transform).weights


def test_reweigh_refuses_more_than_there_is(imbalanced):
    with pytest.raises(ValueError, match="at most the 12 that were scored; got 13"):
        imbalanced.reweigh(n_subsamples=13)
    with pytest.raises(TypeError, match=r"n_subsamples must be an integer.*got 2\.5"):
        imbalanced.reweigh(n_subsamples=2.5)
    with pytest.raises(ValueError, match="rule must be one of"):
        imbalanced.reweigh(rule="best")


@pytest.mark.parametrize("kind", ["plain", "custom", "lcb", "calibrated", "failed", "partial"])
def test_json_round_trip(imbalanced, kind):
    result = {
        "plain": lambda: imbalanced,
        "custom": lambda: imbalanced.reweigh(transform=np.abs),
        "lcb": lambda: imbalanced.reweigh(rule="lcb", z=2.0),
        "calibrated": lambda: select_k(imbalanced_blobs()[0], ks=[2, 5], n_subsamples=3, n_calibration=4),
        "failed": lambda: made_up([[0.5, np.nan, 0.1], [0.4] * 3], [[0.2, np.nan, 0.1], [0.3] * 3]),
        "partial": lambda: made_up([[0.5], [0.4]], [[0.2], [0.3]], planned=4, sample_size=1000),
    }[kind]()
    text = json.dumps(result.to_dict(), allow_nan=False)
    again = SelectionResult.from_dict(json.loads(text))
    assert again.best_k == result.best_k
    assert repr(again.plan) == repr(result.plan)
    for name in ("micro", "macro", "weights", "composite", "scores", "sem", "lcb"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.failures == result.failures
    assert again.to_dict()["trials"] == result.to_dict()["trials"]
    assert json.dumps(again.to_dict()) == text


def test_a_saved_custom_transformation_can_only_be_replaced(imbalanced):
    custom = imbalanced.reweigh(transform=np.abs)
    again = SelectionResult.from_dict(custom.to_dict())
    assert again.explain() == custom.explain()
    with pytest.raises(ValueError, match="was a function"):
        again.reweigh(n_subsamples=3)
    assert again.reweigh(transform="tanh").best_k == imbalanced.best_k


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {}, "to_dict"),
        (lambda d: {**d, "version": 99}, "version 99"),
        (lambda d: {k: v for k, v in d.items() if k != "trials"}, "not a complete"),
        (lambda d: {**d, "trials": {**d["trials"], "subsamples": [0]}}, "differ in size"),
    ],
)
def test_from_dict_refuses_what_it_cannot_read(imbalanced, change, message):
    with pytest.raises(ValueError, match=message):
        SelectionResult.from_dict(change(imbalanced.to_dict()))


def test_text_in_a_terminal(imbalanced):
    text = repr(imbalanced)
    assert text.startswith("SelectionResult: k* = 5 of 2..10")
    starred = [line for line in text.splitlines() if line.startswith("*")]
    assert len(starred) == 1
    assert starred[0].split()[1] == "5"
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "± 0.0" in text.splitlines()[0]
    assert f"selection probability {percent(imbalanced.probability[3])}" in text.splitlines()[0]
    assert text.splitlines()[2].split() == ["k", "score", "±", "se", "micro", "macro", "weight", "probability"]
    assert "12 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max" in text


def test_explanation_of_a_disagreement(imbalanced):
    text = imbalanced.explain()
    assert "k = 5 has the best composite silhouette" in text
    assert f"; the second best is k = 4, {imbalanced.lead:.4f} lower." in text
    assert "of the time (selection probability): sampling noise" in text
    assert "micro average alone would choose k = 2, the macro average alone k = 5" in text
    assert "averages choose different k; the composite agrees with macro." in text


@pytest.mark.parametrize(
    ("probability", "words", "tied"),
    [
        (1.0, "100 % of the time (selection probability): sampling noise rarely changes the choice.", False),
        (0.95, "95 % of the time (selection probability): sampling noise rarely changes the choice.", False),
        (0.946, "95 % of the time (selection probability): sampling noise rarely changes the choice.", False),
        (0.944, "94 % of the time (selection probability): sampling noise sometimes changes the choice. Also ", False),
        (0.796, "80 % of the time (selection probability): sampling noise sometimes changes the choice. Also ", False),
        (0.794, "79 % of the time (selection probability): sampling noise often changes the choice. Also ", True),
    ],
)
def test_words_go_with_the_printed_percentage(probability, words, tied):
    rows = [[0.3] * 3, [0.5] * 3, [0.4] * 3]
    given = Saved(np.full((3, 3), 0.5), np.array([1 - probability, probability, 0.0]))
    text = made_up(rows, rows, saved=given).explain()
    assert words in text
    assert ("nearly tied" in text) is tied


@pytest.mark.parametrize(("probability", "named"), [(0.044, False), (0.046, True), (0.21, True)])
def test_other_candidates_are_named_from_five_percent(probability, named):
    rows = [[0.3] * 3, [0.5] * 3, [0.4] * 3]
    given = Saved(np.full((3, 3), 0.5), np.array([0.1, 0.9 - probability, probability]))
    text = made_up(rows, rows, saved=given).explain()
    assert "Also possible: " in text
    assert ("k = 4 (" in text) is named


@pytest.mark.parametrize(
    ("result", "expected", "unexpected"),
    [
        (made_up([[0.3] * 3, [0.5] * 3, [0.4] * 3], [[0.3] * 3, [0.5] * 3, [0.4] * 3]), None, "Note"),
        (made_up([[0.3] * 3, [0.5] * 3], [[0.3] * 3, [0.5] * 3]), "largest candidate", "smallest"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3]), "two clusters from one", "largest"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3], ks=[4, 5]), "smallest candidate", "largest"),
        (made_up([[0.5, 0.3], [0.4, 0.4]], [[0.5, 0.3], [0.4, 0.4]]), "nearly tied", "partial"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3], sample_size=1000), "whole data set", "partial"),
        (made_up([[0.5], [0.3]], [[0.5], [0.3]]), "probability cannot be estimated", "tied"),
        (made_up([[0.1] * 3, [0.2] * 3, [0.1] * 3], [[0.1] * 3, [0.2] * 3, [0.1] * 3]), "score is low (0.20)", "tied"),
        (made_up([[0.6] * 3], [[0.6] * 3]), "only candidate", "edge"),
        (
            made_up([[0.4] * 3, [0.2] * 3, [0.5] * 3], [[0.4] * 3, [0.7] * 3, [0.5] * 3]),
            "macro average alone k = 3",
            "neither",
        ),
    ],
)
def test_warnings_say_what_should_be_known(result, expected, unexpected):
    text = result.explain()
    assert expected is None or expected in text
    assert unexpected not in text


def test_choice_that_neither_average_makes():
    micro = [[0.6, 0.2, 0.6, 0.2], [0.45, 0.45, 0.45, 0.45], [0.3] * 4]
    macro = [[0.1, 0.5, 0.1, 0.5], [0.44, 0.44, 0.44, 0.44], [0.55, 0.3, 0.55, 0.35]]
    result = made_up(micro, macro)
    picks = set(result.choices.values())
    assert ("neither" in result.explain()) == (result.best_k not in (result.choices["micro"], result.choices["macro"]))
    assert len(picks) > 1


def test_whole_data_is_noticed_for_real():
    X = StandardScaler().fit_transform(load_wine(return_X_y=True)[0])
    result = select_k(X, ks=range(2, 8), n_subsamples=5)
    assert result.plan.whole_data
    assert any("whole data set" in warning for warning in result.warnings)
    assert "of the time (selection probability)." in result.explain()


def test_known_weakness_is_shown():
    """On these easy, balanced blobs the composite merges too much; micro or macro must be seen to disagree or agree."""
    X, _ = make_blobs(600, centers=4, cluster_std=0.7, random_state=1)
    result = select_k(X, ks=range(2, 8), n_subsamples=20)
    assert result.best_k == 2
    assert "smallest k that has a silhouette" in result.explain()


def test_no_choice_from_one_subsample_by_lower_bound():
    result = made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb")
    assert result.best_index is None
    assert np.isnan(result.sem).all()
    with pytest.raises(SelectionError, match="n_subsamples of at least 2") as caught:
        _ = result.best_k
    assert caught.value.result is result
    assert "no k" in repr(result)
    assert json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_against_plain_loops(rule):
    rng = np.random.default_rng(0)
    micro, macro = rng.normal(0.5, 0.1, (3, 8)), rng.normal(0.5, 0.1, (3, 8))

    def values(draw):
        run = made_up(micro[:, draw], macro[:, draw], rule=rule)
        return run.scores if rule == "max" else run.lcb

    redrawn = [values(draw) for draw in np.random.default_rng(0).integers(8, size=(1000, 8))]
    wins = np.zeros(3)
    for at in range(1000):
        wins[np.argmax(values(np.arange(8)) + np.sqrt(8 / 7) * (redrawn[at] - redrawn[at - 1]))] += 1
    found = selection_probability(micro, macro, transform="tanh", rule=rule, z=1.0, largest=None)
    np.testing.assert_array_equal(found, wins / 1000)


def test_probability_is_how_often_a_new_run_agrees():
    """Pairs of runs on many kinds of data, some easy and some tied: what the first says is how often both agree."""
    rng = np.random.default_rng(1)
    said, agreed = [], []
    for _ in range(300):
        means = rng.uniform(0.48, 0.52, (3, 1))
        one, other = (made_up(*(means + rng.normal(0, 0.04, (2, 3, 30)))) for _ in range(2))
        said.append(one.probability[one.best_index])
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


def test_calibration_subsamples_are_not_the_scored_ones(blobs):
    result = select_k(blobs, ks=[2, 3, 4], n_subsamples=4, n_calibration=3)
    plain = select_k(blobs, ks=[2, 3, 4], n_subsamples=4)
    assert np.array_equal(result.micro, plain.micro)
    assert result.calibration.micro.shape == (3, 3)
    assert len(set(result.plan.seeds)) == 7
    first = result.reweigh(n_subsamples=2)
    assert not first.partial
    assert np.array_equal(first.calibration.micro, result.calibration.micro)


def test_hoeffding_figures():
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
    ],
)
def test_wrong_figures(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
    assert noisy.lead > 0 > noisy.guarantee().lead
    tie = made_up([[0.5] * 3, [0.5] * 3], [[0.5] * 3, [0.5] * 3]).guarantee()
    assert tie.needed is None
    assert not tie.proven


def test_trials_are_put_in_order():
    trials = Trials.collect([Trial(2, (0.2,), (0.1,)), Trial(0, (0.5,), (0.4,))], n_ks=1)
    assert trials.subsamples == (0, 2)
    assert trials.micro.tolist() == [[0.5, 0.2]]


def test_a_result_is_collected_from_trials_in_any_order():
    plan = made_up([[0.5, 0.4], [0.3, 0.2]], [[0.5, 0.4], [0.3, 0.2]], calibration=[[0.1], [0.2]]).plan
    lost = Failure(3, 1, 1, "no"), Failure(2, 0, 0, "none")
    trials = [
        Trial(2, (0.1, 0.2), (0.0, 0.1)),
        Trial(1, (0.4, np.nan), (0.3, np.nan), lost[:1]),
        Trial(0, (np.nan, 0.3), (np.nan, 0.2), lost[1:]),
    ]
    result = collect(plan, trials, rule="lcb", z=2.0)
    assert (result.trials.subsamples, result.calibration.subsamples) == ((0, 1), (2,))
    np.testing.assert_array_equal(result.micro, [[np.nan, 0.4], [0.3, np.nan]])
    assert result.failures == (lost[1], lost[0])
    assert (result.rule, result.z, result.partial) == ("lcb", 2.0, False)


def test_what_is_missing_is_said():
    """A run may lack scored subsamples, or calibration subsamples, or both."""
    rows = [[0.3] * 3, [0.5] * 3, [0.4] * 3]
    short = made_up(rows, rows, planned=5)
    assert short.partial
    assert short.warnings == ["this is a partial result: 3 of 5 subsamples are finished."]
    whole = made_up(rows, rows, calibration=np.full((3, 4), 0.1))
    calibration = whole.calibration
    lacking = dataclasses.replace(whole, calibration=calibration.first(1))
    assert lacking.partial
    assert lacking.warnings == ["only 1 of 4 calibration subsamples are finished."]
    assert "PARTIAL, 4 of 7 subsamples" in repr(lacking)


def test_a_better_candidate_that_cannot_be_selected_is_not_passed_over_in_silence():
    n = np.nan
    rows = [[0.3] * 3, [0.9, n, n], [0.5] * 3]
    result = made_up(rows, rows)
    assert result.best_k == 4
    assert result.explain().startswith(
        "Of the candidates that can be selected, k = 4 has the best composite silhouette"
    )
    assert (
        "on some of the 3 subsamples (k = 3: 2). Excluded from the selection because more than 20 % failed: k = 3."
        in (result.explain())
    )
    alone = made_up([[0.9, n, n], [0.5] * 3], [[0.9, n, n], [0.5] * 3])
    assert "no other candidate can be selected." in alone.explain()
