"""Which failures are final and which deserve another attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compsil_airflow.compat import AirflowException, AirflowFailException


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn mistakes in parameters and data into a failure without retries: another attempt would find the same.

    The cause is left out on purpose: texts of pandas and of parsers can quote cells, and Airflow logs whole chains.
    What has to do with files, memory or the network passes through, and is tried again.
    """
    from compsil_kit.errors import ClusteringError, SelectionError

    try:
        yield
    except (ValueError, TypeError, ImportError, ClusteringError, SelectionError) as error:
        raise AirflowFailException(str(error)) from None


@contextmanager
def interruptions(aftermath: Callable[[], str]) -> Iterator[None]:
    """Turn a stop from outside into a failure that may be tried again, and say what becomes of the work so far."""
    try:
        yield
    except KeyboardInterrupt as stop:
        reason = str(stop).partition(";")[0] or "stopped"
        raise AirflowException(f"{reason}. {aftermath()}") from None
