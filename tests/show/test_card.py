"""The card of a result in a notebook: parsed, escaped, and shown by a browser."""

import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from compsil_kit import SelectionResult, compare, select_k
from compsil_kit.data.dataset import Preparation
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.method.plan import Plan
from compsil_kit.result.trials import Saved, Trials
from compsil_kit.show import text
from compsil_kit.show.curve import curve_of
from compsil_kit.show.report import render
from compsil_kit.util.format import percent, sentence

ATTACK = "<script>alert(1)</script>"
VOID = {"meta", "img", "br", "hr", "link", "input", "circle", "polyline", "polygon"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; tags that do not match are an error."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text, self.rows, self.open = [], [], "", [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def made_up(micro, macro, *, planned=None, **changes):
    """A result from given silhouettes, ks by subsamples."""
    micro, macro = np.array(micro, dtype=float), np.array(macro, dtype=float)
    n_ks, n = micro.shape
    plan = Plan(
        n_rows=1000, n_features=2, ks=tuple(range(2, 2 + n_ks)), n_subsamples=planned or n, n_calibration=0,
        sample_size=800, seeds=tuple(range(planned or n)), clusterer="kmeans", metric="euclidean", dtype="float64",
    )  # fmt: skip
    none = Trials((), np.empty((n_ks, 0)), np.empty((n_ks, 0)))
    return SelectionResult(plan, Trials(tuple(range(n)), micro, macro), none, **changes)


@pytest.fixture(scope="module")
def result():
    X, _ = imbalanced_blobs()
    frame = pd.DataFrame(X, columns=["x", "y"])
    return select_k(frame, ks=range(2, 8), n_subsamples=8, n_jobs=2)


@pytest.fixture(scope="module")
def hostile():
    """A result in which every name that a user can give is markup."""

    def clusterer(X, k, seed):
        if k == 4:
            raise ValueError(ATTACK)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

    def transform(x):
        return (1 + x) / 2

    clusterer.__name__ = transform.__name__ = ATTACK
    frame = pd.DataFrame(imbalanced_blobs()[0], columns=[ATTACK, '"><img src=x onerror=alert(1)>'])
    found = select_k(
        frame, ks=[2, 3, 4, 5], n_subsamples=4, clusterer=clusterer, transform=transform, on_failure="skip"
    )
    notes = (f"column {ATTACK!r}: odd.",)
    return replace(
        found, preparation=Preparation((*found.preparation.columns, ATTACK), (ATTACK,), "standard", 3, notes)
    )


def test_the_card_says_what_matters(result):
    page = Page(result._repr_html_())
    at = result.best_index
    assert f"number of clusters{result.best_k}" in page.text
    assert f"score {result.best_score:.4f} ± {result.sem[at]:.4f}" in page.text
    assert f"selection probability {percent(result.probability[at])}" in page.text
    for warning in result.warnings:
        assert sentence(warning) in page.text
    settings = "8 subsamples of 1,380 of 2,300 rows · kmeans · euclidean · transform tanh · rule max"
    assert f"{settings} · columns x, y; scale none" in page.text
    assert "partial" not in page.text


def test_the_table_of_the_card(result):
    page = Page(result._repr_html_())
    assert page.rows[0] == ["k", "score", "± se", "micro", "macro", "weight", "probability"]
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
    assert heights.argmin() == result.best_index
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
    assert ("no k can be selected" in page.text) == (found.best_index is None)
    assert ("partial result" in page.text) == found.partial
    assert ("failed" in page.rows[0]) == bool(found.n_failed.any())
    assert "nan" not in page.text
    assert "nan" not in found._repr_html_().partition("<details")[0]


def test_undefined_values_are_dashes():
    rows = Page(CASES["failures"]._repr_html_()).rows
    assert rows[1] == ["2", "–", "–", "–", "–", "–", "0 %", "3"]
    assert Page(CASES["one subsample"]._repr_html_()).rows[1][2] == "–"


def with_probability(*values):
    """A result whose ks have these selection probabilities; the first is the choice."""
    rows = np.linspace(0.9, 0.5, len(values))[:, None] * np.ones((1, 3))
    return made_up(rows, rows, saved=Saved(np.full(rows.shape, 0.5), np.array(values)))


def test_small_probabilities_are_escaped():
    """A browser takes an unescaped "<1" for text, other readers do not."""
    markup = with_probability(0.997, 0.003)._repr_html_()
    page = Page(markup)
    assert "selection probability &gt;99 %<" in markup
    assert [row[6] for row in page.rows] == ["probability", ">99 %", "<1 %"]
    assert "<1" not in markup
    rare = with_probability(0.003, 0.997)._repr_html_()
    assert "selection probability &lt;1 %<" in rare
    assert "<1" not in rare


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 %"), (1e-9, "<1 %"), (0.005, "<1 %"), (0.0051, "1 %"), (0.0149, "1 %"), (0.66, "66 %"),
        (0.9449, "94 %"), (0.946, "95 %"), (0.9949, "99 %"), (0.995, ">99 %"), (0.9999, ">99 %"), (1.0, "100 %"),
        (np.nan, "–"),
    ],
)  # fmt: skip
def test_percentages(value, shown):
    assert percent(value) == shown


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
    assert given == {"n_calibration": 0, "transform": "tanh", "rule": "max", "z": 1.0, **chosen}
    assert repr(found).splitlines()[-1] == line
    assert line in Page(found._repr_html_()).text
    report = render(found)
    for name, value in {**given, "z": f"{given['z']:g}"}.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in report


def test_table_of_card_and_terminal_show_the_same(result):
    printed = [row.lstrip("* ").split() for row in repr(result).splitlines()[2:-2]]
    shown = Page(result._repr_html_()).rows
    assert ["".join(row) for row in printed] == ["".join(row).replace(" ", "") for row in shown]
    assert [row[1] for row in shown[1:]] == [f"{value:.4f}" for value in curve_of(result).composite]


def test_the_card_of_a_comparison():
    X = imbalanced_blobs()[0][::4]
    found = compare(X, ks=[2, 3, 4], n_subsamples=3, n_references=2)
    page = Page(found._repr_html_())
    assert page.rows[0] == ["k", *found.values.columns]
    assert len(page.rows) == 4
    for line in found.explain().splitlines():
        assert line in page.text
    assert found._repr_html_().count("font-weight:700") == len(found.choices)


def browse(page, folder):
    """Show a page in a browser; return the page after its scripts have run, and what it complained of."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium here, and make could not install it")
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--enable-logging=stderr", "--v=0", "--window-size=640,900",
        f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# What a browser makes of the page: pictures that could not be decoded, elements that stick out, and anything run.
PROBE = """<script>
window.alert = () => { document.body.dataset.attacked = "yes"; };
window.addEventListener("load", () => {
  const images = [...document.images];
  document.body.dataset.broken = images.filter(image => !image.naturalWidth).length;
  document.body.dataset.images = images.length;
  document.body.dataset.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  document.body.dataset.answer = document.querySelector("svg circle, .big") ? "seen" : "missing";
});
</script>"""


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


def test_a_browser_shows_the_report(hostile, tmp_path):
    dom, complaints = browse(render(hostile).replace("</head>", f"</head>{PROBE}"), tmp_path)
    assert complaints == []
    assert 'data-images="4"' in dom
    assert 'data-broken="0"' in dom
    assert 'data-wide="false"' in dom
    assert 'data-answer="seen"' in dom
    assert "data-attacked" not in dom
