"""Pictures of a result, on matplotlib axes. They read a result and compute nothing of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compsil_kit._checks import check_choice
from compsil_kit.explanation import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit.result import SelectionResult

# Colours that stay apart for colour-blind eyes (Okabe and Ito), and lines that differ in shape as well.
STYLES = {
    "composite": {"color": "#0072B2", "linestyle": "-", "marker": "o", "linewidth": 2.4, "zorder": 4},
    "micro": {"color": "#D55E00", "linestyle": "--", "marker": "s", "linewidth": 1.5, "zorder": 3},
    "macro": {"color": "#009E73", "linestyle": ":", "marker": "^", "linewidth": 1.8, "zorder": 3},
}
# 95 % of a normal distribution.
BAND = 1.96


def new_axes() -> Axes:
    """Return the axes of a new figure, readable at 600 pixels."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    return ax


def plot(result: SelectionResult, kind: str = "curve", *, ax: Axes | None = None) -> Axes:
    """Draw a picture of the result on ``ax`` or a new figure, and return the axes."""
    draw = {"curve": _curve}[check_choice("kind", kind, ("curve",))]
    ax = new_axes() if ax is None else ax
    draw(result, ax)
    return ax


def _curve(result: SelectionResult, ax: Axes) -> None:
    """Draw the composite with its 95 % band beside the means of micro and macro, a star on each one's choice."""
    curve = result.curve
    lines = {"composite": curve["score"], "micro": curve["micro"], "macro": curve["macro"]}
    band = BAND * np.nan_to_num(result.sem)
    style = STYLES["composite"]
    ax.fill_between(
        result.ks,
        result.scores - band,
        result.scores + band,
        color=str(style["color"]),
        alpha=0.18,
        linewidth=0,
    )
    for name, values in lines.items():
        choice = result.choices[name]
        label = name if choice is None else f"{name}: k = {choice}"
        ax.plot(result.ks, values.to_numpy(), label=label, markersize=4.5, **STYLES[name])  # type: ignore[arg-type]
        if choice is not None:
            height = float(values.loc[choice])
            ax.plot(
                [choice],
                [height],
                marker="*",
                markersize=15,
                color=str(STYLES[name]["color"]),
                zorder=6,
                markeredgecolor="white",
                linestyle="none",
            )
    _mark_choice(result, ax)
    ax.set_xlabel("number of clusters k")
    ax.set_ylabel("silhouette")
    ax.set_xticks(_ticks(result.ks))
    ax.grid(axis="y", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)


def _mark_choice(result: SelectionResult, ax: Axes) -> None:
    if result.best_index is None:
        ax.set_title("no k can be selected", loc="left")
        return
    ax.axvline(result.best_k, color="0.55", linewidth=1.0, zorder=1)
    sure = percent(result.probability[result.best_index])
    partial = ", partial" if result.partial else ""
    ax.set_title(
        f"k* = {result.best_k}   composite silhouette {result.best_score:.3f}, wins {sure}{partial}",
        loc="left",
        fontsize=11,
    )


def _ticks(ks: tuple[int, ...]) -> list[int]:
    """Return at most about fifteen of the candidates, so that labels do not run into each other."""
    step = -(-len(ks) // 15)
    return list(ks[::step])
