"""The figure of a comparison: each criterion as a row of cells, on matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._show.plots import MOST_LABELS, VERMILION, new_axes, some, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit._criteria.comparison import Comparison


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
    ax.set_xticks(some(range(len(comparison.ks))), [str(k) for k in some(comparison.ks)])
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
