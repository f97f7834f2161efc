"""The HTML report: a self-contained file, written atomically."""

import base64
import os
import stat
import struct
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from pages import PROBE, Page, browse
from samples import compared, made_up

from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.trials import Failure
from compsil_kit._show import html as report
from compsil_kit._show.text import sentences
from compsil_kit._util.format import sentence

ATTACK = "<script>alert(1)</script>"
ROWS = [[0.3] * 3, [0.5] * 3]


def test_self_contained(table_result, tmp_path):
    written = table_result.report(tmp_path / "report.html")
    assert written == tmp_path / "report.html"
    page = Page(written.read_text(encoding="utf-8"))
    assert page.tags.count("img") == len(page.links) == 5
    for link in page.links:
        kind, _, data = link.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
    assert not [word for word in ("url(", "@import", "http") if word in page.style + page.text]


def test_content(table_result):
    result = table_result.reweigh(rule="lcb", z=2.5)
    markup = report.render(result)
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
    assert "selected by stable silhouette" in Page(report.render(result.reweigh(criterion="stable", rule="max"))).text


def test_the_time_is_stated_on_request(table_result, tmp_path):
    """Without it, pipelines that run twice write the same file."""
    assert "UTC" in Page(table_result.report(tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert report.render(table_result) == report.render(table_result)


@pytest.mark.parametrize("path", [str, Path])
def test_paths(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    assert made_up(ROWS, ROWS).report(path("here.html")) == Path("here.html")
    assert [file.name for file in tmp_path.iterdir()] == ["here.html"]


@pytest.mark.parametrize(
    ("result", "title", "words"),
    [
        (made_up([[np.nan] * 3] * 2, [[np.nan] * 3] * 2), "No k can be selected", "No k of 2, 3 can be selected: each"),
        (made_up(ROWS, ROWS, planned=5), "3 clusters", "This is a partial result: 3 of 5 subsamples are finished."),
        (
            made_up(ROWS, ROWS, structure=Structure(0.5, dict.fromkeys(REFERENCE_KINDS, 0.5), 0.0, 59, 500)),
            "No clusters found",
            "no clusters found (the best k is 3)",
        ),
    ],
)
def test_unusual_results(result, title, words):
    markup = report.render(result)
    assert f"<title>{title} – compsil-kit</title>" in markup
    assert words in Page(markup).text
    assert Page(markup).tags.count("img") == 5


def image_size(markup):
    """Return width and height of the only image, a PNG."""
    (link,) = Page(markup).links
    data = base64.b64decode(link.partition(",")[2], validate=True)
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_images_are_png_whatever_the_default_of_matplotlib():
    with mpl.rc_context({"savefig.format": "svg"}):
        assert image_size(report._figure(lambda ax: None, "curve")) == (936, 546)


@pytest.mark.parametrize(("names", "height"), [(["micro"], 1.9), (["micro", "macro", "gap"], 2.9)])
def test_comparison(names, height):
    found = compared([2, 3], **{name: [0.1, 0.2] for name in names})
    assert image_size(report._comparison(found)) == (1092, round(130 * height))
    page = Page(report.render(made_up(ROWS, ROWS), found))
    assert "Other criteria" in page.text
    assert found.explain() in page.text
    assert page.tags.count("img") == 6


def test_escaped_names(hostile):
    markup = report.render(hostile)
    assert ATTACK not in markup
    assert "script" not in Page(markup).tags
    # Those of the card; table and clusterer in the summary; the cause of each of four failures.
    assert Page(markup).text.count(ATTACK) == 7 + 4 + 4


@pytest.mark.parametrize("field", ["k", "subsample", "seed", "cause"])
def test_escaped_failures(field):
    failure = replace(Failure(3, 1, 7, "cause"), **{field: ATTACK})
    found = report._failures(made_up(ROWS, ROWS, failures=(failure,)))
    assert ATTACK not in found
    assert "&lt;script&gt;" in found


def test_at_most_fifty_failures_are_listed():
    failures = tuple(Failure(3, at, at, f"cause {at}") for at in range(60))
    page = Page(report._failures(made_up(ROWS, ROWS, failures=failures)))
    assert page.rows == [["k", "subsample", "seed", "cause"], *(["3", str(n), str(n), f"cause {n}"] for n in range(50))]
    assert "... and 10 more" in page.text
    assert " more</p>" not in report._failures(made_up(ROWS, ROWS, failures=failures[:50]))
    assert report._failures(made_up(ROWS, ROWS)) == ""


def test_a_missing_folder_is_reported_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "render", lambda *_: pytest.fail("rendered first"))
    with pytest.raises(FileNotFoundError, match=r"no such folder for the report: .*nowhere'$"):
        made_up(ROWS, ROWS).report(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def fail(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("owner", "name"), [(Path, "replace"), (os, "fchmod"), (report, "render"), (os, "fdopen")])
def test_errors_keep_the_old_file(tmp_path, monkeypatch, owner, name):
    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(OSError, match="No space left on device"):
        made_up(ROWS, ROWS).report(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_file_respects_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        written = made_up(ROWS, ROWS).report(tmp_path / "report.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE(written.stat().st_mode) == 0o640


def test_values_of_settings():
    assert [report._value(value) for value in (1500, 2.50, "auto", True)] == ["1,500", "2.5", "auto", "True"]


def test_a_browser_shows_the_report(hostile, tmp_path):
    dom, complaints = browse(report.render(hostile).replace("</head>", f"</head>{PROBE}"), tmp_path)
    assert complaints == []
    assert 'data-images="5"' in dom
    assert 'data-broken="0"' in dom
    assert 'data-wide="false"' in dom
    assert 'data-answer="seen"' in dom
    assert "data-attacked" not in dom
