"""Mean, variance and range of columns from blocks on a fixed grid of rows: however the rows come, the same bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler

Array = NDArray[Any]

# Rows of a block. Workers that hold a part of the rows hand over what lies beyond the last whole block as it is.
BLOCK_ROWS = 8_192
# Up to so many rows, scikit-learn sees them all at once.
WHOLE_ROWS = 50_000


@dataclass(frozen=True)
class Moments:
    """Of some rows: their number and, per column, mean, sum of squared deviations, smallest and largest value."""

    n: int
    mean: Array
    squares: Array
    low: Array
    high: Array


def moments_of(block: Array) -> Moments:
    """Return the moments of one block."""
    # Column by column whatever the layout was: sums round alike, and take a fraction of the time.
    values = np.ascontiguousarray(block.T, dtype=np.float64)
    # What is not finite, or too large to be squared, is refused with its name once the pass is over.
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=1)
        squares = ((values - mean[:, None]) ** 2).sum(axis=1)
        return Moments(values.shape[1], mean, squares, values.min(axis=1), values.max(axis=1))


def joined(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all rows from those of their blocks, in order."""
    several = iter(parts)
    total = next(several)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in several:
            total = _both(total, part)
    return total


def _both(one: Moments, two: Moments) -> Moments:
    n, shift = one.n + two.n, two.mean - one.mean
    return Moments(
        n,
        one.mean + shift * (two.n / n),
        one.squares + two.squares + shift**2 * (one.n * two.n / n),
        np.minimum(one.low, two.low),
        np.maximum(one.high, two.high),
    )


def blocks(matrix: Array) -> Iterator[Array]:
    """Yield a matrix in blocks of the grid."""
    return (matrix[low : low + BLOCK_ROWS] for low in range(0, len(matrix), BLOCK_ROWS))


def scaler_of(moments: Moments, scale: str) -> Any:
    """Return scikit-learn's scaler as if it had seen the rows; ``"robust"`` needs all of them at once."""
    if scale == "minmax":
        return MinMaxScaler().fit(np.vstack([moments.low, moments.high]))
    variance = moments.squares / moments.n
    scaler = StandardScaler()
    scaler.n_features_in_ = len(variance)
    scaler.n_samples_seen_, scaler.mean_, scaler.var_ = moments.n, moments.mean, variance
    constant = (moments.low == moments.high) | (variance == 0)
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
    return scaler
