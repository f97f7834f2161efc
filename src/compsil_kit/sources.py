"""What the user has (array, sparse matrix, table) as a checked numeric matrix of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

_BLOCK_BYTES = 16 * 2**20
_DTYPE_KINDS = "biuf"


def as_matrix(X: Any) -> Any:
    """Return X as a finite float32 or float64 matrix, dense or CSR, or say what is wrong with it.

    float32 stays float32; every other numeric or boolean type becomes float64. The caller's X is never written to, and
    not copied unless its type must change.
    """
    _, matrix = read(X)
    return matrix


def read(X: Any) -> tuple[list[str] | None, Any]:
    """Return the column names of a table (None for anything else), and X as a checked matrix."""
    names, matrix = _to_matrix(X)
    if matrix.shape[0] < 2:
        raise ValueError(f"X must have at least 2 rows; got {matrix.shape[0]} sample(s) (shape={matrix.shape}).")
    if matrix.shape[1] < 1:
        # The wording that scikit-learn's own checks look for.
        raise ValueError(
            f"X must have at least 1 column: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    _check_finite(matrix, names)
    return names, matrix


def _to_matrix(X: Any) -> tuple[list[str] | None, Any]:
    library = type(X).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and hasattr(X, "columns"):
        names, columns = _table_columns(X, library)
        return names, _stack(columns, len(X) if library != "pyarrow" else X.num_rows)
    if library in ("pandas", "polars", "pyarrow") and hasattr(X, "to_numpy"):
        raise ValueError(
            f"X must have two dimensions, rows and columns; got one column of {library}. Pass X.to_frame()."
        )
    if sparse.issparse(X):
        return None, _from_sparse(X)
    return None, _from_array(X)


def _table_columns(X: Any, library: str) -> tuple[list[str], list[Array]]:
    """Return names and values of a table's columns; columns that are not numeric are an error that names them."""
    if library == "pandas":
        names = [str(name) for name in X.columns]
        columns = [X.iloc[:, position] for position in range(X.shape[1])]
        types = [str(column.dtype) for column in columns]
        numeric = [_pandas_numeric(column.dtype) for column in columns]
        to_array = _pandas_values
    elif library == "polars":
        names, columns = list(X.columns), list(X.get_columns())
        types = [str(column.dtype) for column in columns]
        numeric = [column.dtype.is_numeric() or types[i] == "Boolean" for i, column in enumerate(columns)]
        to_array = _polars_values
    else:
        names, columns = list(X.column_names), list(X.columns)
        types = [str(column.type) for column in columns]
        numeric = [
            word.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal")) for word in types
        ]
        to_array = _arrow_values
    wrong = [f"{name!r} ({word})" for name, word, ok in zip(names, types, numeric, strict=True) if not ok]
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {', '.join(wrong)}. "
            "Leave them out by passing only the numeric columns, or encode them as numbers first."
        )
    return names, [to_array(column) for column in columns]


def _pandas_numeric(dtype: Any) -> bool:
    from pandas.api import types

    return bool(types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype))


def _pandas_values(column: Any) -> Array:
    if isinstance(column.dtype, np.dtype):
        values: Array = column.to_numpy()
        return values
    # Nullable, Arrow-backed and sparse columns: missing becomes NaN, which is reported with its place.
    small = str(column.dtype).lower().startswith(("float32", "float[", "sparse[float32"))
    dense = column.sparse.to_dense() if str(column.dtype).startswith("Sparse") else column
    values = dense.to_numpy(dtype=np.float32 if small else np.float64, na_value=np.nan)
    return values


def _polars_values(column: Any) -> Array:
    if str(column.dtype).startswith("Decimal"):
        column = column.cast(float)
    values: Array = column.to_numpy()
    return values


def _arrow_values(column: Any) -> Array:
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    values: Array = column.to_numpy()
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
    if X.dtype.kind == "c":
        raise ValueError("X: Complex data not supported. Pass real numbers.")
    if X.dtype.kind not in _DTYPE_KINDS:
        raise TypeError(f"X must be numeric or boolean; got a sparse matrix of type {X.dtype}.")
    matrix = X.tocsr()
    return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)


def _from_array(X: Any) -> Array:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be rectangular: its rows have different lengths.") from error
    if array.ndim != 2:
        hint = " Reshape your data with X.reshape(-1, 1) if it has one feature." if array.ndim == 1 else ""
        raise ValueError(f"X must have two dimensions, rows and columns; got shape {array.shape}.{hint}")
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind == "c":
        raise ValueError("X: Complex data not supported. Pass real numbers.")
    if array.dtype.kind not in _DTYPE_KINDS:
        raise ValueError(
            f"X must be numeric or boolean; got an array of type {array.dtype}. Encode it as numbers first."
        )
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _from_objects(array: Array) -> Array:
    for row, column in np.ndindex(array.shape):
        value = array[row, column]
        if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
            raise TypeError(
                f"X: row {row}, column {column} is of type {type(value).__name__}; "
                "an argument must be no string or object, but a number. Encode it first."
            )
    return np.array(array.tolist())


def _check_finite(matrix: Any, names: list[str] | None) -> None:
    """Find NaN and infinity before anything is computed, by blocks, and say where the first one is."""
    if sparse.issparse(matrix):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if bad.size:
            where = matrix.tocoo()
            _raise_not_finite(matrix.data[bad[0]], int(where.row[bad[0]]), int(where.col[bad[0]]), bad.size, names)
        return
    step = max(1, _BLOCK_BYTES // (matrix.itemsize * matrix.shape[1]))
    for low in range(0, len(matrix), step):
        finite = np.isfinite(matrix[low : low + step])
        if not finite.all():
            row, column = (int(i) for i in np.argwhere(~finite)[0])
            count = sum(
                int((~np.isfinite(matrix[start : start + step])).sum()) for start in range(low, len(matrix), step)
            )
            _raise_not_finite(matrix[low + row, column], low + row, column, count, names)


def _raise_not_finite(value: float, row: int, column: int, count: int, names: list[str] | None) -> None:
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    place = f"column {column}" if names is None else f"column {names[column]!r}"
    more = "" if count == 1 else f", and {count - 1} more cell(s) that are not finite"
    raise ValueError(
        f"X must be finite; it has {kind} at row {row}, {place}{more}. Drop or fill such rows first, "
        "for example with df.dropna() or sklearn.impute.SimpleImputer."
    )


def check_enough_distinct(matrix: Any, k_max: int) -> None:
    """Refuse data with fewer distinct rows than clusters asked for; it stops looking as soon as there are enough."""
    n_rows = matrix.shape[0]
    size = min(n_rows, max(1000, 20 * k_max))
    while True:
        n_distinct = _count_distinct(matrix[:size])
        if n_distinct >= k_max or size == n_rows:
            break
        size = min(n_rows, size * 8)
    if n_distinct == 1:
        raise ValueError("X is constant: every row is the same, so there is nothing to cluster.")
    if n_distinct < k_max:
        raise ValueError(
            f"ks asks for up to {k_max} clusters, but X has only {n_distinct} distinct rows. "
            f"Pass ks of at most {n_distinct}."
        )


def _count_distinct(rows: Any) -> int:
    if sparse.issparse(rows):
        tidy = rows.copy()
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        edges = tidy.indptr
        return len(
            {
                (tidy.indices[a:b].tobytes(), tidy.data[a:b].tobytes())
                for a, b in zip(edges[:-1], edges[1:], strict=True)
            }
        )
    # + 0.0 turns -0.0 into 0.0, which has other bytes; equal rows then have equal bytes.
    return len({row.tobytes() for row in np.ascontiguousarray(rows) + 0.0})
