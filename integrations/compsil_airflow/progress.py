"""Progress in the task's log."""

from __future__ import annotations

import time
from typing import Any

PROGRESS_SECONDS = 5.0


class LogProgress:
    """A progress function that logs every few seconds, and at the end: of subsamples, and of rows that are read."""

    def __init__(self, log: Any) -> None:
        """Start now."""
        self._log, self._last, self._known = log, time.monotonic(), 0

    def __call__(self, done: int, total: int) -> None:
        """Log the subsamples that are finished."""
        if done > self._known + 1:
            self._log.info("Resuming: %s of %s subsamples were finished by an earlier attempt", done, total)
        elif self._is_time() or done == total:
            self._tell("%s of %s subsamples finished", done, total)
        self._known = done

    def rows(self, done: int, total: int) -> None:
        """Log the rows that were read of a table outside memory; short passes say nothing."""
        if self._is_time():
            self._tell("%s of %s rows read", f"{done:,}", f"{total:,}")

    def _is_time(self) -> bool:
        return time.monotonic() - self._last >= PROGRESS_SECONDS

    def _tell(self, text: str, *values: Any) -> None:
        self._log.info(text, *values)
        self._last = time.monotonic()
