"""Check the parsed content of notebook cards and HTML reports, escaping, and display in a browser."""

import base64
import re
import struct
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from pages import PROBE, Page, browse
from samples import UNUSUAL, compared, made_up

from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.trials import Failure
from compsil_kit._show import html
from compsil_kit._show.html import cells, render, safe
from compsil_kit._show.text import sentences
from compsil_kit._util.format import sentence

ATTACK = "<script>alert(1)</script>"
NAN = np.nan
ROWS = [[0.3] * 3, [0.5] * 3]
# Labels to the left of the curve.
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


def points(markup, shape, at=0):
    """Return the points of the polygon or of a polyline; the last polyline is the criterion."""
    found = markup.split(f'<{shape} points="')[at + 1].partition('"')[0]
    return np.array([point.split(",") for point in found.split()], dtype=float)


def test_card_draws_the_curve(table_result):
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
    # Each legend entry has enough space for its dot and text.
    names = ("composite", "micro", "macro")
    ends = 420 - np.cumsum([22 + 6.5 * len(name) for name in reversed(names)])
    assert [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="10"', markup)] == ends[::-1].tolist()
    tags = Page(table_result._repr_html_()).tags
    assert [tags.count(tag) for tag in ("svg", "polyline", "polygon", "circle", "ul")] == [1, 3, 1, 4, 1]


def test_card_draws_the_confidence_band():
    """The polygon follows the upper edge and then the lower edge, each 1.96 standard errors from the line."""
    spread = 0.15 * np.array([-1.5, -0.5, 0.5, 1.5])
    rows = [[0.1] * 4, 0.5 + spread, [0.9] * 4]
    found = made_up(rows, rows)
    line, band = points(found._repr_html_(), "polyline", 2), points(found._repr_html_(), "polygon")
    pixels = (line[0, 1] - line[2, 1]) / 0.8
    for edge, side in ((band[:3], -1), (band[:2:-1], 1)):
        np.testing.assert_array_equal(edge[:, 0], line[:, 0])
        np.testing.assert_allclose(edge[:, 1] - line[:, 1], side * 1.96 * found.sem * pixels, rtol=0, atol=0.11)
    assert 1.96 * found.sem[1] * pixels > 20
    # The band may exceed the range of the lines by a tenth.
    wide = [[0.4] * 4, [0.2, 0.2, 0.8, 0.8], [0.4] * 4]
    heights = points(made_up(wide, wide)._repr_html_(), "polygon")[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((22.4, 137.6))


@pytest.mark.parametrize(("criterion", "n_lines"), [("stable", 3), ("micro", 2), ("macro", 2), ("likely", 1)])
def test_card_shows_the_selected_criterion(table_result, criterion, n_lines):
    found = table_result.reweigh(criterion=criterion)
    markup = found._repr_html_()
    likely = criterion == "likely"
    assert Page(markup).tags.count("polyline") == n_lines
    assert points(markup, "polyline", n_lines - 1)[:, 1].argmin() == found._best_index
    assert f">{'confidence' if likely else criterion}</text>" in markup
    assert all(label.endswith(" %") is likely for label in SIDES.findall(markup))


def test_card_labels_at_most_fifteen_ks():
    assert UNUSUAL["40 ks"]._repr_html_().count('y="144.0"') == 14


# A card contains the clusterer, transform, two columns, an omitted column, the note, and the cause of the failures. A
# report also contains the table and clusterer in the summary, and the causes of four failures.
@pytest.mark.parametrize(("show", "n_names", "n_images"), [(lambda x: x._repr_html_(), 7, 0), (render, 7 + 4 + 4, 5)])
def test_user_defined_names_are_escaped(hostile, show, n_names, n_images):
    markup = show(hostile)
    page = Page(markup)
    assert page.text.count(ATTACK) == n_names
    assert '"><img src=x onerror=alert(1)>' in page.text
    assert page.tags.count("img") == len(page.links) == n_images
    assert not {"script", "link", "iframe", "object", "embed", "a", "form"} & set(page.tags)


def test_browser_check_detects_faults(tmp_path):
    """Test the check itself with a page that contains every fault."""
    faults = "<img src='data:image/png;base64,AAAA'><p style='width:2000px'>wide</p>"
    dom, complaints = browse(
        f"<!doctype html><body>{PROBE}{faults}<script>alert(1); missing()</script></body>", tmp_path
    )
    for fault in ('data-broken="1"', 'data-wide="true"', 'data-attacked="yes"', 'data-answer="missing"'):
        assert fault in dom
    assert complaints


def test_report_is_self_contained(table_result, tmp_path):
    written = table_result.report(str(tmp_path / "report.html"))
    assert list(tmp_path.iterdir()) == [written]
    page = Page(written.read_text(encoding="utf-8"))
    # Without the time, equal results give identical pages.
    assert "UTC" in page.text
    assert render(table_result) == render(table_result)
    for link in page.links:
        kind, _, data = link.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert not [word for word in ("url(", "@import", "http") if word in page.style + page.text]


def test_report_shows_when_it_was_written(table_result):
    page = Page(render(table_result, written=datetime(2026, 3, 14, 15, 9, tzinfo=UTC)))
    assert "2026-03-14 15:09 UTC" in page.text


def test_report_shows_summary_settings_and_table(table_result):
    result = table_result.reweigh(rule="lcb", z=2.5)
    markup = render(result)
    page = Page(markup)
    assert f"<title>{result.best_k} clusters – compsil-kit</title>" in markup
    assert f'<h1><span class="big">{result.best_k}</span> clusters</h1>' in markup
    assert "selected by composite silhouette" in page.text
    assert result.warnings
    for line in [*sentences(result), *map(sentence, result.warnings)]:
        assert line in page.text
    rows = {
        "data": "2,300 rows, 2 features, float64",
        "table": "columns x, y; scale none",
        "ks": "2..7",
        "n_subsamples": "12",
        "sample_size": "1,380",
        "clusterer": "kmeans",
        "structure": "False",
        "rule": "lcb",
        "z": "2.5",
        "seeds": f"{result.plan.seeds[0]} ... {result.plan.seeds[-1]}",
    }
    for name, value in rows.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in markup
    listed = {part.partition("<")[0] for part in markup.split("<dt>")}
    assert set(result.settings) - listed == {"random_state", "n_jobs"}
    assert f"numpy {np.__version__}" in page.text
    assert not [words for words in ("Other criteria", "Failed clusterings", "Note: ", "UTC") if words in page.text]
    assert "selected by stable silhouette" in Page(render(result.reweigh(criterion="stable", rule="max"))).text


@pytest.mark.parametrize(
    ("result", "title", "words"),
    [
        (
            made_up([[np.nan] * 3] * 2, [[np.nan] * 3] * 2),
            "No k can be selected",
            "No k of 2, 3 can be selected: clustering failed",
        ),
        (made_up(ROWS, ROWS, planned=5), "3 clusters", "This is a partial result: 3 of 5 subsamples have finished."),
        (
            made_up(ROWS, ROWS, structure=Structure(0.5, dict.fromkeys(REFERENCE_KINDS, 0.5), 0.0, 59, 500)),
            "No clusters found",
            "no clusters found (the best k is 3)",
        ),
    ],
)
def test_report_handles_unusual_results(result, title, words):
    markup = render(result)
    assert f"<title>{title} – compsil-kit</title>" in markup
    assert words in Page(markup).text
    assert Page(markup).tags.count("img") == 5


def image_size(markup):
    """Return the width and height of the only image, which must be a PNG."""
    (link,) = Page(markup).links
    data = base64.b64decode(link.partition(",")[2], validate=True)
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_images_are_png_regardless_of_matplotlib_settings():
    with mpl.rc_context({"savefig.format": "svg"}):
        assert image_size(html._figure(lambda ax: None, "curve")) == (936, 546)


@pytest.mark.parametrize(("names", "height"), [(["micro"], 1.9), (["micro", "macro", "gap"], 2.9)])
def test_report_includes_a_comparison(names, height):
    found = compared([2, 3], **{name: [0.1, 0.2] for name in names})
    assert image_size(html._comparison(found)) == (1092, round(130 * height))
    page = Page(render(made_up(ROWS, ROWS), found))
    assert "Other criteria" in page.text
    assert found.explain() in page.text
    assert page.tags.count("img") == 6


def test_report_lists_at_most_fifty_failures():
    failures = tuple(Failure(3, at, at, f"cause {at}") for at in range(60))
    page = Page(html._failures(made_up(ROWS, ROWS, failures=failures)))
    assert page.rows == [["k", "subsample", "seed", "cause"], *(["3", str(n), str(n), f"cause {n}"] for n in range(50))]
    assert "... and 10 more" in page.text
    assert " more</p>" not in html._failures(made_up(ROWS, ROWS, failures=failures[:50]))
    assert html._failures(made_up(ROWS, ROWS)) == ""


def test_missing_report_folder_raises_before_rendering(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "render", lambda *_: pytest.fail("rendered first"))
    with pytest.raises(FileNotFoundError, match=r"the folder for the report does not exist: .*nowhere'$"):
        made_up(ROWS, ROWS).report(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_failed_write_keeps_the_old_report(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left on device"):
        made_up(ROWS, ROWS).report(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("kind", ["card", "report"])
def test_browser_shows_cards_and_reports_without_faults(hostile, tmp_path, kind):
    card = f"<!doctype html><meta charset=utf-8><body>{PROBE}{hostile._repr_html_()}</body>"
    page = card if kind == "card" else render(hostile).replace("</head>", f"</head>{PROBE}")
    dom, complaints = browse(page, tmp_path)
    assert complaints == []
    assert 'data-images="5"' in dom or kind == "card"
    for fact in ('data-broken="0"', 'data-wide="false"', 'data-answer="seen"'):
        assert fact in dom
    assert "data-attacked" not in dom
