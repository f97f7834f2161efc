"""What a selection found: its numbers by name, frozen, and collected from trials in any order."""

import dataclasses
import json

import numpy as np
import pytest
from samples import made_up

from compsil_kit import SelectionError, select_k
from compsil_kit._result.trials import Failure, Trial
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.result import collect


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


def test_shapes_and_curve(imbalanced):
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
    assert result.to_frame().shape == (9 * 12, 7)


def test_results_are_frozen(imbalanced):
    with pytest.raises(dataclasses.FrozenInstanceError):
        imbalanced.rule = "lcb"
    for name in ("micro", "macro", "weights", "composite", "selection_probability"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(imbalanced, name)[0] = 0


def test_no_choice_from_one_subsample_by_lower_bound():
    result = made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb")
    assert result._best_index is None
    assert np.isnan(result.sem).all()
    with pytest.raises(SelectionError, match="n_subsamples of at least 2") as caught:
        _ = result.best_k
    assert caught.value.result is result
    assert "no k" in repr(result)
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_calibration_subsamples_are_not_the_scored_ones(blobs):
    result = select_k(blobs, ks=[2, 3, 4], n_subsamples=4, n_calibration=3)
    plain = select_k(blobs, ks=[2, 3, 4], n_subsamples=4)
    assert np.array_equal(result.micro, plain.micro)
    assert result.calibration.micro.shape == (3, 3)
    assert len(set(result.plan.seeds)) == 7
    first = result.reweigh(n_subsamples=2)
    assert not first.partial
    assert np.array_equal(first.calibration.micro, result.calibration.micro)


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("probability", "selection_probability"), ("why_no_confidence", "confidence_note"), ("running", "_running"),
        ("lead", "_lead"), ("best_index", "_best_index"), ("runner_up", "_runner_up"), ("selectable", "_selectable"),
        ("n_run", "_n_run"),
    ],
)  # fmt: skip
def test_old_names_work_with_a_deprecation_warning(imbalanced, old, new):
    with pytest.warns(DeprecationWarning, match=rf"SelectionResult\.{old} is deprecated.*use ") as caught:
        value = getattr(imbalanced, old)
    np.testing.assert_equal(value, getattr(imbalanced, new))
    assert caught[0].filename == __file__
    assert getattr(type(imbalanced), old) is not None
