"""Plots of a single clustering: silhouettes of all points by cluster, and a two-dimensional map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from compsil_kit._method.reference_data import fix_axes, principal_axes
from compsil_kit._show.facts import MAX_LABELS
from compsil_kit._show.plots import BLUE, GREEN, VERMILION, legend_below, new_axes, tidy, title
from compsil_kit._util.format import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_kit._method.silhouette import Silhouettes

# Maximum number of points on a map; more would overlap.
MAX_POINTS = 5_000
PALETTE = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", VERMILION, "#7a5195", "#3d3d3d")
Projection = tuple[NDArray[Any], float]


def cluster_colours(n: int) -> Any:
    """Return n distinct colours, from the palette if n is small enough, else from a colour map."""
    import matplotlib as mpl

    if n <= len(PALETTE):
        return PALETTE[:n]
    return [mpl.colormaps["turbo"](0.05 + 0.9 * i / (n - 1)) for i in range(n)]


def plot_silhouettes(scores: Silhouettes, labels: NDArray[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the silhouettes of all points, sorted within each cluster, with lines at the micro and macro averages."""
    ax = new_axes() if ax is None else ax
    many = len(scores.clusters) > MAX_LABELS
    base, ticks = 0.0, {}
    # Give small clusters the height of their label.
    gap, min_height = 0.02 * len(labels), (0.03 if many else 0.06) * len(labels)
    for name, colour in zip(scores.clusters, cluster_colours(len(scores.clusters)), strict=True):
        values = np.sort(scores.per_point[labels == name])
        ax.fill_betweenx(base + np.arange(len(values)), 0, values, color=colour, linewidth=0, step="mid")
        ticks[base + len(values) / 2] = f"{name}  ({len(values):,})"
        base += max(len(values) + gap, min_height)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=6 if many else 10, parse_math=False)
    ax.axvline(scores.micro, color="0.25", linestyle="--", linewidth=1.2, label=f"micro {scores.micro:.3f}")
    ax.axvline(scores.macro, color="0.25", linestyle=":", linewidth=1.6, label=f"macro {scores.macro:.3f}")
    ax.set_xlim(min(-0.1, float(scores.per_point.min())), 1.0)
    ax.set_xlabel("silhouette of each point")
    ax.set_ylabel("cluster (number of points)")
    tidy(ax)
    ax.grid(visible=False)
    title(ax, f"k = {len(scores.clusters)}")
    legend_below(ax, 2)
    return ax


def plot_map(X: Any, labels: NDArray[Any], *, ax: Axes | None = None, projection: Projection | None = None) -> Axes:
    """Draw the points on their first two principal components, coloured by cluster, with a label at each centre.

    ``projection`` is the return value of :func:`project`, if already computed for another clustering of X.
    """
    ax = new_axes() if ax is None else ax
    n_points, names = X.shape[0], np.unique(labels)
    drawn = np.arange(n_points)
    if n_points > MAX_POINTS:
        drawn = np.sort(np.random.default_rng(0).choice(n_points, MAX_POINTS, replace=False))
    flat, explained = project(X) if projection is None else projection
    for name, colour in zip(names, cluster_colours(len(names)), strict=True):
        here = flat[drawn][labels[drawn] == name]
        ax.scatter(here[:, 0], here[:, 1], s=9, color=colour, alpha=0.55, linewidths=0)
        x, y = flat[labels == name].mean(axis=0)
        badge = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": colour, "linewidth": 1.5}
        text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "fontweight": "bold", "bbox": badge}
        ax.text(float(x), float(y), str(name), parse_math=False, **text)
    ax.set_aspect("equal", adjustable="datalim")
    sample = f" ({MAX_POINTS:,} of {n_points:,} points drawn)" if len(drawn) < n_points else ""
    ax.set_xlabel(("first component" if X.shape[1] > 1 else "value") + sample)
    ax.set_ylabel("second component" if X.shape[1] > 1 else "")
    ax.spines[["top", "right"]].set_visible(False)
    title(ax, f"k = {len(names)}; the axes explain {percent(explained)} of the variance")
    return ax


def project(X: Any) -> Projection:
    """Return the points on their first two principal components, and the share of the variance explained."""
    if X.shape[1] == 1:
        values = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return np.column_stack([values[:, 0], np.zeros(len(values))]), 1.0
    if sparse.issparse(X):
        method = TruncatedSVD(2, random_state=0).fit(X)
        flat = X @ fix_axes(method.singular_values_, method.components_).T
        return flat, float(np.sum(method.explained_variance_ratio_))
    scores, spread, _ = principal_axes(X - X.mean(axis=0, dtype=np.float64))
    flat = np.zeros((len(X), 2))
    flat[:, : len(spread)] = scores[:, :2] * spread[:2]
    shares = (spread / spread.max(initial=0.0)) ** 2
    return flat, float(shares[:2].sum() / shares.sum()) if len(spread) else 1.0
