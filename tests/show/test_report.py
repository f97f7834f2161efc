"""The report: one file with everything in it, written whole or not at all."""

import base64
import os
import stat
import struct
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from pages import PROBE, Page, browse
from samples import compared
from sklearn.cluster import KMeans

from compsil_kit import ClusteringError, SelectionError, compare, select_k, stream
from compsil_kit._data.dataset import Preparation
from compsil_kit._settings.keywords import SelectKeywords, defaults_of
from compsil_kit._show import report, text
from compsil_kit._util.format import sentence
from compsil_kit.datasets import imbalanced_blobs

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def X():
    return imbalanced_blobs()[0][::3]


@pytest.fixture(scope="module")
def result(X):
    return select_k(pd.DataFrame(X, columns=["x", "y"]), ks=[2, 3, 4, 5], n_subsamples=5)


def fails_at(*ks):
    def clusterer(points, k, seed):
        if k in ks:
            raise ValueError(f"{ATTACK} {k}")
        return KMeans(k, n_init=1, random_state=seed).fit_predict(points)

    clusterer.__name__ = ATTACK
    return clusterer


def test_everything_is_in_one_file(result, tmp_path):
    written = result.report(tmp_path / "report.html")
    assert written == tmp_path / "report.html"
    page = Page(written.read_text(encoding="utf-8"))
    assert page.tags.count("img") == 5
    assert len(page.links) == 5
    for link in page.links:
        kind, _, data = link.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
    assert "url(" not in page.style
    assert "@import" not in page.style
    assert "http" not in page.text + page.style


def test_what_it_says(result):
    markup = report.render(result)
    page = Page(markup)
    assert f"<title>{result.best_k} clusters – compsil-kit</title>" in markup
    assert f'<h1><span class="big">{result.best_k}</span> clusters</h1>' in markup
    for line in text.sentences(result):
        assert line in page.text
    assert "Note: " not in page.text
    for warning in result.warnings:
        assert sentence(warning) in page.text
    assert "767 rows, 2 features, float64" in page.text
    assert "<dt>table</dt><dd>columns x, y; scale none</dd>" in markup
    assert "transformtanhrulemaxz1" in page.text
    assert "ks2..5clustererkmeansn_subsamples5sample_size613metriceuclidean" in page.text
    assert f"{result.plan.seeds[0]} ... {result.plan.seeds[-1]}" in page.text
    assert f"numpy {np.__version__}" in page.text
    assert "Other criteria" not in page.text
    assert "Failed clusterings" not in page.text


@pytest.mark.parametrize("path", [str, Path])
def test_paths(result, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    assert result.report(path("here.html")) == Path("here.html")
    assert [file.name for file in tmp_path.iterdir()] == ["here.html"]


def test_with_a_comparison(X, result):
    comparison = compare(X, ks=[2, 3, 4], n_subsamples=3, n_references=2)
    page = Page(report.render(result, comparison))
    assert page.tags.count("img") == 6
    assert "Other criteria" in page.text
    for line in comparison.explain().splitlines():
        assert line in page.text


def picture(markup):
    """The only picture of some HTML as PNG, and its width and height."""
    (link,) = Page(markup).links
    data = base64.b64decode(link.partition(",")[2], validate=True)
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_pictures_are_png_whatever_matplotlib_saves_by_default():
    with mpl.rc_context({"savefig.format": "svg"}):
        assert picture(report._figure(lambda ax: None, "curve")) == (936, 546)


@pytest.mark.parametrize(("names", "height"), [(["micro"], 1.9), (["micro", "macro", "gap"], 2.9)])
def test_a_comparison_has_a_row_for_every_criterion(names, height):
    found = compared([2, 3], **{name: [0.1, 0.2] for name in names})
    assert picture(report._comparison(found)) == (1092, round(130 * height))
    assert report._comparison(None) == ""


def test_names_and_causes_are_escaped(X):
    def transform(x):
        return (1 + x) / 2

    transform.__name__ = ATTACK
    given = {"ks": [2, 3, 4], "n_subsamples": 4, "clusterer": fails_at(4), "on_failure": "skip"}
    found = select_k(pd.DataFrame(X, columns=[ATTACK, "y"]), transform=transform, **given)
    found = replace(found, preparation=Preparation((ATTACK,), (ATTACK,), None, 0, (f"column {ATTACK!r}: odd.",)))
    text = report.render(found, compare(X, criteria=["composite", "elbow"], **given))
    page = Page(text)
    assert ATTACK not in text
    assert "script" not in page.tags
    # Data (2), why there is no confidence, notes (failure, odd column), table (2), clusterer, transformation, and the
    # four failures.
    assert page.text.count(ATTACK) == 13


def test_failures_are_listed(X):
    found = select_k(X, ks=[2, 3], n_subsamples=60, clusterer=fails_at(3), on_failure="skip", sample_size=40)
    page = Page(report.render(found))
    assert "Failed clusterings" in page.text
    assert page.text.count("ValueError: ") == 50 + 1
    assert "... and 10 more" in page.text
    assert " more</p>" not in report._failures(replace(found, failures=found.failures[:50]))


def test_without_a_choice(X):
    with pytest.raises(SelectionError, match="No k of 2, 3 can be selected") as caught:
        select_k(X, ks=[2, 3], n_subsamples=3, clusterer=fails_at(2, 3), on_failure="skip")
    markup = report.render(caught.value.result)
    page = Page(markup)
    assert "<title>No k can be selected – compsil-kit</title>" in markup
    assert "no k can be selected" in page.text
    assert "No k of 2, 3 can be selected" in page.text
    assert page.tags.count("img") == 5


def test_of_a_part(X):
    first = next(stream(X, ks=[2, 3], n_subsamples=4))
    assert first.partial
    page = Page(report.render(first))
    assert "This is a partial result: 1 of 4 subsamples are finished." in page.text
    assert "n_subsamples1sample_size613" in page.text


def test_of_a_failed_run(X, tmp_path):
    calls = []

    def breaks(points, k, seed):
        calls.append(k)
        if len(calls) > 4:
            raise ValueError("enough")
        return KMeans(k, n_init=1, random_state=seed).fit_predict(points)

    with pytest.raises(ClusteringError, match="enough") as caught:
        select_k(X, ks=[2, 3], n_subsamples=4, clusterer=breaks)
    assert "2 of 4 subsamples are finished" in caught.value.result.report(tmp_path / "part.html").read_text(
        encoding="utf-8"
    )


def test_the_criterion_is_named(result):
    assert "selected by composite silhouette" in Page(report.render(result)).text
    page = Page(report.render(result.reweigh(criterion="stable")))
    assert "selected by stable silhouette" in page.text
    assert "criterionstable" in page.text


def test_a_lower_bound_is_named(result):
    assert "transformtanhrulelcbz2.5" in Page(report.render(result.reweigh(rule="lcb", z=2.5))).text


def test_a_missing_folder_is_named_before_any_work(result, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "render", lambda *_: pytest.fail("rendered first"))
    with pytest.raises(FileNotFoundError, match=r"no such folder for the report: .*nowhere'$"):
        result.report(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def fail(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("owner", "name"), [(Path, "replace"), (os, "fchmod"), (report, "render"), (os, "fdopen")])
def test_an_error_leaves_the_old_file_and_nothing_else(result, tmp_path, monkeypatch, owner, name):
    target = tmp_path / "report.html"
    target.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        with pytest.raises(OSError, match="No space left on device"):
            result.report(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    result.report(target)
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [target]


def test_the_file_follows_the_users_mask(result, tmp_path):
    before = os.umask(0o027)
    try:
        written = result.report(tmp_path / "report.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE(written.stat().st_mode) == 0o640


def test_says_when_it_was_written_only_where_asked(result, tmp_path):
    """A pipeline that runs twice writes the same file twice."""
    assert "UTC" in Page(result.report(tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "UTC" not in Page(report.render(result)).text
    assert report.render(result) == report.render(result)


def test_settings_as_people_write_them():
    assert [report._value(value) for value in (1500, 2.50, "auto", True)] == ["1,500", "2.5", "auto", "True"]


DEFAULTS = {**defaults_of(SelectKeywords), "n_starts": 1}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "3 subsamples of 404 of 575 rows · gmm · manhattan · transform tanh · rule max"),
        (
            {"rule": "lcb", "z": 2.5},
            "3 subsamples of 404 of 575 rows · gmm · manhattan · transform tanh · rule lcb (z=2.5)",
        ),
        ({"transform": "step"}, "3 subsamples of 404 of 575 rows · gmm · manhattan · transform step · rule max"),
        (
            {"n_calibration": 2},
            "3 subsamples + 2 for calibration of 404 of 575 rows · gmm · manhattan · transform tanh · rule max",
        ),
    ],
)
def test_card_report_and_terminal_show_the_same_settings(changes, line):
    chosen = {"n_subsamples": 3, "sample_size": 404, "clusterer": "gmm", "metric": "manhattan", **changes}
    found = select_k(imbalanced_blobs()[0][::4], ks=[2, 3], **chosen)
    given = text.settings(found)
    assert given == {name: (DEFAULTS | chosen)[name] for name in given}
    assert {"n_starts", "n_calibration", "criterion", "transform", "rule", "z", *chosen} <= set(given)
    assert repr(found).splitlines()[-1] == line
    assert line in Page(found._repr_html_()).text
    page = report.render(found)
    for name, value in {**given, "z": f"{given['z']:g}"}.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page


def test_a_browser_shows_the_report(hostile, tmp_path):
    dom, complaints = browse(report.render(hostile).replace("</head>", f"</head>{PROBE}"), tmp_path)
    assert complaints == []
    assert 'data-images="5"' in dom
    assert 'data-broken="0"' in dom
    assert 'data-wide="false"' in dom
    assert 'data-answer="seen"' in dom
    assert "data-attacked" not in dom
