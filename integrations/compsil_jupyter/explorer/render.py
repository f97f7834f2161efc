"""The explorer's pictures as PNG, drawn without pyplot so that no figure appears in a cell's output."""

from __future__ import annotations

import io
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from compsil_jupyter.explorer.clusterings import Clustering, Clusterings
from compsil_kit import Comparison, SelectionResult
from compsil_kit._show.cluster_plots import plot_map, plot_silhouettes
from compsil_kit._show.comparison_plot import plot_comparison

WIDE, DOUBLE, SQUARE = (8.6, 4.6), (12.4, 4.8), (12.4, 8.8)
# Sharp on dense displays, where a picture is shown at half its size, and readable on others.
DPI = 110
# Figures are independent, but the fonts behind them are shared, and explorers draw in several threads.
_one_at_a_time = Lock()


def _png(draw: Callable[[Figure], None], size: tuple[float, float]) -> bytes:
    with _one_at_a_time:
        figure = Figure(figsize=size, dpi=DPI, layout="constrained")
        draw(figure)
        # Not savefig, which lays everything out twice.
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="png", compress_level=3)
    return buffer.getvalue()


def curve(result: SelectionResult) -> bytes:
    """Draw the criterion with its 95 % band, and the micro and macro averages."""
    return _png(lambda figure: void(result.plot("curve", ax=figure.subplots())), WIDE)


def weights(result: SelectionResult) -> bytes:
    """Draw the discrepancies and weights of all subsamples."""
    return _png(lambda figure: void(result.plot("weights", ax=figure.subplots())), WIDE)


def stability(result: SelectionResult, delta: float) -> bytes:
    """Draw how sure each k is, how stable, and the scores against the number of subsamples."""

    def draw(figure: Figure) -> None:
        axes = figure.subplot_mosaic([["probability", "stability"], ["convergence", "convergence"]])
        result.plot("probability", ax=axes["probability"])
        result.plot("stability", ax=axes["stability"])
        result.plot("convergence", ax=axes["convergence"], delta=delta)

    return _png(draw, SQUARE)


def clusters(clusterings: Clusterings, clustering: Clustering) -> bytes:
    """Draw the map of a clustering, and the silhouettes of its points."""
    projection = clusterings.projection

    def draw(figure: Figure) -> None:
        if projection is None:
            plot_silhouettes(clustering.scores, clustering.labels, ax=figure.subplots())
            return
        left, right = figure.subplots(1, 2)
        plot_map(clusterings.points, clustering.labels, ax=left, projection=projection)
        plot_silhouettes(clustering.scores, clustering.labels, ax=right)

    return _png(draw, DOUBLE if projection is not None else WIDE)


def comparison(found: Comparison) -> bytes:
    """Draw the heat map of the criteria."""
    return _png(
        lambda figure: void(plot_comparison(found, ax=figure.subplots())), (9.4, 0.5 * len(found.criteria) + 1.4)
    )


def void(_: object) -> None:
    """Discard what a drawing function returns."""
