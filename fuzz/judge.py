"""What a call may do with hostile input: return something valid, or refuse it with an error that was meant."""

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

# By their exact type: UnicodeDecodeError or LinAlgError are ValueErrors too, but none that anybody meant to raise.
MEANT = (
    ValueError, TypeError, ClusteringError, SelectionError, UsageError, ImportError, OSError, FileNotFoundError,
    IsADirectoryError, NotADirectoryError, PermissionError, BlockingIOError,
)  # fmt: skip
MOST_CHARACTERS = 800
SECONDS = 20.0
_OURS = re.compile(r"[/\\]compsil_\w+[/\\]")


class Broken(Exception):
    """A property does not hold."""


class Hanging(BaseException):
    """A call took too long. Not an Exception, so that nobody mistakes it for a failure of what it was doing."""


@dataclass(frozen=True)
class Problem:
    """What was wrong; two with the same ``place`` are one defect."""

    place: str
    text: str


def judge(check: Callable[[Any], None], value: Any, seconds: float = SECONDS) -> Problem | None:
    """Return what is wrong with how a check went, or None."""
    try:
        with _limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(value)
    except (Exception, Hanging, SystemExit) as error:  # noqa: BLE001  (whatever was raised is what is judged)
        return _problem(error)
    return None


def _problem(error: BaseException) -> Problem | None:
    file, line = _raised_at(error.__traceback__)
    shown = " ".join(str(error).split())[:300]
    place = f"{type(error).__name__} at {'/'.join(Path(file).parts[-2:])}:{line}"
    if isinstance(error, Broken | Hanging):
        # What does not hold is the defect, wherever it shows.
        name = re.sub(r"\d+", "#", shown)[:80]
        return Problem(f"{type(error).__name__}: {name}" if isinstance(error, Broken) else place, shown or "too long")
    if type(error) not in MEANT:
        return Problem(place, f"{type(error).__name__}, which is no documented error: {shown}")
    # IPython's parser raises its own for us.
    meant = _OURS.search(file) and linecache.getline(file, line).strip().startswith("raise")
    if not meant and not isinstance(error, UsageError):
        return Problem(place, f"{type(error).__name__} that nobody meant to raise, at {file}:{line}: {shown}")
    return _wrong_message(place, str(error))


def _wrong_message(place: str, message: str) -> Problem | None:
    if not message.strip():
        return Problem(place, "a message that says nothing")
    if "\n" in message or len(message) > MOST_CHARACTERS:
        return Problem(f"{place} (message)", f"a message of {len(message)} characters: {message[:200]!r}")
    return None


def _raised_at(traceback: TracebackType | None) -> tuple[str, int]:
    """Return the file and the line in which an exception began."""
    file, line = "", 0
    while traceback is not None:
        file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return file, line


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hanging(f"no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def holds(condition: object, what: str) -> None:
    """Say that a property is broken unless it holds."""
    if not condition:
        raise Broken(what)
