"""Which failures are final and which are worth another attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compsil_airflow.compat import AirflowException, AirflowFailException


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn mistakes in parameters and data into a failure without retries: another attempt would fail the same way.

    The cause is left out on purpose: messages of pandas and of parsers can quote cells, and Airflow logs whole chains.
    Errors of files, memory and the network pass through, so they are retried.
    """
    from compsil_kit.errors import ClusteringError, SelectionError

    try:
        yield
    except (ValueError, TypeError, ImportError, ClusteringError, SelectionError) as error:
        raise AirflowFailException(str(error)) from None


@contextmanager
def interruptions(describe_kept: Callable[[], str]) -> Iterator[None]:
    """Turn a stop by a signal into a failure that may be retried; ``describe_kept`` says what the retry starts from."""
    from compsil_kit.errors import Interrupted

    try:
        yield
    except Interrupted as stop:
        done = f"after {stop.done} of {stop.total} {stop.unit}"
        raise AirflowException(f"Stopped {done}. {describe_kept()}") from None
    except KeyboardInterrupt:
        raise AirflowException(f"Stopped by a signal. {describe_kept()}") from None
