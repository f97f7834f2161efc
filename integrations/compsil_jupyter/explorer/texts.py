"""What the explorer says, as HTML that reads on light and dark pages. Strings from outside are escaped."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from compsil_jupyter.explorer.clusterings import Clustering, Clusterings
from compsil_jupyter.explorer.session import Session
from compsil_jupyter.explorer.settings import Status
from compsil_kit import Comparison, SelectionResult
from compsil_kit.show.card import COMPOSITE, MUTED, WARNING, table
from compsil_kit.show.text import settings_line
from compsil_kit.util.format import format_seconds, number, percent, sentence

ERROR = "#d33f3f"
# Where there is little room, tabs would cut off their names.
STYLE = """<style>
.jupyter-widgets.compsil-tabs > .lm-TabBar .lm-TabBar-tab { min-width: max-content; padding: 0 8px }
</style>"""
EMPTY = "Press <b>Run</b>: the curve appears with the first subsample."


def _box(inside: str, colour: str) -> str:
    return f'<div style="border-left:3px solid {colour};padding:4px 10px;line-height:1.4;margin:2px 0">{inside}</div>'


def muted(text: str) -> str:
    """Return a remark; the text is HTML."""
    return f'<div style="{MUTED};line-height:1.4;overflow-wrap:anywhere">{text}</div>'


def headline(result: SelectionResult | None) -> str:
    """Return the choice: k*, its score, its selection probability."""
    if result is None:
        return muted(EMPTY)
    if result.best_index is None:
        return '<div style="font-size:20px;font-weight:600">no k can be selected</div>'
    at = result.best_index
    score = f"score {number(result.best_score)} ± {number(float(result.sem[at]))}"
    if result.rule == "lcb":
        score += f", lower bound {number(float(result.lcb[at]))}"
    probability = f"selection probability {escape(percent(float(result.probability[at])))}"
    alone = ", ".join(f"{name} alone {result.choices[name] or '–'}" for name in ("micro", "macro"))
    partial = f' · <span style="color:{WARNING}">partial</span>' if result.partial else ""
    return (
        '<div style="display:flex;gap:0 14px;align-items:baseline;flex-wrap:wrap;line-height:1.3">'
        f'<span>k* = <span style="font-size:32px;font-weight:650;color:{COMPOSITE}">{result.best_k}</span></span>'
        f'<span>{score} · {probability}{partial}</span><span style="{MUTED}">{alone}</span></div>'
    )


def warnings(result: SelectionResult | None) -> str:
    """Return what to know before trusting the choice."""
    if result is None or not result.warnings:
        return ""
    return _box("<br>".join(escape(sentence(text)) for text in result.warnings), WARNING)


def error(text: str) -> str:
    """Return an error message, or nothing."""
    return _box(escape(text), ERROR) if text else ""


def progress(session: Session) -> str:
    """Return the live count and the time left, or how the run ended."""
    status = session.status
    count = f"{status.done} of {status.total} subsamples"
    took = format_seconds(status.seconds)
    words = {
        "idle": "",
        "running": f"{count}{_left(status)}",
        "done": f"{count} in {took}",
        "stopped": f"stopped after {count}; what is finished is kept",
        "failed": f"failed after {count}" if status.done else "",
    }[status.phase]
    stale = " Settings have changed since: Run again." if session.stale and not session.running else ""
    return muted(escape(words + ("." if words and stale else "") + stale))


def _left(status: Status) -> str:
    return "" if status.seconds_left is None else f", about {format_seconds(status.seconds_left)} left"


def comparing(status: Status, found: Comparison | None) -> str:
    """Return how far the other criteria are, or who agrees with whom."""
    if found is not None:
        return muted(escape(found.explain()).replace("\n", "<br>"))
    if status.phase == "running":
        return muted(escape(f"{status.done} of {status.total} steps{_left(status)}" if status.total else "starting"))
    return error(status.error) or muted("stopped" if status.phase == "stopped" else "")


def guarantee(result: SelectionResult, delta: float) -> str:
    """Return what the number of subsamples proves, in a sentence."""
    if result.best_index is None:
        return ""
    bound = result.guarantee(delta)
    text = f"With probability {1 - delta:g}, every score is within ±{bound.radius_all:.2f} of its expectation"
    strictly = "" if bound.independent else " (a guide: it holds strictly with n_calibration)"
    if bound.proven:
        return muted(escape(f"{text}{strictly}: the lead of {bound.lead:.3f} is proven."))
    needed = (
        "" if bound.needed is None else f"; to prove the lead of {bound.lead:.3f} takes {bound.needed:,} subsamples"
    )
    return muted(escape(f"{text}{strictly}{needed}."))


def clusters(clusterings: Clusterings, found: Clustering | str | None, k: int) -> str:
    """Say that a clustering is on its way, why there is none, or which rows it shows where that is not all of them."""
    if isinstance(found, str):
        return error(found)
    if found is None:
        return muted(f"Clustering into {k} …")
    if not clusterings.sampled:
        return ""
    return muted(
        f"A sample of {clusterings.points.shape[0]:,} of {clusterings.n_rows:,} rows, clustered and scored by itself."
    )


def numbers(result: SelectionResult) -> str:
    """Return the curve as a table, with the settings and any failures below it."""
    causes = "".join(
        f"<li>k = {failure.k}, subsample {failure.subsample}: {escape(failure.cause)}</li>"
        for failure in result.failures[:20]
    )
    more = f"<li>… and {len(result.failures) - 20} more</li>" if len(result.failures) > 20 else ""
    failures = f"<div>Failed clusterings</div><ul>{causes}{more}</ul>" if causes else ""
    settings = muted(escape(settings_line(result, preparation=True)))
    return f"{table(result)}<br>{failures}{settings}"


def lines(text: str) -> str:
    """Return code, to be read and copied."""
    # A line that is too long can be scrolled: broken anywhere, code is hard to read.
    look = "white-space:pre;overflow-x:auto;line-height:1.4;font-family:monospace;font-size:13px;margin:0"
    return f'<pre style="{look}">{escape(text)}</pre>'


def saved(path: Path, kind: str) -> str:
    """Say where a file is, with a link that also works where the kernel runs on another machine."""
    data = base64.b64encode(path.read_bytes()).decode()
    target = f'download="{escape(path.name)}" href="data:{kind};base64,{data}"'
    link = f'<a style="text-decoration:underline" {target}>download</a>'
    return muted(f"Saved as {escape(path.name)} beside the notebook · {link}")
