"""Native threads: one per worker. BLAS limits hold for the process, OpenMP limits for the calling thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_state: dict[str, Any] = {"users": 0, "limiter": None}


def process_controller() -> ThreadpoolController:
    """Return the thread pools of this process; they are looked up again, in milliseconds, only after imports."""
    return _controller(len(sys.modules))


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001  (a cache key: importing modules may load libraries)
    return ThreadpoolController()


@contextmanager
def one_blas_thread(controller: ThreadpoolController | None = None) -> Iterator[None]:
    """Limit BLAS to one thread while at least one run is active, and restore the limit after the last.

    The runs are counted: if each of two overlapping runs saved and restored the limit, the second would restore the
    limit set by the first.
    """
    with _lock:
        if _state["users"] == 0:
            # BLAS alone: a limiter restores the limits of all its libraries, but OpenMP limits belong to the thread
            # that set them.
            blas = (controller or ThreadpoolController()).select(user_api="blas")
            _state["limiter"] = blas.limit(limits=1)
        _state["users"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["users"] -= 1
            if _state["users"] == 0:
                _state["limiter"].restore_original_limits()


@contextmanager
def one_openmp_thread(controller: ThreadpoolController) -> Iterator[None]:
    """Limit OpenMP to one thread in the calling thread."""
    with controller.limit(limits=1, user_api="openmp"):
        yield
