"""Figures of results, on matplotlib axes. They read what is there and compute nothing of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._method.guarantees import hoeffding_radius
from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA
from compsil_kit._show.chances import confidence_text, probability_text
from compsil_kit._show.curve import SCORED, curve_of
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit.result import SelectionResult

# Colours that stay apart for colour-blind eyes (Okabe and Ito), and lines that differ in shape as well.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8a8a8a"
LINES = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00")
_MAIN = {"linestyle": "-", "linewidth": 2.4, "zorder": 4}
STYLES: dict[str, dict[str, Any]] = {
    "composite": {"color": BLUE, "marker": "o", **_MAIN},
    "stable": {"color": BLUE, "marker": "o", **_MAIN},
    "likely": {"color": BLUE, "marker": "o", **_MAIN},
    "micro": {"color": VERMILION, "linestyle": "--", "marker": "s", "linewidth": 1.5, "zorder": 3},
    "macro": {"color": GREEN, "linestyle": ":", "marker": "^", "linewidth": 1.8, "zorder": 3},
}
# More labels than this side by side run into each other.
MOST_LABELS = 15
SIZE = (7.2, 4.2)
PERCENTS = {0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
# The chosen k in full colour, the others pale.
BARS = {"selection probability": (BLUE, "#9ec9e2"), "confidence": (VERMILION, "#f2bd97")}


def new_axes() -> Axes:
    """Return the axes of a new figure, readable at 600 pixels."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=SIZE, layout="constrained")
    return ax


def plot(result: SelectionResult, kind: str = "curve", *, ax: Axes | None = None, delta: float = 0.05) -> Axes:
    """Draw a picture of the result on ``ax`` or a new figure, and return the axes."""
    draw = KINDS[check_choice("kind", kind, tuple(KINDS))]
    ax = new_axes() if ax is None else ax
    if kind == "convergence":
        _convergence(result, ax, delta)
    else:
        draw(result, ax)
    return ax


def tidy(ax: Axes) -> None:
    """Give all pictures the same quiet look."""
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def title(ax: Axes, text: str) -> None:
    """Put a title at the left, where reading starts."""
    ax.set_title(text, loc="left", fontsize=11)


def _legend_below(ax: Axes, columns: int) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False)


def _curve(result: SelectionResult, ax: Axes) -> None:
    """Draw the criterion with its 95 % band beside the means of micro and macro, a star on each one's choice."""
    curve, main = curve_of(result), STYLES[result.criterion]["color"]
    low, high = curve.score - curve.half_width, curve.score + curve.half_width
    ax.fill_between(curve.ks, low, high, color=main, alpha=0.18, linewidth=0)
    for name, values in curve.lines.items():
        chosen, style = curve.chosen(name), STYLES[name] | (_MAIN if name == result.criterion else {})
        label = name if chosen is None else f"{name}: k = {chosen[0]}"
        ax.plot(curve.ks, values, label=label, markersize=4.5, **style)
        if chosen is not None:
            star: dict[str, Any] = {
                "marker": "*",
                "markersize": 15,
                "markeredgecolor": "white",
                "linestyle": "none",
                # Where two stars meet, that of the criterion is in front.
                "zorder": 7 if name == result.criterion else 6,
            }
            ax.plot([chosen[0]], [chosen[1]], color=style["color"], **star)
    if result._best_index is not None:
        ax.axvline(result.best_k, color="0.55", linewidth=1.0, zorder=1)
    title(ax, headline(result))
    _k_axis(ax, result.ks)
    ax.set_ylabel("silhouette")
    if result.criterion == LIKELY:
        _percent_axis(ax, "confidence")
    tidy(ax)
    _legend_below(ax, 3)


def headline(result: SelectionResult) -> str:
    """Return the choice in one line."""
    if result._best_index is None:
        return "no k can be selected"
    score = "" if result.criterion == LIKELY else f"score {result.best_score:.3f}, "
    partial = ", partial" if result.partial else ""
    return (
        f"k* = {result.best_k}   {score}confidence {confidence_text(result)}, "
        f"selection probability {probability_text(result)}{partial}"
    )


def _percent_axis(ax: Axes, text: str) -> None:
    ax.set_ylim(0, 1.12)
    ax.set_yticks(list(PERCENTS), list(PERCENTS.values()))
    ax.set_ylabel(text)


def _k_axis(ax: Axes, ks: tuple[int, ...]) -> None:
    """Label the candidates, at most about fifteen of them, so that labels do not run into each other."""
    ax.set_xlabel("number of clusters k")
    ax.set_xticks(some(ks))


def some(values: Any) -> list[Any]:
    """Return every value, or every second, third, ... one where there are too many to label."""
    return list(values[:: -(-len(values) // MOST_LABELS)])


def sideways(n: int) -> Any:
    """Spread the subsamples of a k by their number: no randomness, nothing hidden behind another point."""
    return (np.arange(n) + 0.5) / max(n, 1) - 0.5


def _weights(result: SelectionResult, ax: Axes) -> None:
    """Draw the discrepancy of every subsample, coloured by its weight, with the mean weight of each k on top."""
    discrepancy = result.micro - result.macro
    step = min(np.diff(result.ks), default=1)
    across = np.array(result.ks)[:, None] + 0.55 * step * sideways(result.n_subsamples)
    # One row per point: three weights in a row would be taken for one colour in red, green and blue.
    look: dict[str, Any] = {"cmap": "RdYlBu", "vmin": 0, "vmax": 1, "s": 16, "edgecolors": "0.35", "linewidths": 0.3}
    points = ax.scatter(across.ravel(), discrepancy.ravel(), c=result.weights.ravel(), **look)
    ax.axhline(0, color="0.4", linewidth=1)
    top = float(np.nanmax(discrepancy, initial=0.0))
    span = top - float(np.nanmin(discrepancy, initial=0.0)) or 1.0
    means = curve_of(result).weight
    for k, weight in zip(some(result.ks), some(means), strict=True):
        if np.isfinite(weight):
            ax.text(k, top + 0.09 * span, f"{weight:.2f}", ha="center", va="bottom", fontsize=9)
    ax.set_ylim(top - 1.08 * span, top + 0.22 * span)
    bar = ax.figure.colorbar(points, ax=ax, pad=0.02)
    bar.set_label("weight of micro (0: macro only)")
    title(ax, "micro − macro in each subsample; on top, the mean weight of micro")
    _k_axis(ax, result.ks)
    ax.set_ylabel("discrepancy")
    tidy(ax)


def _convergence(result: SelectionResult, ax: Axes, delta: float = 0.05) -> None:
    """Draw the scores of the leading ks, and the choice, against the number of subsamples used."""
    from matplotlib.ticker import MaxNLocator

    scores, chosen = result._running
    across = np.arange(1, result.n_subsamples + 1)
    leading = [
        at for at in np.argsort(-np.nan_to_num(result.scores, nan=-np.inf), kind="stable") if result._selectable[at]
    ]
    colours = {result.ks[at]: LINES[i] for i, at in enumerate(leading[: len(LINES)])}
    for at in leading[: len(LINES)]:
        k = result.ks[at]
        # A line through a single subsample would not be seen.
        width, marker = 2.2 if at == result._best_index else 1.3, "o" if len(across) == 1 else ""
        ax.plot(across, scores[at], color=colours[k], linewidth=width, marker=marker, label=f"k = {k}")
    ax.margins(y=0.15)
    low, high = ax.get_ylim()
    if result._best_index is not None and result.criterion in MULTI_INIT_CRITERIA:
        # These scores are no means of independent values, and have no such bound.
        title(ax, f"{SCORED[result.criterion]} by number of subsamples")
    elif result._best_index is not None:
        radius = np.array([hoeffding_radius(int(n), delta=delta, n_ks=len(result.ks)) for n in across])
        centre = scores[result._best_index]
        ax.fill_between(across, centre - radius, centre + radius, color=BLUE, alpha=0.08, linewidth=0)
        title(ax, f"score by number of subsamples; Hoeffding band ±{radius[-1]:.2f} with all {across[-1]}")
    else:
        title(ax, headline(result))
    strip = low - 0.06 * (high - low)
    ax.scatter(across, np.full(len(across), strip), c=[colours.get(k, GREY) for k in chosen], marker="s", s=18)
    ax.set_ylim(low - 0.12 * (high - low), high)
    ax.set_xlim(0.5, max(result.n_subsamples, 1) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.set_xlabel("number of subsamples (squares: the k selected from them)")
    ax.set_ylabel(SCORED[result.criterion])
    tidy(ax)
    if leading:
        _legend_below(ax, len(LINES))


def _probability(result: SelectionResult, ax: Axes) -> None:
    """Draw the selection probability of each k and, where it is known, the confidence beside it."""
    step = float(min(np.diff(result.ks), default=1))
    rows = {"selection probability": result.selection_probability}
    ticks = {k: str(k) for k in some(result.ks)}
    across = np.array(result.ks, dtype=float)
    if not result.confidence_note:
        rows["confidence"] = np.append(result.confidence, result.confidence_none)
        across = np.append(across, across[-1] + 1.5 * step)
        ticks[across[-1]] = "none"
    width = (0.75 if len(rows) == 1 else 0.86) * step / len(rows)
    for at, (name, values) in enumerate(rows.items()):
        places = across[: len(values)] + (at - (len(rows) - 1) / 2) * width
        if len(values) > len(result.ks):
            # There is but one bar where the confidence in none of the candidates stands.
            places[-1] = across[-1]
        _bars(result, ax, name, places, np.nan_to_num(values), width)
    _percent_axis(ax, " and ".join(rows))
    title(ax, _probability_title(result))
    _k_axis(ax, result.ks)
    ax.set_xticks(list(ticks), list(ticks.values()))
    tidy(ax)
    if len(rows) > 1:
        ax.set_xlabel("number of clusters k (none: no candidate is right)")
        _legend_below(ax, len(rows))


def _bars(result: SelectionResult, ax: Axes, name: str, places: Any, heights: Any, width: float) -> None:
    from matplotlib.patheffects import withStroke

    full, pale = BARS[name]
    colours = [full if at == result._best_index else pale for at in range(len(heights))]
    bars = ax.bar(places, heights, width=width, color=colours)
    # A bar without height, so that the legend shows the full colour.
    ax.bar([places[0]], [0], width=width, color=full, label=name)
    crowded = len(result.ks) * (1 + (not result.confidence_note)) > MOST_LABELS
    # Where the bars stand close, only those that matter are labelled.
    labels = [percent(height) if height > (0.05 if crowded else 0.0) else "" for height in heights]
    # Readable also where a label reaches into the bar beside its own.
    edge = [withStroke(linewidth=2, foreground="white")]
    ax.bar_label(bars, labels, padding=2, fontsize=7.5 if crowded else 9, path_effects=edge, zorder=5)


def _probability_title(result: SelectionResult) -> str:
    if not result.confidence_note and result._best_index is not None:
        return "would a new run choose this k, and how often was such a k right"
    if np.isfinite(result.selection_probability).any():
        return "how often a new run on these data would choose each k"
    if result.n_subsamples == 1:
        return "the selection probability cannot be estimated from one subsample"
    return headline(result)


def _stability(result: SelectionResult, ax: Axes) -> None:
    """Draw how well clusterings of neighbouring subsamples agree: every pair as a point, and the mean per k."""
    agreement = result.trials.agreement
    known = np.isfinite(result.stability).any()
    step = min(np.diff(result.ks), default=1)
    across = np.array(result.ks)[:, None] + 0.5 * step * sideways(result.n_subsamples)
    ax.scatter(
        across.ravel(), agreement.ravel(), s=14, color=BLUE, alpha=0.3, linewidths=0, label="pairs of subsamples"
    )
    ax.plot(result.ks, result.stability, color=BLUE, linewidth=2.4, marker="o", markersize=5, label="stability (mean)")
    if result._best_index is not None:
        ax.axvline(result.best_k, color="0.55", linewidth=1.0, zorder=1)
    ax.set_ylim(min(-0.02, float(np.nanmin(agreement, initial=0.0)) - 0.02), 1.04)
    title(ax, "how well clusterings of neighbouring subsamples agree" if known else "the stability is not known")
    _k_axis(ax, result.ks)
    ax.set_ylabel("adjusted Rand index")
    tidy(ax)
    _legend_below(ax, 2)


KINDS = {
    "curve": _curve,
    "weights": _weights,
    "convergence": _convergence,
    "probability": _probability,
    "stability": _stability,
}
