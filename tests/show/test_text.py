"""What a result says in words: the table, the explanation, the settings."""

import numpy as np
import pytest
from samples import made_up

from compsil_kit import SelectionError, select_k
from compsil_kit._show.text import settings_line
from compsil_kit._util.format import percent
from compsil_kit.datasets import imbalanced_blobs


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


def test_text_in_a_terminal(imbalanced):
    text = repr(imbalanced)
    assert text.startswith("SelectionResult: k* = 5 of 2..10")
    starred = [line for line in text.splitlines() if line.startswith("*")]
    assert len(starred) == 1
    assert starred[0].split()[1] == "5"
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "± 0.0" in text.splitlines()[0]
    chances = percent(imbalanced.confidence[3]), percent(imbalanced.selection_probability[3])
    assert text.splitlines()[1] == "confidence {}   selection probability {}".format(*chances)
    assert text.splitlines()[3].split() == [
        "k", "score", "±", "se", "micro", "macro", "weight", "stability", "probability", "confidence",
    ]  # fmt: skip
    assert "12 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max" in text


def test_explanation_of_a_disagreement(imbalanced):
    text = imbalanced.explain()
    assert text.startswith("k = 5: on data like these, such an answer was right ")
    assert "\nk = 5 has the best composite silhouette" in text
    assert f"; the second best is k = 4, {imbalanced._lead:.4f} lower." in text
    assert "of the time (selection probability): sampling noise" in text
    assert "micro average alone would choose k = 2, the macro average alone k = 5" in text
    assert "averages choose different k; the composite agrees with macro." in text


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


ROWS = [[0.3] * 10, [0.5] * 10, [0.4] * 10]


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (
            "composite",
            "k = 3 has the best composite silhouette, 0.5000 (standard error 0.0000 over 10 subsamples); the ",
        ),
        ("micro", "k = 3 has the best micro-averaged silhouette, 0.5000 (standard error 0.0000 over 10 subsamples); "),
        ("macro", "k = 3 has the best macro-averaged silhouette, 0.5000 (standard error 0.0000 over 10 subsamples); "),
        (
            "stable",
            "k = 3 has the best stable silhouette, 0.4500 (standard error 0.0000 over 10 subsamples); the second ",
        ),
        ("likely", "k = 4 has the highest confidence, 60 %; the second is k = 3, 25 %."),
    ],
)
def test_the_choice_is_told_in_the_words_of_its_criterion(believed, criterion, words):
    result = believed(made_up(ROWS, ROWS, criterion=criterion), 0.1, 0.25, 0.6, 0.05)
    assert f"\n{words}" in result.explain()
    first = repr(result).splitlines()[0]
    assert ("score" in first) is (criterion != "likely")
    assert ("score" in repr(result)) is (criterion != "likely")
    assert "nan" not in repr(result) + result.explain()


def test_the_lower_bound_is_that_of_the_criterion():
    found = made_up(ROWS, ROWS, criterion="micro", rule="lcb").explain()
    assert "k = 3 has the best lower confidence bound, 0.5000 (micro-averaged silhouette 0.5000)" in found


def test_averages_are_named_only_where_they_choose_another_k():
    assert "alone" not in made_up(ROWS, ROWS).explain()
    assert (
        "alone would choose k = 3, the macro average alone k = 2"
        in made_up(ROWS, [*ROWS[::-1][1:], [0.1] * 10]).explain()
    )
    # Their blend may be best where neither of them is.
    micro, macro = [[0.6, 0.2] * 5, [0.45] * 10, [0.3] * 10], [[0.1, 0.5] * 5, [0.44] * 10, [0.3] * 10]
    assert "The micro average alone and the macro average alone both choose k = 3." in made_up(micro, macro).explain()


def test_under_another_criterion_the_composite_is_named_where_it_chooses_another_k(believed):
    micro, macro = [[0.3] * 10, [0.5] * 10, [0.4] * 10], [[0.9] * 10, [0.5] * 10, [0.4] * 10]
    result = believed(made_up(micro, macro, criterion="micro"), 0.1, 0.8, 0.05, 0.05)
    assert (result.best_k, result.choices["composite"]) == (3, 2)
    assert "The composite silhouette would choose k = 2." in result.explain()
    # As a second opinion it is told already.
    assert "silhouette would choose" not in result.reweigh(criterion="likely").explain()
    assert "silhouette would choose" not in made_up(ROWS, ROWS, criterion="micro").explain()


def test_settings_are_told_where_they_differ_from_the_default():
    X = imbalanced_blobs()[0][::4]
    plain = select_k(X, ks=range(2, 5), n_subsamples=2)
    assert "start" not in settings_line(plain)
    assert "criterion" not in settings_line(plain)
    other = select_k(X, ks=range(2, 5), n_subsamples=2, criterion="stable")
    assert settings_line(other).endswith(" rows · kmeans · 5 starts · euclidean · criterion stable · rule max")
    assert "· 3 starts · euclidean · transform tanh" in settings_line(
        select_k(X, ks=[2, 3], n_subsamples=2, n_starts=3)
    )


def test_a_result_without_a_choice_says_why_and_warns_of_nothing_else():
    rows = [[np.nan] * 3, [np.nan, np.nan, 0.3]]
    result = made_up(rows, rows, planned=9)
    assert repr(result).startswith("SelectionResult: no k of 2, 3 can be selected\n")
    told = "No k of 2, 3 can be selected: each failed on more than 20 % of the 3 subsamples (k = 2: 3, k = 3: 2). Pass "
    assert result.explain().startswith(told)
    assert "\n" not in result.explain()


def test_why_the_confidence_cannot_choose():
    with pytest.raises(
        SelectionError, match="No k can be selected by criterion='likely', as the confidence is not"
    ) as e:
        _ = made_up(ROWS[:2], ROWS[:2], criterion="likely").best_k
    assert "three consecutive candidates" in str(e.value)
    assert "Pass another criterion" in str(e.value)


def test_a_confidence_has_no_lower_bound(believed):
    result = believed(made_up(ROWS, ROWS, rule="lcb"), 0.1, 0.25, 0.6, 0.05)
    assert result.best_k == 3
    with pytest.raises(SelectionError, match="rule='lcb' with criterion='likely': a confidence has no lower bound"):
        _ = result.reweigh(criterion="likely").best_k


def test_the_settings_show_what_has_an_effect():
    rows = [[0.5, 0.6], [0.3, 0.2]]
    plain, bound = (made_up(rows, rows, rule=rule, z=2.5) for rule in ("max", "lcb"))
    assert repr(plain).endswith("· transform tanh · rule max")
    assert repr(bound).endswith("· transform tanh · rule lcb (z=2.5)")
    calibrated = made_up(rows, rows, calibration=np.zeros((2, 3)))
    assert "\n2 subsamples + 3 for calibration of 800 of 1,000 rows" in repr(calibrated)


@pytest.mark.parametrize("k", [2, 7])
def test_one_candidate_stands_at_no_edge(k):
    result = made_up([[0.5] * 12], [[0.5] * 12], ks=[k])
    assert not [text for text in result.warnings if "candidate" in text or "smallest" in text]
    assert "it is the only candidate." in result.explain()
    assert "alone" not in result.explain()
