"""The data of a task, as a pandas frame or outside memory: from files, a query, or a function. Never a pickle."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import Context, ObjectStoragePath, context_merge, determine_kwargs
from compsil_airflow.errors import data_errors
from compsil_airflow.names import hide_values
from compsil_airflow.paths import check_place, check_scheme, fetched, file_system
from compsil_airflow.sql import hook_of, run_query

if TYPE_CHECKING:
    import pandas as pd

_HAS_HEADER = re.compile(r"\.[ct]sv(\.\w+)?$", re.IGNORECASE)
_WANTED = {"data": "a path or a URI", "sql": "a query"}


@dataclass(frozen=True)
class Source:
    """Where the data of a task come from: a path, a query, or a function."""

    data: Any = None
    sql: str | None = None
    parameters: Any = None
    conn_id: str | None = None
    function: Callable[[], Any] | None = None
    base_dir: Any = None
    # Which of data and sql the DAG passes, and the task whose XCom it is, if any.
    given: Mapping[str, str | None] = field(default_factory=dict)
    # Names of columns that the DAG mentions.
    known: Collection[str] = ()
    warn: Callable[[str], None] = print
    # The columns to cluster, if not all: of a file, only these are looked at for cells that are not numbers.
    columns: Collection[Any] | None = None

    def load(self) -> pd.DataFrame | Any:
        """Return the frame, or a table outside memory that is read when it is used.

        Mistakes fail without a retry, errors of files and networks may be retried.
        """
        with data_errors():
            self._check()
        if self.sql is not None:
            return self._query()
        found = self.data if self.function is None else self.function()
        if isinstance(found, str | os.PathLike | ObjectStoragePath):
            return self._read("data" if self.function is None else "the path that python_callable returned", found)
        with data_errors():
            from compsil_kit._data.sources.opening import open_source

            outside = open_source(found)
            return as_frame(found) if outside is None else outside

    def _check(self) -> None:
        values = {"data": self.data, "sql": self.sql, "python_callable": self.function}
        for name, task_id in self.given.items():
            if values[name] in (None, "None"):
                cause = "the template or the upstream task" if task_id is None else f"the upstream task {task_id!r}"
                raise ValueError(f"{name} is None: {cause} returned nothing. Return {_WANTED[name]} there.")
        named = [name for name, value in values.items() if value is not None]
        if len(named) != 1:
            raise ValueError(f"pass exactly one of data, sql and python_callable; got {' and '.join(named) or 'none'}.")
        if self.sql is not None and not self.conn_id:
            raise ValueError("sql requires conn_id, the connection on which to run the query.")
        if self.function is None and self.sql is None:
            check_place("data", self.data, self.base_dir)

    def _read(self, name: str, found: Any) -> pd.DataFrame | Any:
        with data_errors():
            place = check_place(name, found, self.base_dir)
            if not isinstance(place, Path):
                check_scheme(name, place, self.conn_id)
            outside = self._outside(name, place)
        if outside is not None:
            return outside
        if isinstance(place, Path):
            frame = _read_local(place, str(place), self.columns)
        else:
            with fetched(place, self.conn_id) as copy:
                frame = _read_local(copy, str(place), self.columns)
        return self._named(frame, place)

    def _outside(self, name: str, place: Any) -> Any:
        """Return Parquet data that are no single file, or too large for memory; None for all others."""
        from compsil_kit._data.files.readers import KINDS, ending_of
        from compsil_kit._data.sources.parquet import ENDINGS, files_of, has_others, open_parquet

        ending = ending_of(PurePath(str(place)))
        if ending in KINDS and ending not in ENDINGS:
            return None
        store, path = file_system(place, self.conn_id)
        if store.isfile(path):
            return open_parquet(path, store) if ending in ENDINGS and _is_too_large(store, path) else None
        if not store.isdir(path) and not any(c in path for c in "*?["):
            return None
        if store.isdir(path) and has_others(path, store):
            raise ValueError(
                f"{name}: {place} is a folder that contains files other than Parquet. Pass a file or a glob such as "
                "'folder/*.parquet', or read the folder in python_callable."
            )
        found = files_of(path, store)
        if not found:
            raise FileNotFoundError(errno.ENOENT, f"{name}: there is no Parquet file here", str(place))
        if isinstance(place, Path):
            for file in found:
                # A link among the files of a folder may lead elsewhere.
                check_place(name, file, self.base_dir)
        return open_parquet(path, store)

    def _named(self, frame: pd.DataFrame, place: Any) -> pd.DataFrame:
        """Name columns by position if the file has no header: its first row must not get into logs."""
        frame, hidden = hide_values(frame, self.known) if _HAS_HEADER.search(str(place)) else (frame, 0)
        if hidden:
            self.warn(
                f"The names of {hidden:,} columns look like values, as if the file had no header; then its first row "
                "is missing from the data. These columns are named by position: column 1, column 2 and so on."
            )
        return frame

    def _query(self) -> pd.DataFrame:
        import pandas as pd

        names, rows = run_query(hook_of(str(self.conn_id)), str(self.sql), self.parameters)
        # Databases return exact decimals as objects; as floats they make numeric columns.
        return pd.DataFrame.from_records(rows, columns=names, coerce_float=True)


def _is_too_large(store: Any, path: str) -> bool:
    """Tell whether a Parquet file does not fit into memory."""
    from compsil_kit._data.sources.parquet import fits_memory

    with store.open(path) as file:
        return not fits_memory(file)


def bind(
    function: Callable[..., Any] | None, args: Collection[Any], kwargs: Mapping[str, Any], context: Context
) -> Callable[[], Any] | None:
    """Bind a function to its arguments and to what it asks of the context, as a PythonOperator does."""
    if function is None:
        return None
    context_merge(context, kwargs)
    return partial(function, *args, **determine_kwargs(function, args, context))


def _read_local(path: Path, shown: str, columns: Collection[Any] | None) -> pd.DataFrame:
    from compsil_kit._data.files.readers import read_table

    with data_errors():
        try:
            return read_table(str(path), columns=columns)
        except ValueError as error:
            message = str(error).replace(str(path), shown)
            # Where the reader advises options of the command line, a DAG has those of pandas.
            advice = " In a DAG: read the file by pandas.read_csv in python_callable." if " --" in message else ""
            raise ValueError(message + advice) from None


def as_frame(found: Any) -> pd.DataFrame:
    """Return what a function returned as a frame: pandas, Polars, PyArrow, or a two-dimensional array."""
    import numpy as np
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        return found
    if hasattr(found, "to_pandas"):
        converted: pd.DataFrame = found.to_pandas()
        return converted
    if isinstance(found, np.ndarray) and found.ndim == 2:
        return pd.DataFrame(found, columns=[f"column {at}" for at in range(found.shape[1])])
    raise TypeError(
        "python_callable must return a table (pandas, Polars or PyArrow), a two-dimensional array, or the path of a "
        f"file; it returned a value of type {type(found).__name__}."
    )
