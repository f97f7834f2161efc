"""From a pandas frame with all kinds of columns to a numeric matrix: which columns, which rows, on which scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import Preparation, PreparedTable
from compsil_kit._data.matrix import is_numeric_dtype, to_matrix
from compsil_kit._data.odd_columns import odd_columns
from compsil_kit._data.scaling import check_scale, scaled
from compsil_kit._data.sources.opening import open_source
from compsil_kit._data.sources.table import SourceTable, empty_frame
from compsil_kit._util.checks import check_choice, describe
from compsil_kit._util.format import did_you_mean, few, listed, quoted, shorten

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]

MISSING = ("raise", "drop")


@overload
def prepare(
    frame: pd.DataFrame, *, columns: Any = None, scale: str | None = "standard", missing: str = "raise"
) -> PreparedTable: ...
@overload
def prepare(
    frame: Any, *, columns: Any = None, scale: str | None = "standard", missing: str = "raise"
) -> PreparedTable | SourceTable: ...
def prepare(
    frame: Any, *, columns: Any = None, scale: str | None = "standard", missing: str = "raise"
) -> PreparedTable | SourceTable:
    """Make a table ready for clustering: choose the columns, treat missing values, and scale.

    Parameters
    ----------
    frame : DataFrame, array or table outside memory
        The table, of pandas, Polars or pyarrow, or an array; or, outside memory, the path, glob or address of Parquet
        files, a ``pyarrow`` dataset, a Polars LazyFrame, a DuckDB relation, an array of Zarr or h5py, Dask, Spark.
    columns : list of names, optional
        Columns to use. All numeric and boolean ones if None.
    scale : {"standard", "robust", "minmax"} or None, default="standard"
        How to scale the columns.
    missing : {"raise", "drop"}, default="raise"
        Rows with missing values: refuse them, or leave them out.

    Returns
    -------
    PreparedTable
        For a large table outside memory a ``SourceTable``, which is read only when it is used. Either is what
        :func:`select_k`, :func:`compare` and the like take as X; results remember what was done to the table.
    """
    missing, scale = check_missing(missing), check_scale(scale)
    source = open_source(frame)
    if source is None:
        return prepare_frame(frame, columns, scale, missing)
    positions, left_out = choose_columns(empty_frame(source), columns)
    table = SourceTable(source, tuple(positions), left_out, scale, prepared=True)
    # Which rows have holes, and where the middle of a column is, takes all rows at once.
    if table.is_large and missing == "raise" and scale != "robust":
        return table
    return prepare_frame(table.frame(), None, scale, missing, left_out)


def prepare_frame(
    frame: pd.DataFrame, columns: Any, scale: str | None, missing: str, left_out: tuple[str, ...] = ()
) -> PreparedTable:
    """Make a pandas frame ready for clustering, as :func:`prepare` says; ``left_out`` has been left out before."""
    frame = _as_pandas(frame)
    positions, others = choose_columns(frame, columns)
    left_out = (*left_out, *others)
    chosen = frame.iloc[:, positions]
    _, matrix = to_matrix(chosen)
    if not len(matrix):
        raise ValueError("the data has no rows.")
    kept = _complete_rows(chosen, matrix, missing)
    matrix = matrix if kept.all() else matrix[kept]
    _check_finite(chosen, matrix)
    names = tuple(_name(chosen, at) for at in range(len(positions)))
    notes = odd_columns(names, matrix)
    if scale is not None:
        matrix = scaled(names, matrix, scale)
    done = Preparation(names, left_out, scale, int((~kept).sum()), tuple(notes))
    return PreparedTable(matrix, done, kept, chosen)


def _as_pandas(frame: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(frame, np.ndarray) and frame.ndim == 2:
        return pd.DataFrame(frame)
    found = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(found, pd.DataFrame):
        raise TypeError(
            "frame must be a table (pandas, Polars, pyarrow), a two-dimensional array, or a table outside memory; got "
            f"{describe(frame)}."
        )
    return found


def check_missing(missing: Any) -> str:
    """Return what to do with rows that have missing values."""
    return check_choice("missing", missing, MISSING)


def _name(frame: pd.DataFrame, at: int) -> str:
    """Return a column's name as text; the levels of a MultiIndex are joined."""
    name = frame.columns[at]
    return ", ".join(str(level) for level in name) if isinstance(name, tuple) else str(name)


def choose_columns(frame: pd.DataFrame, columns: Any) -> tuple[list[int], tuple[str, ...]]:
    """Return the positions of the columns to use and the names of those left out as not numeric, or say what is wrong.

    Positions, not names: names may occur twice.
    """
    numeric = [is_numeric_dtype(dtype) for dtype in frame.dtypes]
    if columns is None:
        chosen = [at for at, ok in enumerate(numeric) if ok]
        left_out = tuple(_name(frame, at) for at, ok in enumerate(numeric) if not ok)
        if not chosen:
            raise ValueError("the data has no numeric column. Encode columns as numbers first.")
        return chosen, left_out
    chosen = [at for name in _as_names(columns, frame) for at in _find(frame, name)]
    wrong = [_name(frame, at) for at in chosen if not numeric[at]]
    if wrong:
        raise ValueError(
            f"columns: {listed(wrong, 'is', 'are')} not numeric. Pass numeric columns, or encode categories first, "
            "for example with pandas.get_dummies."
        )
    if not chosen:
        raise ValueError("columns must name at least one column; it is empty.")
    return list(dict.fromkeys(chosen)), ()


def _as_names(columns: Any, frame: pd.DataFrame) -> list[Any]:
    if isinstance(columns, str) or (isinstance(columns, Hashable) and columns in frame.columns):
        return [columns]
    if hasattr(columns, "tolist"):
        names = columns.tolist()
        return names if isinstance(names, list) else [names]
    if isinstance(columns, Sequence):
        return list(columns)
    raise TypeError(f"columns must be a column's name or a list of names; got {describe(columns)}.")


def _find(frame: pd.DataFrame, name: Any) -> list[int]:
    """Return where a column stands: several places for a repeated name or the upper level of a MultiIndex."""
    if not isinstance(name, Hashable):
        raise TypeError(f"columns must be a column's name or a list of names; got {describe(name)} in the list.")
    try:
        place = frame.columns.get_loc(name)
    except (KeyError, TypeError) as error:
        known = [_name(frame, at) for at in range(frame.shape[1])]
        if isinstance(name, str) and name in known:
            # Where columns are written as text, 2020 also stands for the number.
            return [at for at, text in enumerate(known) if text == name]
        hint = did_you_mean([str(name)], known)
        raise ValueError(
            f"columns: {quoted(name)} is not a column of the data, which has {shorten(tuple(known))}.{hint}"
        ) from error
    return np.atleast_1d(np.arange(frame.shape[1])[place]).tolist()  # type: ignore[no-any-return]


def _complete_rows(frame: pd.DataFrame, matrix: Array, missing: str) -> NDArray[np.bool_]:
    holes = np.isnan(matrix)
    kept: NDArray[np.bool_] = np.logical_not(holes.any(axis=1))
    if kept.all():
        return kept
    if missing == "raise":
        counts = {_name(frame, at): int(n) for at, n in enumerate(holes.sum(axis=0)) if n}
        where = few([f"{quoted(name)} ({n})" for name, n in counts.items()])
        raise ValueError(
            f"missing values in {where}. Drop these rows with missing='drop' (--missing drop), or fill them first."
        )
    if not kept.any():
        raise ValueError(
            "no rows are left after dropping those with missing values. Exclude the columns that have most of them."
        )
    return kept


def _check_finite(frame: pd.DataFrame, matrix: Array) -> None:
    infinite = np.isinf(matrix).sum(axis=0)
    where = few([f"{quoted(_name(frame, at))} ({int(n)})" for at, n in enumerate(infinite) if n])
    if where:
        raise ValueError(f"infinite values in {where}. Replace them first.")
