"""Columns of a matrix: reports on those that would distort the clusters, and scales.

Scales are those of scikit-learn, also from moments that a pass over an out-of-core table collects.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit._types import Scale
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import listed
from compsil_kit.errors import caller_level

Array = NDArray[Any]

# Columns whose spreads differ by a larger factor are probably not meant to have equal weight.
MAX_SCALE_RATIO = 10.0
# The spread of columns is estimated from about this many rows.
_SPREAD_ROWS = 100_000
# float64 represents all integers up to here.
_MAX_EXACT = 2**53
# Below this number of rows, distinct integers are no sign of an identifier.
_MIN_ID_ROWS = 20
_ID_NAME = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|guid|key|index|rownum|row_number)$|^unnamed: 0$)|(?<=[a-z])I[Dd]$")
SCALERS: dict[str, Callable[[], Any]] = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}
# Moments are computed per block of this many rows and merged in order, so that they have the same bits however the
# rows are split into chunks and partitions.
BLOCK_ROWS = 8_192
# Up to this many rows, a table is loaded and scaled as a whole.
WHOLE_ROWS = 50_000


def scale_ratio(matrix: Any) -> float:
    """Return the ratio of the largest to the smallest spread of columns; 1 for sparse matrices."""
    if sparse.issparse(matrix):
        return 1.0
    some = matrix[:: max(1, len(matrix) // _SPREAD_ROWS)]
    # The range between deciles, because an outlier does not make a scale.
    spread = np.subtract(*np.quantile(some, [0.9, 0.1], axis=0))
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) > 1 else 1.0


def check_enough_distinct(matrix: Any, k_max: int, *, whole: bool = True) -> None:
    """Raise if there are fewer distinct rows than clusters; stop counting as soon as there are enough.

    ``whole`` is False for fetched rows, as rows that were not fetched may differ from them.
    """
    n_rows = matrix.shape[0]
    size = min(n_rows, 2 * k_max)
    while (n_distinct := _count_distinct(matrix[:size])) < k_max and size < n_rows:
        size = min(n_rows, size * 8)
    if n_distinct >= k_max:
        return
    if not whole:
        raise ValueError(
            f"ks asks for up to {k_max} clusters, but all subsamples together have only {n_distinct} distinct "
            "row(s). Pass smaller ks, or a larger sample_size."
        )
    if n_distinct == 1:
        raise ValueError("X is constant: every row is the same, so there is nothing to cluster.")
    raise ValueError(
        f"ks asks for up to {k_max} clusters, but X has only {n_distinct} distinct rows. "
        f"Pass ks of at most {n_distinct}."
    )


def _count_distinct(rows: Any) -> int:
    if sparse.issparse(rows):
        tidy = rows.copy()
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        return len({(tidy.indices[a:b].tobytes(), tidy.data[a:b].tobytes()) for a, b in pairwise(tidy.indptr)})
    # Adding 0.0 turns -0.0 into 0.0, which has different bytes.
    return len({row.tobytes() for row in np.ascontiguousarray(rows) + 0.0})


def column_notes(names: Sequence[str], matrix: Array, numbers: Array | None = None) -> tuple[str, ...]:
    """Return notes on columns that are constant, copies of another column, or look like identifiers.

    ``numbers`` are the numbers of the rows, if the matrix contains only some rows of a table.
    """
    numbers = np.arange(len(matrix)) if numbers is None else numbers
    columns = list(matrix.T)
    constant = [at for at, column in enumerate(columns) if (column == column[0]).all()]
    ids = [name for name, column in zip(names, columns, strict=True) if _is_id(name, column, numbers)]
    notes = []
    if constant:
        found = [names[at] for at in constant]
        notes.append(listed(found, "is constant and has no effect", "are constant and have no effect"))
    originals: dict[bytes, int] = {}
    for at, column in enumerate(columns):
        # Digests, because the columns themselves would be a copy of the matrix; -0.0 and 0.0 have different bytes.
        original = originals.setdefault(blake2b((column + 0.0).tobytes()).digest(), at)
        if original != at and at not in constant:
            notes.append(f"{names[at]!r} is a copy of {names[original]!r}, which doubles the weight of its values")
    if ids:
        notes.append(f"{listed(ids, 'looks', 'look')} like an identifier, which would distort the clusters")
    return tuple(f"column {note}. To exclude columns, pass columns=[...]." for note in notes)


def _is_id(name: str, column: Array, numbers: Array) -> bool:
    """Return whether a column has consecutive integers like the rows, or distinct integers and the name of an id."""
    if len(column) < _MIN_ID_ROWS or not np.all(column == np.floor(column)):
        return False
    if np.array_equal(np.diff(column), np.diff(numbers)):
        return True
    return bool(_ID_NAME.search(name)) and bool(np.all(np.diff(np.sort(column)) > 0))


def rounded_by_float64(values: Array) -> NDArray[np.bool_]:
    """Return for each value whether it is an integer that float64 cannot represent."""
    if values.dtype.kind == "O":
        rounded = [_is_rounded_object(value) for value in values.ravel()]
        return np.array(rounded, dtype=bool).reshape(values.shape)
    found = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return found
    large = values > _MAX_EXACT
    if values.dtype.kind == "i":
        large |= values < -_MAX_EXACT
    if large.any():
        numbers = values[large]
        # float64 keeps the leading 53 bits; the number is exact if all others are 0.
        lost_bits = np.frexp(numbers.astype(np.float64))[1] - 53
        found[large] = numbers & ((1 << lost_bits.astype(numbers.dtype)) - 1).astype(numbers.dtype) != 0
    return found


def _is_rounded_object(value: Any) -> bool:
    if not isinstance(value, int | np.integer):
        return False
    size = abs(int(value))
    # float64 keeps the leading 53 bits; the number is exact if all others are 0.
    return size.bit_length() - (size & -size).bit_length() >= 53


def column_is_rounded(column: Any, values: Array) -> bool:
    """Return whether float64 rounds integers of a table's column; ``values`` are the column as an array."""
    if values.dtype.kind != "f":
        return bool(rounded_by_float64(values).any())
    # Nullable columns are converted to float64, so their own integers have to be checked.
    kind = str(getattr(column, "dtype", None) or column.type).lower().partition("[")[0]
    if kind not in ("int64", "uint64"):
        return False
    drop = next(getattr(column, name) for name in ("dropna", "drop_nulls", "drop_null") if hasattr(column, name))
    return bool(rounded_by_float64(np.asarray(drop(), dtype=kind)).any())


def warn_of_rounding(columns: Sequence[Any]) -> None:
    """Warn that float64 rounds integers of these columns, given by name or position."""
    if columns:
        which = "column" if len(columns) == 1 else "columns"
        warnings.warn(
            f"X: {which} {listed(columns, 'has', 'have')} integers beyond 2**53, which float64 rounds: different "
            "numbers may become equal. Leave identifiers out; subtract a constant from timestamps and counters first.",
            UserWarning,
            stacklevel=caller_level(),
        )


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
