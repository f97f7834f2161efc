"""Results as HTML for notebooks: a compact card that looks right on light and dark pages. Every string is escaped.

Colours are inherited from the page; only the accents are set, in tones that read on white and on black. The small curve
is drawn as SVG by hand, so that showing a result loads no plotting library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.selection import LIKELY
from compsil_kit._show import chances, notes, text
from compsil_kit._show.curve import SCORED, Curve, curve_of
from compsil_kit._show.markup import cells, safe
from compsil_kit._util.format import number, percent, sentence

if TYPE_CHECKING:
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]

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


def card(result: SelectionResult) -> str:
    """Return the card of a selection: k*, how sure it is, a small curve, warnings, the table, the settings."""
    settings = safe(text.settings_line(result, preparation=True))
    return (
        f'<div class="compsil-card" style="{CARD}">{_no_clusters(result)}'
        '<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:center">'
        f"{_headline(result)}{curve_svg(curve_of(result))}</div>"
        f"{_warnings(notes.warnings(result))}"
        f'<details style="margin-top:8px"><summary style="cursor:pointer">Table</summary>{table(result)}</details>'
        f'<div style="{MUTED};margin-top:8px;font-size:12px">{settings}</div></div>'
    )


def _headline(result: SelectionResult) -> str:
    if result._best_index is None:
        return '<div><div style="font-size:20px;font-weight:600">no k can be selected</div></div>'
    at = result._best_index
    # Under this criterion the score is the confidence.
    score = "" if result.criterion == LIKELY else _score(result.best_score, float(result.sem[at]))
    part = f'<div style="color:{WARNING}">partial result</div>' if result.partial else ""
    return (
        '<div style="min-width:150px">'
        f'<div style="{MUTED}">number of clusters</div>'
        f'<div style="font-size:34px;font-weight:650;line-height:1.1;color:{COMPOSITE}">{result.best_k}</div>'
        f'<div style="font-weight:600">confidence {safe(chances.confidence_text(result))}</div>'
        f"<div>selection probability {safe(chances.probability_text(result))}</div>{score}{part}</div>"
    )


def _no_clusters(result: SelectionResult) -> str:
    told = text.no_clusters(result)
    return told and f'<div style="font-size:17px;font-weight:650;margin-bottom:10px;color:{WARNING}">{safe(told)}</div>'


def _score(value: float, error: float) -> str:
    return f"<div>score {number(value)} ± {number(error)}</div>"


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    rows = "".join(f"<li>{safe(sentence(warning))}</li>" for warning in warnings)
    return f'<ul style="margin:10px 0 0;padding:6px 6px 6px 26px;border-left:3px solid {WARNING}">{rows}</ul>'


def table(result: SelectionResult) -> str:
    """Return the curve as a table, the chosen row in bold; where there is little room, it can be scrolled."""
    columns = curve_of(result).columns()
    head = cells(columns, "th", CELL)
    body = []
    for at, row in enumerate(zip(*columns.values(), strict=True)):
        weight = "font-weight:700" if at == result._best_index else ""
        body.append(f'<tr style="{weight}">' + cells(row, style=CELL) + "</tr>")
    rows = f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    return f'<div style="overflow-x:auto"><table style="{TABLE}">{rows}</table></div>'


def curve_svg(curve: Curve, width: int = 420, height: int = 150) -> str:
    """Return a small picture of the curve: the criterion with its band, the other lines, a dot on the choice."""
    values = np.concatenate(list(curve.lines.values()))
    finite = values[np.isfinite(values)]
    if not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    scale = _Scale(curve.ks, low, high if high > low else low + 1e-9, width, height)
    colour = COLOURS[curve.criterion]
    others = [
        _line(scale, values, COLOURS[name], DASHES[name])
        for name, values in curve.lines.items()
        if name != curve.criterion
    ]
    parts = [_band(scale, curve, colour), *others, _line(scale, curve.score, colour, ""), _axis(scale, curve)]
    chosen = curve.chosen(curve.criterion)
    if chosen is not None:
        x, y = scale.x(chosen[0]), scale.y(chosen[1])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{colour}"/>')
    parts.append(_legend(curve, width))
    label = f"{SCORED[curve.criterion]} against the number of clusters"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto">{"".join(parts)}</svg>'
    )


class _Scale:
    """From k and silhouette to the picture's coordinates."""

    def __init__(self, ks: tuple[int, ...], low: float, high: float, width: int, height: int) -> None:
        self.ks, self.low, self.high, self.width, self.height = ks, low, high, width, height

    def x(self, k: float) -> float:
        span = (self.ks[-1] - self.ks[0]) or 1
        return 38 + (self.width - 52) * (k - self.ks[0]) / span

    def y(self, value: float) -> float:
        clipped = min(max(value, self.low - 0.1 * (self.high - self.low)), self.high + 0.1 * (self.high - self.low))
        return self.height - 22 - (self.height - 54) * (clipped - self.low) / (self.high - self.low)


def _line(scale: _Scale, values: Array, colour: str, dashes: str) -> str:
    points = " ".join(
        f"{scale.x(k):.1f},{scale.y(v):.1f}" for k, v in zip(scale.ks, values, strict=True) if np.isfinite(v)
    )
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'


def _band(scale: _Scale, curve: Curve, colour: str) -> str:
    rows = [row for row in zip(curve.ks, curve.score, curve.half_width, strict=True) if np.isfinite(row[1])]
    upper = [f"{scale.x(k):.1f},{scale.y(value + half):.1f}" for k, value, half in rows]
    lower = [f"{scale.x(k):.1f},{scale.y(value - half):.1f}" for k, value, half in reversed(rows)]
    return f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity=".2"/>'


def _axis(scale: _Scale, curve: Curve) -> str:
    shown = percent if curve.criterion == LIKELY else partial(number, digits=2)
    text = 'font-size="10" fill="currentColor" opacity=".75"'
    ticks = "".join(
        f'<text x="{scale.x(k):.1f}" y="{scale.height - 6}" text-anchor="middle" {text}>{k}</text>'
        for k in curve.ks[:: -(-len(curve.ks) // 15)]
    )
    sides = "".join(
        f'<text x="32" y="{scale.y(v) + 3:.1f}" text-anchor="end" {text}>{safe(shown(v))}</text>'
        for v in (scale.low, scale.high)
    )
    return ticks + sides


def _legend(curve: Curve, width: int) -> str:
    names = [SCORED[LIKELY] if name == LIKELY else name for name in curve.lines]
    widths = [22 + 6.5 * len(name) for name in names]
    entries, x = [], width - sum(widths)
    for name, line, room in zip(names, curve.lines, widths, strict=True):
        entries.append(
            f'<circle cx="{x:g}" cy="10" r="4" fill="{COLOURS[line]}"/>'
            f'<text x="{x + 7:g}" y="14" font-size="11" fill="currentColor">{name}</text>'
        )
        x += room
    return "".join(entries)


def comparison_card(comparison: Comparison) -> str:
    """Return the card of a comparison: which criteria agree, and the table of values, choices in bold."""
    head = cells((criterion.name for criterion in comparison.criteria), "th", CELL)
    rows = []
    for at, k in enumerate(comparison.ks):
        row = []
        for criterion in comparison.criteria:
            value = float(criterion.values[at])
            chosen = f";font-weight:700;color:{COMPOSITE}" if comparison.choices[criterion.name] == k else ""
            shown = number(value) if abs(value) < 100 or not np.isfinite(value) else f"{value:,.0f}"
            row.append(f'<td style="{CELL}{chosen}">{safe(shown)}</td>')
        rows.append(f'<tr><td style="{CELL}">{k}</td>{"".join(row)}</tr>')
    return (
        f'<div class="compsil-card" style="{CARD.replace("720px", "980px")}">'
        f'<div style="white-space:pre-line">{safe(comparison.explain())}</div>'
        f'<div style="overflow-x:auto"><table style="{TABLE}"><thead><tr>'
        f'<th style="{CELL}">k</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></div>'
    )
