"""Render the explorer's plots as PNG and its text as HTML; strings from the data are escaped."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from html import escape
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from compsil_jupyter.session import Session, Status
from compsil_jupyter.shown import Clustering, Clusterings, selected_k
from compsil_kit import Comparison, SelectionResult
from compsil_kit.adapters import (
    COMPOSITE,
    LIKELY,
    MULTI_INIT_CRITERIA,
    MUTED,
    WARNING,
    format_seconds,
    no_clusters,
    number,
    percent,
    plot_comparison,
    plot_map,
    plot_silhouettes,
    sentence,
    settings_line,
    table,
)

WIDE, DOUBLE, SQUARE = (8.6, 4.6), (12.4, 4.8), (12.4, 8.8)
# Sharp on high-density displays, which show images at half size, and readable on other displays.
DPI = 110
# Explorers draw in several threads. Figures are independent, but Matplotlib's font cache is shared.
_draw_lock = Lock()

ERROR = "#d33f3f"
# Without this rule, tab titles are cut off on narrow pages.
STYLE = """<style>
.jupyter-widgets.compsil-tabs > .lm-TabBar .lm-TabBar-tab { min-width: max-content; padding: 0 8px }
</style>"""
MAX_FAILURES = 20


def _png(draw: Callable[[Figure], object], size: tuple[float, float]) -> bytes:
    """Render without pyplot, so that no figure appears in the cell output."""
    with _draw_lock:
        figure = Figure(figsize=size, dpi=DPI, layout="constrained")
        draw(figure)
        # savefig would compute the layout twice.
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="png", compress_level=3)
    return buffer.getvalue()


def draw_plot(kind: Literal["curve", "weights"], result: SelectionResult) -> bytes:
    """Draw one plot of a result."""
    return _png(lambda figure: result.plot(kind, ax=figure.subplots()), WIDE)


def draw_stability(result: SelectionResult, delta: float) -> bytes:
    """Draw the selection probability and stability of each k, and the convergence of the scores."""

    def draw(figure: Figure) -> None:
        axes = figure.subplot_mosaic([["probability", "stability"], ["convergence", "convergence"]])
        result.plot("probability", ax=axes["probability"])
        result.plot("stability", ax=axes["stability"])
        result.plot("convergence", ax=axes["convergence"], delta=delta)

    return _png(draw, SQUARE)


def draw_clusters(clusterings: Clusterings, clustering: Clustering) -> bytes:
    """Draw the map of a clustering, and the silhouettes of its points."""
    projection = clusterings.projection

    def draw(figure: Figure) -> None:
        if projection is None:
            plot_silhouettes(clustering.scores, clustering.labels, ax=figure.subplots())
            return
        left, right = figure.subplots(1, 2)
        plot_map(clusterings.points, clustering.labels, ax=left, projection=projection)
        plot_silhouettes(clustering.scores, clustering.labels, ax=right)

    return _png(draw, WIDE if projection is None else DOUBLE)


def draw_comparison(comparison: Comparison) -> bytes:
    """Draw the heat map of the criteria."""
    size = (9.4, 0.5 * len(comparison.criteria) + 1.4)
    return _png(lambda figure: plot_comparison(comparison, ax=figure.subplots()), size)


def _box(inside: str, colour: str) -> str:
    return f'<div style="border-left:3px solid {colour};padding:4px 10px;line-height:1.4;margin:2px 0">{inside}</div>'


def muted(html: str) -> str:
    """Wrap HTML in a muted style."""
    return f'<div style="{MUTED};line-height:1.4;overflow-wrap:anywhere">{html}</div>'


def format_headline(session: Session) -> str:
    """Return the selected k with its confidence, and the values of k selected by the other criteria."""
    result = session.result
    if result is None:
        empty = "Press <b>Run</b>. The curve appears after the first subsample."
        return muted("Computing the first subsample …" if session.running else empty)
    best_k = selected_k(result)
    if best_k is None:
        text = "no k can be selected yet" if session.running else "no k can be selected"
        return f'<div style="font-size:20px;font-weight:600">{text}</div>'
    warning = no_clusters(result)
    banner = warning and f'<div style="font-size:17px;font-weight:650;color:{WARNING}">{escape(warning)}</div>'
    others = {name: k for name, k in result.choices.items() if name != result.criterion and k is not None}
    return (
        f'{banner}<div style="display:flex;gap:0 14px;align-items:baseline;flex-wrap:wrap;line-height:1.3">'
        f'<span>k* = <span style="font-size:32px;font-weight:650;color:{COMPOSITE}">{best_k}</span></span>'
        f"<span>{_format_score(result, result.ks.index(best_k))}{_format_state(session, result)}</span>"
        f'<span style="{MUTED}">{", ".join(f"{name}: {k}" for name, k in others.items())}</span></div>'
    )


def _format_score(result: SelectionResult, at: int) -> str:
    """Return the confidence, selection probability and score; undefined values are omitted."""
    parts = []
    if math.isfinite(result.confidence[at]):
        parts.append(f"<b>confidence {escape(percent(float(result.confidence[at])))}</b>")
    if math.isfinite(result.selection_probability[at]):
        parts.append(f"selection probability {escape(percent(float(result.selection_probability[at])))}")
    if result.criterion != LIKELY:
        error = f" ± {number(float(result.sem[at]))}" if math.isfinite(result.sem[at]) else ""
        bound = f", lower bound {number(float(result.lcb[at]))}" if result.rule == "lcb" else ""
        parts.append(f"score {number(result.best_score)}{error}{bound}")
    return " · ".join(parts)


def _format_state(session: Session, result: SelectionResult) -> str:
    """Return a note unless the result comes from a complete run."""
    if session.shows_previous:
        text = "previous result"
    elif session.running:
        text = _format_finished(session.status)
    else:
        text = "partial result" if result.partial else ""
    return text and f' · <span style="color:{WARNING}">{text}</span>'


def _format_finished(status: Status) -> str:
    return f"{status.done} of {status.total} subsamples finished"


def format_warnings(session: Session) -> str:
    """Return the warnings of a finished run; a warning during the run may not apply to the complete result."""
    result = session.result
    if result is None or not result.warnings or session.running:
        return ""
    return _box("<br>".join(escape(sentence(text)) for text in result.warnings), WARNING)


def format_error(text: str, note: str = "") -> str:
    """Return an error message with a note below it, or an empty string for an empty message."""
    return _box(escape(text) + (note and f'<div style="{MUTED}">{escape(note)}</div>'), ERROR) if text else ""


def format_problem(session: Session) -> str:
    """Return the error from the latest run, or the reason why no k can be selected from the subsamples in use."""
    if session.status.error:
        note = "The result of the previous run is still shown." if session.shows_previous else ""
        return format_error(session.status.error, note)
    result = session.result
    if result is None or session.running or selected_k(result) is not None:
        return ""
    return format_error(result.explain())


def format_progress(session: Session) -> str:
    """Return the number of finished subsamples and the remaining time, or how the run ended."""
    status = session.status
    count = f"{status.done} of {status.total} subsamples"
    phases = {
        "idle": "",
        "running": (not status.done and status.note) or f"{_format_finished(status)}{_format_remaining(status)}",
        "done": f"{count} in {format_seconds(status.seconds)}",
        "stopped": f"stopped after {count}; finished subsamples are kept",
        "failed": f"failed after {count}",
    }
    parts = [phases[status.phase]]
    if session.stale and not session.running:
        parts.append("Settings have changed. Press Run to apply them.")
    elif session.needs_initialisations and not session.running:
        parts.append("This criterion uses the best of several initialisations. Press Run to compute them.")
    return muted(escape(". ".join(filter(None, parts))))


def _format_remaining(status: Status) -> str:
    return "" if status.seconds_left is None else f", about {format_seconds(status.seconds_left)} left"


def format_comparison(status: Status, comparison: Comparison | None) -> str:
    """Return the progress of the comparison or, once it has finished, which criteria agree."""
    if comparison is not None:
        early = "Stopped. Only the finished criteria are shown.\n" if status.phase == "stopped" else ""
        return muted(escape(early + comparison.explain()).replace("\n", "<br>"))
    if status.phase == "running":
        steps = f"{status.done} of {status.total} steps finished{_format_remaining(status)}"
        return muted(escape(steps if status.total else "Starting …"))
    return format_error(status.error) or muted("Stopped." if status.phase == "stopped" else "")


def format_guarantee(result: SelectionResult, delta: float) -> str:
    """Return the Hoeffding bound for the number of subsamples."""
    if selected_k(result) is None:
        return ""
    if result.criterion in MULTI_INIT_CRITERIA:
        return muted(f"The Hoeffding bound applies to mean silhouettes, not to the {result.criterion} criterion.")
    bound = result.guarantee(delta)
    text = f"With probability {1 - delta:g}, every score is within ±{bound.radius_all:.2f} of its expected value"
    text += "." if bound.independent else " (approximately; n_calibration > 0 makes the bound strict)."
    if bound.proven:
        text += f" The lead of {bound.lead:.3f} is proven."
    elif bound.needed is not None:
        text += f" Proving the lead of {bound.lead:.3f} would take {bound.needed:,} subsamples."
    return muted(escape(text))


def format_clusters(clusterings: Clusterings, clustering: Clustering | str | None, k: int) -> str:
    """Return a note if a clustering is still being computed, has failed, or covers only a sample."""
    if isinstance(clustering, str):
        return format_error(clustering)
    if clustering is None:
        return muted(f"Clustering into k = {k} …")
    if not clusterings.sampled:
        return ""
    rows = f"{clusterings.points.shape[0]:,} of {clusterings.n_rows:,} rows"
    return muted(f"Clustering of a random sample of {rows}; silhouettes are computed within the sample.")


def format_table(result: SelectionResult) -> str:
    """Return the curve as a table, followed by failed clusterings and the settings."""
    failed = result.failures
    causes = [f"k = {failure.k}, subsample {failure.subsample}: {failure.cause}" for failure in failed[:MAX_FAILURES]]
    if len(failed) > MAX_FAILURES:
        causes.append(f"… and {len(failed) - MAX_FAILURES} more")
    entries = "".join(f"<li>{escape(cause)}</li>" for cause in causes)
    failures = f"<div>Failed clusterings</div><ul>{entries}</ul>" if entries else ""
    return f"{table(result)}<br>{failures}{muted(escape(settings_line(result, preparation=True)))}"


def format_code(text: str) -> str:
    """Return code as HTML; long lines scroll instead of wrapping."""
    style = "white-space:pre;overflow-x:auto;line-height:1.4;font-family:monospace;font-size:13px;margin:0"
    return f'<pre style="{style}">{escape(text)}</pre>'


def format_saved(path: Path, mime: str) -> str:
    """Return where a file was saved, with a download link for remote kernels."""
    data = base64.b64encode(path.read_bytes()).decode()
    target = f'download="{escape(path.name)}" href="data:{mime};base64,{data}"'
    link = f'<a style="text-decoration:underline" {target}>download</a>'
    return muted(f"Saved as {escape(path.name)} in the working directory · {link}")
