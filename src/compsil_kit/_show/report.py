"""A result as a self-contained HTML file with embedded plots."""

from __future__ import annotations

import base64
import errno
import io
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from compsil_kit._show import notes, text
from compsil_kit._show.card import cells, safe, table
from compsil_kit._show.curve import SCORED
from compsil_kit._show.plots import KINDS, SIZE, plot
from compsil_kit._util.format import format_ks, sentence
from compsil_kit._util.system import write_atomically

if TYPE_CHECKING:
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

CAPTIONS = {
    "curve": "The criterion with its 95 % band and, if it is a silhouette, the micro and macro averages. Stars mark "
    "the k that each selects.",
    "probability": "Selection probability: how often a new run on the same data would select each k, given sampling "
    "noise alone. Confidence: how often such a k was correct on comparable simulated data.",
    "stability": "Stability: agreement between the clusterings of consecutive subsamples on the rows that both "
    "contain. 1 is complete agreement, 0 the agreement expected by chance.",
    "convergence": "Scores of the leading candidates, and the selected k, by number of subsamples.",
    "weights": "Micro minus macro silhouette in every subsample. Blue points give more weight to micro, red points to "
    "macro.",
    "comparison": "Criteria by number of clusters. Within a row, darker is better; rings mark the k that each selects.",
}
MAX_FAILURES = 50
# Settings that are not listed: the seeds are, and the number of workers has no effect on the result.
LEFT_OUT = ("random_state", "n_jobs")
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


def write(result: SelectionResult, path: str | PathLike[str], comparison: Comparison | None = None) -> Path:
    """Write the report atomically and return its path."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the report", str(target.parent))
    write_atomically(target, render(result, comparison, datetime.now(UTC)).encode())
    return target


def render(result: SelectionResult, comparison: Comparison | None = None, written: datetime | None = None) -> str:
    """Return the report as a complete HTML page; without a time, equal results give equal pages."""
    title, headline = _title(result)
    summary = "".join(f"<p>{safe(line)}</p>" for line in text.sentences(result))
    warnings = "".join(f'<p class="note">{safe(sentence(warning))}</p>' for warning in notes.warnings(result))
    figures = "".join(_figure(partial(plot, result, kind), kind) for kind in CAPTIONS if kind in KINDS)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{safe(title)} – compsil-kit</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f'<p class="muted">Number of clusters, selected by {SCORED[result.criterion]}</p><h1>{headline}</h1>'
        f"{summary}{warnings}<h2>Figures</h2>{figures}<h2>Table</h2>{table(result)}{_comparison(comparison)}"
        f"<h2>Settings</h2>{_settings(result, written)}{_failures(result)}</body></html>\n"
    )


def _title(result: SelectionResult) -> tuple[str, str]:
    """Return the title of the page, and its headline as HTML."""
    if result._best_index is None:
        return "No k can be selected", '<span class="big">no k can be selected</span>'
    if text.no_clusters(result):
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
        **{name: _value(value) for name, value in text.settings(result).items() if name not in LEFT_OUT},
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
