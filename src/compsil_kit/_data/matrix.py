"""What the user has (array, sparse matrix, table) as a checked numeric matrix of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._data.whole_numbers import column_is_rounded, rounded_by_float64, warn_of_rounding
from compsil_kit._util.format import few, quoted

Array = NDArray[Any]

_BLOCK_BYTES = 16 * 2**20
_DTYPE_KINDS = "biuf"
_COMPLEX = "X: Complex data not supported. Pass real numbers."


def as_matrix(X: Any, *, min_rows: int = 2) -> Any:
    """Return X as a finite float32 or float64 matrix, dense or CSR, or say what is wrong with it.

    float32 stays float32; every other numeric or boolean type becomes float64. The caller's X is never written to, and
    not copied unless its type must change.
    """
    return read(X, min_rows=min_rows)[1]


def read(X: Any, *, min_rows: int = 2) -> tuple[list[str] | None, Any]:
    """Return the column names of a table as text (None for anything else), and X as a checked matrix."""
    names, matrix = to_matrix(X)
    if matrix.shape[0] < min_rows:
        rows = "1 row" if min_rows == 1 else f"{min_rows} rows"
        raise ValueError(f"X must have at least {rows}; got {matrix.shape[0]} sample(s) (shape={matrix.shape}).")
    if matrix.shape[1] < 1:
        # The wording that scikit-learn's own checks look for.
        raise ValueError(
            f"X must have at least 1 column: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    _check_finite(matrix, names)
    return None if names is None else [str(name) for name in names], matrix


def to_matrix(X: Any) -> tuple[list[Any] | None, Any]:
    """Return the column names of a table (None for anything else), and X as a matrix not yet checked for NaN."""
    library = _table_library(X)
    if library and len(getattr(X, "shape", ())) == 2:
        names, columns = _table_columns(X, library)
        return names, _stack(columns, X.shape[0])
    if library and hasattr(X, "to_numpy"):
        fix = "X.to_frame()" if hasattr(X, "to_frame") else "a table with this column"
        raise ValueError(f"X must have two dimensions, rows and columns; got one column of {library}. Pass {fix}.")
    if sparse.issparse(X):
        return None, _from_sparse(X)
    return None, _from_array(X)


def _table_library(X: Any) -> str:
    """Return the library of a table or of one of its columns, "" for anything else; subclasses count."""
    homes = (base.__module__.partition(".")[0] for base in type(X).__mro__)
    return next((home for home in homes if home in ("pandas", "polars", "pyarrow")), "")


def _table_columns(X: Any, library: str) -> tuple[list[Any], list[Array]]:
    """Return names and values of a table's columns; columns that are not numeric are an error that names them."""
    numeric: Callable[[Any], bool]
    to_array: Callable[[Any], Array]
    if library == "pandas":
        names = list(X.columns)
        columns = [X.iloc[:, position] for position in range(X.shape[1])]
        types = [column.dtype for column in columns]
        numeric, to_array = is_numeric_dtype, pandas_values
    elif library == "polars":
        names, columns = list(X.columns), list(X.get_columns())
        types = [column.dtype for column in columns]
        numeric, to_array = polars_numeric, polars_values
    else:
        names, columns = list(X.schema.names), list(X.columns)
        types = [column.type for column in columns]
        numeric, to_array = arrow_numeric, arrow_values
    wrong = [f"{quoted(name)} ({kind})" for name, kind in zip(names, types, strict=True) if not numeric(kind)]
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {few(wrong)}. "
            "Leave them out by passing only the numeric columns, or encode them as numbers first."
        )
    arrays = [to_array(column) for column in columns]
    rounded = map(column_is_rounded, columns, arrays)
    warn_of_rounding([name for name, lossy in zip(names, rounded, strict=True) if lossy])
    return names, arrays


def is_numeric_dtype(dtype: Any) -> bool:
    """Tell whether a pandas dtype holds real numbers or booleans."""
    from pandas.api import types

    # pandas counts NumPy's and its own booleans as numeric, but not Arrow's.
    numeric = types.is_numeric_dtype(dtype) or str(dtype) == "bool[pyarrow]"
    return bool(numeric and not types.is_complex_dtype(dtype))


def polars_numeric(dtype: Any) -> bool:
    """Tell whether a Polars type holds real numbers or booleans."""
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"


def arrow_numeric(kind: Any) -> bool:
    """Tell whether an Arrow type holds real numbers or booleans."""
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def pandas_values(column: Any) -> Array:
    """Return the values of a pandas column, with NaN for what is missing."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    # Nullable, Arrow-backed and sparse columns: missing becomes NaN, which is reported with its place.
    small = str(column.dtype).lower().startswith(("float32", "float[", "sparse[float32"))
    dense = column.sparse.to_dense() if str(column.dtype).startswith("Sparse") else column
    if dense.dtype.kind in "iu" and not dense.hasnans:
        # As they are: whether float64 can hold them is asked later.
        return np.asarray(dense.to_numpy(dtype=np.dtype(f"{dense.dtype.kind}{dense.dtype.itemsize}")))
    values = dense.to_numpy(dtype=np.float32 if small else np.float64, na_value=np.nan)
    return np.asarray(values)


def polars_values(column: Any) -> Array:
    """Return the values of a Polars column, with NaN for what is missing."""
    if str(column.dtype).startswith(("Decimal", "Int128", "UInt128")):
        column = column.cast(float)
    values: Array = column.to_numpy()
    # Booleans with holes come as objects, from Arrow too.
    return values.astype(np.float64) if values.dtype == object else values


def arrow_values(column: Any) -> Array:
    """Return the values of an Arrow column, with NaN for what is missing."""
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    values: Array = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float64) if values.dtype == object else values


def _stack(columns: list[Array], n_rows: int) -> Array:
    if not columns:
        return np.empty((n_rows, 0))
    target = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    matrix = np.empty((n_rows, len(columns)), dtype=target)
    for position, column in enumerate(columns):
        matrix[:, position] = column
    return matrix


def _from_sparse(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; got a sparse array of shape {X.shape}.")
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if X.dtype.kind not in _DTYPE_KINDS:
        raise TypeError(f"X must be numeric or boolean; got a sparse matrix of type {X.dtype}.")
    matrix = _with_small_indices(X.tocsr())
    if matrix.dtype in (np.float32, np.float64):
        return matrix
    warn_of_rounding(np.unique(matrix.indices[rounded_by_float64(matrix.data)]).tolist())
    return matrix.astype(np.float64)


def _with_small_indices(matrix: Any) -> Any:
    """Return the matrix with 32-bit indices where they suffice: most clusterers take no others."""
    if matrix.indices.dtype == np.int32 or max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    indices, edges = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return type(matrix)((matrix.data, indices, edges), shape=matrix.shape)


def _from_array(X: Any) -> Array:
    try:
        if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
            X = np.ma.array(list(X))
        array = _unmasked(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be rectangular: its rows have different lengths.") from error
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; {_what_was_given(X, array)}")
    rounded = rounded_by_float64(array).any(axis=0) if array.dtype.kind in "iuO" else np.zeros(0, dtype=bool)
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if array.dtype.kind not in _DTYPE_KINDS:
        raise ValueError(
            f"X must be numeric or boolean; got an array of type {array.dtype}. Encode it as numbers first."
        )
    warn_of_rounding(np.flatnonzero(rounded).tolist())
    return array if array.dtype in (np.float32, np.float64) else _as_float64(array)


def _unmasked(X: Any) -> Array:
    """Return the array without its mask; masked cells are missing: they become NaN, reported with its place."""
    if np.ma.is_masked(X) and X.dtype.kind == "O":
        return np.asarray(X.filled(np.nan))
    if not np.ma.is_masked(X) or X.dtype.kind not in _DTYPE_KINDS:
        return np.asarray(X)
    return np.asarray(X.astype(np.result_type(X.dtype, np.float32)).filled(np.nan))


def _as_float64(array: Array) -> Array:
    # A long double beyond the range of a double becomes infinity, which is reported with its place.
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _what_was_given(X: Any, array: Array) -> str:
    if array.ndim == 0:
        return f"got a value of type {type(X).__name__}. Pass an array or a table."
    hint = " Reshape your data with X.reshape(-1, 1) if it has one feature." if array.ndim == 1 and array.size else ""
    return f"got shape {array.shape}.{hint}"


def _from_objects(array: Array) -> Array:
    for row, column in np.ndindex(array.shape):
        value = array[row, column]
        if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
            raise TypeError(
                f"X: row {row}, column {column} holds a value of type {type(value).__name__}; an argument must be "
                "numeric (a string is not a number). Encode it as a number first."
            )
        if isinstance(value, complex | np.complexfloating):
            raise ValueError(_COMPLEX)
    # Whole numbers too large for NumPy stay objects here; as float64 they are numbers like any other.
    numbers = np.array(array.tolist())
    try:
        return numbers if numbers.dtype.kind != "O" else numbers.astype(np.float64)
    except OverflowError as error:
        raise ValueError(
            "X must be finite; it has a whole number beyond the range of float64. Scale it first."
        ) from error


def _check_finite(matrix: Any, names: list[Any] | None) -> None:
    """Find NaN and infinity before anything is computed, by blocks, and say where the first one is."""
    if sparse.issparse(matrix):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if bad.size:
            where = matrix.tocoo()
            raise_not_finite(matrix.data[bad[0]], int(where.row[bad[0]]), int(where.col[bad[0]]), bad.size, names)
        return
    step = max(1, _BLOCK_BYTES // (matrix.itemsize * matrix.shape[1]))
    for low in range(0, len(matrix), step):
        finite = np.isfinite(matrix[low : low + step])
        if not finite.all():
            row, column = (int(i) for i in np.argwhere(~finite)[0])
            count = sum(
                int((~np.isfinite(matrix[start : start + step])).sum()) for start in range(low, len(matrix), step)
            )
            raise_not_finite(matrix[low + row, column], low + row, column, count, names)


_FILL = "Drop or fill such rows first, for example with df.dropna() or sklearn.impute.SimpleImputer."


def raise_not_finite(
    value: float, row: int, column: int, count: int, names: list[Any] | None, advice: str = _FILL
) -> None:
    """Say where the first cell is that is not finite, and how many there are."""
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    place = f"column {column}" if names is None else f"column {quoted(names[column])}"
    more = "" if count == 1 else f", and {count - 1} more cell(s) that are not finite"
    raise ValueError(f"X must be finite; it has {kind} at row {row}, {place}{more}. {advice}")
