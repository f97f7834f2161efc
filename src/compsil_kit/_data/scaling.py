"""Columns on one scale, by scikit-learn's scalers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit._data.sources.moments import WHOLE_ROWS, Moments, blocks, joined, moments_of, scaler_of
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import listed

Array = NDArray[Any]

SCALERS: dict[str, Callable[[], Any]] = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}


def check_scale(scale: Any) -> str | None:
    """Return how to scale columns; "none" is what a command line calls None."""
    return None if scale is None or scale == "none" else check_choice("scale", scale, tuple(SCALERS))


def scaled(names: Sequence[str], matrix: Array, scale: str) -> Array:
    """Return the columns scaled. Many rows are summed up on a fixed grid, as where they do not fit into memory."""
    _check_range(names, np.abs(matrix).max(axis=0), len(matrix), scale)
    if scale == "robust" or len(matrix) <= WHOLE_ROWS:
        whole: Array = SCALERS[scale]().fit_transform(matrix)
        return whole
    return scaled_by(joined(moments_of(block) for block in blocks(matrix)), names, matrix, scale)


def scaled_by(moments: Moments, names: Sequence[str], rows: Array, scale: str) -> Array:
    """Return some rows on the scale that the moments of all rows give."""
    _check_range(names, np.maximum(np.abs(moments.low), np.abs(moments.high)), moments.n, scale)
    found: Array = scaler_of(moments, scale).transform(rows)
    return found


def _check_range(names: Sequence[str], largest: Array, n_rows: int, scale: str) -> None:
    """Refuse columns whose sums of squares or differences overflow: the outcome would be NaN, or not scaled."""
    most = np.finfo(np.float64).max
    limit = np.sqrt(most / n_rows) / 2 if scale == "standard" else most / 4
    wrong = [name for name, value in zip(names, largest, strict=True) if value > limit]
    if wrong:
        raise ValueError(
            f"columns: {listed(wrong, 'has', 'have')} values too large for scale={scale!r}. Divide by a power of "
            "ten first, or pass scale=None."
        )
