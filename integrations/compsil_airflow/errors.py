"""Decide which failures are final and which are retried; no message contains cell values."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from compsil_airflow.compat import AirflowException, AirflowFailException

# Class names of network and database errors that are not OSErrors.
TRANSIENT = {
    "ConnectionError", "TransportError", "TimeoutError", "TimeoutException", "OperationalError", "InterfaceError",
}  # fmt: skip
# Packages whose frames in a traceback are not the user's code.
_LIBRARIES = {
    "airflow", "compsil_airflow", "compsil_kit", "joblib", "numba", "numpy", "pandas", "pyarrow", "scipy", "sklearn",
    "threadpoolctl",
}  # fmt: skip
# Invalid queries that a database reports as OperationalError are recognised by the message (SQLite), the error number
# (MySQL), the error code (Oracle), or the SQLSTATE class (other databases).
_SQLITE = re.compile(r"no such (table|column|function)|syntax error|ambiguous column name|incomplete input")
_MYSQL = {1052, 1054, 1064, 1146, 1305}
_ORACLE = re.compile(r"ORA-(00904|00942|009\d\d|01747)")
_SQLSTATE = "42"


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn errors in parameters and data into a failure without retries, because a retry would fail the same way.

    The cause is omitted, because messages from pandas and from parsers can quote cells, and Airflow logs the whole
    chain of exceptions. File, memory and network errors are not changed, so Airflow retries the task; this includes
    such errors raised by a clusterer.
    """
    from compsil_kit.errors import ClusteringError, SelectionError

    try:
        yield
    except (ValueError, TypeError, ImportError, ClusteringError, SelectionError) as error:
        transient = isinstance(error, ClusteringError) and _has_transient_cause(error)
        kind = AirflowException if transient else AirflowFailException
        raise kind(f"{error}{_user_code_line(error)}") from None


@contextmanager
def interruptions(resume_note: Callable[[], str]) -> Iterator[None]:
    """Turn an interrupt by a signal into a failure that is retried; ``resume_note`` describes the next attempt."""
    from compsil_kit.errors import Interrupted

    try:
        yield
    except Interrupted as stop:
        raise AirflowException(f"S{stop.summary[1:]}. {resume_note()}") from None
    except KeyboardInterrupt:
        raise AirflowException(f"Stopped by a signal. {resume_note()}") from None


@contextmanager
def without_values() -> Iterator[None]:
    """Clear local variables in tracebacks, because they contain data and some versions of Airflow log them."""
    try:
        yield
    except BaseException as error:
        for link in _chain(error):
            traceback.clear_frames(link.__traceback__)
        raise


@contextmanager
def query_errors() -> Iterator[None]:
    """Turn an error for a rejected query into a failure without retries."""
    try:
        yield
    except Exception as error:
        if "DataError" in _class_names(error):
            # The original message quotes the value, so it is omitted.
            raise AirflowFailException(f"sql: the database cannot convert a value ({type(error).__name__}).") from None
        if is_rejection(error):
            raise AirflowFailException(f"sql: the database rejected the query: {error}") from None
        raise


def is_rejection(error: Exception) -> bool:
    """Return whether the database rejected the query itself, in which case a retry would also fail."""
    kinds = _class_names(error)
    if kinds & {"ProgrammingError", "NotSupportedError"}:
        return True
    if not kinds & {"DatabaseError", "OperationalError", "DBAPIError"}:
        return False
    state = getattr(error, "pgcode", None) or getattr(error, "sqlstate", None) or ""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    in_sqlite = type(error).__module__.startswith("sqlite3") and _SQLITE.search(str(error))
    return str(state).startswith(_SQLSTATE) or number in _MYSQL or bool(in_sqlite or _ORACLE.search(str(error)))


def _class_names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _has_transient_cause(error: BaseException) -> bool:
    """Return whether a network, database or file error caused the error."""
    return any(_class_names(cause) & {*TRANSIENT, "OSError"} for cause in _chain(error)[1:])


def _user_code_line(error: BaseException) -> str:
    """Return the file, line and function of the user code that raised the error, or an empty string."""
    for link in reversed(_chain(error)):
        frames = [(frame, line) for frame, line in traceback.walk_tb(link.__traceback__) if _is_user_code(frame)]
        if frames:
            own = [step for step in frames if "site-packages" not in step[0].f_code.co_filename]
            frame, line = own[-1] if own else frames[0]
            return f" ({frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name})"
    return ""


def _is_user_code(frame: FrameType) -> bool:
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return root not in _LIBRARIES and root not in sys.stdlib_module_names


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error followed by its chain of causes."""
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found:
        found.append(link)
        link = link.__cause__ or link.__context__
    return found
