"""Cards for notebooks: their content as parsed, escaped values, and their display in a browser."""

import re

import numpy as np
import pytest
from pages import PROBE, Page, browse
from samples import compared, made_up

from compsil_kit._result.trials import Saved
from compsil_kit._show.html import cells, safe
from compsil_kit._util.format import percent, sentence

ATTACK = "<script>alert(1)</script>"
NAN = np.nan
# Labels at the left side of the curve.
SIDES = re.compile(r'<text x="32"[^>]*>(.*?)</text>')


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("a\"b'c", "a&quot;b&#x27;c"),
        (3, "3"),
        ("bell\x07 and \x1b[31mred\x00", "bell\\x07 and \\x1b[31mred\\x00"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_values_are_escaped(value, expected):
    assert safe(value) == expected
    assert cells((1, value)) == f"<td>1</td><td>{expected}</td>"
    assert cells(["k"], "th", str(value)) == f'<th style="{expected}">k</th>'


def test_content(table_result):
    page, at = Page(table_result._repr_html_()), table_result._best_index
    shares = table_result.confidence[at], table_result.selection_probability[at]
    assert f"number of clusters{table_result.best_k}" in page.text
    assert f"score {table_result.best_score:.4f} ± {table_result.sem[at]:.4f}" in page.text
    assert "confidence {}selection probability {}".format(*map(percent, shares)) in page.text
    assert table_result.warnings
    for warning in table_result.warnings:
        assert sentence(warning) in page.text
    settings = "12 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max"
    assert f"{settings} · columns x, y; scale none" in page.text
    assert "partial" not in page.text
    # The style of the verdict of the structure test.
    assert "font-size:17px" not in table_result._repr_html_()


def test_table(table_result):
    page = Page(table_result._repr_html_())
    printed = [row.lstrip("* ").split() for row in repr(table_result).splitlines()[3:-2]]
    assert ["".join(row) for row in printed] == ["".join(row).replace(" ", "") for row in page.rows]
    assert [row[1] for row in page.rows[1:]] == [f"{score:.4f}" for score in table_result.scores]
    bold = table_result._repr_html_().split("font-weight:700")
    assert len(bold) == 2
    assert bold[1].partition("</td>")[0].endswith(f">{table_result.best_k}")


def points(markup, shape, at=0):
    """Return the points of the polygon, or of one of the polylines: the averages, and the criterion last."""
    found = markup.split(f'<{shape} points="')[at + 1].partition('"')[0]
    return np.array([point.split(",") for point in found.split()], dtype=float)


def test_curve(table_result):
    rows = [[0.1] * 4, [0.9] * 4, [0.5] * 4]
    markup = made_up(rows, rows)._repr_html_()
    assert ' viewBox="0 0 420 150" width="420" height="150" ' in markup
    np.testing.assert_array_equal(points(markup, "polyline", 2), [[38, 128], [222, 32], [406, 80]])
    assert SIDES.findall(markup) == ["0.10", "0.90"]
    assert '<circle cx="222.0" cy="32.0" r="5.5"' in markup
    assert re.findall(r'<text x="(\d+)" y="144.0"[^>]*>(\d)</text>', markup) == [
        ("38", "2"),
        ("222", "3"),
        ("406", "4"),
    ]
    # Each entry of the legend has space for its dot and its letters.
    names = ("composite", "micro", "macro")
    ends = 420 - np.cumsum([22 + 6.5 * len(name) for name in reversed(names)])
    assert [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="10"', markup)] == ends[::-1].tolist()
    assert "<ul" not in markup
    tags = Page(table_result._repr_html_()).tags
    assert [tags.count(tag) for tag in ("svg", "polyline", "polygon", "circle", "ul")] == [1, 3, 1, 4, 1]


def test_band_of_the_curve():
    """The polygon follows the upper edge and returns along the lower one, 1.96 standard errors from the line."""
    spread = 0.15 * np.array([-1.5, -0.5, 0.5, 1.5])
    rows = [[0.1] * 4, 0.5 + spread, [0.9] * 4]
    found = made_up(rows, rows)
    line, band = points(found._repr_html_(), "polyline", 2), points(found._repr_html_(), "polygon")
    pixels = (line[0, 1] - line[2, 1]) / 0.8
    for edge, side in ((band[:3], -1), (band[:2:-1], 1)):
        np.testing.assert_array_equal(edge[:, 0], line[:, 0])
        np.testing.assert_allclose(edge[:, 1] - line[:, 1], side * 1.96 * found.sem * pixels, rtol=0, atol=0.11)
    assert 1.96 * found.sem[1] * pixels > 20
    # It may leave the range of the lines by a tenth.
    wide = [[0.4] * 4, [0.2, 0.2, 0.8, 0.8], [0.4] * 4]
    heights = points(made_up(wide, wide)._repr_html_(), "polygon")[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((22.4, 137.6))


@pytest.mark.parametrize(("criterion", "n_lines"), [("stable", 3), ("micro", 2), ("macro", 2), ("likely", 1)])
def test_other_criteria(table_result, criterion, n_lines):
    found = table_result.reweigh(criterion=criterion)
    markup = found._repr_html_()
    likely, page = criterion == "likely", Page(markup)
    assert page.tags.count("polyline") == n_lines
    assert points(markup, "polyline", n_lines - 1)[:, 1].argmin() == found._best_index
    assert f">{'confidence' if likely else criterion}</text>" in markup
    assert f"criterion {criterion}" in page.text
    assert ("score" in page.rows[0]) is (" ± " in page.text.partition("Table")[0]) is not likely
    assert all(label.endswith(" %") is likely for label in SIDES.findall(markup))


def test_escaped_names(table_result, hostile):
    for result in (table_result, hostile):
        assert Page(result._repr_html_()).links == []
        assert "url(" not in result._repr_html_()
    markup = hostile._repr_html_()
    page = Page(markup)
    assert set(page.tags) <= {
        "div", "svg", "polygon", "polyline", "text", "circle", "ul", "li", "details", "summary", "table", "thead",
        "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert ATTACK not in markup
    # Clusterer, transform, two columns, an omitted column, the note, and the cause of the failures.
    assert page.text.count(ATTACK) == 7
    assert "<img" not in markup
    assert '"><img src=x onerror=alert(1)>' in page.text


@pytest.mark.parametrize(
    "result",
    [
        made_up([[0.5], [0.3]], [[0.5], [0.3]]),
        made_up([[0.5] * 3], [[0.4] * 3]),
        made_up([[0.5] * 3] * 3, [[0.5] * 3] * 3),
        made_up([[0.5, 0.4], [0.3, 0.3]], [[0.5, 0.3], [0.3, 0.3]], planned=9),
        made_up([[NAN] * 3, [0.5, 0.4, 0.3], [0.2, NAN, 0.1]], [[NAN] * 3, [0.5, 0.4, 0.2], [0.1, NAN, 0.1]]),
        made_up([[NAN] * 3] * 2, [[NAN] * 3] * 2),
        made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb"),
        made_up(np.linspace(0.1, 0.9, 120).reshape(40, 3), np.linspace(0.2, 0.8, 120).reshape(40, 3)),
    ],
    ids=["one subsample", "one k", "equal scores", "partial", "failures", "no choice", "no lower bound", "40 ks"],
)
def test_unusual_results(result):
    page = Page(result._repr_html_())
    assert len(page.rows) == 1 + len(result.ks)
    assert ("no k can be selected" in page.text) == (result._best_index is None)
    assert ("partial result" in page.text.partition("Table")[0].partition("This is")[0]) == result.partial
    assert ("failed" in page.rows[0]) == bool(result.n_failed.any())
    assert "nan" not in page.text + result._repr_html_().partition("<details")[0]
    assert len(re.findall('y="144.0"', result._repr_html_())) <= 15
    for row, failed in zip(page.rows[1:], result.n_failed, strict=True):
        assert (row[1] == "–") is bool(failed == result.n_subsamples)


@pytest.mark.parametrize(("probabilities", "shown"), [((0.997, 0.003), "&gt;99 %"), ((0.003, 0.997), "&lt;1 %")])
def test_inequality_signs_are_escaped(probabilities, shown):
    rows = [[0.9] * 10, [0.5] * 10]
    saved = Saved(np.full((2, 10), 0.5), np.array(probabilities))
    markup = made_up(rows, rows, _saved=saved)._repr_html_()
    assert f"selection probability {shown}<" in markup
    assert [row[7] for row in Page(markup).rows[1:]] == [percent(value) for value in probabilities]
    assert "<1 " not in markup


def test_comparison():
    found = compared([2, 3, 4], composite=[0.1, 0.5, 0.3], elbow=[1234.5, 900, NAN])
    page = Page(found._repr_html_())
    assert page.rows == [
        ["k", "composite", "elbow"],
        ["2", "0.1000", "1,234"],
        ["3", "0.5000", "900"],
        ["4", "0.3000", "–"],
    ]
    for line in found.explain().splitlines():
        assert line in page.text
    bold = found._repr_html_().split("font-weight:700")
    assert [part.partition("</td>")[0].partition(">")[2] for part in bold[1:]] == ["0.5000"]


def test_the_browser_reports_faults(tmp_path):
    """Check the check: a page with every fault."""
    faults = "<img src='data:image/png;base64,AAAA'><p style='width:2000px'>wide</p>"
    dom, complaints = browse(
        f"<!doctype html><body>{PROBE}{faults}<script>alert(1); missing()</script></body>", tmp_path
    )
    for fault in ('data-broken="1"', 'data-wide="true"', 'data-attacked="yes"', 'data-answer="missing"'):
        assert fault in dom
    assert complaints


def test_a_browser_shows_the_card(hostile, tmp_path):
    dom, complaints = browse(
        f"<!doctype html><meta charset=utf-8><body>{PROBE}{hostile._repr_html_()}</body>", tmp_path
    )
    assert complaints == []
    assert 'data-wide="false"' in dom
    assert 'data-answer="seen"' in dom
    assert "data-attacked" not in dom
