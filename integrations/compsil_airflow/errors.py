"""Which failures are final and which are worth another attempt; none of them shows what is in a cell."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from compsil_airflow.compat import AirflowException, AirflowFailException

# Errors of networks and databases that are no OSErrors, by the names that libraries give them.
PASSING = {
    "ConnectionError",
    "TransportError",
    "TimeoutError",
    "TimeoutException",
    "OperationalError",
    "InterfaceError",
}
# Whatever lies between the operator and a user's function.
_LIBRARIES = {
    "airflow", "compsil_airflow", "compsil_kit", "joblib", "numba", "numpy", "pandas", "pyarrow", "scipy", "sklearn",
    "threadpoolctl",
}  # fmt: skip


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn mistakes in parameters and data into a failure without retries: another attempt would fail the same way.

    The cause is left out on purpose: messages of pandas and of parsers can quote cells, and Airflow logs whole chains.
    Errors of files, memory and the network pass through, so they are retried; so is a clusterer that failed with one.
    """
    from compsil_kit.errors import ClusteringError, SelectionError

    try:
        yield
    except (ValueError, TypeError, ImportError, ClusteringError, SelectionError) as error:
        passing = isinstance(error, ClusteringError) and _may_pass(error)
        kind = AirflowException if passing else AirflowFailException
        raise kind(f"{error}{_place_in_user_code(error)}") from None


@contextmanager
def interruptions(describe_kept: Callable[[], str]) -> Iterator[None]:
    """Turn a stop by a signal into a failure that may be retried; ``describe_kept`` says what the retry starts from."""
    from compsil_kit.errors import Interrupted

    try:
        yield
    except Interrupted as stop:
        raise AirflowException(f"S{stop.summary[1:]}. {describe_kept()}") from None
    except KeyboardInterrupt:
        raise AirflowException(f"Stopped by a signal. {describe_kept()}") from None


@contextmanager
def without_values() -> Iterator[None]:
    """Forget the values of local variables in tracebacks: some versions of Airflow log them, and they hold the data."""
    try:
        yield
    except BaseException as error:
        for link in _chain(error):
            traceback.clear_frames(link.__traceback__)
        raise


def _may_pass(error: BaseException) -> bool:
    """Tell whether the error was caused by one of a network, a database or a file."""
    names = [{kind.__name__ for kind in type(cause).__mro__} for cause in _chain(error)[1:]]
    return any(kinds & PASSING or "OSError" in kinds for kinds in names)


def _place_in_user_code(error: BaseException) -> str:
    """Say where in the code of a DAG an error came from, or nothing if it came from none."""
    for link in reversed(_chain(error)):
        frames = [frame for frame in _frames(link.__traceback__) if _is_user_code(frame[0])]
        if frames:
            own = [frame for frame in frames if "site-packages" not in frame[1]]
            _, file, line, function = own[-1] if own else frames[0]
            return f" ({file}, line {line}, in {function})"
    return ""


def _is_user_code(module: str) -> bool:
    root = module.partition(".")[0]
    return root not in _LIBRARIES and root not in sys.stdlib_module_names


def _frames(trace: TracebackType | None) -> Iterator[tuple[str, str, int, str]]:
    """Yield module, file, line and function of every step of a traceback, outermost first."""
    while trace is not None:
        code = trace.tb_frame.f_code
        yield str(trace.tb_frame.f_globals.get("__name__", "")), code.co_filename, trace.tb_lineno, code.co_name
        trace = trace.tb_next


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error, its cause, the cause of that, and so on."""
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found:
        found.append(link)
        link = link.__cause__ or link.__context__
    return found
