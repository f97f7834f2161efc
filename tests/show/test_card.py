"""The card of a result in a notebook: parsed, escaped, and shown by a browser."""

import re

import numpy as np
import pandas as pd
import pytest
from pages import PROBE, Page, browse
from samples import made_up

from compsil_kit import compare, select_k
from compsil_kit._result.trials import Saved
from compsil_kit._show.curve import curve_of
from compsil_kit._util.format import percent, sentence
from compsil_kit.datasets import imbalanced_blobs

ATTACK = "<script>alert(1)</script>"
# The numbers at the left side of the small curve.
SIDES = re.compile(r'<text x="32"[^>]*>(.*?)</text>')


@pytest.fixture(scope="module")
def result():
    X, _ = imbalanced_blobs()
    frame = pd.DataFrame(X, columns=["x", "y"])
    return select_k(frame, ks=range(2, 8), n_subsamples=12, n_jobs=2)


def test_the_card_says_what_matters(result):
    page = Page(result._repr_html_())
    at = result._best_index
    assert f"number of clusters{result.best_k}" in page.text
    assert f"score {result.best_score:.4f} ± {result.sem[at]:.4f}" in page.text
    assert (
        f"confidence {percent(result.confidence[at])}selection probability {percent(result.selection_probability[at])}"
        in page.text
    )
    for warning in result.warnings:
        assert sentence(warning) in page.text
    settings = "12 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max"
    assert f"{settings} · columns x, y; scale none" in page.text
    assert "partial" not in page.text
    # The place for the verdict that there are no clusters.
    assert "font-size:17px" not in result._repr_html_()


def test_a_partial_result_is_called_so():
    page = Page(made_up([[0.3] * 3, [0.5] * 3], [[0.3] * 3, [0.5] * 3], planned=5)._repr_html_())
    assert "partial result" in page.text.partition("Table")[0].partition("This is")[0]


def test_the_table_of_the_card(result):
    page = Page(result._repr_html_())
    assert page.rows[0] == [
        "k", "score", "± se", "micro", "macro", "weight", "stability", "probability", "confidence",
    ]  # fmt: skip
    assert [row[0] for row in page.rows[1:]] == [str(k) for k in result.ks]
    for row, score in zip(page.rows[1:], result.scores, strict=True):
        assert row[1] == f"{score:.4f}"
    bold = result._repr_html_().split("font-weight:700")
    assert len(bold) == 2
    assert bold[1].partition("</td>")[0].endswith(f">{result.best_k}")


def test_the_small_curve(result):
    markup = result._repr_html_()
    page = Page(markup)
    assert page.tags.count("svg") == 1
    assert page.tags.count("polyline") == 3
    assert page.tags.count("polygon") == 1
    # The choice, and three entries of the legend.
    assert page.tags.count("circle") == 4
    assert "composite" in page.text
    heights = places(markup, "polyline", 2)[:, 1]
    assert heights.argmin() == result._best_index
    assert all(0 <= height <= 150 for height in heights)


def places(markup, shape, at=0):
    """The points of the card's polygon, or of one of its polylines: micro, macro, composite."""
    points = markup.split(f'<{shape} points="')[at + 1].partition('"')[0]
    return np.array([point.split(",") for point in points.split()], dtype=float)


def test_the_band_of_the_small_curve():
    """The polygon runs along the upper edge and back along the lower one, 1.96 standard errors from the line."""
    spread = 0.15 * np.array([-1.5, -0.5, 0.5, 1.5])
    rows = [[0.1] * 4, 0.5 + spread, [0.9] * 4]
    found = made_up(rows, rows)
    markup = found._repr_html_()
    line, band = places(markup, "polyline", 2), places(markup, "polygon")
    pixels = (line[0, 1] - line[2, 1]) / 0.8
    upper, lower = band[:3], band[:2:-1]
    np.testing.assert_array_equal(upper[:, 0], line[:, 0])
    np.testing.assert_array_equal(lower[:, 0], line[:, 0])
    for edge, side in ((upper, -1), (lower, 1)):
        np.testing.assert_allclose(edge[:, 1] - line[:, 1], side * 1.96 * found.sem * pixels, rtol=0, atol=0.11)
    assert 1.96 * found.sem[1] * pixels > 20


def test_where_things_stand_in_the_small_curve():
    rows = [[0.1] * 4, [0.9] * 4, [0.5] * 4]
    markup = made_up(rows, rows)._repr_html_()
    assert ' viewBox="0 0 420 150" width="420" height="150" ' in markup
    assert places(markup, "polyline", 2)[:, 0].tolist() == [38, 222, 406]
    assert SIDES.findall(markup) == ["0.10", "0.90"]
    # Each entry of the legend has room for its dot and its letters.
    names = ("composite", "micro", "macro")
    ends = 420 - np.cumsum([22 + 6.5 * len(name) for name in reversed(names)])
    assert [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="10"', markup)] == ends[::-1].tolist()
    # Where there is nothing to warn of, there is no list.
    assert Page(markup).tags.count("ul") == 0


def test_the_card_of_the_confidence(result):
    found = result.reweigh(criterion="likely")
    markup = found._repr_html_()
    page = Page(markup)
    assert "score" not in page.text
    assert page.tags.count("polyline") == 1
    assert places(markup, "polyline")[:, 1].argmin() == found.confidence.argmax()
    assert ">composite<" not in markup
    assert "criterion likely" in page.text
    assert ">confidence</text>" in markup
    assert all(label.endswith(" %") for label in SIDES.findall(markup))


@pytest.mark.parametrize(("criterion", "lines"), [("stable", 3), ("micro", 2), ("macro", 2)])
def test_the_card_of_another_criterion(result, criterion, lines):
    found = result.reweigh(criterion=criterion)
    markup = found._repr_html_()
    assert Page(markup).tags.count("polyline") == lines
    assert places(markup, "polyline", lines - 1)[:, 1].argmin() == found._best_index
    assert f">{criterion}</text>" in markup


def test_nothing_is_fetched(result, hostile):
    for shown in (result, hostile):
        page = Page(shown._repr_html_())
        assert page.links == []
        assert "url(" not in shown._repr_html_()


def test_every_name_is_escaped(hostile):
    markup = hostile._repr_html_()
    page = Page(markup)
    assert set(page.tags) <= {
        "div", "svg", "polygon", "polyline", "text", "circle", "ul", "li", "details", "summary", "table", "thead",
        "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert ATTACK not in markup
    # Clusterer, transformation, two columns, what was left out, the note, and the cause of the failures.
    assert page.text.count(ATTACK) == 7
    assert "<img" not in markup
    assert '"><img src=x onerror=alert(1)>' in page.text


n = np.nan
CASES = {
    "one subsample": made_up([[0.5], [0.3]], [[0.5], [0.3]]),
    "one candidate": made_up([[0.5] * 3], [[0.4] * 3]),
    "all equal": made_up([[0.5] * 3] * 3, [[0.5] * 3] * 3),
    "partial": made_up([[0.5, 0.4], [0.3, 0.3]], [[0.5, 0.3], [0.3, 0.3]], planned=9),
    "failures": made_up([[n] * 3, [0.5, 0.4, 0.3], [0.2, n, 0.1]], [[n] * 3, [0.5, 0.4, 0.2], [0.1, n, 0.1]]),
    "no choice": made_up([[n] * 3] * 2, [[n] * 3] * 2),
    "no lower bound": made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb"),
    "forty candidates": made_up(np.linspace(0.1, 0.9, 120).reshape(40, 3), np.linspace(0.2, 0.8, 120).reshape(40, 3)),
}


@pytest.mark.parametrize("kind", CASES)
def test_cards_of_odd_results(kind):
    found = CASES[kind]
    page = Page(found._repr_html_())
    assert len(page.rows) == 1 + len(found.ks)
    assert ("no k can be selected" in page.text) == (found._best_index is None)
    assert ("partial result" in page.text) == found.partial
    assert ("failed" in page.rows[0]) == bool(found.n_failed.any())
    assert "nan" not in page.text
    assert "nan" not in found._repr_html_().partition("<details")[0]


def test_undefined_values_are_dashes():
    rows = Page(CASES["failures"]._repr_html_()).rows
    assert rows[1] == ["2", "–", "–", "–", "–", "–", "–", "0 %", "–", "3"]
    assert Page(CASES["one subsample"]._repr_html_()).rows[1][2] == "–"


def with_probability(*values):
    """A result whose ks have these selection probabilities; the first is the choice."""
    rows = np.linspace(0.9, 0.5, len(values))[:, None] * np.ones((1, 10))
    return made_up(rows, rows, _saved=Saved(np.full(rows.shape, 0.5), np.array(values)))


def test_small_probabilities_are_escaped():
    """A browser takes an unescaped "<1" for text, other readers do not."""
    markup = with_probability(0.997, 0.003)._repr_html_()
    page = Page(markup)
    assert "selection probability &gt;99 %<" in markup
    assert [row[7] for row in page.rows] == ["probability", ">99 %", "<1 %"]
    assert "<1" not in markup
    rare = with_probability(0.003, 0.997)._repr_html_()
    assert "selection probability &lt;1 %<" in rare
    assert "<1" not in rare


def test_table_of_card_and_terminal_show_the_same(result):
    printed = [row.lstrip("* ").split() for row in repr(result).splitlines()[3:-2]]
    shown = Page(result._repr_html_()).rows
    assert ["".join(row) for row in printed] == ["".join(row).replace(" ", "") for row in shown]
    assert [row[1] for row in shown[1:]] == [f"{value:.4f}" for value in curve_of(result).score]


def test_the_card_of_a_comparison():
    X = imbalanced_blobs()[0][::4]
    found = compare(X, ks=[2, 3, 4], n_subsamples=3, n_references=2)
    page = Page(found._repr_html_())
    assert page.rows[0] == ["k", *found.values.columns]
    assert len(page.rows) == 4
    for line in found.explain().splitlines():
        assert line in page.text
    assert found._repr_html_().count("font-weight:700") == len(found.choices)


def test_the_browser_would_tell(tmp_path):
    """The check of the check: a page with every fault is found out."""
    faults = "<img src='data:image/png;base64,AAAA'><p style='width:2000px'>wide</p>"
    dom, complaints = browse(
        f"<!doctype html><body>{PROBE}{faults}<script>alert(1); missing()</script></body>", tmp_path
    )
    for fault in ('data-broken="1"', 'data-wide="true"', 'data-attacked="yes"', 'data-answer="missing"'):
        assert fault in dom
    assert complaints


@pytest.mark.parametrize("theme", ["color:#111;background:#fff", "color:#eee;background:#111"])
def test_a_browser_shows_the_card(hostile, tmp_path, theme):
    page = f"<!doctype html><meta charset=utf-8><body style='{theme}'>{PROBE}{hostile._repr_html_()}</body>"
    dom, complaints = browse(page, tmp_path)
    assert complaints == []
    assert 'data-wide="false"' in dom
    assert 'data-answer="seen"' in dom
    assert "data-attacked" not in dom
