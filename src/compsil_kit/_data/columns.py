"""Scale the columns of a matrix, and report columns that would distort the clusters.

Scaling matches scikit-learn, including when it uses the moments from a pass over an out-of-core table.
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

# If the spreads of the columns differ by more than this factor, the data were probably left unscaled by mistake.
MAX_SCALE_RATIO = 10.0
# The spread of each column is estimated from about this many rows.
_SPREAD_ROWS = 100_000
# float64 represents all integers up to this value.
_MAX_EXACT = 2**53
# With fewer rows, distinct integers do not indicate an identifier.
_MIN_ID_ROWS = 20
_ID_NAME = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|guid|key|index|rownum|row_number)$|^unnamed: 0$)|(?<=[a-z])I[Dd]$")
SCALERS: dict[str, Callable[[], Any]] = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}
# Moments are computed for blocks of this many rows and merged in order, so that the result is bit-for-bit identical
# however the rows are split into chunks and partitions.
BLOCK_ROWS = 8_192
# Tables with up to this many rows are loaded completely and scaled in one step.
WHOLE_ROWS = 50_000


def scale_ratio(matrix: Any) -> float:
    """Return the ratio of the largest to the smallest column spread; 1 for sparse matrices."""
    if sparse.issparse(matrix):
        return 1.0
    some = matrix[:: max(1, len(matrix) // _SPREAD_ROWS)]
    # Use the range between the first and last deciles, because outliers do not affect it.
    spread = np.subtract(*np.quantile(some, [0.9, 0.1], axis=0))
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) > 1 else 1.0


def check_enough_distinct(matrix: Any, k_max: int, *, whole: bool = True) -> None:
    """Raise if there are fewer distinct rows than clusters; stop counting as soon as enough are found.

    ``whole`` is False if the matrix contains only fetched rows, because the other rows may have different values.
    """
    n_rows = matrix.shape[0]
    size = min(n_rows, 2 * k_max)
    while (n_distinct := _count_distinct(matrix[:size])) < k_max and size < n_rows:
        size = min(n_rows, size * 8)
    if n_distinct >= k_max:
        return
    if not whole:
        raise ValueError(
            f"ks contains {k_max}, but all subsamples together have only {n_distinct} distinct row(s). "
            "Pass smaller values of k, or a larger sample_size."
        )
    if n_distinct == 1:
        raise ValueError("X is constant: all rows are identical, so there is nothing to cluster.")
    raise ValueError(
        f"ks contains {k_max}, but X has only {n_distinct} distinct rows. Pass values of k up to {n_distinct}."
    )


def _count_distinct(rows: Any) -> int:
    if sparse.issparse(rows):
        tidy = rows.copy()
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        return len({(tidy.indices[a:b].tobytes(), tidy.data[a:b].tobytes()) for a, b in pairwise(tidy.indptr)})
    # Add 0.0 to turn -0.0 into 0.0, because the two have different bytes.
    return len({row.tobytes() for row in np.ascontiguousarray(rows) + 0.0})


def column_notes(names: Sequence[str], matrix: Array, numbers: Array | None = None) -> tuple[str, ...]:
    """Return notes on columns that are constant, duplicate another column or look like identifiers.

    ``numbers`` are the row numbers, if the matrix contains only some rows of a table.
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
        # Compare digests, because keeping the columns would copy the matrix; add 0.0 because -0.0 has different bytes.
        original = originals.setdefault(blake2b((column + 0.0).tobytes()).digest(), at)
        if original != at and at not in constant:
            notes.append(f"{names[at]!r} is a copy of {names[original]!r}, which doubles the weight of its values")
    if ids:
        notes.append(f"{listed(ids, 'looks', 'look')} like an identifier, which would distort the clusters")
    return tuple(f"column {note}. To exclude columns, pass columns=[...]." for note in notes)


def _is_id(name: str, column: Array, numbers: Array) -> bool:
    """Return whether a column contains row numbers, or distinct integers under the name of an identifier."""
    if len(column) < _MIN_ID_ROWS or not np.all(column == np.floor(column)):
        return False
    if np.array_equal(np.diff(column), np.diff(numbers)):
        return True
    return bool(_ID_NAME.search(name)) and bool(np.all(np.diff(np.sort(column)) > 0))


def rounded_by_float64(values: Array) -> NDArray[np.bool_]:
    """Return, for each value, whether it is an integer that float64 cannot represent."""
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
        # float64 keeps the leading 53 bits; the number is exact if all lower bits are 0.
        lost_bits = np.frexp(numbers.astype(np.float64))[1] - 53
        found[large] = numbers & ((1 << lost_bits.astype(numbers.dtype)) - 1).astype(numbers.dtype) != 0
    return found


def _is_rounded_object(value: Any) -> bool:
    if not isinstance(value, int | np.integer):
        return False
    size = abs(int(value))
    # float64 keeps the leading 53 bits; the number is exact if all lower bits are 0.
    return size.bit_length() - (size & -size).bit_length() >= 53


def column_is_rounded(column: Any, values: Array) -> bool:
    """Return whether float64 rounds any integer in a table column; ``values`` is the column as an array."""
    if values.dtype.kind != "f":
        return bool(rounded_by_float64(values).any())
    # Nullable columns have already been converted to float64, so check their original integers.
    kind = str(getattr(column, "dtype", None) or column.type).lower().partition("[")[0]
    if kind not in ("int64", "uint64"):
        return False
    drop = next(getattr(column, name) for name in ("dropna", "drop_nulls", "drop_null") if hasattr(column, name))
    return bool(rounded_by_float64(np.asarray(drop(), dtype=kind)).any())


def warn_about_rounding(columns: Sequence[Any]) -> None:
    """Warn that float64 rounds integers in these columns, given by name or position."""
    if columns:
        which = "column" if len(columns) == 1 else "columns"
        warnings.warn(
            f"X: {which} {listed(columns, 'has', 'have')} integers beyond 2**53, which float64 rounds, so "
            "different numbers may become equal. Leave identifiers out; subtract a constant from "
            "timestamps and counters.",
            UserWarning,
            stacklevel=caller_level(),
        )


def check_scale(scale: Any) -> Scale | None:
    """Return the validated scale; "none", as used on the command line, becomes None."""
    return None if scale is None or scale == "none" else cast(Scale, check_choice("scale", scale, tuple(SCALERS)))


@dataclass(frozen=True)
class Moments:
    """The number of rows, and the mean, sum of squared deviations, minimum and maximum of each column."""

    n: int
    mean: Array
    squares: Array
    low: Array
    high: Array


def moments_of(block: Array) -> Moments:
    """Return the moments of one block of rows."""
    # One contiguous row per column, so that sums are faster and independent of the memory layout.
    values = np.ascontiguousarray(block.T, dtype=np.float64)
    # Non-finite values, and values whose squares overflow, are rejected after the pass.
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=1)
        squares = ((values - mean[:, None]) ** 2).sum(axis=1)
        return Moments(values.shape[1], mean, squares, values.min(axis=1), values.max(axis=1))


def merge_moments(parts: Iterable[Moments]) -> Moments:
    """Merge the moments of consecutive blocks into the moments of all rows."""
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
    """Scale the columns of a matrix; a large matrix is scaled by its moments, as out-of-core tables are."""
    _check_range(names, np.abs(matrix).max(axis=0), len(matrix), scale)
    if scale == "robust" or len(matrix) <= WHOLE_ROWS:
        whole: Array = SCALERS[scale]().fit_transform(matrix)
        return whole
    blocks = (matrix[low : low + BLOCK_ROWS] for low in range(0, len(matrix), BLOCK_ROWS))
    return scale_rows(merge_moments(map(moments_of, blocks)), names, matrix, scale)


def scale_rows(moments: Moments, names: Sequence[str], rows: Array, scale: str) -> Array:
    """Scale some rows of a table by the moments of all rows; ``"robust"`` is not supported because it needs medians."""
    _check_range(names, np.maximum(np.abs(moments.low), np.abs(moments.high)), moments.n, scale)
    scaler = SCALERS[scale]()
    if scale == "minmax":
        scaler.fit(np.vstack([moments.low, moments.high]))
    else:
        # Set the attributes that fitting to all rows would set.
        variance = moments.squares / moments.n
        constant = (moments.low == moments.high) | (variance == 0)
        scaler.n_features_in_, scaler.n_samples_seen_ = len(variance), moments.n
        scaler.mean_, scaler.var_ = moments.mean, variance
        scaler.scale_ = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
    scaled: Array = scaler.transform(rows)
    return scaled


def _check_range(names: Sequence[str], largest: Array, n_rows: int, scale: str) -> None:
    """Raise for columns whose sums of squares or differences overflow, because scaling would fail or produce NaN."""
    maximum = np.finfo(np.float64).max
    limit = np.sqrt(maximum / n_rows) / 2 if scale == "standard" else maximum / 4
    wrong = [name for name, value in zip(names, largest, strict=True) if value > limit]
    if wrong:
        raise ValueError(
            f"columns: {listed(wrong, 'has', 'have')} values too large for scale={scale!r}. Divide them by a "
            "power of ten first, or pass scale=None."
        )
