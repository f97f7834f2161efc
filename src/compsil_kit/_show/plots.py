"""Plots of results and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA, hoeffding_radius
from compsil_kit._show.facts import (
    MAX_LABELS,
    SCORED,
    band,
    confidence_text,
    lines,
    probability_text,
    selected,
    thinned,
)
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

# The Okabe-Ito palette, which colour-blind readers can distinguish; line styles differ as well.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8a8a8a"
LINES = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00")
_MAIN = {"linestyle": "-", "linewidth": 2.4, "zorder": 4}
STYLES: dict[str, dict[str, Any]] = {
    **{name: {"color": BLUE, "marker": "o", **_MAIN} for name in ("composite", "stable", "likely")},
    "micro": {"color": VERMILION, "linestyle": "--", "marker": "s", "linewidth": 1.5, "zorder": 3},
    "macro": {"color": GREEN, "linestyle": ":", "marker": "^", "linewidth": 1.8, "zorder": 3},
}
# Bar colours for the selected k and for the other candidates.
BARS = {"selection probability": (BLUE, "#9ec9e2"), "confidence": (VERMILION, "#f2bd97")}
# Size in inches; legible at a width of 600 pixels.
SIZE = (7.2, 4.2)


def new_axes() -> Axes:
    """Return the axes of a new figure."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=SIZE, layout="constrained")
    return ax


def tidy(ax: Axes) -> None:
    """Apply the common style: horizontal grid lines behind the data, and no top or right spine."""
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def title(ax: Axes, text: str) -> None:
    """Set a left-aligned title."""
    ax.set_title(text, loc="left", fontsize=11)


def legend_below(ax: Axes, columns: int) -> None:
    """Place the legend below the axes."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False)


def plot(result: SelectionResult, kind: str = "curve", *, ax: Axes | None = None, delta: float = 0.05) -> Axes:
    """Draw a plot of the result on ``ax`` or a new figure, and return the axes."""
    draw = KINDS[check_choice("kind", kind, tuple(KINDS))]
    ax = new_axes() if ax is None else ax
    draw(result, ax, **({"delta": delta} if kind == "convergence" else {}))
    tidy(ax)
    return ax


def _curve(result: SelectionResult, ax: Axes) -> None:
    ax.fill_between(result.ks, *band(result), color=STYLES[result.criterion]["color"], alpha=0.18, linewidth=0)
    for name, values in lines(result).items():
        main, best = name == result.criterion, selected(result, name)
        style = STYLES[name] | (_MAIN if main else {})
        label = name if best is None else f"{name}: k = {best[0]}"
        ax.plot(result.ks, values, label=label, markersize=4.5, **style)
        if best is not None:
            # If stars coincide, draw the criterion's star in front.
            star: dict[str, Any] = {"marker": "*", "markersize": 15, "markeredgecolor": "white", "linestyle": "none"}
            ax.plot([best[0]], [best[1]], color=style["color"], zorder=7 if main else 6, **star)
    _mark_best_k(result, ax)
    title(ax, _headline(result))
    _k_axis(ax, result.ks)
    ax.set_ylabel("silhouette")
    if result.criterion == LIKELY:
        _percent_axis(ax, "confidence")
    legend_below(ax, 3)


def _headline(result: SelectionResult) -> str:
    if result._best_index is None:
        return "No k can be selected"
    score = "" if result.criterion == LIKELY else f"score {result.best_score:.3f}, "
    partial = ", partial" if result.partial else ""
    return (
        f"k* = {result.best_k}   {score}confidence {confidence_text(result)}, "
        f"selection probability {probability_text(result)}{partial}"
    )


def _mark_best_k(result: SelectionResult, ax: Axes) -> None:
    if result._best_index is not None:
        ax.axvline(result.best_k, color="0.55", linewidth=1.0, zorder=1)


def _percent_axis(ax: Axes, label: str) -> None:
    shares = (0, 0.25, 0.5, 0.75, 1)
    ax.set_ylim(0, 1.12)
    ax.set_yticks(shares, [percent(share) for share in shares])
    ax.set_ylabel(label)


def _k_axis(ax: Axes, ks: tuple[int, ...]) -> None:
    ax.set_xlabel("number of clusters k")
    ax.set_xticks(thinned(ks))


def _side_by_side(result: SelectionResult, width: float) -> Any:
    """Return x positions of shape (n_ks, n_subsamples) that spread the subsamples evenly around each k."""
    n, step = result.n_subsamples, min(np.diff(result.ks), default=1)
    return np.array(result.ks)[:, None] + width * step * ((np.arange(n) + 0.5) / max(n, 1) - 0.5)


def _weights(result: SelectionResult, ax: Axes) -> None:
    """Draw the discrepancy in each subsample, coloured by its weight, and print the mean weight per k above."""
    discrepancy = result.micro - result.macro
    across = _side_by_side(result, 0.55)
    # Flatten the arrays, because Matplotlib would interpret a row of three or four weights as one RGB colour.
    look: dict[str, Any] = {"cmap": "RdYlBu", "vmin": 0, "vmax": 1, "s": 16, "edgecolors": "0.35", "linewidths": 0.3}
    points = ax.scatter(across.ravel(), discrepancy.ravel(), c=result.weights.ravel(), **look)
    ax.axhline(0, color="0.4", linewidth=1)
    top = float(np.nanmax(discrepancy, initial=0.0))
    span = top - float(np.nanmin(discrepancy, initial=0.0)) or 1.0
    for k, weight in zip(thinned(result.ks), thinned(result._summaries["weight"].mean), strict=True):
        if np.isfinite(weight):
            ax.text(k, top + 0.09 * span, f"{weight:.2f}", ha="center", va="bottom", fontsize=9)
    ax.set_ylim(top - 1.08 * span, top + 0.22 * span)
    ax.figure.colorbar(points, ax=ax, pad=0.02).set_label("weight of micro (0: macro only)")
    title(ax, "Micro − macro in each subsample (top: mean weight of micro)")
    _k_axis(ax, result.ks)
    ax.set_ylabel("discrepancy")


def _convergence(result: SelectionResult, ax: Axes, delta: float) -> None:
    from matplotlib.ticker import MaxNLocator

    scores, chosen = result._running
    across = np.arange(1, result.n_subsamples + 1)
    ranked = np.argsort(-np.nan_to_num(result.scores, nan=-np.inf), kind="stable")
    leading = [at for at in ranked if result._selectable[at]][: len(LINES)]
    colours = {result.ks[at]: colour for at, colour in zip(leading, LINES, strict=False)}
    for at in leading:
        # A line through a single subsample would be invisible.
        width, marker = 2.2 if at == result._best_index else 1.3, "o" if len(across) == 1 else ""
        k = result.ks[at]
        ax.plot(across, scores[at], color=colours[k], linewidth=width, marker=marker, label=f"k = {k}")
    ax.margins(y=0.15)
    low, high = ax.get_ylim()
    if result._best_index is None:
        title(ax, _headline(result))
    elif result.criterion in MULTI_INIT_CRITERIA:
        # These scores are not means of independent values, so Hoeffding's inequality does not apply.
        title(ax, f"{SCORED[result.criterion].capitalize()} by number of subsamples")
    else:
        radius = np.array([hoeffding_radius(int(n), delta=delta, n_ks=len(result.ks)) for n in across])
        best = scores[result._best_index]
        ax.fill_between(across, best - radius, best + radius, color=BLUE, alpha=0.08, linewidth=0)
        title(ax, f"Score by number of subsamples; Hoeffding band ±{radius[-1]:.2f} at {across[-1]} subsamples")
    strip = low - 0.06 * (high - low)
    ax.scatter(across, np.full(len(across), strip), c=[colours.get(k, GREY) for k in chosen], marker="s", s=18)
    ax.set_ylim(low - 0.12 * (high - low), high)
    ax.set_xlim(0.5, max(result.n_subsamples, 1) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.set_xlabel("number of subsamples (squares: selected k)")
    ax.set_ylabel(SCORED[result.criterion])
    if leading:
        legend_below(ax, len(LINES))


def _probability(result: SelectionResult, ax: Axes) -> None:
    step = float(min(np.diff(result.ks), default=1))
    bars = {"selection probability": result.selection_probability}
    across, ticks = np.array(result.ks, dtype=float), {float(k): str(k) for k in thinned(result.ks)}
    if not result.confidence_note:
        bars["confidence"] = np.append(result.confidence, result.confidence_none)
        across = np.append(across, across[-1] + 1.5 * step)
        ticks[across[-1]] = "none"
    width = (0.75 if len(bars) == 1 else 0.86) * step / len(bars)
    crowded = len(result.ks) * len(bars) > MAX_LABELS
    for at, (name, values) in enumerate(bars.items()):
        places = across[: len(values)] + (at - (len(bars) - 1) / 2) * width
        if name == "confidence":
            # The "none" bar stands alone, so it is not offset.
            places[-1] = across[-1]
        _bars(ax, name, places, np.nan_to_num(values), width=width, best=result._best_index, crowded=crowded)
    _percent_axis(ax, " and ".join(bars))
    title(ax, _probability_title(result))
    _k_axis(ax, result.ks)
    ax.set_xticks(list(ticks), list(ticks.values()))
    if len(bars) > 1:
        ax.set_xlabel("number of clusters k (none: no candidate is correct)")
        legend_below(ax, len(bars))


def _bars(ax: Axes, name: str, places: Any, heights: Any, *, width: float, best: int | None, crowded: bool) -> None:
    from matplotlib.patheffects import withStroke

    full, pale = BARS[name]
    bars = ax.bar(places, heights, width=width, color=[full if at == best else pale for at in range(len(heights))])
    # Draw a bar of height 0 so that the legend shows the full colour.
    ax.bar([places[0]], [0], width=width, color=full, label=name)
    labels = [percent(height) if height > (0.05 if crowded else 0.0) else "" for height in heights]
    # A white outline keeps labels legible in front of neighbouring bars.
    edge = [withStroke(linewidth=2, foreground="white")]
    ax.bar_label(bars, labels, padding=2, fontsize=7.5 if crowded else 9, path_effects=edge, zorder=5)


def _probability_title(result: SelectionResult) -> str:
    if not result.confidence_note and result._best_index is not None:
        return "Selection probability and confidence by k"
    if np.isfinite(result.selection_probability).any():
        return "Selection probability by k"
    one = "The selection probability cannot be estimated from one subsample"
    return one if result.n_subsamples == 1 else _headline(result)


def _stability(result: SelectionResult, ax: Axes) -> None:
    agreement, across = result.trials.agreement, _side_by_side(result, 0.5)
    pairs: dict[str, Any] = {"s": 14, "color": BLUE, "alpha": 0.3, "linewidths": 0, "label": "pairs of subsamples"}
    ax.scatter(across.ravel(), agreement.ravel(), **pairs)
    ax.plot(result.ks, result.stability, color=BLUE, linewidth=2.4, marker="o", markersize=5, label="stability (mean)")
    _mark_best_k(result, ax)
    ax.set_ylim(min(-0.02, float(np.nanmin(agreement, initial=0.0)) - 0.02), 1.04)
    known = np.isfinite(result.stability).any()
    title(ax, "Agreement between clusterings of consecutive subsamples" if known else "The stability is unknown")
    _k_axis(ax, result.ks)
    ax.set_ylabel("adjusted Rand index")
    legend_below(ax, 2)


KINDS: dict[str, Callable[..., None]] = {
    "curve": _curve,
    "weights": _weights,
    "convergence": _convergence,
    "probability": _probability,
    "stability": _stability,
}


def plot_comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw each criterion as a row of cells, darker for better values, with a ring around the selected k."""
    from matplotlib.patches import FancyBboxPatch

    ax = new_axes() if ax is None else ax
    ks, criteria = comparison.ks, comparison.criteria
    goodness = np.array([_goodness(-c.values if c.kind.lower_is_better else c.values) for c in criteria])
    ax.imshow(goodness, cmap="Blues", aspect="auto", vmin=0, vmax=1.25)
    for row, criterion in enumerate(criteria):
        for at, cell in enumerate(criterion.cells(digits=2)):
            chosen = comparison.choices[criterion.name] == ks[at]
            if chosen:
                box: dict[str, Any] = {"boxstyle": "round,pad=0.0,rounding_size=0.2", "fill": False}
                box |= {"edgecolor": VERMILION, "linewidth": 2.2}
                ax.add_patch(FancyBboxPatch((at - 0.42, row - 0.38), 0.84, 0.76, **box))
            if len(ks) <= MAX_LABELS:
                weight, colour = "bold" if chosen else "normal", "white" if goodness[row, at] > 0.7 else "#222222"
                ax.text(at, row, cell, ha="center", va="center", fontsize=8, fontweight=weight, color=colour)
    ax.set_xticks(thinned(range(len(ks))), [str(k) for k in thinned(ks)])
    ax.set_yticks(range(len(criteria)), [criterion.kind.label for criterion in criteria])
    ax.set_xlabel("number of clusters k (ring: selected by the criterion)")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    title(ax, "Within each row, darker is better")
    return ax


def _goodness(values: Any) -> Any:
    """Return the values scaled from 0 (worst) to 1 (best)."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    return (values - low) / ((high - low) or 1.0)
