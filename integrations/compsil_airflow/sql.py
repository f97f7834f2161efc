"""Queries on an Airflow connection, and which of their errors another attempt would meet again."""

from __future__ import annotations

import re
from typing import Any

from compsil_airflow.compat import AirflowFailException, BaseHook

# Errors of Python's database interface (PEP 249) that a retry would meet again.
REFUSED = {"ProgrammingError", "NotSupportedError"}
UNREADABLE = {"DataError"}
# Unknown tables and columns and wrong syntax, for databases that report them as errors of operation: SQLite by its
# words, MySQL by number, Oracle by code, others by the class of the SQL state.
_SQLITE = re.compile(r"no such (table|column|function)|syntax error|ambiguous column name|incomplete input")
_MYSQL = {1052, 1054, 1064, 1146, 1305}
_ORACLE = re.compile(r"ORA-(00904|00942|009\d\d|01747)")
_STATE = "42"


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
        if _kinds(error) & UNREADABLE:
            # The message quotes the value.
            raise AirflowFailException(f"sql: the database cannot convert a value ({type(error).__name__}).") from None
        if is_rejection(error):
            raise AirflowFailException(f"sql: the database rejected the query: {error}") from None
        raise
    return found


def is_rejection(error: Exception) -> bool:
    """Tell whether the database rejected the query itself."""
    kinds = _kinds(error)
    if kinds & REFUSED:
        return True
    if not kinds & {"DatabaseError", "OperationalError", "DBAPIError"}:
        return False
    state = getattr(error, "pgcode", None) or getattr(error, "sqlstate", None) or ""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    words = _SQLITE.search(str(error)) if type(error).__module__.startswith("sqlite3") else None
    return str(state).startswith(_STATE) or number in _MYSQL or bool(words or _ORACLE.search(str(error)))


def _kinds(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
