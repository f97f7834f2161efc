"""Figures of results and comparisons, on matplotlib axes. They read what is there and compute nothing of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit.method.guarantees import hoeffding_radius
from compsil_kit.show.curve import curve_of
from compsil_kit.util.checks import check_choice
from compsil_kit.util.format import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit.criteria.comparison import Comparison
    from compsil_kit.result.result import SelectionResult

# Colours that stay apart for colour-blind eyes (Okabe and Ito), and lines that differ in shape as well.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8a8a8a"
LINES = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00")
STYLES: dict[str, dict[str, Any]] = {
    "composite": {"color": BLUE, "linestyle": "-", "marker": "o", "linewidth": 2.4, "zorder": 4},
    "micro": {"color": VERMILION, "linestyle": "--", "marker": "s", "linewidth": 1.5, "zorder": 3},
    "macro": {"color": GREEN, "linestyle": ":", "marker": "^", "linewidth": 1.8, "zorder": 3},
}
# More labels than this side by side run into each other.
MOST_LABELS = 15
SIZE = (7.2, 4.2)


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
    """Draw the composite with its 95 % band beside the means of micro and macro, a star on each one's choice."""
    curve = curve_of(result)
    low, high = curve.composite - curve.half_width, curve.composite + curve.half_width
    ax.fill_between(curve.ks, low, high, color=BLUE, alpha=0.18, linewidth=0)
    for name, values in curve.lines.items():
        chosen = curve.chosen(name)
        label = name if chosen is None else f"{name}: k = {chosen[0]}"
        ax.plot(curve.ks, values, label=label, markersize=4.5, **STYLES[name])
        if chosen is not None:
            star: dict[str, Any] = {
                "marker": "*",
                "markersize": 15,
                "markeredgecolor": "white",
                "linestyle": "none",
                # Where two stars meet, that of the composite is in front.
                "zorder": 7 if name == "composite" else 6,
            }
            ax.plot([chosen[0]], [chosen[1]], color=STYLES[name]["color"], **star)
    if result.best_index is not None:
        ax.axvline(result.best_k, color="0.55", linewidth=1.0, zorder=1)
    title(ax, headline(result))
    _k_axis(ax, result.ks)
    ax.set_ylabel("silhouette")
    tidy(ax)
    _legend_below(ax, 3)


def headline(result: SelectionResult) -> str:
    """Return the choice in one line."""
    if result.best_index is None:
        return "no k can be selected"
    probability = percent(result.probability[result.best_index])
    partial = ", partial" if result.partial else ""
    return f"k* = {result.best_k}   score {result.best_score:.3f}, selection probability {probability}{partial}"


def _k_axis(ax: Axes, ks: tuple[int, ...]) -> None:
    """Label the candidates, at most about fifteen of them, so that labels do not run into each other."""
    ax.set_xlabel("number of clusters k")
    ax.set_xticks(_some(ks))


def _some(values: Any) -> list[Any]:
    """Return every value, or every second, third, ... one where there are too many to label."""
    return list(values[:: -(-len(values) // MOST_LABELS)])


def _weights(result: SelectionResult, ax: Axes) -> None:
    """Draw the discrepancy of every subsample, coloured by its weight, with the mean weight of each k on top."""
    discrepancy = result.micro - result.macro
    step = min(np.diff(result.ks), default=1)
    # Spread the subsamples of a k sideways, by their number: no randomness, nothing hidden behind another point.
    sideways = (np.arange(result.n_subsamples) + 0.5) / max(result.n_subsamples, 1) - 0.5
    across = np.array(result.ks)[:, None] + 0.55 * step * sideways
    # One row per point: three weights in a row would be taken for one colour in red, green and blue.
    look: dict[str, Any] = {"cmap": "RdYlBu", "vmin": 0, "vmax": 1, "s": 16, "edgecolors": "0.35", "linewidths": 0.3}
    points = ax.scatter(across.ravel(), discrepancy.ravel(), c=result.weights.ravel(), **look)
    ax.axhline(0, color="0.4", linewidth=1)
    top = float(np.nanmax(discrepancy, initial=0.0))
    span = top - float(np.nanmin(discrepancy, initial=0.0)) or 1.0
    means = curve_of(result).weight
    for k, weight in zip(_some(result.ks), _some(means), strict=True):
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

    scores, chosen = result.running
    across = np.arange(1, result.n_subsamples + 1)
    leading = [
        at for at in np.argsort(-np.nan_to_num(result.scores, nan=-np.inf), kind="stable") if result.selectable[at]
    ]
    colours = {result.ks[at]: LINES[i] for i, at in enumerate(leading[: len(LINES)])}
    for at in leading[: len(LINES)]:
        k = result.ks[at]
        # A line through a single subsample would not be seen.
        width, marker = 2.2 if at == result.best_index else 1.3, "o" if len(across) == 1 else ""
        ax.plot(across, scores[at], color=colours[k], linewidth=width, marker=marker, label=f"k = {k}")
    ax.margins(y=0.15)
    low, high = ax.get_ylim()
    if result.best_index is not None:
        radius = np.array([hoeffding_radius(int(n), delta=delta, n_ks=len(result.ks)) for n in across])
        centre = scores[result.best_index]
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
    ax.set_ylabel("composite silhouette")
    tidy(ax)
    if leading:
        _legend_below(ax, len(LINES))


def _probability(result: SelectionResult, ax: Axes) -> None:
    """Draw the selection probability of each k."""
    heights = np.nan_to_num(result.probability)
    step = min(np.diff(result.ks), default=1)
    colours = [BLUE if at == result.best_index else "#9ec9e2" for at in range(len(result.ks))]
    bars = ax.bar(result.ks, heights, width=0.75 * step, color=colours)
    # Where the bars stand close, only those that matter are labelled.
    least = 0.0 if len(result.ks) <= MOST_LABELS else 0.05
    ax.bar_label(bars, [percent(height) if height > least else "" for height in heights], padding=2, fontsize=9)
    ax.set_ylim(0, 1.12)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    title(ax, _probability_title(result))
    _k_axis(ax, result.ks)
    ax.set_ylabel("selection probability")
    tidy(ax)


def _probability_title(result: SelectionResult) -> str:
    if np.isfinite(result.probability).any():
        return "how often a new run on these data would choose each k"
    if result.n_subsamples == 1:
        return "the selection probability cannot be estimated from one subsample"
    return headline(result)


def plot_comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw each criterion as a row of cells, pale to dark from its worst to its best k, a ring on its choice."""
    ax = new_axes() if ax is None else ax
    goodness = _goodness(comparison)
    ax.imshow(goodness, cmap="Blues", aspect="auto", vmin=0, vmax=1.25)
    for row, criterion in enumerate(comparison.criteria):
        for at, value in enumerate(criterion.values):
            chosen = comparison.choices[criterion.name] == comparison.ks[at]
            if chosen:
                _cell_ring(ax, at, row)
            if len(comparison.ks) <= MOST_LABELS:
                _cell_text(ax, at, row, value, chosen=chosen, dark=goodness[row, at] > 0.7)
    ax.set_xticks(_some(range(len(comparison.ks))), [str(k) for k in _some(comparison.ks)])
    ax.set_yticks(range(len(comparison.criteria)), [criterion.label for criterion in comparison.criteria])
    ax.set_xlabel("number of clusters k (ring: the k that the criterion chooses)")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    title(ax, "within each row, darker is better")
    return ax


def _goodness(comparison: Comparison) -> Any:
    rows = []
    for criterion in comparison.criteria:
        values = -criterion.values if criterion.lower_is_better else criterion.values
        finite = values[np.isfinite(values)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        rows.append((values - low) / (high - low if high > low else 1.0))
    return np.array(rows)


def _cell_ring(ax: Axes, at: int, row: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    box = {"boxstyle": "round,pad=0.0,rounding_size=0.2", "fill": False, "edgecolor": VERMILION, "linewidth": 2.2}
    ax.add_patch(FancyBboxPatch((at - 0.42, row - 0.38), 0.84, 0.76, **box))  # type: ignore[arg-type]


def _cell_text(ax: Axes, at: int, row: int, value: float, *, chosen: bool, dark: bool) -> None:
    text = "–" if not np.isfinite(value) else f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    look: dict[str, Any] = {"fontweight": "bold" if chosen else "normal", "color": "white" if dark else "#222222"}
    ax.text(at, row, text, ha="center", va="center", fontsize=8, **look)


KINDS = {"curve": _curve, "weights": _weights, "convergence": _convergence, "probability": _probability}
