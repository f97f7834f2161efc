"""Results as plain text, compared with ``texts.txt``: table, explanation and warnings; the same in cards; settings."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pages import Page
from samples import UNUSUAL, made_up
from sklearn.datasets import make_blobs

from compsil_kit import SelectionError, select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.trials import Failure, Saved
from compsil_kit._show.text import settings_line
from compsil_kit._util.format import sentence
from compsil_kit.datasets import imbalanced_blobs

NAN = np.nan


def equal(*scores, n=3, **changes):
    """Return a result with one score per k, the same in n subsamples, for micro and macro."""
    rows = np.repeat(np.array(scores, dtype=float)[:, None], n, axis=1)
    return made_up(rows, rows, **changes)


def averages(micro, macro, **changes):
    """Return a result with one micro and one macro silhouette per k."""
    return made_up(np.repeat([micro], 3, axis=0).T, np.repeat([macro], 3, axis=0).T, **changes)


def likely(*probabilities, n=10, **changes):
    """Return a result whose selection probabilities are given."""
    saved = Saved(np.full((3, n), 0.5), np.array(probabilities))
    return equal(0.3, 0.5, 0.4, n=n, _saved=saved, **changes)


def with_small_clusters(*counts, **changes):
    """Return a result of k = 3 whose smallest cluster has few rows in some of four subsamples."""
    result = equal(0.3, 0.5, 0.4, n=4, **changes)
    return replace(result, trials=replace(result.trials, small=np.array([[1.0] * 4, counts, [1.0] * 4])))


def structure_test(p_value):
    """Return the outcome of a structure test."""
    return Structure(p_value, dict.fromkeys(REFERENCE_KINDS, p_value), 0.0, 59, 500)


PLAIN, LONG = equal(0.3, 0.5, 0.4), equal(0.3, 0.5, 0.4, n=10)
CALIBRATED = equal(0.3, 0.5, 0.4, calibration=np.full((3, 4), 0.1))
FAILED = [0.4, NAN, NAN, NAN, *[0.4] * 6]
CAUSES = tuple(Failure(4, at, at, cause) for at, cause in enumerate(("odd", "two are equal.", "two are equal.")))
LOPSIDED = ([[0.6, 0.2] * 5, [0.45] * 10, [0.3] * 10], [[0.1, 0.5] * 5, [0.44] * 10, [0.3] * 10])
DROPPED = np.array([[NAN] * 4 + [0.3] * 6, [0.5] * 10, [0.4] * 10])
# With the confidence in each k and, last, in none of them, if it is known.
CASES = {
    **{name: (result,) for name, result in UNUSUAL.items() if name not in ("uneven ks", "40 ks")},
    "confidence 62 %": (LONG, 0.2, 0.62, 0.15, 0.03),
    "confidence 88 %": (LONG, 0.05, 0.88, 0.06, 0.01),
    "confidence 96 %": (LONG, 0.01, 0.96, 0.02, 0.01),
    "confidence 13 %": (LONG, 0.1, 0.13, 0.66, 0.11),
    "confidence 9 %": (LONG, 0.05, 0.094, 0.85, 0),
    "about as often": (LONG, 0.05, 0.38, 0.42, 0.15),
    "perhaps no clusters": (LONG, 0.04, 0.6, 0.06, 0.3),
    "probably no clusters": (LONG, 0.01, 0.02, 0.01, 0.96),
    "alternative cannot be selected": (made_up(DROPPED, DROPPED), 0.7, 0.2, 0.05, 0.05),
    "probability 100 %": (likely(0.0, 1.0, 0.0),),
    "probability 95 %": (likely(0.054, 0.946, 0.0),),
    "probability 94 %": (likely(0.056, 0.944, 0.0),),
    "probability 80 %": (likely(0.204, 0.796, 0.0),),
    "probability 79 %": (likely(0.206, 0.794, 0.0),),
    "others from 5 %": (likely(0.1, 0.856, 0.044),),
    "two others": (likely(0.1, 0.854, 0.046),),
    "others by rank": (likely(0.1, 0.69, 0.21),),
    "two subsamples": (equal(0.3, 0.5, n=2),),
    "nine subsamples": (equal(0.3, 0.5, n=9),),
    "ten subsamples": (equal(0.3, 0.5, n=10),),
    "better but failed": (made_up([[0.3] * 3, [0.9, NAN, NAN], [0.5] * 3], [[0.3] * 3, [0.9, NAN, NAN], [0.5] * 3]),),
    "others failed": (made_up([[0.9, NAN, NAN], [0.5] * 3], [[0.9, NAN, NAN], [0.5] * 3]),),
    **{
        f"{criterion} {rule}": (replace(LONG, criterion=criterion, rule=rule), 0.1, 0.25, 0.6, 0.05)
        for criterion, rule in (
            ("composite", "lcb"),
            ("macro", "max"),
            ("stable", "max"),
            ("likely", "max"),
            ("micro", "lcb"),
        )
    },
    "likely lcb": (replace(LONG, criterion="likely", rule="lcb"), 0.1, 0.25, 0.6, 0.05),
    "likely unknown": (equal(0.3, 0.5, n=10, criterion="likely"),),
    "single k = 7": (equal(0.5, ks=[7]),),
    "largest": (equal(0.3, 0.5),),
    "smallest": (equal(0.5, 0.4, ks=[4, 5]),),
    "nearly tied": (made_up([[0.5, 0.3], [0.4, 0.4]], [[0.5, 0.3], [0.4, 0.4]]),),
    "whole data": (equal(0.3, 0.5, 0.4, n=10, sample_size=1000),),
    "low": (equal(0.1, 0.2, 0.1),),
    "barely not low": (equal(0.1, 0.25, 0.1),),
    "unfinished": (equal(0.3, 0.5, 0.4, planned=5),),
    "unfinished calibration": (replace(CALIBRATED, calibration=CALIBRATED.calibration.first(1)),),
    "agrees with micro": (averages([0.4, 0.7, 0.5], [0.4, 0.2, 0.5]),),
    "agrees with macro": (averages([0.4, 0.2, 0.5], [0.4, 0.7, 0.5]),),
    "averages agree": (made_up(*LOPSIDED, ks=[3, 4, 5]),),
    "composite selects another k": (averages([0.3, 0.5, 0.4], [0.9, 0.5, 0.4], criterion="micro"),),
    "likely names the composite once": (replace(LONG, criterion="likely"), 0.8, 0.1, 0.05, 0.05),
    **{
        f"no averages under {criterion}": (averages([0.4, 0.2, 0.5], [0.4, 0.7, 0.5], criterion=criterion),)
        for criterion in ("micro", "macro", "stable")
    },
    "second opinion": (equal(0.3, 0.5, 0.4, n=6), 0.1, 0.4, 0.45, 0.05),
    "second opinion of the composite": (equal(0.3, 0.5, 0.4, n=6, criterion="likely"), 0.1, 0.4, 0.45, 0.05),
    "second opinion by stability": (equal(0.4, 0.5, n=10, agreement=np.array([[0.9] * 10, [0.2] * 10])),),
    "four small": (with_small_clusters(1, 1, 1, 1),),
    "two small": (with_small_clusters(1, 1, 0, 0),),
    "one small": (with_small_clusters(1, 0, 0, 0),),
    "one known": (with_small_clusters(1, NAN, NAN, NAN),),
    "small in the whole data": (with_small_clusters(1, 1, 1, 1, sample_size=1000),),
    "excluded": (made_up([[0.3] * 10, [0.5] * 10, FAILED], [[0.3] * 10, [0.5] * 10, FAILED], failures=CAUSES),),
    "repeated seeds": (replace(PLAIN, plan=replace(PLAIN.plan, seeds=(7, 8, 7))),),
    "low micro": (equal(0.1, 0.2, 0.1, n=6, criterion="micro"), 0.0, 0.9, 0.05, 0.05),
    "low silhouette": (equal(0.1, 0.2, 0.1, n=6, criterion="likely"), 0.0, 0.9, 0.05, 0.05),
    "low confidence": (equal(0.3, 0.6, 0.3, n=6, criterion="likely"), 0.0, 0.2, 0.1, 0.7),
    "one initialisation": (PLAIN.reweigh(criterion="stable"),),
    "one initialisation for micro": (PLAIN.reweigh(criterion="micro"),),
    **{
        f"stable with {changes}": (
            replace(PLAIN, plan=replace(PLAIN.plan, config=None, **changes)).reweigh(criterion="stable"),
        )
        for changes in ({"n_starts": 5}, {"clusterer": "agglomerative"})
    },
    "preparation": (equal(0.1, 0.2, 0.1, preparation=Preparation(("a",), notes=("column 'a' is odd.",))),),
    "no clusters": (replace(PLAIN, structure=structure_test(0.5)),),
    "clusters": (replace(PLAIN, structure=structure_test(0.01)),),
    "structure test unfinished": (replace(PLAIN, plan=replace(PLAIN.plan, structure=True)),),
}
WITH_TABLE = {*UNUSUAL, "likely max", "excluded", "nine subsamples", "ten subsamples", "unfinished calibration"}
# Without empty lines between the cases. After an intended change: UPDATE_TEXTS=1 pytest tests/show/test_text.py, then
# read the difference.
FILE = Path(__file__).parent / "texts.txt"
TEXTS = dict(part.split("\n", 1) for part in FILE.read_text().split("### ")[1:])


@pytest.mark.parametrize("name", CASES)
def test_text(name, with_confidence):
    """Thresholds apply to percentages as printed."""
    result, *confidences = CASES[name]
    if confidences:
        result = with_confidence(result, *confidences)
    table = [*repr(result).splitlines(), ""] if name in WITH_TABLE else []
    notes = [f"Note: {warning}" for warning in result.warnings] if result._best_index is None else []
    text = "\n".join([*table, result.explain(), *notes, ""])
    if "UPDATE_TEXTS" in os.environ:
        TEXTS[name] = text
        FILE.write_text("".join(f"### {key}\n{value}" for key, value in TEXTS.items()))
    assert text == TEXTS[name]
    if result._best_index is None:
        with pytest.raises(SelectionError, match="No k") as caught:
            _ = result.best_k
        assert str(caught.value) == result.explain()
        assert caught.value.result is result
    check_card(result)


def check_card(result):
    """Check that the card of a result states what its text states."""
    markup, lines = result._repr_html_(), repr(result).splitlines()
    page, start = Page(markup), [line.split(":")[0] for line in lines].index("SelectionResult")
    end = lines.index("", start)
    facts = [] if result._best_index is None else "   ".join(lines[start:end]).split("   ")[1:]
    preparation = "" if result.preparation is None else f" · {result.preparation}"
    for text in (*lines[:start], *facts, *map(sentence, result.warnings), lines[-1] + preparation):
        assert ("partial result" if text.startswith("PARTIAL") else text) in page.text
    assert (" ± " in page.text.partition("Table")[0]) == any(" ± " in fact for fact in facts)
    choice = "no k can be selected" if result._best_index is None else f"number of clusters{result.best_k}"
    assert choice in page.text
    assert ("partial result" in page.text.partition("This is")[0]) == result.partial
    assert ("font-size:17px" in markup) == (start > 0)
    assert ("<ul" in markup) == bool(result.warnings)
    printed = ["".join(line.lstrip("* ").split()) for line in lines[end + 1 : -2]]
    assert printed == ["".join(row).replace(" ", "") for row in page.rows]
    bold = [part.partition("</td>")[0].rpartition(">")[2] for part in markup.split("font-weight:700")[1:]]
    assert bold == ([] if result._best_index is None else [str(result.best_k)])
    assert "nan" not in page.text + markup.partition("<details")[0]
    assert page.links == re.findall(r"<[^a-z/]|url\(", markup) == []


def test_other_cards(with_confidence):
    # Without "<1 %" as a tag.
    check_card(with_confidence(LONG, 0.49, 0.003, 0.5, 0.007))
    for result in (likely(0.003, 0.997, 0.0), likely(0.997, 0.003, 0.0), UNUSUAL["uneven ks"], UNUSUAL["40 ks"]):
        check_card(result)


def test_small_clusters_and_whole_data_for_real():
    X = make_blobs([4_000, 4_000, 40], centers=[[0, 0], [9, 0], [90, 90]], random_state=0)[0]
    few = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=2_000)
    many = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=8_000)
    assert few.best_k == many.best_k == 2
    assert any("fewer than 30 rows in 4 of 4 subsamples of 2,000 rows" in text for text in few.warnings)
    assert not any("smallest cluster" in text for text in many.warnings)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"n_calibration": 2, "transform": "step", "rule": "lcb", "z": 2.5},
            " + 2 for calibration of 404 of 575 rows · gmm · manhattan · transform step · rule lcb (z=2.5)",
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
