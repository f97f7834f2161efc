"""Whole numbers that float64 cannot hold: identifiers of 64 bits would become equal in silence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._util.warn import caller_level

Array = NDArray[Any]

_EXACT_TO = 2**53


def rounded_by_float64(values: Array) -> NDArray[np.bool_]:
    """Tell of each value whether it is a whole number that float64 rounds."""
    if values.dtype.kind == "O":
        changed = [_changes(value) for value in values.ravel()]
        return np.array(changed, dtype=bool).reshape(values.shape)
    found = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return found
    large = values > _EXACT_TO
    if values.dtype.kind == "i":
        large |= values < -_EXACT_TO
    if large.any():
        numbers = values[large]
        # float64 keeps the first 53 bits; the number is exact if those after them are 0.
        lost_bits = np.frexp(numbers.astype(np.float64))[1] - 53
        found[large] = numbers & ((1 << lost_bits.astype(numbers.dtype)) - 1).astype(numbers.dtype) != 0
    return found


def _changes(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or abs(int(value)) <= _EXACT_TO:
        return False
    try:
        return float(value) != int(value)
    except OverflowError:
        # Beyond the range of float64 altogether, which is an error of its own.
        return False


def column_is_rounded(column: Any, values: Array) -> bool:
    """Tell whether a table's column of whole numbers loses digits; ``values`` are those it was read as."""
    if values.dtype.kind != "f":
        return bool(rounded_by_float64(values).any())
    # Columns that allow for missing values are read as float64, so the question is for the column itself.
    kind = str(getattr(column, "dtype", None) or column.type).lower().partition("[")[0]
    if kind not in ("int64", "uint64"):
        return False
    drop = next(getattr(column, name) for name in ("dropna", "drop_nulls", "drop_null") if hasattr(column, name))
    return bool(rounded_by_float64(np.asarray(drop(), dtype=kind)).any())


def warn_of_rounding(columns: Sequence[Any]) -> None:
    """Warn of columns, by name or position, whose numbers are rounded."""
    if columns:
        names = [repr(column) if isinstance(column, str) else str(column) for column in columns]
        which = f"column {names[0]} has" if len(names) == 1 else f"columns {', '.join(names[:5])} have"
        more = f" (and {len(names) - 5} more)" if len(names) > 5 else ""
        warnings.warn(
            f"X: {which} whole numbers beyond 2**53, which float64 rounds{more}: numbers that differ may become equal. "
            "Leave identifiers out; subtract a constant from times and counts first.",
            UserWarning,
            stacklevel=caller_level(),
        )
