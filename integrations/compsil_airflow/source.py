"""The data of a task as a pandas frame: from a file, a query, or a function. Pickles are never read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import (
    AirflowFailException,
    BaseHook,
    Context,
    ObjectStoragePath,
    context_merge,
    determine_kwargs,
)
from compsil_airflow.errors import data_errors
from compsil_airflow.paths import check_place, fetched

if TYPE_CHECKING:
    import pandas as pd

# Errors of Python's database interface (PEP 249) that a retry would meet again.
REFUSED = {"ProgrammingError", "NotSupportedError"}
UNREADABLE = {"DataError"}


@dataclass(frozen=True)
class Source:
    """Where the data of a task come from: a path, a query, or a function."""

    data: Any = None
    sql: str | None = None
    parameters: Any = None
    conn_id: str | None = None
    function: Callable[[], Any] | None = None
    base_dir: Any = None

    def load(self) -> pd.DataFrame:
        """Return the frame; mistakes fail without a retry, errors of files and networks may be retried."""
        with data_errors():
            self._check()
        if self.sql is not None:
            return self._query()
        found = self.data if self.function is None else self.function()
        if isinstance(found, str | os.PathLike | ObjectStoragePath):
            return self._read("data" if self.function is None else "the path that python_callable returned", found)
        with data_errors():
            return as_frame(found)

    def _check(self) -> None:
        given = {"data": self.data, "sql": self.sql, "python_callable": self.function}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise ValueError(f"pass exactly one of data, sql and python_callable; got {' and '.join(named) or 'none'}.")
        if self.sql is not None and not self.conn_id:
            raise ValueError("sql requires conn_id, the connection on which to run the query.")
        if self.function is None and self.sql is None:
            check_place("data", self.data, self.base_dir)

    def _read(self, name: str, found: Any) -> pd.DataFrame:
        with data_errors():
            place = check_place(name, found, self.base_dir)
        if isinstance(place, Path):
            return _read_local(place, str(place))
        with fetched(place, self.conn_id) as copy:
            return _read_local(copy, str(place))

    def _query(self) -> pd.DataFrame:
        import pandas as pd

        names, rows = run_query(hook_of(str(self.conn_id)), str(self.sql), self.parameters)
        # Databases return exact decimals as objects; as floats they make numeric columns.
        return pd.DataFrame.from_records(rows, columns=names, coerce_float=True)


def bind(
    function: Callable[..., Any] | None, args: Collection[Any], kwargs: Mapping[str, Any], context: Context
) -> Callable[[], Any] | None:
    """Bind a function to its arguments and to what it asks of the context, as a PythonOperator does."""
    if function is None:
        return None
    context_merge(context, kwargs)
    return partial(function, *args, **determine_kwargs(function, args, context))


def _read_local(path: Path, shown: str) -> pd.DataFrame:
    from compsil_kit.data.readers import read_table

    with data_errors():
        try:
            return read_table(str(path))
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), shown)) from None


def hook_of(conn_id: str) -> Any:
    """Return the hook of a connection that can run queries."""
    hook = BaseHook.get_connection(conn_id).get_hook()
    if not hasattr(hook, "run") or not hasattr(hook, "get_records"):
        raise AirflowFailException(
            f"conn_id must be a connection to a database; the hook of {conn_id!r} is a {type(hook).__name__}."
        )
    return hook


def run_query(hook: Any, sql: str, parameters: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows of a query; a query that the database rejects fails without a retry."""

    def fetch(cursor: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
        if cursor.description is None:
            raise AirflowFailException("sql must be a query that returns rows.")
        return [column[0] for column in cursor.description], [tuple(row) for row in cursor.fetchall()]

    try:
        found: tuple[list[str], list[tuple[Any, ...]]] = hook.run(sql, parameters=parameters, handler=fetch)
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if kinds & UNREADABLE:
            # The message quotes the value.
            raise AirflowFailException(f"sql: the database cannot convert a value ({type(error).__name__}).") from None
        if kinds & REFUSED:
            raise AirflowFailException(f"sql: the database rejected the query: {error}") from None
        raise
    return found


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
