"""Open data in any supported form, and prepare tables: choose columns, handle missing values and scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, get_args, overload

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.columns import WHOLE_ROWS, check_scale, column_notes, scale_matrix
from compsil_kit._data.dataset import Dataset, Preparation, PreparedTable
from compsil_kit._data.matrix import is_numeric_dtype, reject_not_numeric, to_matrix, validate_matrix
from compsil_kit._data.sources import open_source
from compsil_kit._data.sources.source import Source
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._types import Missing, Scale
from compsil_kit._util.checks import check_choice, describe
from compsil_kit._util.format import did_you_mean, few, listed, quoted, shorten

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
Columns = Sequence[Hashable] | Hashable | None


def open_data(X: Any, *, min_rows: int = 2) -> Dataset | SourceTable:
    """Return X, in any form accepted by ``select_k``, as a validated matrix; only open large out-of-core tables."""
    if isinstance(X, SourceTable):
        return X
    if isinstance(X, Dataset):
        validate_matrix(X.matrix, min_rows=min_rows)
        return X
    source = open_source(X)
    if source is not None:
        table = _all_columns(source)
        return table if source.n_rows > WHOLE_ROWS else table.load()
    names, matrix = validate_matrix(X, min_rows=min_rows)
    return Dataset(matrix, None if names is None else Preparation(tuple(names)), prepared=False)


def _all_columns(source: Source) -> SourceTable:
    """Return a table with all columns of a source, unscaled; raise if any column is not numeric."""
    if not source.fields:
        raise ValueError("X must have at least 1 column, but it has none.")
    wrong = [(field.name, field.kind) for field in source.fields if not field.numeric]
    reject_not_numeric(wrong, "with prepare(X, columns=[...])")
    return SourceTable(source, tuple(range(len(source.fields))))


def load_data(X: Any, *, min_rows: int = 2) -> Dataset:
    """Return X, in any form accepted by ``select_k``, as a validated matrix in memory; load out-of-core tables."""
    table = open_data(X, min_rows=min_rows)
    return table.load() if isinstance(table, SourceTable) else table


def with_names(X: Any, table: Dataset) -> Any:
    """Return X in a form from which scikit-learn can infer the number and names of the columns."""
    if hasattr(X, "iloc"):
        return X
    if table.preparation is None:
        return table.matrix
    import pandas as pd

    return pd.DataFrame(table.matrix, columns=list(table.preparation.columns), copy=False)


@overload
def prepare(
    frame: pd.DataFrame, *, columns: Columns = None, scale: Scale | None = "standard", missing: Missing = "raise"
) -> PreparedTable: ...
@overload
def prepare(
    frame: Any, *, columns: Columns = None, scale: Scale | None = "standard", missing: Missing = "raise"
) -> PreparedTable | SourceTable: ...
def prepare(
    frame: Any, *, columns: Columns = None, scale: Scale | None = "standard", missing: Missing = "raise"
) -> PreparedTable | SourceTable:
    """Prepare a table for clustering: choose columns, handle missing values and scale.

    Parameters
    ----------
    frame : DataFrame, array or out-of-core table
        A pandas, Polars or PyArrow table, or a two-dimensional array; or, out of core, the path, glob pattern or URL of
        Parquet files, a PyArrow dataset, a Polars LazyFrame, a DuckDB relation, a Dask or Spark DataFrame, or a Dask,
        Zarr or h5py array.
    columns : name or list of names, optional
        Columns to use. By default, all numeric and boolean columns.
    scale : {"standard", "robust", "minmax"} or None, default="standard"
        How to scale the columns.
    missing : {"raise", "drop"}, default="raise"
        Whether to raise an error for rows with missing values or drop them.

    Returns
    -------
    PreparedTable or SourceTable
        A table to pass as X to :func:`select_k`, :func:`compare` and similar functions; their results record how it
        was prepared. For a large out-of-core table, this is a ``SourceTable``, which is read only when it is used.
    """
    check_choice("missing", missing, get_args(Missing))
    scale = check_scale(scale)
    source = open_source(frame)
    if source is None:
        return prepare_frame(frame, columns, scale, missing)
    positions, left_out = choose_columns(_empty_frame(source), columns)
    table = SourceTable(source, tuple(positions), left_out, scale, prepared=True)
    # Medians and rows with missing values are unknown until the whole table has been read.
    if source.n_rows > WHOLE_ROWS and missing == "raise" and scale != "robust":
        return table
    return prepare_frame(table.frame(), None, scale, missing, left_out)


def prepare_frame(
    frame: Any, columns: Columns, scale: Scale | None, missing: Missing, left_out: tuple[str, ...] = ()
) -> PreparedTable:
    """Prepare a table in memory; ``left_out`` are columns that have already been left out."""
    frame = _as_pandas(frame)
    positions, others = choose_columns(frame, columns)
    raw = frame.iloc[:, positions]
    _, matrix = to_matrix(raw)
    if not len(matrix):
        raise ValueError("the data have no rows.")
    names = _column_names(raw)
    kept = _complete_rows(names, matrix, missing)
    matrix = matrix if kept.all() else matrix[kept]
    infinite = _counts(names, np.isinf(matrix))
    if infinite:
        raise ValueError(f"infinite values in {infinite}. Replace them first.")
    notes = column_notes(names, matrix)
    if scale is not None:
        matrix = scale_matrix(names, matrix, scale)
    preparation = Preparation(names, (*left_out, *others), scale, int((~kept).sum()), notes)
    return PreparedTable(matrix, preparation, kept, raw)


def choose_columns(frame: pd.DataFrame, columns: Columns) -> tuple[list[int], tuple[str, ...]]:
    """Return the positions of the columns to use, and the names of the columns left out because they are not numeric.

    Columns are identified by position, because names may be duplicated.
    """
    numeric, known = [is_numeric_dtype(dtype) for dtype in frame.dtypes], _column_names(frame)
    if columns is None:
        chosen = [at for at, ok in enumerate(numeric) if ok]
        if not chosen:
            raise ValueError("the data have no numeric columns. Encode columns as numbers first.")
        return chosen, tuple(name for name, ok in zip(known, numeric, strict=True) if not ok)
    chosen = [at for name in _as_names(columns, frame) for at in _find(frame, name)]
    wrong = [known[at] for at in chosen if not numeric[at]]
    if wrong:
        raise ValueError(
            f"columns: {listed(wrong, 'is', 'are')} not numeric. Pass numeric columns, or encode categories first, "
            "for example with pandas.get_dummies."
        )
    if not chosen:
        raise ValueError("columns must name at least one column, but it is empty.")
    return list(dict.fromkeys(chosen)), ()


def _as_pandas(frame: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(frame, np.ndarray) and frame.ndim == 2:
        return pd.DataFrame(frame)
    found = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(found, pd.DataFrame):
        raise TypeError(
            "frame must be a table (pandas, Polars, PyArrow), a two-dimensional array, or an out-of-core table; got "
            f"{describe(frame)}."
        )
    return found


def _empty_frame(source: Source) -> pd.DataFrame:
    """Return a frame with the columns of a source but no rows, from which columns can be chosen."""
    import pandas as pd

    dtypes = [float if field.numeric else object for field in source.fields]
    frame = pd.DataFrame({at: np.empty(0, dtype=dtype) for at, dtype in enumerate(dtypes)})
    frame.columns = pd.Index([field.name for field in source.fields])
    return frame


def _column_names(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the column names as strings; the levels of a MultiIndex are joined."""
    return tuple(", ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns)


def _as_names(columns: Any, frame: pd.DataFrame) -> list[Any]:
    if isinstance(columns, str) or (isinstance(columns, Hashable) and columns in frame.columns):
        return [columns]
    if hasattr(columns, "tolist"):
        names = columns.tolist()
        return names if isinstance(names, list) else [names]
    if isinstance(columns, Sequence):
        return list(columns)
    raise TypeError(f"columns must be a column name or a list of names; got {describe(columns)}.")


def _find(frame: pd.DataFrame, name: Any) -> list[int]:
    """Return the positions of all columns with this name; a name may be the upper level of a MultiIndex."""
    if not isinstance(name, Hashable):
        raise TypeError(f"columns must be a column name or a list of names; got {describe(name)} in the list.")
    try:
        place = frame.columns.get_loc(name)
    except (KeyError, TypeError) as error:
        known = _column_names(frame)
        if isinstance(name, str) and name in known:
            # On the command line, 2020 is a string but the column name may be a number.
            return [at for at, text in enumerate(known) if text == name]
        hint = did_you_mean([str(name)], known)
        raise ValueError(
            f"columns: {quoted(name)} is not a column of the data. Available columns: {shorten(known)}.{hint}"
        ) from error
    return np.atleast_1d(np.arange(frame.shape[1])[place]).tolist()  # type: ignore[no-any-return]


def _complete_rows(names: Sequence[str], matrix: Array, missing: Missing) -> NDArray[np.bool_]:
    holes = np.isnan(matrix)
    kept: NDArray[np.bool_] = np.logical_not(holes.any(axis=1))
    if missing == "raise" and not kept.all():
        raise ValueError(
            f"missing values in {_counts(names, holes)}. Drop these rows with missing='drop' (--missing drop), or fill "
            "the missing values first."
        )
    if not kept.any():
        raise ValueError(
            "no rows are left after dropping rows with missing values. Exclude the columns with the most "
            "missing values."
        )
    return kept


def _counts(names: Sequence[str], cells: NDArray[np.bool_]) -> str:
    """Return a list of the columns with marked cells and the number of these cells, as a string."""
    return few([f"{quoted(name)} ({n})" for name, n in zip(names, cells.sum(axis=0), strict=True) if n])
