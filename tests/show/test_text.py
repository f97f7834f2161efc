"""Results as plain text: the table, the explanation and the settings."""

import numpy as np
import pytest
from samples import made_up

from compsil_kit import SelectionError, select_k
from compsil_kit._method.selection import CRITERIA
from compsil_kit._result.trials import Saved
from compsil_kit._show.facts import SCORED, band, columns, lines, selected
from compsil_kit._show.text import settings_line
from compsil_kit._util.format import percent
from compsil_kit.datasets import imbalanced_blobs

NAN = np.nan
ROWS = [[0.3] * 10, [0.5] * 10, [0.4] * 10]


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


@pytest.fixture
def uneven():
    return made_up([[0.5, 0.3], [0.2, 0.6], [NAN, NAN]], [[0.5, 0.3], [0.4, 0.6], [NAN, NAN]], ks=[2, 3, 9])


def test_lines_of_the_curve(uneven):
    for criterion, names in (("composite", ["composite", "micro", "macro"]), ("macro", ["macro", "micro"])):
        found = lines(uneven.reweigh(criterion=criterion))
        assert list(found) == names
        np.testing.assert_allclose(found["micro"], [0.4, 0.4, NAN])
        np.testing.assert_allclose(found["macro"], [0.4, 0.5, NAN])
    np.testing.assert_array_equal(lines(uneven)["composite"], uneven.scores)
    half = np.array([*1.96 * uneven.sem[:2], 0])
    np.testing.assert_allclose(band(uneven), [uneven.scores - half, uneven.scores + half])
    assert selected(uneven, "macro") == (3, pytest.approx(0.5))
    assert selected(uneven, "micro") == (2, pytest.approx(0.4))
    assert selected(made_up([[NAN, NAN]], [[NAN, NAN]]), "composite") is None
    assert set(SCORED) == set(CRITERIA)


def test_columns(uneven, with_confidence):
    found = columns(uneven)
    shares = ["weight", "stability", "probability", "confidence"]
    assert list(found) == ["k", "score", "± se", "micro", "macro", *shares, "failed"]
    assert found["k"] == ["2", "3", "9"]
    assert found["macro"] == ["0.4000", "0.5000", "–"]
    assert found["weight"][2] == "–"
    assert found["failed"] == ["0", "0", "2"]
    likely = with_confidence(made_up(ROWS, ROWS, criterion="likely"), 0.1, 0.2, 0.604, 0.096)
    assert list(columns(likely)) == ["k", "micro", "macro", *shares]
    assert columns(likely)["confidence"] == ["10 %", "20 %", "60 %"]
    assert columns(likely)["stability"] == ["0.900"] * 3
    assert list(lines(likely)) == ["likely"]
    assert selected(likely, "likely") == (4, 0.604)


def test_table(imbalanced):
    text = repr(imbalanced)
    assert text.startswith(f"SelectionResult: k* = 5 of 2..10   score {imbalanced.best_score:.4f} ± 0.0")
    starred = [line for line in text.splitlines() if line.startswith("*")]
    assert [line.split()[1] for line in starred] == ["5"]
    assert max(len(line) for line in text.splitlines()) <= 100
    shares = percent(imbalanced.confidence[3]), percent(imbalanced.selection_probability[3])
    assert text.splitlines()[1] == "confidence {}   selection probability {}".format(*shares)
    assert text.splitlines()[3].split()[:2] == ["k", "score"]
    assert "12 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max" in text


def test_explanation(imbalanced):
    text = imbalanced.explain()
    assert text.startswith("k = 5: on comparable simulated data, answers like this were correct about ")
    assert "\nk = 5 has the best composite silhouette" in text
    assert f"; the second best is k = 4, {imbalanced._lead:.4f} lower." in text
    assert "of cases (selection probability): sampling noise" in text
    assert "micro average alone would select k = 2, the macro average alone k = 5" in text


@pytest.mark.parametrize(
    ("confidences", "text"),
    [
        ((0.2, 0.62, 0.15, 0.03), "about 60 % of the time (confidence 62 %); k = 2 is the main alternative (about 20"),
        ((0.05, 0.88, 0.06, 0.01), "about 90 % of the time (confidence 88 %)."),
        ((0.01, 0.96, 0.02, 0.01), "over 90 % of the time (confidence 96 %)."),
        ((0.1, 0.13, 0.66, 0.11), "about 10 % of the time (confidence 13 %); k = 4 was correct more often (about 70"),
        ((0.05, 0.094, 0.85, 0), "under 10 % of the time (confidence 9 %); k = 4 was correct more often (about 80"),
        ((0.05, 0.38, 0.42, 0.15), "about 40 % of the time (confidence 38 %); k = 4 was correct about as often. In"),
        (
            (0.04, 0.6, 0.06, 0.3),
            "about 60 % of the time (confidence 60 %). In about 30 % of comparable cases no candidate was correct: the "
            "data may have no clusters, or k may lie outside this range.",
        ),
        (
            (0.01, 0.02, 0.01, 0.96),
            "under 10 % of the time (confidence 2 %). In over 90 % of comparable cases no candidate was correct: the "
            "data probably have no clusters, or k lies outside this range.",
        ),
    ],
)  # fmt: skip
def test_confidence(with_confidence, confidences, text):
    found = with_confidence(made_up(ROWS, ROWS), *confidences).explain()
    assert found.startswith(f"k = 3: on comparable simulated data, answers like this were correct {text}")
    assert ("no candidate" in found) is (confidences[-1] >= 0.15)


def test_an_alternative_that_cannot_be_selected_is_not_named(with_confidence):
    rows = np.array(ROWS)
    rows[0, :4] = NAN
    found = with_confidence(made_up(rows, rows), 0.7, 0.2, 0.05, 0.05)
    assert found.best_k == 3
    assert "k = 2" not in found.explain().splitlines()[0]


def test_unknown_confidence():
    result = made_up(ROWS[:2], ROWS[:2])
    assert f"The confidence is unknown: {result.confidence_note}." in result.explain()
    assert "confidence unknown   selection probability" in repr(result)
    assert "confidence" not in made_up(ROWS[:1], ROWS[:1]).explain()


@pytest.mark.parametrize(
    ("probability", "text", "tied"),
    [
        (1.0, "100 % of cases (selection probability): sampling noise rarely changes the choice.", False),
        (0.946, "95 % of cases (selection probability): sampling noise rarely changes the choice.", False),
        (0.944, "94 % of cases (selection probability): sampling noise sometimes changes the choice. Also ", False),
        (0.796, "80 % of cases (selection probability): sampling noise sometimes changes the choice. Also ", False),
        (0.794, "79 % of cases (selection probability): sampling noise often changes the choice. Also ", True),
    ],
)
def test_selection_probability(probability, text, tied):
    """Thresholds apply to the percentage as printed."""
    given = Saved(np.full((3, 10), 0.5), np.array([1 - probability, probability, 0.0]))
    found = made_up(ROWS, ROWS, _saved=given).explain()
    assert f"A new run on the same data would select k = 3 in {text}" in found
    assert ("nearly tied" in found) is tied
    assert ("Also possible" in found) is text.endswith("Also ")


@pytest.mark.parametrize(
    ("probability", "listed"),
    [(0.044, "k = 2 (10 %)."), (0.046, "k = 2 (10 %), k = 4 (5 %)."), (0.21, "k = 4 (21 %), k = 2 (10 %).")],
)
def test_other_ks_are_listed_from_five_percent(probability, listed):
    given = Saved(np.full((3, 10), 0.5), np.array([0.1, 0.9 - probability, probability]))
    assert f"Also possible: {listed}" in made_up(ROWS, ROWS, _saved=given).explain()


@pytest.mark.parametrize(("n", "few"), [(2, True), (9, True), (10, False)])
def test_too_few_subsamples_for_the_selection_probability(n, few):
    result = made_up([[0.3] * n, [0.5] * n], [[0.3] * n, [0.5] * n])
    text = f"{n} subsamples are too few to estimate the selection probability; use at least 10."
    assert (text in result.explain()) is few
    assert ("of cases" in result.explain()) is not few
    shown = "unknown (too few subsamples)" if few else "100 %"
    assert f"selection probability {shown}" in repr(result).splitlines()[1]
    assert f"selection probability {shown}" in result._repr_html_()


@pytest.mark.parametrize("k", [2, 7])
def test_single_candidate(k):
    result = made_up([[0.5] * 3], [[0.5] * 3], ks=[k])
    assert "selection probability 100 %" in repr(result)
    assert "it is the only candidate." in result.explain()
    assert "alone" not in result.explain()
    assert not [text for text in result.warnings if "candidate" in text or "smallest" in text]


def test_better_candidates_that_cannot_be_selected_are_mentioned():
    rows = [[0.3] * 3, [0.9, NAN, NAN], [0.5] * 3]
    result = made_up(rows, rows)
    assert result.best_k == 4
    assert result.explain().startswith("Of the candidates that can be selected, k = 4 has the best composite")
    assert "no other candidate can be selected." in made_up(rows[1:], rows[1:]).explain()


@pytest.mark.parametrize(
    ("criterion", "rule", "text"),
    [
        ("composite", "max", "k = 3 has the best composite silhouette, 0.5000 (standard error 0.0000 over 10 "),
        ("macro", "max", "k = 3 has the best macro-averaged silhouette, 0.5000 (standard error 0.0000 over 10 "),
        ("stable", "max", "k = 3 has the best stable silhouette, 0.4500 (standard error 0.0000 over 10 subsamples)"),
        ("likely", "max", "k = 4 has the highest confidence, 60 %; the second is k = 3, 25 %."),
        ("micro", "lcb", "k = 3 has the best lower confidence bound, 0.5000 (micro-averaged silhouette 0.5000); the "),
    ],
)  # fmt: skip
def test_choice_by_each_criterion(with_confidence, criterion, rule, text):
    result = with_confidence(made_up(ROWS, ROWS, criterion=criterion, rule=rule), 0.1, 0.25, 0.6, 0.05)
    assert f"\n{text}" in result.explain()
    assert ("score" in repr(result).splitlines()[0]) is (criterion != "likely")
    assert ("score" in repr(result)) is (criterion != "likely")
    assert "nan" not in repr(result) + result.explain()


def test_averages_are_named_if_they_select_another_k():
    assert "alone" not in made_up(ROWS, ROWS).explain()
    other = made_up(ROWS, [*ROWS[::-1][1:], [0.1] * 10])
    assert "micro average alone would select k = 3, the macro average alone k = 2" in other.explain()
    # The weighted mean may be largest elsewhere.
    micro, macro = [[0.6, 0.2] * 5, [0.45] * 10, [0.3] * 10], [[0.1, 0.5] * 5, [0.44] * 10, [0.3] * 10]
    assert "The micro average alone and the macro average alone both select k = 3." in made_up(micro, macro).explain()


def test_other_criteria_name_the_composite_if_it_selects_another_k(with_confidence):
    macro = [[0.9] * 10, [0.5] * 10, [0.4] * 10]
    result = with_confidence(made_up(ROWS, macro, criterion="micro"), 0.1, 0.8, 0.05, 0.05)
    assert (result.best_k, result.choices["composite"]) == (3, 2)
    assert "The composite silhouette would select k = 2." in result.explain()
    # The warning about the second opinion mentions it already.
    assert "silhouette would select" not in result.reweigh(criterion="likely").explain()
    assert "silhouette would select" not in made_up(ROWS, ROWS, criterion="micro").explain()


def test_no_choice(with_confidence):
    rows = [[NAN] * 3, [NAN, NAN, 0.3]]
    failed = made_up(rows, rows, planned=9)
    assert repr(failed).startswith("SelectionResult: no k of 2, 3 can be selected\n")
    counts = "each failed on more than 20 % of the 3 subsamples (k = 2: 3, k = 3: 2). Pass smaller ks"
    assert failed.explain().startswith(f"No k of 2, 3 can be selected: {counts}")
    assert "\n" not in failed.explain()
    unknown = made_up(ROWS[:2], ROWS[:2], criterion="likely")
    with pytest.raises(SelectionError, match=r"confidence is unknown: .*three consecutive.*Pass another criterion"):
        _ = unknown.best_k
    bound = with_confidence(made_up(ROWS, ROWS, rule="lcb"), 0.1, 0.25, 0.6, 0.05)
    with pytest.raises(SelectionError, match="rule='lcb' with criterion='likely': a confidence has no lower bound"):
        _ = bound.reweigh(criterion="likely").best_k
    # One subsample has no standard error; test_result checks this case.


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, " of 404 of 575 rows · gmm · manhattan · transform tanh · rule max"),
        ({"rule": "lcb", "z": 2.5}, " of 404 of 575 rows · gmm · manhattan · transform tanh · rule lcb (z=2.5)"),
        (
            {"n_calibration": 2, "transform": "step"},
            " + 2 for calibration of 404 of 575 rows · gmm · manhattan · transform step · rule max",
        ),
        (
            {"criterion": "stable", "n_starts": 2},
            " of 404 of 575 rows · gmm · 2 initialisations · manhattan · criterion stable · rule max",
        ),
    ],
)  # fmt: skip
def test_settings(changes, line):
    defaults = {
        "n_starts": 1, "n_calibration": 0, "structure": False, "criterion": "composite", "transform": "tanh",
        "rule": "max", "z": 1.0, "on_failure": "raise", "random_state": 42, "n_jobs": None,
    }  # fmt: skip
    given = {"n_subsamples": 3, "sample_size": 404, "clusterer": "gmm", "metric": "manhattan", **changes}
    result = select_k(imbalanced_blobs()[0][::4], ks=[2, 3], **given)
    assert result.settings == {"ks": [2, 3], **defaults, **given}
    assert settings_line(result) == repr(result).splitlines()[-1] == f"3 subsamples{line}"
