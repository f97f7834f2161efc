"""Progress in the task's log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PROGRESS_SECONDS = 5.0


def log_progress(log: Any) -> Callable[[int, int], None]:
    """Return a function of (done, total) that logs every few seconds, and at the end."""
    last, known = time.monotonic(), 0

    def tell(done: int, total: int) -> None:
        nonlocal last, known
        if done > known + 1:
            log.info("Resuming: %s of %s subsamples were finished by an earlier attempt", done, total)
        elif time.monotonic() - last >= PROGRESS_SECONDS or done == total:
            log.info("%s of %s subsamples finished", done, total)
            last = time.monotonic()
        known = done

    return tell
