"""The texts of the explorer, as HTML for light and dark pages. Strings from outside are escaped."""

from __future__ import annotations

import base64
import math
from html import escape
from pathlib import Path

from compsil_jupyter.explorer.clusterings import Clustering, Clusterings
from compsil_jupyter.explorer.session import Session
from compsil_jupyter.explorer.state import Status
from compsil_kit import Comparison, SelectionResult
from compsil_kit._method.criterion import LIKELY, OF_SEVERAL_STARTS
from compsil_kit._show.card import COMPOSITE, MUTED, WARNING, table
from compsil_kit._show.text import no_clusters, settings_line
from compsil_kit._util.format import format_seconds, number, percent, sentence

ERROR = "#d33f3f"
# Without this, the names of the tabs are cut off on narrow pages.
STYLE = """<style>
.jupyter-widgets.compsil-tabs > .lm-TabBar .lm-TabBar-tab { min-width: max-content; padding: 0 8px }
</style>"""
EMPTY = "Press <b>Run</b>. The curve appears after the first subsample."
WAITING = "Waiting for the first subsample …"
MOST_FAILURES = 20


def _box(inside: str, colour: str) -> str:
    return f'<div style="border-left:3px solid {colour};padding:4px 10px;line-height:1.4;margin:2px 0">{inside}</div>'


def _title(text: str) -> str:
    return f'<div style="font-size:20px;font-weight:600">{text}</div>'


def muted(text: str) -> str:
    """Return a remark; the text is HTML."""
    return f'<div style="{MUTED};line-height:1.4;overflow-wrap:anywhere">{text}</div>'


def headline(session: Session) -> str:
    """Return the selected k, how sure it is, and what the other criteria choose."""
    result = session.result
    if result is None:
        return muted(WAITING if session.running else EMPTY)
    if result._best_index is None:
        return _title("no k can be selected yet" if session.running else "no k can be selected")
    none = no_clusters(result)
    warned = none and f'<div style="font-size:17px;font-weight:650;color:{WARNING}">{escape(none)}</div>'
    others = {name: k for name, k in result.choices.items() if name != result.criterion and k is not None}
    also = ", ".join(f"{name}: {k}" for name, k in others.items())
    return (
        f'{warned}<div style="display:flex;gap:0 14px;align-items:baseline;flex-wrap:wrap;line-height:1.3">'
        f'<span>k* = <span style="font-size:32px;font-weight:650;color:{COMPOSITE}">{result.best_k}</span></span>'
        f"<span>{_score(result, result._best_index)}{_part(session, result)}</span>"
        f'<span style="{MUTED}">{also}</span></div>'
    )


def _score(result: SelectionResult, at: int) -> str:
    """Return confidence, selection probability and score; from a single subsample there is no more than the score."""
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


def _part(session: Session, result: SelectionResult) -> str:
    """Say that the result is not that of a complete run, where it is not."""
    if session.shows_previous:
        text = "previous result"
    elif session.running:
        text = _finished(session.status)
    else:
        text = "partial result" if result.partial else ""
    return text and f' · <span style="color:{WARNING}">{text}</span>'


def _finished(status: Status) -> str:
    return f"{status.done} of {status.total} subsamples finished"


def warnings(session: Session) -> str:
    """Return the warnings of the result once its run has ended: those of a growing result come and go."""
    result = session.result
    if result is None or not result.warnings or session.running:
        return ""
    return _box("<br>".join(escape(sentence(text)) for text in result.warnings), WARNING)


def error(text: str, note: str = "") -> str:
    """Return an error message with a note below it, or nothing."""
    return _box(escape(text) + (note and f'<div style="{MUTED}">{escape(note)}</div>'), ERROR) if text else ""


def problem(session: Session) -> str:
    """Return why the last run failed, or why no k can be selected from the subsamples in use."""
    if session.status.error:
        kept = "The result of the previous run is still shown." if session.shows_previous else ""
        return error(session.status.error, kept)
    result = session.result
    unclear = result is not None and result._best_index is None and not session.running
    return error(result.explain()) if result is not None and unclear else ""


def progress(session: Session) -> str:
    """Return the number of finished subsamples and the time left, or how the run ended."""
    status = session.status
    count = f"{status.done} of {status.total} subsamples"
    parts = {
        "idle": "",
        "running": f"{_finished(status)}{_left(status)}" if status.done else status.words or _finished(status),
        "done": f"{count} in {format_seconds(status.seconds)}",
        "stopped": f"stopped after {count}; finished subsamples are kept",
        "failed": f"failed after {count}",
    }
    words = [parts[status.phase]]
    if session.stale and not session.running:
        words.append("Settings have changed. Press Run to apply them.")
    elif session.wants_starts and not session.running:
        words.append("This criterion judges the best of several starts. Press Run to compute them")
    return muted(escape(". ".join(word for word in words if word)))


def _left(status: Status) -> str:
    return "" if status.seconds_left is None else f", about {format_seconds(status.seconds_left)} left"


def comparing(status: Status, found: Comparison | None) -> str:
    """Return the progress of the comparison or, at its end, which criteria agree."""
    if found is not None:
        early = "Stopped. Only the criteria that were finished are shown.\n" if status.phase == "stopped" else ""
        return muted(escape(early + found.explain()).replace("\n", "<br>"))
    if status.phase == "running":
        steps = f"{status.done} of {status.total} steps finished{_left(status)}" if status.total else "Starting …"
        return muted(escape(steps))
    return error(status.error) or muted("Stopped." if status.phase == "stopped" else "")


def guarantee(result: SelectionResult, delta: float) -> str:
    """Return the Hoeffding bound that the number of subsamples gives, in a sentence or two."""
    if result._best_index is None:
        return ""
    if result.criterion in OF_SEVERAL_STARTS:
        return muted(f"The Hoeffding bound is one of mean silhouettes, not of the criterion {result.criterion}.")
    bound = result.guarantee(delta)
    text = f"With probability {1 - delta:g}, every score is within ±{bound.radius_all:.2f} of its expected value"
    text += "." if bound.independent else " (approximately; n_calibration > 0 makes the bound strict)."
    if bound.proven:
        text += f" The lead of {bound.lead:.3f} is proven."
    elif bound.needed is not None:
        text += f" Proving the lead of {bound.lead:.3f} would take {bound.needed:,} subsamples."
    return muted(escape(text))


def clusters(clusterings: Clusterings, found: Clustering | str | None, k: int) -> str:
    """Say that a clustering is being computed, why it failed, or that it is one of a sample."""
    if isinstance(found, str):
        return error(found)
    if found is None:
        return muted(f"Clustering into k = {k} …")
    if not clusterings.sampled:
        return ""
    shown = f"{clusterings.points.shape[0]:,} of {clusterings.n_rows:,} rows"
    return muted(f"Clustering of a random sample of {shown}; silhouettes are those within the sample.")


def numbers(result: SelectionResult) -> str:
    """Return the curve as a table, followed by failed clusterings and the settings."""
    failed = result.failures
    causes = [f"k = {failure.k}, subsample {failure.subsample}: {failure.cause}" for failure in failed[:MOST_FAILURES]]
    if len(failed) > MOST_FAILURES:
        causes.append(f"… and {len(failed) - MOST_FAILURES} more")
    entries = "".join(f"<li>{escape(cause)}</li>" for cause in causes)
    failures = f"<div>Failed clusterings</div><ul>{entries}</ul>" if entries else ""
    return f"{table(result)}<br>{failures}{muted(escape(settings_line(result, preparation=True)))}"


def lines(text: str) -> str:
    """Return code to be read and copied."""
    # Long lines are scrolled: code that is wrapped at any place is hard to read.
    look = "white-space:pre;overflow-x:auto;line-height:1.4;font-family:monospace;font-size:13px;margin:0"
    return f'<pre style="{look}">{escape(text)}</pre>'


def saved(path: Path, kind: str) -> str:
    """Say where a file was written, with a download link for kernels that run on another machine."""
    data = base64.b64encode(path.read_bytes()).decode()
    target = f'download="{escape(path.name)}" href="data:{kind};base64,{data}"'
    link = f'<a style="text-decoration:underline" {target}>download</a>'
    return muted(f"Saved as {escape(path.name)} in the working directory · {link}")
