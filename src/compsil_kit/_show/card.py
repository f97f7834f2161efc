"""Results as HTML for notebooks: compact cards for light and dark pages. Every value is escaped.

Text inherits its colour from the page; only accents are coloured, in tones readable on white and on black. The curve is
written as SVG, so that displaying a result does not import matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._method.selection import LIKELY
from compsil_kit._show import notes, text
from compsil_kit._show.curve import SCORED, columns, half_width, lines, selected
from compsil_kit._util.format import number, percent, printable, sentence

if TYPE_CHECKING:
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

COMPOSITE, MICRO, MACRO = "#2f8fd0", "#e0701a", "#1fa67a"
COLOURS = {"composite": COMPOSITE, "stable": COMPOSITE, "likely": COMPOSITE, "micro": MICRO, "macro": MACRO}
DASHES = {"micro": "4 3", "macro": "1.5 3"}
WARNING = "#c98a00"
CARD = (
    "border:1px solid rgba(128,128,128,.4);border-radius:8px;padding:12px 16px;max-width:720px;"
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45"
)
TABLE = "border-collapse:collapse;margin-top:6px;border:none;color:inherit;font-size:inherit"
MUTED = "opacity:.7"
CELL = "padding:1px 10px;text-align:right;font-variant-numeric:tabular-nums"
# Size of the curve in pixels.
WIDTH, HEIGHT = 420, 150


def safe(value: object) -> str:
    """Return a value as text for HTML elements and quoted attributes, with control characters escaped."""
    return escape(printable(str(value)))


def cells(values: Iterable[object], tag: str = "td", style: str = "") -> str:
    """Return the cells of a table row."""
    look = f' style="{safe(style)}"' if style else ""
    return "".join(f"<{tag}{look}>{safe(value)}</{tag}>" for value in values)


def card(result: SelectionResult) -> str:
    """Return the card of a selection: choice, curve, warnings, table and settings."""
    settings = safe(text.settings_line(result, preparation=True))
    return (
        f'<div class="compsil-card" style="{CARD}">{_no_clusters(result)}'
        '<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:center">'
        f"{_headline(result)}{curve_svg(result)}</div>{_warnings(notes.warnings(result))}"
        f'<details style="margin-top:8px"><summary style="cursor:pointer">Table</summary>{table(result)}</details>'
        f'<div style="{MUTED};margin-top:8px;font-size:12px">{settings}</div></div>'
    )


def _no_clusters(result: SelectionResult) -> str:
    style = f"font-size:17px;font-weight:650;margin-bottom:10px;color:{WARNING}"
    verdict = text.no_clusters(result)
    return verdict and f'<div style="{style}">{safe(verdict)}</div>'


def _headline(result: SelectionResult) -> str:
    at = result._best_index
    if at is None:
        return '<div><div style="font-size:20px;font-weight:600">no k can be selected</div></div>'
    # With criterion="likely" the score is the confidence.
    score = f"<div>score {number(result.best_score)} ± {number(result.sem[at])}</div>"
    partial = f'<div style="color:{WARNING}">partial result</div>' if result.partial else ""
    return (
        '<div style="min-width:150px">'
        f'<div style="{MUTED}">number of clusters</div>'
        f'<div style="font-size:34px;font-weight:650;line-height:1.1;color:{COMPOSITE}">{result.best_k}</div>'
        f'<div style="font-weight:600">confidence {safe(text.confidence_text(result))}</div>'
        f"<div>selection probability {safe(text.probability_text(result))}</div>"
        f"{'' if result.criterion == LIKELY else score}{partial}</div>"
    )


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    rows = "".join(f"<li>{safe(sentence(warning))}</li>" for warning in warnings)
    return f'<ul style="margin:10px 0 0;padding:6px 6px 6px 26px;border-left:3px solid {WARNING}">{rows}</ul>'


def table(result: SelectionResult) -> str:
    """Return the curve as a table that scrolls if it is too wide, with the selected row in bold."""
    headings = columns(result)
    body = []
    for at, row in enumerate(zip(*headings.values(), strict=True)):
        weight = "font-weight:700" if at == result._best_index else ""
        body.append(f'<tr style="{weight}">{cells(row, style=CELL)}</tr>')
    return _table(cells(headings, "th", CELL), body)


def _table(head: str, rows: Iterable[str]) -> str:
    return (
        f'<div style="overflow-x:auto"><table style="{TABLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def curve_svg(result: SelectionResult) -> str:
    """Return a small plot of the curve: the criterion with its band, the other lines, a dot on the choice."""
    drawn, criterion, colour = lines(result), result.criterion, COLOURS[result.criterion]
    values = np.concatenate(list(drawn.values()))
    if not np.isfinite(values).any():
        return ""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    span = high - low or 1e-9
    ks = np.array(result.ks)
    x = 38 + (WIDTH - 52) * (ks - ks[0]) / (ks[-1] - ks[0] or 1)

    def y(value: Any) -> Any:
        return HEIGHT - 22 - (HEIGHT - 54) * (np.clip(value, low - 0.1 * span, high + 0.1 * span) - low) / span

    half, style = half_width(result), 'fill="none" stroke-width="2"'
    edges = np.concatenate([y(result.scores + half), y(result.scores - half)[::-1]])
    parts = [f'<polygon points="{_points([*x, *x[::-1]], edges)}" fill="{colour}" fill-opacity=".2"/>']
    # The criterion is drawn last, in front of the others.
    for name in sorted(drawn, key=lambda name: name == criterion):
        look = f'{style} stroke="{COLOURS[name]}" stroke-dasharray="{"" if name == criterion else DASHES[name]}"'
        parts.append(f'<polyline points="{_points(x, y(drawn[name]))}" {look}/>')
    best = selected(result, criterion)
    if best is not None:
        at = result.ks.index(best[0])
        parts.append(f'<circle cx="{x[at]:.1f}" cy="{y(best[1]):.1f}" r="5.5" fill="{colour}"/>')
    shown = percent if criterion == LIKELY else partial(number, digits=2)
    sides = "".join(_label(32, y(value) + 3, "end", shown(value)) for value in (low, high))
    step = -(-len(ks) // 15)
    ticks = "".join(_label(x[at], HEIGHT - 6, "middle", ks[at]) for at in range(0, len(ks), step))
    return (
        f'<svg role="img" aria-label="{SCORED[criterion]} by number of clusters" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" style="max-width:100%;height:auto">'
        f"{''.join(parts)}{ticks}{sides}{_legend(drawn)}</svg>"
    )


def _points(across: Iterable[float], down: Iterable[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True) if np.isfinite(y))


def _label(x: float, y: float, anchor: str, value: object) -> str:
    style = 'font-size="10" fill="currentColor" opacity=".75"'
    return f'<text x="{x:.4g}" y="{y:.1f}" text-anchor="{anchor}" {style}>{safe(value)}</text>'


def _legend(names: Iterable[str]) -> str:
    labels = {name: SCORED[LIKELY] if name == LIKELY else name for name in names}
    widths = [22 + 6.5 * len(label) for label in labels.values()]
    entries, x = [], WIDTH - sum(widths)
    for (name, label), width in zip(labels.items(), widths, strict=True):
        entries.append(
            f'<circle cx="{x:g}" cy="10" r="4" fill="{COLOURS[name]}"/>'
            f'<text x="{x + 7:g}" y="14" font-size="11" fill="currentColor">{label}</text>'
        )
        x += width
    return "".join(entries)


def comparison_card(comparison: Comparison) -> str:
    """Return the card of a comparison: which criteria agree, and the table of values with the choices in bold."""
    rows = []
    for at, k in enumerate(comparison.ks):
        row = cells([k], style=CELL)
        for criterion in comparison.criteria:
            chosen = f";font-weight:700;color:{COMPOSITE}" if comparison.choices[criterion.name] == k else ""
            row += cells([criterion.cells()[at]], style=CELL + chosen)
        rows.append(f"<tr>{row}</tr>")
    head = cells(["k", *(criterion.name for criterion in comparison.criteria)], "th", CELL)
    return (
        f'<div class="compsil-card" style="{CARD.replace("720px", "980px")}">'
        f'<div style="white-space:pre-line">{safe(comparison.explain())}</div>{_table(head, rows)}</div>'
    )
