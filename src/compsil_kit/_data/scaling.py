"""Scale columns with scikit-learn's scalers, also from moments that a pass over an out-of-core table collects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit._types import Scale
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import listed

Array = NDArray[Any]

SCALERS: dict[str, Callable[[], Any]] = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}
# Moments are computed per block of this many rows and merged in order, so that they have the same bits however the
# rows are split into chunks and partitions.
BLOCK_ROWS = 8_192
# Up to this many rows, a table is loaded and scaled as a whole.
WHOLE_ROWS = 50_000


def check_scale(scale: Any) -> Scale | None:
    """Return how to scale columns; the command line writes None as "none"."""
    return None if scale is None or scale == "none" else cast(Scale, check_choice("scale", scale, tuple(SCALERS)))


@dataclass(frozen=True)
class Moments:
    """The number of some rows, and per column their mean, sum of squared deviations, minimum and maximum."""

    n: int
    mean: Array
    squares: Array
    low: Array
    high: Array


def moments_of(block: Array) -> Moments:
    """Return the moments of one block."""
    # One contiguous row per column: sums do not depend on the memory layout, and are faster.
    values = np.ascontiguousarray(block.T, dtype=np.float64)
    # Values that are not finite, or whose squares overflow, are rejected after the pass.
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=1)
        squares = ((values - mean[:, None]) ** 2).sum(axis=1)
        return Moments(values.shape[1], mean, squares, values.min(axis=1), values.max(axis=1))


def merge_moments(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all rows from those of their blocks, in order."""
    with np.errstate(over="ignore", invalid="ignore"):
        return reduce(_merge_two, parts)


def _merge_two(one: Moments, two: Moments) -> Moments:
    n, shift = one.n + two.n, two.mean - one.mean
    return Moments(
        n,
        one.mean + shift * (two.n / n),
        one.squares + two.squares + shift**2 * (one.n * two.n / n),
        np.minimum(one.low, two.low),
        np.maximum(one.high, two.high),
    )


def scale_matrix(names: Sequence[str], matrix: Array, scale: str) -> Array:
    """Return a matrix with its columns scaled; large ones by their moments, as if they were out of core."""
    _check_range(names, np.abs(matrix).max(axis=0), len(matrix), scale)
    if scale == "robust" or len(matrix) <= WHOLE_ROWS:
        whole: Array = SCALERS[scale]().fit_transform(matrix)
        return whole
    blocks = (matrix[low : low + BLOCK_ROWS] for low in range(0, len(matrix), BLOCK_ROWS))
    return scale_rows(merge_moments(map(moments_of, blocks)), names, matrix, scale)


def scale_rows(moments: Moments, names: Sequence[str], rows: Array, scale: str) -> Array:
    """Return some rows of a table, scaled by the moments of all its rows; ``"robust"`` needs the rows themselves."""
    _check_range(names, np.maximum(np.abs(moments.low), np.abs(moments.high)), moments.n, scale)
    scaler = SCALERS[scale]()
    if scale == "minmax":
        scaler.fit(np.vstack([moments.low, moments.high]))
    else:
        # As if it had been fitted to all rows.
        variance = moments.squares / moments.n
        constant = (moments.low == moments.high) | (variance == 0)
        scaler.n_features_in_, scaler.n_samples_seen_ = len(variance), moments.n
        scaler.mean_, scaler.var_ = moments.mean, variance
        scaler.scale_ = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
    scaled: Array = scaler.transform(rows)
    return scaled


def _check_range(names: Sequence[str], largest: Array, n_rows: int, scale: str) -> None:
    """Reject columns whose sums of squares or differences overflow: scaled values would be NaN or not scaled."""
    maximum = np.finfo(np.float64).max
    limit = np.sqrt(maximum / n_rows) / 2 if scale == "standard" else maximum / 4
    wrong = [name for name, value in zip(names, largest, strict=True) if value > limit]
    if wrong:
        raise ValueError(
            f"columns: {listed(wrong, 'has', 'have')} values too large for scale={scale!r}. Divide by a power of "
            "ten first, or pass scale=None."
        )
