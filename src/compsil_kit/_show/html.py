"""Results as HTML: compact cards for notebooks, and self-contained reports. All values are escaped.

Cards inherit their text colour from the page; accent colours are readable on white and on black. The curve in a card is
SVG, so displaying a result does not import Matplotlib.
"""

from __future__ import annotations

import base64
import errno
import io
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._method.selection import LIKELY
from compsil_kit._show.facts import (
    SCORED,
    band,
    columns,
    confidence_text,
    lines,
    no_clusters,
    probability_text,
    selected,
    thinned,
)
from compsil_kit._show.plots import KINDS, SIZE, plot
from compsil_kit._show.text import sentences, settings_line
from compsil_kit._util.format import format_ks, number, percent, printable, sentence
from compsil_kit._util.system import write_atomically

if TYPE_CHECKING:
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

COMPOSITE = "#2f8fd0"
COLOURS = {**dict.fromkeys(("composite", "stable", "likely"), COMPOSITE), "micro": "#e0701a", "macro": "#1fa67a"}
DASHES = {"micro": "4 3", "macro": "1.5 3"}
WARNING = "#c98a00"
CARD = (
    "border:1px solid rgba(128,128,128,.4);border-radius:8px;padding:12px 16px;max-width:720px;"
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45"
)
TABLE = "border-collapse:collapse;margin-top:6px;border:none;color:inherit;font-size:inherit"
MUTED = "opacity:.7"
CELL = "padding:1px 10px;text-align:right;font-variant-numeric:tabular-nums"
# Size of the curve, in pixels.
WIDTH, HEIGHT = 420, 150
CAPTIONS = {
    "curve": "The criterion with its 95 % band, and the micro and macro averages unless the criterion is the "
    "confidence. Stars mark the selected values of k.",
    "probability": "Selection probability: how often a new run on the same data would select each k, given sampling "
    "noise alone. Confidence: how often a comparable choice was correct on similar simulated data.",
    "stability": "Stability: agreement between the clusterings of consecutive subsamples on their shared rows. 1 is "
    "complete agreement, and 0 is the agreement expected by chance.",
    "convergence": "Scores of the leading candidates and the selected k, by number of subsamples.",
    "weights": "Difference between the micro and macro silhouettes in each subsample. Blue points give more weight to "
    "micro, red points to macro.",
    "comparison": "Criteria by number of clusters. Within a row, darker is better; rings mark the selected k.",
}
MAX_FAILURES = 50
# ks and the seeds have their own rows, and the number of workers does not affect the result.
LEFT_OUT = ("ks", "random_state", "n_jobs")
STYLE = """
body { font-family: system-ui, sans-serif; max-width: 860px; margin: 32px auto; padding: 0 20px; line-height: 1.5;
  color: #222; background: #fff; }
h1 { font-size: 26px; margin-bottom: 4px; }
h2 { font-size: 18px; margin-top: 32px; border-bottom: 1px solid #ddd; padding-bottom: 4px; }
.big { font-size: 54px; font-weight: 650; color: #0072B2; line-height: 1.1; }
.muted { color: #666; }
.note { border-left: 4px solid #c98a00; padding: 4px 12px; margin: 8px 0; background: #fdf8ec; }
table { border-collapse: collapse; font-size: 14px; }
td, th { padding: 3px 12px; text-align: right; font-variant-numeric: tabular-nums; }
tr:nth-child(even) td { background: #f6f8fa; }
dl { display: grid; grid-template-columns: max-content auto; gap: 2px 16px; }
dt { color: #666; }
dd { margin: 0; overflow-wrap: anywhere; }
img { max-width: 100%; }
figure { margin: 12px 0; }
figcaption { font-size: 13px; color: #666; }
@media print { body { margin: 0; } h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""


def safe(value: object) -> str:
    """Return a value as text for HTML elements and quoted attributes, with control characters escaped."""
    return escape(printable(str(value)))


def cells(values: Iterable[object], tag: str = "td", style: str = "") -> str:
    """Return a sequence of table cells."""
    look = f' style="{safe(style)}"' if style else ""
    return "".join(f"<{tag}{look}>{safe(value)}</{tag}>" for value in values)


def card(result: SelectionResult) -> str:
    """Return a card that shows the choice, curve, warnings, table and settings of a selection."""
    verdict, warnings = no_clusters(result), "".join(f"<li>{safe(sentence(text))}</li>" for text in result.warnings)
    if verdict:
        style = f"font-size:17px;font-weight:650;margin-bottom:10px;color:{WARNING}"
        verdict = f'<div style="{style}">{safe(verdict)}</div>'
    if warnings:
        style = f"margin:10px 0 0;padding:6px 6px 6px 26px;border-left:3px solid {WARNING}"
        warnings = f'<ul style="{style}">{warnings}</ul>'
    settings = safe(settings_line(result, preparation=True))
    return (
        f'<div class="compsil-card" style="{CARD}">{verdict}'
        '<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:center">'
        f"{_headline(result)}{_curve(result)}</div>{warnings}"
        f'<details style="margin-top:8px"><summary style="cursor:pointer">Table</summary>{table(result)}</details>'
        f'<div style="{MUTED};margin-top:8px;font-size:12px">{settings}</div></div>'
    )


def _headline(result: SelectionResult) -> str:
    at = result._best_index
    if at is None:
        return '<div><div style="font-size:20px;font-weight:600">no k can be selected</div></div>'
    # With criterion="likely", the score is the confidence.
    score = f"<div>score {number(result.best_score)} ± {number(result.sem[at])}</div>"
    partial = f'<div style="color:{WARNING}">partial result</div>' if result.partial else ""
    return (
        '<div style="min-width:150px">'
        f'<div style="{MUTED}">number of clusters</div>'
        f'<div style="font-size:34px;font-weight:650;line-height:1.1;color:{COMPOSITE}">{result.best_k}</div>'
        f'<div style="font-weight:600">confidence {safe(confidence_text(result))}</div>'
        f"<div>selection probability {safe(probability_text(result))}</div>"
        f"{'' if result.criterion == LIKELY else score}{partial}</div>"
    )


def table(result: SelectionResult) -> str:
    """Return the curve as a scrollable table, with the selected row in bold."""
    headings = columns(result)
    body = []
    for at, row in enumerate(zip(*headings.values(), strict=True)):
        weight = "font-weight:700" if at == result._best_index else ""
        body.append(f'<tr style="{weight}">{cells(row, style=CELL)}</tr>')
    return _table(headings, body)


def _table(headings: Iterable[str], rows: Iterable[str]) -> str:
    return (
        f'<div style="overflow-x:auto"><table style="{TABLE}"><thead><tr>{cells(headings, "th", CELL)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _curve(result: SelectionResult) -> str:
    drawn, criterion, colour = lines(result), result.criterion, COLOURS[result.criterion]
    values = np.concatenate(list(drawn.values()))
    if not np.isfinite(values).any():
        return ""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    span, ks = high - low or 1e-9, np.array(result.ks)
    x = 38 + (WIDTH - 52) * (ks - ks[0]) / (ks[-1] - ks[0] or 1)

    def y(value: Any) -> Any:
        return HEIGHT - 22 - (HEIGHT - 54) * (np.clip(value, low - 0.1 * span, high + 0.1 * span) - low) / span

    def points(across: Iterable[float], down: Iterable[float]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True) if np.isfinite(y))

    lower, upper = band(result)
    edges = np.concatenate([y(upper), y(lower)[::-1]])
    parts = [f'<polygon points="{points([*x, *x[::-1]], edges)}" fill="{colour}" fill-opacity=".2"/>']
    # Draw the criterion last, in front of the averages.
    for name in sorted(drawn, key=lambda name: name == criterion):
        look = f'stroke="{COLOURS[name]}" stroke-dasharray="{"" if name == criterion else DASHES[name]}"'
        parts.append(f'<polyline points="{points(x, y(drawn[name]))}" fill="none" stroke-width="2" {look}/>')
    best = selected(result, criterion)
    if best is not None:
        parts.append(f'<circle cx="{x[ks == best[0]][0]:.1f}" cy="{y(best[1]):.1f}" r="5.5" fill="{colour}"/>')
    parts += [_label(across, HEIGHT - 6, "middle", k) for across, k in zip(thinned(x), thinned(ks), strict=True)]
    shown = percent if criterion == LIKELY else partial(number, digits=2)
    parts += [_label(32, y(value) + 3, "end", shown(value)) for value in (low, high)]
    return (
        f'<svg role="img" aria-label="{SCORED[criterion]} by number of clusters" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" style="max-width:100%;height:auto">{"".join(parts)}{_legend(drawn)}</svg>'
    )


def _label(x: float, y: float, anchor: str, value: object) -> str:
    style = 'font-size="10" fill="currentColor" opacity=".75"'
    return f'<text x="{x:.4g}" y="{y:.1f}" text-anchor="{anchor}" {style}>{safe(value)}</text>'


def _legend(names: Iterable[str]) -> str:
    labels = {name: SCORED[LIKELY] if name == LIKELY else name for name in names}
    widths = [22 + 6.5 * len(label) for label in labels.values()]
    entries, x = "", WIDTH - sum(widths)
    for (name, label), width in zip(labels.items(), widths, strict=True):
        entries += f'<circle cx="{x:g}" cy="10" r="4" fill="{COLOURS[name]}"/>'
        entries += f'<text x="{x + 7:g}" y="14" font-size="11" fill="currentColor">{label}</text>'
        x += width
    return entries


def comparison_card(comparison: Comparison) -> str:
    """Return a card that shows which criteria agree, and the table of values with the choices in bold."""
    rows = []
    for at, k in enumerate(comparison.ks):
        row = cells([k], style=CELL)
        for criterion in comparison.criteria:
            chosen = f";font-weight:700;color:{COMPOSITE}" if comparison.choices[criterion.name] == k else ""
            row += cells([criterion.cells()[at]], style=CELL + chosen)
        rows.append(f"<tr>{row}</tr>")
    return (
        f'<div class="compsil-card" style="{CARD.replace("720px", "980px")}"><div style="white-space:pre-line">'
        f"{safe(comparison.explain())}</div>{_table(['k', *(each.name for each in comparison.criteria)], rows)}</div>"
    )


def write(result: SelectionResult, path: str | PathLike[str], comparison: Comparison | None = None) -> Path:
    """Write the report atomically and return its path."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder for the report does not exist", str(target.parent))
    write_atomically(target, render(result, comparison, datetime.now(UTC)).encode())
    return target


def render(result: SelectionResult, comparison: Comparison | None = None, written: datetime | None = None) -> str:
    """Return the report as a complete HTML page; if ``written`` is None, equal results give identical pages."""
    title, headline = _title(result)
    summary = "".join(f"<p>{safe(line)}</p>" for line in sentences(result))
    warnings = "".join(f'<p class="note">{safe(sentence(warning))}</p>' for warning in result.warnings)
    figures = "".join(_figure(partial(plot, result, kind), kind) for kind in CAPTIONS if kind in KINDS)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{safe(title)} – compsil-kit</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f'<p class="muted">Number of clusters, selected by {SCORED[result.criterion]}</p><h1>{headline}</h1>'
        f"{summary}{warnings}<h2>Figures</h2>{figures}<h2>Table</h2>{table(result)}{_comparison(comparison)}"
        f"<h2>Settings</h2>{_settings(result, written)}{_failures(result)}</body></html>\n"
    )


def _title(result: SelectionResult) -> tuple[str, str]:
    if result._best_index is None:
        return "No k can be selected", '<span class="big">no k can be selected</span>'
    if no_clusters(result):
        return "No clusters found", f'<span class="big">no clusters found</span> (the best k is {result.best_k})'
    return f"{result.best_k} clusters", f'<span class="big">{result.best_k}</span> clusters'


def _figure(draw: Callable[..., object], kind: str, size: tuple[float, float] = SIZE) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(ax=figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f'<img alt="{safe(kind)}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{safe(CAPTIONS[kind])}</figcaption></figure>"


def _comparison(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    summary = f'<p style="white-space:pre-line">{safe(comparison.explain())}</p>'
    figure = _figure(comparison.plot, "comparison", (8.4, 0.5 * len(comparison.criteria) + 1.4))
    return f"<h2>Other criteria</h2>{summary}{figure}"


def _settings(result: SelectionResult, written: datetime | None) -> str:
    plan = result.plan
    rows = {
        "data": f"{plan.n_rows:,} rows, {plan.n_features:,} features, {plan.dtype}",
        **({} if result.preparation is None else {"table": str(result.preparation)}),
        "ks": format_ks(plan.ks),
        **{name: _value(value) for name, value in result.settings.items() if name not in LEFT_OUT},
        "seeds": f"{plan.seeds[0]} ... {plan.seeds[-1]}",
        "versions": ", ".join(f"{name} {number}" for name, number in result.versions.items()),
        **({} if written is None else {"written": written.strftime("%Y-%m-%d %H:%M UTC")}),
    }
    return "<dl>" + "".join(f"<dt>{safe(k)}</dt><dd>{safe(v)}</dd>" for k, v in rows.items()) + "</dl>"


def _value(value: int | float | str) -> str:
    return str(value) if isinstance(value, str | bool) else f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _failures(result: SelectionResult) -> str:
    if not result.failures:
        return ""
    rows = "".join(f"<tr>{cells((f.k, f.subsample, f.seed, f.cause))}</tr>" for f in result.failures[:MAX_FAILURES])
    n_more = len(result.failures) - MAX_FAILURES
    more = f"<p>... and {n_more} more</p>" if n_more > 0 else ""
    head = f"<tr>{cells(('k', 'subsample', 'seed', 'cause'), 'th')}</tr>"
    return f"<h2>Failed clusterings</h2><table>{head}{rows}</table>{more}"
