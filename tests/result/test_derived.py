"""The numbers of a result by their public names; how they are computed is tested with the scores."""

import operator

import numpy as np
import pytest
from samples import made_up

from compsil_kit import select_k
from compsil_kit._method.criterion import CRITERIA
from compsil_kit._result.derived import Derived
from compsil_kit._result.scores import Scores
from compsil_kit.datasets import imbalanced_blobs

ALIKE = [[0.4] * 6, [0.5] * 6, [0.3] * 6]


@pytest.fixture(scope="module")
def result():
    return select_k(imbalanced_blobs()[0], ks=range(2, 8), n_subsamples=6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("micro", lambda scores: scores.trials.micro),
        ("macro", lambda scores: scores.trials.macro),
        ("scores", lambda scores: scores.summary.mean),
        ("sem", lambda scores: scores.summary.sem),
        ("lcb", lambda scores: scores.summary.lcb),
        *((name, operator.attrgetter(name)) for name in (
            "weights", "composite", "stability", "probability", "why_no_confidence", "n_failed", "selectable",
            "choices", "second_opinion", "runner_up", "lead", "running",
        )),
    ],
)  # fmt: skip
def test_every_name_is_that_of_the_scores(result, name, expected):
    np.testing.assert_equal(getattr(result, name), expected(result._numbers))


def test_single_numbers_are_plain_ones(result):
    """As they are typed, not as np.float64(0.5)."""
    assert {type(value) for value in (result.best_score, result.lead, result.confidence_none)} == {float}


def test_the_confidence_is_that_of_the_candidates_and_of_none(result):
    assert [*result.confidence.tolist(), result.confidence_none] == result._numbers.chances.tolist()
    assert set(result.choices) == set(CRITERIA)
    assert isinstance(result._numbers, Scores)
    with pytest.raises(NotImplementedError):
        _ = Derived().scores


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_second_opinion_is_the_other_choice(result, criterion):
    found = result.reweigh(criterion=criterion)
    other = "composite" if criterion == "likely" else "likely"
    k = found.choices[other]
    assert found.second_opinion == (None if k == found.best_k else (other, k))


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [("composite", ("stable", 2)), ("micro", ("stable", 2)), ("macro", ("stable", 2)), ("stable", ("composite", 3))],
)
def test_without_confidence_stability_is_the_second_opinion(criterion, expected):
    agreement = np.array([[0.9] * 6, [0.3] * 6, [0.3] * 6])
    found = made_up(ALIKE, ALIKE, ks=[2, 3, 5], agreement=agreement, criterion=criterion)
    assert np.isnan(found.confidence).all()
    assert found.second_opinion == expected


def test_there_is_no_second_opinion_where_criteria_agree_or_know_nothing():
    steady = np.full((3, 6), 0.9)
    assert made_up(ALIKE, ALIKE, ks=[2, 3, 5], agreement=steady).second_opinion is None
    # The stable silhouette of a k without stability is no more than a silhouette.
    macro = [[0.9] * 6, [0.5] * 6, [0.3] * 6]
    assert made_up(ALIKE, macro, ks=[2, 3, 5]).choices["stable"] == 3
    assert made_up(ALIKE, macro, ks=[2, 3, 5]).second_opinion is None
    lost = np.full((2, 3), np.nan)
    assert made_up(lost, lost).second_opinion is None
