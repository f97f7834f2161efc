"""Convert arrays, sparse matrices and tables in memory to a finite numeric matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._data.columns import column_is_rounded, rounded_by_float64, warn_about_rounding
from compsil_kit._util.format import few, quoted

Array = NDArray[Any]

DIGEST_BYTES = 16
_BLOCK_BYTES = 16 * 2**20
_DTYPE_KINDS = "biuf"
_COMPLEX = "X: Complex data not supported. Pass real numbers."
_FILL = "Drop or fill such rows first, for example with df.dropna() or sklearn.impute.SimpleImputer."


def validate_matrix(X: Any, *, min_rows: int = 2) -> tuple[list[str] | None, Any]:
    """Return the column names of a table as strings (None for other data), and X as a finite dense or CSR matrix.

    float32 is kept; every other numeric or boolean type becomes float64. X is never modified, and is copied only if
    its dtype must change.
    """
    names, matrix = to_matrix(X)
    if matrix.shape[0] < min_rows:
        rows = "1 row" if min_rows == 1 else f"{min_rows} rows"
        raise ValueError(f"X must have at least {rows}; got {matrix.shape[0]} sample(s) (shape={matrix.shape}).")
    if matrix.shape[1] < 1:
        # scikit-learn's estimator checks expect this wording.
        raise ValueError(
            f"X must have at least 1 column: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    _check_finite(matrix, names)
    return None if names is None else [str(name) for name in names], matrix


def to_matrix(X: Any) -> tuple[list[Any] | None, Any]:
    """Return the column names of a table (None for other data), and X as a matrix that may contain NaN."""
    homes = (base.__module__.partition(".")[0] for base in type(X).__mro__)
    library = next((home for home in homes if home in _LIBRARIES), "")
    if library and len(getattr(X, "shape", ())) == 2:
        return _from_table(X, library)
    if library and hasattr(X, "to_numpy"):
        fix = "X.to_frame()" if hasattr(X, "to_frame") else "a table with this column"
        raise ValueError(
            f"X must have two dimensions, rows and columns; got a single column from {library}. Pass {fix}."
        )
    return None, _from_sparse(X) if sparse.issparse(X) else _from_array(X)


def _from_table(X: Any, library: str) -> tuple[list[Any], Array]:
    get_columns, is_numeric, to_array = _LIBRARIES[library]
    columns = get_columns(X)
    names = list(X.schema.names if library == "pyarrow" else X.columns)
    types = [column.type if library == "pyarrow" else column.dtype for column in columns]
    wrong = [(name, kind) for name, kind in zip(names, types, strict=True) if not is_numeric(kind)]
    reject_not_numeric(wrong, "by passing only the numeric columns")
    arrays = [to_array(column) for column in columns]
    rounded = map(column_is_rounded, columns, arrays)
    warn_about_rounding([name for name, is_rounded in zip(names, rounded, strict=True) if is_rounded])
    single = bool(arrays) and all(array.dtype == np.float32 for array in arrays)
    matrix = np.empty((X.shape[0], len(arrays)), dtype=np.float32 if single else np.float64)
    for at, array in enumerate(arrays):
        matrix[:, at] = array
    return names, matrix


def reject_not_numeric(wrong: Sequence[tuple[Any, Any]], how: str) -> None:
    """Raise if there are any non-numeric columns, given by name and type."""
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {few([f'{quoted(name)} ({kind})' for name, kind in wrong])}. "
            f"Leave them out {how}, or encode them as numbers first."
        )


def is_numeric_dtype(dtype: Any) -> bool:
    """Return whether a pandas dtype represents real numbers or booleans."""
    from pandas.api import types

    # pandas does not treat Arrow booleans as numeric.
    numeric = types.is_numeric_dtype(dtype) or str(dtype) == "bool[pyarrow]"
    return bool(numeric and not types.is_complex_dtype(dtype))


def polars_numeric(dtype: Any) -> bool:
    """Return whether a Polars type represents real numbers or booleans."""
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"


def arrow_numeric(kind: Any) -> bool:
    """Return whether an Arrow type represents real numbers or booleans."""
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def pandas_values(column: Any) -> Array:
    """Return the values of a pandas column, with NaN for missing values."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    # The column is nullable, Arrow-backed or sparse.
    single = str(column.dtype).lower().startswith(("float32", "float[", "sparse[float32"))
    dense = column.sparse.to_dense() if str(column.dtype).startswith("Sparse") else column
    if dense.dtype.kind in "iu" and not dense.hasnans:
        # Keep integers, so that values rounded by float64 can be found.
        return np.asarray(dense.to_numpy(dtype=np.dtype(f"{dense.dtype.kind}{dense.dtype.itemsize}")))
    return np.asarray(dense.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan))


def polars_values(column: Any) -> Array:
    """Return the values of a Polars column, with NaN for missing values."""
    if str(column.dtype).startswith(("Decimal", "Int128", "UInt128")):
        column = column.cast(float)
    return _without_objects(column.to_numpy())


def arrow_values(column: Any) -> Array:
    """Return the values of an Arrow column, with NaN for missing values."""
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    return _without_objects(column.to_numpy(zero_copy_only=False))


def _without_objects(values: Array) -> Array:
    # Boolean columns with missing values have dtype object.
    return values.astype(np.float64) if values.dtype == object else values


# For each library: functions that return the columns of a table, check their types and convert them to arrays.
_LIBRARIES: dict[str, tuple[Callable[[Any], list[Any]], Callable[[Any], bool], Callable[[Any], Array]]] = {
    "pandas": (lambda X: [X.iloc[:, at] for at in range(X.shape[1])], is_numeric_dtype, pandas_values),
    "polars": (lambda X: X.get_columns(), polars_numeric, polars_values),
    "pyarrow": (lambda X: X.columns, arrow_numeric, arrow_values),
}


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
    warn_about_rounding(np.unique(matrix.indices[rounded_by_float64(matrix.data)]).tolist())
    return matrix.astype(np.float64)


def _with_small_indices(matrix: Any) -> Any:
    """Return the matrix with 32-bit indices if possible, because most clusterers require them."""
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
        raise ValueError("X must be rectangular, but its rows have different lengths.") from error
    if array.ndim != 2:
        got = f"got shape {array.shape}." if array.ndim else f"got a value of type {type(X).__name__}."
        if array.ndim == 0:
            got += " Pass an array or a table."
        elif array.ndim == 1 and array.size:
            got += " Reshape your data with X.reshape(-1, 1) if it has only one feature."
        raise ValueError(f"X must have two dimensions, rows and columns; {got}")
    rounded = rounded_by_float64(array).any(axis=0) if array.dtype.kind in "iuO" else np.zeros(0, dtype=bool)
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if array.dtype.kind not in _DTYPE_KINDS:
        raise ValueError(
            f"X must be numeric or boolean; got an array of type {array.dtype}. Encode the values as numbers first."
        )
    warn_about_rounding(np.flatnonzero(rounded).tolist())
    # Long doubles outside the range of float64 become infinite, and are reported as infinite.
    with np.errstate(over="ignore"):
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _unmasked(X: Any) -> Array:
    """Return a masked array as a plain array, with NaN for masked cells."""
    if not np.ma.is_masked(X) or X.dtype.kind not in f"{_DTYPE_KINDS}O":
        return np.asarray(X)
    return np.asarray(X.astype(np.result_type(X.dtype, np.float32)).filled(np.nan))


def _from_objects(array: Array) -> Array:
    for row, column in np.ndindex(array.shape):
        value = array[row, column]
        if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
            raise TypeError(
                f"X: row {row}, column {column} contains a value of type {type(value).__name__}; an argument must "
                "be numeric (a string is not a number). Encode the value as a number first."
            )
        if isinstance(value, complex | np.complexfloating):
            raise ValueError(_COMPLEX)
    # Integers of more than 64 bits remain objects.
    numbers = np.array(array.tolist())
    try:
        return numbers if numbers.dtype.kind != "O" else numbers.astype(np.float64)
    except OverflowError as error:
        raise ValueError(
            "X must be finite, but it contains an integer outside the range of float64. Scale the data first."
        ) from error


def row_blocks(array: Any) -> Iterator[tuple[int, Any]]:
    """Yield blocks of about 16 MiB of consecutive rows, each with the number of its first row."""
    step = max(1, _BLOCK_BYTES * len(array) // max(1, array.nbytes))
    return ((low, array[low : low + step]) for low in range(0, len(array), step))


def _check_finite(matrix: Any, names: list[Any] | None) -> None:
    """Raise if any value is NaN or infinite; dense matrices are checked in blocks to save memory."""
    if sparse.issparse(matrix):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if bad.size:
            where = matrix.tocoo()
            raise_not_finite(matrix.data[bad[0]], int(where.row[bad[0]]), int(where.col[bad[0]]), bad.size, names)
        return
    first, count = None, 0
    for low, block in row_blocks(matrix):
        places = np.argwhere(~np.isfinite(block))
        if len(places):
            first, count = first or (low + int(places[0, 0]), int(places[0, 1])), count + len(places)
    if first is not None:
        raise_not_finite(matrix[first], *first, count, names)


def raise_not_finite(
    value: float, row: int, column: int, count: int, names: list[Any] | None, advice: str = _FILL
) -> None:
    """Raise the error for non-finite values, with the position of the first value and the number of other values."""
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    place = f"column {column}" if names is None else f"column {quoted(names[column])}"
    more = "" if count == 1 else f", and {count - 1} more non-finite value(s)"
    raise ValueError(f"X must be finite, but it contains {kind} at row {row}, {place}{more}. {advice}")


def content_digest(X: Any) -> str:
    """Return a digest of a dense or sparse array, read in blocks so that a memory map is not loaded completely."""
    hasher = blake2b(f"{X.shape} {X.dtype}".encode(), digest_size=DIGEST_BYTES)
    for part in (X.indptr, X.indices, X.data) if sparse.issparse(X) else (np.atleast_1d(X),):
        for _, block in row_blocks(part):
            hasher.update(block.tobytes())
    return hasher.hexdigest()
