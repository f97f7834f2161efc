"""A result under another transformation or rule, or from fewer subsamples, without recomputing."""

from dataclasses import replace

import numpy as np
import pytest
from samples import made_up

from compsil_kit import SelectionResult, select_k
from compsil_kit._result.trials import Failure, Trials
from compsil_kit.datasets import imbalanced_blobs


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


def test_lower_bound_rule_and_its_width():
    result = made_up([[0.5, 0.5, 0.5, 0.5], [0.9, 0.2, 0.9, 0.2]], [[0.5] * 4, [0.9, 0.2, 0.9, 0.2]])
    assert result.best_k == 3
    assert result.reweigh(rule="lcb").best_k == 2
    assert result.reweigh(rule="lcb", z=0).best_k == 3
    assert result.reweigh(rule="lcb", z=2).lcb[1] == pytest.approx(0.55 - 2 * result.sem[1])


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


def test_as_many_subsamples_as_there_are_change_nothing(imbalanced):
    whole = imbalanced.reweigh(n_subsamples=12)
    assert whole.to_dict() == imbalanced.to_dict()
    assert imbalanced.reweigh(n_subsamples=1).n_subsamples == 1
    with pytest.raises(ValueError, match="n_subsamples must be an integer of at least 1; got 0"):
        imbalanced.reweigh(n_subsamples=0)
    for z in (0.0, 1e6):
        assert imbalanced.reweigh(z=z).z == z
    for z in (-0.1, 1e6 + 1):
        with pytest.raises(ValueError, match=r"z must be a number in \[0, 1e\+06\]"):
            imbalanced.reweigh(z=z)


def test_reweigh_refuses_more_than_there_is(imbalanced):
    with pytest.raises(ValueError, match="at most the 12 that were scored; got 13"):
        imbalanced.reweigh(n_subsamples=13)
    with pytest.raises(TypeError, match=r"n_subsamples must be an integer.*got 2\.5"):
        imbalanced.reweigh(n_subsamples=2.5)
    with pytest.raises(ValueError, match="rule must be one of"):
        imbalanced.reweigh(rule="best")
    with pytest.raises(ValueError, match="criterion must be one of"):
        imbalanced.reweigh(criterion="best")


def test_a_saved_custom_transformation_can_only_be_replaced(imbalanced):
    custom = imbalanced.reweigh(transform=np.abs)
    again = SelectionResult.from_dict(custom.to_dict())
    assert again.explain() == custom.explain()
    with pytest.raises(ValueError, match="was a function"):
        again.reweigh(n_subsamples=3)
    assert again.reweigh(transform="tanh").best_k == imbalanced.best_k


def test_fewer_subsamples_keep_the_calibration_and_its_failures():
    rows = [[0.5, 0.4, 0.3], [0.3, 0.2, 0.1]]
    lost = (Failure(2, 0, 0, "first"), Failure(3, 2, 2, "last"), Failure(2, 4, 4, "calibration"))
    whole = made_up(rows, rows, calibration=[[0.1, 0.2], [0.3, 0.4]], failures=lost)
    first = whole.reweigh(n_subsamples=1)
    assert [failure.cause for failure in first.failures] == ["first", "calibration"]
    assert first.plan.seeds == (0, 3, 4)
    assert (first.plan.n_subsamples, first.plan.n_calibration) == (1, 2)
    assert first.calibration.subsamples == (1, 2)
    assert [(failure.subsample, failure.seed) for failure in first.failures] == [(0, 0), (2, 4)]
    assert np.array_equal(first.calibration.micro, whole.calibration.micro)
    assert not first.partial


def test_fewer_subsamples_can_be_saved_when_a_calibration_clustering_failed():
    rows = [[0.5, 0.4, 0.3], [0.3, 0.2, 0.1]]
    lost = (Failure(2, 4, 4, "calibration"),)
    whole = made_up(rows, rows, calibration=[[0.1, np.nan], [0.3, 0.4]], failures=lost)
    first = whole.reweigh(n_subsamples=2)
    again = SelectionResult.from_dict(first.to_dict())
    assert again.failures == first.failures == (Failure(2, 3, 4, "calibration"),)


def test_the_first_of_a_partial_result_leave_its_plan_alone():
    rows = np.array([[0.5, 0.4], [0.3, 0.2]])
    partial = replace(made_up(rows, rows, planned=5), trials=Trials((1, 3), rows, rows.copy()))
    first = partial.reweigh(n_subsamples=1)
    assert first.plan is partial.plan
    assert first.trials.subsamples == (1,)
    assert first.partial


def test_nothing_asked_for_is_nothing_changed():
    result = made_up([[0.5, 0.4], [0.3, 0.2]], [[0.5, 0.4], [0.3, 0.2]], rule="lcb", z=2.0)
    same = result.reweigh()
    assert (same.transform, same.rule, same.z, same.trials) == ("tanh", "lcb", 2.0, result.trials)
    with pytest.raises(ValueError, match=r"z must be a number in \[0, "):
        result.reweigh(z=-1)


@pytest.mark.parametrize("criterion", ["micro", "macro", "stable", "likely"])
def test_another_criterion(imbalanced, criterion):
    other = imbalanced.reweigh(criterion=criterion)
    assert (other.criterion, other.trials, other.rule) == (criterion, imbalanced.trials, imbalanced.rule)
    assert other.best_k == imbalanced.choices[criterion]
    assert np.array_equal(other.reweigh(criterion="composite").scores, imbalanced.scores)
    # What does not depend on the criterion stays.
    assert np.array_equal(other.stability, imbalanced.stability)
    assert np.array_equal(other.confidence, imbalanced.confidence)
    assert other.choices == imbalanced.choices


def test_a_saved_custom_transformation_keeps_its_criterion(imbalanced):
    again = SelectionResult.from_dict(imbalanced.reweigh(transform=np.abs, criterion="micro").to_dict())
    assert again.criterion == "micro"
    with pytest.raises(ValueError, match="pass transform= as well"):
        again.reweigh(criterion="macro")
    assert again.reweigh(criterion="macro", transform="tanh").criterion == "macro"
