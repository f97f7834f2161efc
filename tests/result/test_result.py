"""SelectionResult: its tables, and other transforms, rules, criteria and numbers of subsamples without a new run."""

import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import sklearn
from samples import made_up

from compsil_kit import SelectionResult, __version__, select_k
from compsil_kit._result.trials import Failure, Trial, Trials, current_versions
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.result import collect

ROWS = [[0.5, 0.4, 0.3], [0.3, 0.2, 0.1]]


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


def test_tables(imbalanced):
    result = imbalanced
    assert result.best_k == 5
    assert {a.shape for a in (result.micro, result.macro, result.weights, result.composite)} == {(9, 12)}
    curve = result.curve
    assert curve.index.tolist() == list(range(2, 11))
    assert curve.columns.tolist() == [
        "score", "sem", "lcb", "micro", "macro", "weight", "stability", "n_subsamples", "n_failed", "probability",
        "confidence",
    ]  # fmt: skip
    assert curve.loc[5, "score"] == result.best_score == result.scores.max()
    np.testing.assert_allclose(curve["score"] - curve["sem"], curve["lcb"])
    np.testing.assert_allclose(curve["micro"], result.micro.mean(axis=1))
    np.testing.assert_allclose(curve["weight"], result.weights.mean(axis=1))
    frame = result.to_frame()
    assert frame.index.names == ["k", "subsample"]
    composite = result.weights * result.micro + (1 - result.weights) * result.macro
    np.testing.assert_allclose(frame.pop("composite").unstack(), composite)
    np.testing.assert_array_equal(frame.pop("weight").unstack(), result.weights)
    assert list(frame) == ["micro", "macro", "best_micro", "best_macro", "agreement"]
    for name in frame:
        np.testing.assert_array_equal(frame[name].unstack(), getattr(result.trials, name))


def test_results_are_frozen(imbalanced):
    with pytest.raises(FrozenInstanceError):
        imbalanced.rule = "lcb"
    for name in ("micro", "macro", "weights", "composite", "selection_probability"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(imbalanced, name)[0] = 0


def test_calibration_subsamples_are_not_scored(blobs):
    result = select_k(blobs, ks=[2, 3, 4], n_subsamples=4, n_calibration=3)
    plain = select_k(blobs, ks=[2, 3, 4], n_subsamples=4)
    assert np.array_equal(result.micro, plain.micro)
    assert result.calibration.micro.shape == (3, 3)
    assert len(set(result.plan.seeds)) == 7


def test_collect_sorts_trials_and_failures():
    plan = made_up([[0.5, 0.4], [0.3, 0.2]], [[0.5, 0.4], [0.3, 0.2]], calibration=[[0.1], [0.2]]).plan
    failures = Failure(3, 1, 1, "no"), Failure(2, 0, 0, "none")
    trials = [
        Trial(2, (0.1, 0.2), (0.0, 0.1)),
        Trial(1, (0.4, np.nan), (0.3, np.nan), failures[:1]),
        Trial(0, (np.nan, 0.3), (np.nan, 0.2), failures[1:]),
    ]
    result = collect(plan, trials, rule="lcb", z=2.0)
    assert (result.trials.subsamples, result.calibration.subsamples) == ((0, 1), (2,))
    np.testing.assert_array_equal(result.micro, [[np.nan, 0.4], [0.3, np.nan]])
    assert result.failures == (failures[1], failures[0])
    assert (result.rule, result.z, result.partial) == ("lcb", 2.0, False)
    assert collect(plan, trials[1:]).partial


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("probability", "selection_probability"), ("why_no_confidence", "confidence_note"), ("running", "_running"),
        ("lead", "_lead"), ("best_index", "_best_index"), ("runner_up", "_runner_up"), ("selectable", "_selectable"),
        ("n_run", "_n_run"),
    ],
)  # fmt: skip
def test_deprecated_names(imbalanced, old, new):
    with pytest.warns(DeprecationWarning, match=rf"SelectionResult\.{old} is deprecated.*use ") as caught:
        value = getattr(imbalanced, old)
    np.testing.assert_equal(value, getattr(imbalanced, new))
    assert caught[0].filename == __file__
    assert getattr(type(imbalanced), old) is not None


CHANGES = [
    {"transform": "linear"}, {"rule": "lcb", "z": 2.5}, {"z": 0.0}, {"n_subsamples": 5},
    *({"criterion": name} for name in ("micro", "macro", "stable", "likely")),
]  # fmt: skip


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_other_settings_give_what_a_new_run_gives(imbalanced, changes):
    other = imbalanced.reweigh(**changes)
    expected = select_k(imbalanced_blobs()[0], **{"n_subsamples": 12, "n_starts": 1, **changes}).to_dict()
    found = other.to_dict()
    # The warnings mention a criterion that was changed after the run.
    for name in found.keys() - {"warnings", "digest"}:
        assert found[name] == expected[name], name
    assert (other.trials is imbalanced.trials) == ("n_subsamples" not in changes)
    if "criterion" in changes:
        assert (other.best_k, other.choices) == (imbalanced.choices[changes["criterion"]], imbalanced.choices)
    back = {name: getattr(imbalanced, name) for name in changes if name != "n_subsamples"}
    assert "n_subsamples" in changes or np.array_equal(other.reweigh(**back).lcb, imbalanced.lcb)
    assert other.reweigh().to_dict() == found


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_subsamples": 0}, ValueError, "n_subsamples must be an integer of at least 1; got 0"),
        ({"n_subsamples": 13}, ValueError, "at most the 12 that were scored; got 13"),
        ({"n_subsamples": 2.5}, TypeError, r"n_subsamples must be an integer.*got 2\.5"),
        ({"rule": "best"}, ValueError, "rule must be one of"),
        ({"criterion": "best"}, ValueError, "criterion must be one of"),
        ({"z": -0.1}, ValueError, r"z must be a number in \[0, 1e\+06\]"),
        ({"transform": lambda x: x.mean()}, ValueError, "one weight per discrepancy"),
        ({"transform": lambda x: x * 3}, ValueError, r"weights in \[0, 1\]"),
        ({"transform": lambda x: x * np.nan}, ValueError, r"weights in \[0, 1\]"),
    ],
)
def test_invalid_changes(imbalanced, changes, error, message):
    with pytest.raises(error, match=message):
        _ = imbalanced.reweigh(**changes).weights


def test_limits_of_changes(imbalanced):
    assert imbalanced.reweigh(n_subsamples=12).to_dict() == imbalanced.to_dict()
    assert imbalanced.reweigh(n_subsamples=1).n_subsamples == 1


def test_functions_as_transform(imbalanced):
    """A saved one must be replaced."""
    assert np.array_equal(imbalanced.reweigh(transform=lambda x: (1 + np.tanh(x)) / 2).scores, imbalanced.scores)
    again = SelectionResult.from_dict(imbalanced.reweigh(transform=np.abs, criterion="micro").to_dict())
    assert again.criterion == "micro"
    for changes in ({"n_subsamples": 3}, {"criterion": "macro"}):
        with pytest.raises(ValueError, match=r"was a function.*pass transform= as well"):
            again.reweigh(**changes)
    other = again.reweigh(criterion="composite", transform="tanh")
    assert np.array_equal(other.scores, imbalanced.scores)


def test_fewer_subsamples_keep_the_calibration_and_its_failures():
    failures = (Failure(2, 0, 0, "first"), Failure(3, 2, 2, "last"), Failure(2, 4, 4, "calibration"))
    whole = made_up(ROWS, ROWS, calibration=[[0.1, np.nan], [0.3, 0.4]], failures=failures)
    first = whole.reweigh(n_subsamples=1)
    assert first.failures == (Failure(2, 0, 0, "first"), Failure(2, 2, 4, "calibration"))
    assert first.plan.seeds == (0, 3, 4)
    assert (first.plan.n_subsamples, first.plan.n_calibration) == (1, 2)
    assert first.calibration.subsamples == (1, 2)
    np.testing.assert_array_equal(first.calibration.micro, whole.calibration.micro)
    assert not first.partial
    assert SelectionResult.from_dict(first.to_dict()).failures == first.failures


def test_the_first_subsamples_of_a_partial_result_keep_its_plan():
    rows = np.array([[0.5, 0.4], [0.3, 0.2]])
    partial = replace(made_up(rows, rows, planned=5), trials=Trials((1, 3), rows, rows.copy()))
    first = partial.reweigh(n_subsamples=1)
    assert first.plan is partial.plan
    assert first.trials.subsamples == (1,)
    assert first.partial


def test_defaults_of_omitted_numbers():
    plain = Trial(0, (0.5, 0.6), (0.4, 0.2))
    assert plain.whole
    assert (plain.best_micro, plain.best_macro) == (plain.micro, plain.macro)
    assert np.isnan([plain.agreement, plain.within, plain.small]).all()
    full = Trial(0, (0.5,), (0.4,), best_micro=(0.7,), best_macro=(0.8,), agreement=(0.25,), within=(0.1,))
    assert (full.best_micro, full.best_macro, full.agreement) == ((0.7,), (0.8,), (0.25,))
    # Rounded to single precision.
    assert full.within == (float(np.float32(0.1)),)
    trials = Trials((0,), np.array([[0.5]]), np.array([[0.4]]), within=np.array([[0.1]]))
    assert (trials.best_micro, trials.best_macro, trials.within) == (0.5, 0.4, 0.1)
    assert np.isnan(trials.agreement)


def test_versions():
    found = current_versions()
    assert list(found) == ["python", "compsil-kit", "numpy", "scikit-learn", "scipy"]
    assert found["python"] == sys.version.split()[0]
    assert (found["numpy"], found["scikit-learn"]) == (np.__version__, sklearn.__version__)
    assert found["compsil-kit"] == __version__
