"""Load the data of a task from files, a query or a function; pickles are never loaded."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import AirflowFailException, BaseHook, Context, context_merge, determine_kwargs
from compsil_airflow.errors import data_errors, query_errors
from compsil_airflow.storage import Place, check_scheme, downloaded, file_system, is_path, resolve_place

if TYPE_CHECKING:
    import pandas as pd

_HAS_HEADER = re.compile(r"\.[ct]sv(\.\w+)?$", re.IGNORECASE)
# pandas appends .1, .2 and so on to a repeated name.
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?(\.\d+)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
_EXPECTED = {"data": "a path or a URI", "sql": "a query"}


@dataclass(frozen=True)
class Source:
    """The data source of a task: a path, a query, or a function."""

    data: Any = None
    sql: str | None = None
    parameters: Any = None
    conn_id: str | None = None
    function: Callable[[], Any] | None = None
    base_dir: Any = None
    # For data and sql, if the DAG passes them, the id of the task whose XCom is passed, or None.
    passed: Mapping[str, str | None] = field(default_factory=dict)
    # Column names that appear in the DAG.
    known: Collection[str] = ()
    warn: Callable[[str], None] = print
    # The columns to cluster, or None for all. Other columns of a file need not be numeric.
    columns: Collection[Any] | None = None

    def load(self) -> pd.DataFrame | Any:
        """Return a frame, or an out-of-core table that is read later.

        Invalid arguments or data fail without a retry; file and network errors are retried.
        """
        with data_errors():
            self._validate()
        if self.sql is not None:
            return self._run_query()
        found = self.data if self.function is None else self.function()
        if is_path(found):
            return self._read("data" if self.function is None else "the path returned by python_callable", found)
        with data_errors():
            from compsil_kit.adapters import open_source

            table = open_source(found)
            return as_frame(found) if table is None else table

    def _validate(self) -> None:
        values = {"data": self.data, "sql": self.sql, "python_callable": self.function}
        for name, task_id in self.passed.items():
            if values[name] in (None, "None"):
                cause = "the template or the upstream task" if task_id is None else f"the upstream task {task_id!r}"
                raise ValueError(f"{name} is None, because {cause} returned None. Return {_EXPECTED[name]} instead.")
        given = [name for name, value in values.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"pass exactly one of data, sql and python_callable; got {' and '.join(given) or 'none'}.")
        if self.sql is not None and not self.conn_id:
            raise ValueError("sql requires conn_id, the connection on which to run the query.")
        if self.data is not None:
            resolve_place("data", self.data, self.base_dir)

    def _read(self, name: str, path: Any) -> pd.DataFrame | Any:
        with data_errors():
            place = resolve_place(name, path, self.base_dir)
            if not isinstance(place, Path):
                check_scheme(name, place, self.conn_id)
            table = self._open_parquet(name, place)
        if table is not None:
            return table
        if isinstance(place, Path):
            frame = _read_local(place, str(place), self.columns)
        else:
            with downloaded(place, self.conn_id) as copy:
                frame = _read_local(copy, place, self.columns)
        if not _HAS_HEADER.search(str(place)):
            return frame
        frame, n_renamed = rename_values(frame, self.known)
        if n_renamed:
            self.warn(
                f"The names of {n_renamed:,} columns look like values. If the file has no header, its first row is "
                "missing from the data. These columns are named by position: column 1, column 2 and so on."
            )
        return frame

    def _open_parquet(self, name: str, place: Place) -> Any:
        """Open a folder or glob of Parquet files, or a Parquet file that does not fit into memory, or return None."""
        from compsil_kit.adapters import ENDINGS, KINDS, ending_of, list_files, open_parquet

        ending = ending_of(PurePath(str(place)))
        if ending in KINDS and ending not in ENDINGS:
            return None
        store, path = file_system(place, self.conn_id)
        if store.isfile(path):
            return open_parquet(path, store) if ending in ENDINGS and not _fits_memory(store, path) else None
        is_folder = store.isdir(path)
        if not is_folder and not any(c in path for c in "*?["):
            return None
        found = list_files(path, store)
        if is_folder and not all(file.lower().endswith(ENDINGS) for file in found):
            raise ValueError(
                f"{name}: {place} is a folder that contains files other than Parquet files. Pass a file or a glob such "
                "as 'folder/*.parquet', or read the folder in python_callable."
            )
        if not found:
            raise FileNotFoundError(errno.ENOENT, f"{name}: no Parquet file found", str(place))
        if isinstance(place, Path):
            # Symbolic links in the folder may point outside base_dir.
            for file in found:
                resolve_place(name, file, self.base_dir)
        return open_parquet(path, store)

    def _run_query(self) -> pd.DataFrame:
        import pandas as pd

        hook = database_hook(str(self.conn_id))
        with query_errors():
            names, rows = hook.run(self.sql, parameters=self.parameters, handler=_fetch)
        # Databases return exact decimals as objects; coerce_float makes such columns numeric.
        return pd.DataFrame.from_records(rows, columns=names, coerce_float=True)


def database_hook(conn_id: str) -> Any:
    """Return the hook for a connection; raise if the hook cannot run queries."""
    hook = BaseHook.get_connection(conn_id).get_hook()
    if not hasattr(hook, "run") or not hasattr(hook, "get_records"):
        raise AirflowFailException(
            f"conn_id must be a database connection; the hook for {conn_id!r} is a {type(hook).__name__}."
        )
    return hook


def _fetch(cursor: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the column names and rows of a query result."""
    if cursor.description is None:
        raise AirflowFailException("sql must be a query that returns rows.")
    return [column[0] for column in cursor.description], [tuple(row) for row in cursor.fetchall()]


def _fits_memory(store: Any, path: str) -> bool:
    from compsil_kit.adapters import fits_memory

    with store.open(path) as file:
        return fits_memory(file)


def _read_local(path: Path, shown: str, columns: Collection[Any] | None) -> pd.DataFrame:
    from compsil_kit.adapters import read_table

    with data_errors():
        try:
            return read_table(str(path), columns=columns)
        except ValueError as error:
            message = str(error).replace(str(path), shown)
            # The message recommends command-line options, which a DAG does not have.
            advice = " In a DAG, read the file with pandas.read_csv in python_callable." if " --" in message else ""
            raise ValueError(message + advice) from None


def bind(
    function: Callable[..., Any] | None, args: Collection[Any], kwargs: Mapping[str, Any], context: Context
) -> Callable[[], Any] | None:
    """Bind a function to its arguments and to the context entries it accepts, as a PythonOperator does."""
    if function is None:
        return None
    context_merge(context, kwargs)
    return partial(function, *args, **determine_kwargs(function, args, context))


def as_frame(found: Any) -> pd.DataFrame:
    """Convert a pandas, Polars or PyArrow table, or a two-dimensional array, to a pandas DataFrame."""
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
        "python_callable must return a table (pandas, Polars or PyArrow), a two-dimensional array, or the path to a "
        f"file; got a value of type {type(found).__name__}."
    )


def rename_values(frame: pd.DataFrame, known: Collection[str]) -> tuple[pd.DataFrame, int]:
    """Name columns by position if their names look like values; return the frame and the number of renamed columns.

    If a file has no header, its first row ends up as the column names; that data must not reach the logs. Names in
    ``known`` (those written in the DAG) are kept. If one name looks like a value, all names are replaced, because a
    value that is text looks like a name.
    """
    names = [str(name) for name in frame.columns]
    if not _look_like_values([name for name in names if name not in known]):
        return frame, 0
    shown = [name if name in known else f"column {at}" for at, name in enumerate(names, 1)]
    return frame.set_axis(shown, axis=1), sum(name not in known for name in names)


def _look_like_values(names: Collection[str]) -> bool:
    """Return whether any name is a number or a date; consecutive integers, such as positions or years, do not count."""
    found = [name for name in names if _NUMBER.fullmatch(name) or _DATE.fullmatch(name)]
    if len(found) > 1 and all(name.isdecimal() for name in found):
        return [int(name) for name in found] != list(range(int(found[0]), int(found[0]) + len(found)))
    return bool(found)
