"""How sure a result says it is: confidence, selection probability, second opinion."""

import numpy as np
import pytest
from samples import made_up

from compsil_kit._result.trials import Saved
from compsil_kit._show.chances import confidence_sentence, second_opinion, why_no_confidence

ROWS = [[0.3] * 10, [0.5] * 10, [0.4] * 10]


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ((0.2, 0.62, 0.15, 0.03), "about 6 times in 10 (confidence 62 %); k = 2 is the main alternative (2 in 10)."),
        ((0.05, 0.88, 0.06, 0.01), "about 9 times in 10 (confidence 88 %)."),
        ((0.01, 0.96, 0.02, 0.01), "more than 9 times in 10 (confidence 96 %)."),
        ((0.1, 0.13, 0.66, 0.11), "about 1 time in 10 (confidence 13 %); k = 4 was right more often (7 in 10)."),
        ((0.1, 0.21, 0.62, 0.07), "about 2 times in 10 (confidence 21 %); k = 4 was right more often (6 in 10)."),
        ((0.05, 0.094, 0.85, 0.006), "less than 1 time in 10 (confidence 9 %); k = 4 was right more often (8 in 10)."),
        ((0.05, 0.38, 0.42, 0.15), "about 4 times in 10 (confidence 38 %); k = 4 was right about as often."),
        (
            (0.04, 0.6, 0.06, 0.3),
            "about 6 times in 10 (confidence 60 %). About 3 times in 10, none of these candidates was.",
        ),
        ((0.02, 0.02, 0.02, 0.94), "less than 1 time in 10 (confidence 2 %). About 9 times in 10, none of these"),
    ],
)
def test_the_confidence_in_plain_words(believed, chances, words):
    result = believed(made_up(ROWS, ROWS), *chances)
    text = confidence_sentence(result)
    assert text.startswith(f"k = 3: on data like these, such an answer was right {words}")
    assert ("none of these" in text) is (chances[-1] >= 0.15)
    assert result.explain().startswith(text)
    assert why_no_confidence(result) == ""


def test_an_alternative_that_cannot_be_selected_is_not_named(believed):
    some = np.array(ROWS)
    some[0, :4] = np.nan
    result = believed(made_up(some, some), 0.7, 0.2, 0.05, 0.05)
    assert result.best_k == 3
    assert "k = 2" not in confidence_sentence(result)


def test_the_reason_is_told_where_the_confidence_is_not_known():
    result = made_up(ROWS[:2], ROWS[:2])
    text = "How often such an answer is right (confidence) is not known here: confidence requires at least three"
    assert why_no_confidence(result).startswith(text)
    assert text in result.explain()
    assert confidence_sentence(result) == ""
    assert "confidence unknown   selection probability" in repr(result)
    assert "confidence unknown" in result._repr_html_()
    # Of a single candidate there is nothing to be sure of.
    assert "not known" not in made_up(ROWS[:1], ROWS[:1]).explain()


def test_a_second_opinion_by_the_confidence(believed):
    result = believed(made_up(ROWS, ROWS), 0.1, 0.4, 0.45, 0.05)
    text = second_opinion(result)
    assert text == (
        "the composite silhouette chooses k = 3, but k = 4 is the most likely to be right (confidence 45 %): compare "
        "the two clusterings, for instance with the silhouette plot of each."
    )
    assert text in result.warnings
    assert f"Note: {text}" in result.explain()
    assert text[1:] in result._repr_html_()
    assert second_opinion(result.reweigh(criterion="likely")) == (
        "k = 4 is the most likely to be right, but the composite silhouette chooses k = 3: compare the two "
        "clusterings, for instance with the silhouette plot of each."
    )


def test_a_second_opinion_by_stability():
    agreement = np.array([[0.9] * 10, [0.2] * 10])
    result = made_up([[0.4] * 10, [0.5] * 10], [[0.4] * 10, [0.5] * 10], agreement=agreement)
    assert second_opinion(result).startswith(
        "the composite silhouette chooses k = 3, but the stable silhouette chooses k = 2: "
    )


def test_criteria_that_agree_are_not_told(believed):
    result = believed(made_up(ROWS, ROWS), 0.1, 0.8, 0.05, 0.05)
    assert second_opinion(result) == ""
    assert not [text for text in result.warnings if "compare the two" in text]
    assert "same k" not in result.explain()


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
    rows = [[0.3] * 10, [0.5] * 10, [0.4] * 10]
    given = Saved(np.full((3, 10), 0.5), np.array([1 - probability, probability, 0.0]))
    text = made_up(rows, rows, _saved=given).explain()
    assert words in text
    assert ("nearly tied" in text) is tied


@pytest.mark.parametrize(("n", "few"), [(2, True), (9, True), (10, False)])
def test_few_subsamples_are_said_to_be_too_few(n, few):
    result = made_up([[0.3] * n, [0.5] * n], [[0.3] * n, [0.5] * n])
    assert ("too few to tell how often a new run would choose it" in result.explain()) is few
    assert ("% of the time" in result.explain()) is not few
    shown = "unknown (too few subsamples)" if few else "100 %"
    assert f"selection probability {shown}" in repr(result).splitlines()[1]
    assert f"selection probability {shown}" in result._repr_html_()


def test_the_only_candidate_is_certain_however_few_the_subsamples():
    shown = "selection probability 100 %"
    result = made_up([[0.5] * 3], [[0.5] * 3])
    assert shown in repr(result)
    assert shown in result._repr_html_()


@pytest.mark.parametrize(("probability", "named"), [(0.044, False), (0.046, True), (0.21, True)])
def test_other_candidates_are_named_from_five_percent(probability, named):
    rows = [[0.3] * 10, [0.5] * 10, [0.4] * 10]
    given = Saved(np.full((3, 10), 0.5), np.array([0.1, 0.9 - probability, probability]))
    text = made_up(rows, rows, _saved=given).explain()
    assert "Also possible: " in text
    assert ("k = 4 (" in text) is named
    # The most probable comes first.
    assert ("Also possible: k = 4 (21 %), k = 2 (10 %)." in text) is (probability == 0.21)
