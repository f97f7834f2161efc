"""The explorer's text and plots for given results, without widgets."""

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from samples import made_up
from sessions import Result, visible_text

from compsil_jupyter import display
from compsil_jupyter.session import Status
from compsil_jupyter.shown import Clustering
from compsil_kit import select_k, silhouettes
from compsil_kit._result.trials import Failure
from compsil_kit._show.cluster_plots import project


def session(result, **state):
    """Return a session that shows a result after two of eight subsamples and three seconds."""
    usual = {"running": False, "shows_previous": False, "stale": False, "needs_initialisations": False}
    return SimpleNamespace(result=result, **({"status": Status("idle", 2, 8, 3.0)} | usual | state))


LIKELY = {"criterion": "likely", "choices": {}}
START = "k* = 3 confidence 93 % · selection probability 71 %"


@pytest.mark.parametrize(
    ("result", "state", "expected"),
    [
        ({}, {}, f"{START} · score 0.5000 ± 0.0200 macro: 2"),
        ({"confidence": [np.nan], "selection_probability": [np.nan], "sem": [np.nan]}, {},
         "k* = 3 score 0.5000 macro: 2"),
        ({"rule": "lcb", "choices": {}}, {}, f"{START} · score 0.5000 ± 0.0200, lower bound 0.4800"),
        ({"criterion": "likely"}, {}, f"{START} composite: 3, macro: 2"),
        ({"partial": True, **LIKELY}, {}, f"{START} · partial result"),
        ({"partial": True, **LIKELY}, {"running": True}, f"{START} · 2 of 8 subsamples finished"),
        (LIKELY, {"running": True, "shows_previous": True}, f"{START} · previous result"),
        ({"structure": SimpleNamespace(found=False, verdict="No <clusters>."), **LIKELY}, {},
         f"No <clusters>. {START}"),
        ({"k": None}, {}, "no k can be selected"),
        ({"k": None}, {"running": True}, "no k can be selected yet"),
        (None, {}, "Press Run . The curve appears after the first subsample."),
        (None, {"running": True}, "Computing the first subsample …"),
    ],
)  # fmt: skip
def test_headline_shows_k_confidence_score_and_status(result, state, expected):
    usual = {
        "ks": (3, 4), "best_score": 0.5, "criterion": "composite", "rule": "max", "partial": False,
        "structure": None, "confidence": [0.93], "selection_probability": [0.71], "sem": [0.02], "lcb": [0.48],
        "choices": {"composite": 3, "micro": None, "macro": 2},
    }  # fmt: skip
    shown = None if result is None else Result(**(usual | result))
    assert visible_text(display.format_headline(session(shown, **state))) == expected


def test_errors_are_shown_only_after_the_run():
    unclear = Result(k=None)
    assert visible_text(display.format_problem(session(unclear))) == "No <k>."
    for fine in (session(None), session(unclear, running=True), session(Result())):
        assert display.format_problem(fine) == ""
    failed = {"status": Status("failed", error="no <luck>")}
    assert visible_text(display.format_problem(session(unclear, **failed))) == "no <luck>"
    kept = "no <luck> The result of the previous run is still shown."
    assert visible_text(display.format_problem(session(None, shows_previous=True, **failed))) == kept


def test_warnings_are_shown_only_after_the_run():
    result = SimpleNamespace(warnings=["two <odd> columns.", "three rows."])
    assert visible_text(display.format_warnings(session(result))) == "Two <odd> columns. Three rows."
    for none in (session(result, running=True), session(None), session(SimpleNamespace(warnings=[]))):
        assert display.format_warnings(none) == ""


@pytest.mark.parametrize(
    ("status", "state", "expected"),
    [
        ({}, {}, ""),
        ({}, {"stale": True}, "Settings have changed. Press Run to apply them."),
        ({"phase": "done"}, {}, "2 of 8 subsamples in 3 s"),
        ({"phase": "stopped"}, {}, "stopped after 2 of 8 subsamples; finished subsamples are kept"),
        ({"phase": "failed"}, {}, "failed after 2 of 8 subsamples"),
        ({"phase": "done"}, {"needs_initialisations": True}, "2 of 8 subsamples in 3 s. This criterion uses the best "
         "of several initialisations. Press Run to compute them."),
        ({"phase": "running"}, {"stale": True, "needs_initialisations": True, "running": True},
         "2 of 8 subsamples finished, about 9 s left"),
        ({"phase": "running", "done": 0}, {"running": True}, "0 of 8 subsamples finished"),
        ({"phase": "running", "done": 0, "note": "<compiling>"}, {"running": True}, "<compiling>"),
    ],
)  # fmt: skip
def test_progress_shows_finished_subsamples_and_remaining_time(status, state, expected):
    shown = session(None, status=replace(session(None).status, **status), **state)
    assert visible_text(display.format_progress(shown)) == expected


@pytest.mark.parametrize(
    ("status", "found", "expected"),
    [
        (Status("running", 2, 8, 3.0), None, "2 of 8 steps finished, about 9 s left"),
        (Status("running"), None, "Starting …"),
        (Status("stopped"), None, "Stopped."),
        (Status("failed", error="no <luck>"), None, "no <luck>"),
        (Status(), None, ""),
        (Status("done"), "All <agree>.", "All <agree>."),
        (Status("stopped"), "All <agree>.", "Stopped. Only the finished criteria are shown. All <agree>."),
    ],
)
def test_comparison_note_shows_progress_or_agreement(status, found, expected):
    comparison = None if found is None else SimpleNamespace(explain=lambda: found)
    assert visible_text(display.format_comparison(status, comparison)) == expected


def test_guarantee_describes_the_hoeffding_bound():
    near, far, failed = np.full((2, 400), 0.5), np.array([[0.9] * 400, [0.1] * 400]), np.full((2, 4), np.nan)
    loose = visible_text(display.format_guarantee(made_up(far, far), 0.05))
    assert loose.startswith("With probability 0.95, every score is within ±0.15 of its expected value (approximately;")
    assert loose.endswith("Proving the lead of 0.800 would take 55 subsamples.")
    strict = visible_text(display.format_guarantee(made_up(far, far, calibration=np.zeros((2, 3))), 0.01))
    assert strict.startswith("With probability 0.99")
    assert strict.endswith("expected value. The lead of 0.800 is proven.")
    assert "lead" not in display.format_guarantee(made_up(near, near), 0.05)
    assert display.format_guarantee(made_up(failed, failed), 0.05) == ""
    likely = Result(criterion="likely")
    assert "not to the likely criterion." in display.format_guarantee(likely, 0.05)


@pytest.mark.parametrize(("n_failed", "more"), [(0, ""), (20, ""), (21, "… and 1 more"), (50, "… and 30 more")])
def test_table_lists_at_most_twenty_failures(n_failed, more):
    rows = np.full((2, 60), 0.5)
    failures = tuple(Failure(3, at, at, "no <luck>") for at in range(n_failed))
    markup = display.format_table(made_up(rows, rows, failures=failures))
    assert markup.count("no &lt;luck&gt;") == min(n_failed, 20)
    assert ("Failed clusterings" in markup) == (n_failed > 0)
    assert (markup.count("… and"), more in markup) == (bool(more), True)
    assert "60 subsamples of 800 of 1,000 rows" in markup


def test_cluster_note_describes_progress_errors_and_sampling():
    every, sample = (
        SimpleNamespace(sampled=sampled, points=np.zeros((10_000, 2)), n_rows=12_345) for sampled in (False, True)
    )
    assert "Clustering into k = 4 …" in display.format_clusters(every, None, 4)
    assert "no &lt;four&gt;" in display.format_clusters(every, "no <four>", 4)
    assert display.format_clusters(every, object(), 4) == ""
    assert "a random sample of 10,000 of 12,345 rows" in display.format_clusters(sample, object(), 4)


@pytest.fixture
def figures(monkeypatch):
    """Collect the figures from which images are rendered."""
    made = []
    canvas = display.FigureCanvasAgg
    monkeypatch.setattr(display, "FigureCanvasAgg", lambda figure: made.append(figure) or canvas(figure))
    return made


def labels_of(png, figures):
    """Check an image and the figure it was rendered from; return the figure's y labels."""
    (figure,) = figures
    image = Image.open(io.BytesIO(png))
    assert (image.format, image.mode) == ("PNG", "RGB")
    assert image.size == tuple(round(inches * display.DPI) for inches in figure.get_size_inches())
    assert all(axes.has_data() for axes in figure.axes)
    return [axes.get_ylabel() for axes in figure.axes]


@pytest.mark.parametrize(
    ("draw", "labels"),
    [
        (lambda result: display.draw_plot("curve", result), ["silhouette"]),
        (lambda result: display.draw_plot("weights", result), ["discrepancy", "weight of micro (0: macro only)"]),
        (lambda result: display.draw_stability(result, 0.05),
         ["selection probability", "adjusted Rand index", "composite silhouette"]),
    ],
)  # fmt: skip
def test_result_plots_have_the_expected_axes(blobs, figures, draw, labels):
    assert labels_of(draw(select_k(blobs, ks=[2, 3], n_subsamples=3)), figures) == labels


@pytest.mark.parametrize("mapped", [True, False])
def test_cluster_plots_show_the_map_and_the_silhouettes(blobs, figures, mapped):
    codes = (blobs[:, 0] > 0).astype(int)
    # A projection that differs from the default of plot_map.
    projection = (np.roll(project(blobs)[0], 1), 0.5) if mapped else None
    clusterings = SimpleNamespace(points=blobs, projection=projection)
    png = display.draw_clusters(clusterings, Clustering(codes, silhouettes(blobs, codes)))
    assert labels_of(png, figures) == ["second component"] * mapped + ["cluster (number of points)"]
    if mapped:
        assert "explain 50 % of the variance" in figures[0].axes[0].get_title(loc="left")
