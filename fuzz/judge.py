"""Check that calls with hostile input return a valid value or raise an expected error with a short message."""

from __future__ import annotations

import linecache
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from IPython.core.error import UsageError

from compsil_kit.errors import ClusteringError, SelectionError

# Compare exact types, because UnicodeDecodeError and LinAlgError are ValueErrors that our code does not raise itself.
EXPECTED_ERRORS = (
    ValueError, TypeError, ClusteringError, SelectionError, UsageError, ImportError, OSError, FileNotFoundError,
    IsADirectoryError, NotADirectoryError, PermissionError, BlockingIOError,
)  # fmt: skip
MAX_CHARACTERS = 800
SECONDS = 20.0
_OURS = re.compile(r"[/\\]compsil_\w+[/\\]")


class PropertyViolated(Exception):
    """Raised if a required property does not hold."""


class Timeout(BaseException):
    """Raised if a call takes too long; not a subclass of Exception, so that the call does not catch it as a failure."""


@dataclass(frozen=True)
class Problem:
    """A violation of a rule; problems with the same ``place`` count as one defect."""

    place: str
    text: str


def judge(check: Callable[[Any], None], value: Any, seconds: float = SECONDS) -> Problem | None:
    """Run a check, and return the problem or None."""
    try:
        with _limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(value)
    except (Exception, Timeout, SystemExit) as error:  # noqa: BLE001  (every exception is judged)
        return _problem(error)
    return None


def _problem(error: BaseException) -> Problem | None:
    file, line = _raised_at(error.__traceback__)
    shown = " ".join(str(error).split())[:300]
    place = f"{type(error).__name__} at {'/'.join(Path(file).parts[-2:])}:{line}"
    if isinstance(error, PropertyViolated | Timeout):
        # The property identifies the defect, not the line in which it was violated.
        name = re.sub(r"\d+", "#", shown)[:80]
        return Problem(
            f"{type(error).__name__}: {name}" if isinstance(error, PropertyViolated) else place, shown or "timeout"
        )
    if type(error) not in EXPECTED_ERRORS:
        return Problem(place, f"{type(error).__name__}, which is not a documented error: {shown}")
    # IPython's parser raises UsageError for the magic.
    raised = _OURS.search(file) and linecache.getline(file, line).strip().startswith("raise")
    if not raised and not isinstance(error, UsageError):
        return Problem(place, f"{type(error).__name__} without a raise statement, at {file}:{line}: {shown}")
    return _wrong_message(place, str(error))


def _wrong_message(place: str, message: str) -> Problem | None:
    if not message.strip():
        return Problem(place, "an empty message")
    if "\n" in message or len(message) > MAX_CHARACTERS:
        return Problem(f"{place} (message)", f"a message of {len(message)} characters: {message[:200]!r}")
    return None


def _raised_at(traceback: TracebackType | None) -> tuple[str, int]:
    """Return the file and line in which an exception was raised."""
    file, line = "", 0
    while traceback is not None:
        file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return file, line


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Timeout(f"not finished after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def require(condition: object, text: str) -> None:
    """Raise PropertyViolated unless a condition is true."""
    if not condition:
        raise PropertyViolated(text)
