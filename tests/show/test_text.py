"""What a result says in words: the table, the explanation, the warnings."""

import dataclasses

import numpy as np
import pytest
from samples import made_up
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from compsil_kit import select_k
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.result.trials import Saved
from compsil_kit.util.format import percent


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
    rows = [[0.3] * 10, [0.5] * 10, [0.4] * 10]
    given = Saved(np.full((3, 10), 0.5), np.array([1 - probability, probability, 0.0]))
    text = made_up(rows, rows, saved=given).explain()
    assert words in text
    assert ("nearly tied" in text) is tied


@pytest.mark.parametrize(("n", "few"), [(2, True), (9, True), (10, False)])
def test_few_subsamples_are_said_to_be_too_few(n, few):
    result = made_up([[0.3] * n, [0.5] * n], [[0.3] * n, [0.5] * n])
    assert ("too few to tell how often a new run would choose it" in result.explain()) is few
    assert ("% of the time" in result.explain()) is not few
    shown = "unknown (too few subsamples)" if few else "100 %"
    assert f"selection probability {shown}" in repr(result).splitlines()[0]
    assert f"selection probability {shown}" in result._repr_html_()


@pytest.mark.parametrize(("probability", "named"), [(0.044, False), (0.046, True), (0.21, True)])
def test_other_candidates_are_named_from_five_percent(probability, named):
    rows = [[0.3] * 10, [0.5] * 10, [0.4] * 10]
    given = Saved(np.full((3, 10), 0.5), np.array([0.1, 0.9 - probability, probability]))
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
    result = select_k(X, ks=range(2, 8), n_subsamples=10)
    assert result.plan.whole_data
    assert any("whole data set" in warning for warning in result.warnings)
    assert "of the time (selection probability)." in result.explain()


def test_known_weakness_is_shown():
    """On these easy, balanced blobs the composite merges too much; micro or macro must be seen to disagree or agree."""
    X, _ = make_blobs(600, centers=4, cluster_std=0.7, random_state=1)
    result = select_k(X, ks=range(2, 8), n_subsamples=20)
    assert result.best_k == 2
    assert "smallest k that has a silhouette" in result.explain()


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


def test_repeated_seeds_are_told():
    rows = [[0.3] * 4, [0.5] * 4, [0.4] * 4]
    result = made_up(rows, rows)
    repeated = dataclasses.replace(result, plan=dataclasses.replace(result.plan, seeds=(7, 8, 7, 7)))
    assert not [text for text in result.warnings if "seeds" in text]
    (warning,) = (text for text in repeated.warnings if "seeds" in text)
    assert warning.startswith("2 of 4 seeds repeat an earlier one: equal subsamples are counted more than once")
    assert warning in repeated.explain()


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
