"""Workers: threads that yield results as they finish and can be abandoned at once, each with one native thread.

BLAS limits hold for the process, OpenMP limits for the calling thread.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import sklearn
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Value = TypeVar("Value")
Tick = Callable[[], None]

# How long the interpreter waits at exit for abandoned workers.
EXIT_WAIT_SECONDS = 5.0
# The main thread wakes up this often: on some systems it notices an interrupt only then.
POLL_SECONDS = 0.5
_threads: WeakSet[Thread] = WeakSet()
_lock = Lock()
_state: dict[str, Any] = {"users": 0, "limiter": None}


class Cancelled(Exception):
    """Raised inside a worker whose result is no longer needed."""


# Without a repr: Airflow logs local variables, and the work contains the data.
@dataclass(frozen=True, repr=False)
class _Pool(Generic[Item, Value]):
    """What the workers of one pool share."""

    work: Callable[[Item, Tick], Value]
    config: Mapping[str, Any]
    controller: ThreadpoolController
    stop: Event
    over: Event = field(default_factory=Event)
    pending: SimpleQueue[Item] = field(default_factory=SimpleQueue)
    finished: SimpleQueue[tuple[Value | None, BaseException | None]] = field(default_factory=SimpleQueue)

    def ended(self) -> bool:
        return self.over.is_set() or self.stop.is_set()

    def tick(self) -> None:
        if self.ended():
            raise Cancelled

    def wait(self) -> tuple[Value | None, BaseException | None] | None:
        """Return the next result; None once the work is to stop and all finished results have been returned."""
        while True:
            ended = self.ended()
            try:
                return self.finished.get(timeout=0 if ended else POLL_SECONDS)
            except Empty:
                if ended:
                    return None


def in_threads(
    work: Callable[[Item, Tick], Value],
    items: Sequence[Item],
    n_workers: int,
    stop: Event | None = None,
    **config: bool,
) -> Generator[Value, None, None]:
    """Yield ``work(item, tick)`` of every item as it finishes; an exception in a worker is raised here.

    The work calls ``tick`` regularly. Once the iterator is closed or interrupted, or ``stop`` is set, ``tick`` raises
    and the iterator ends. The threads are daemons, so that one inside foreign code does not block the end of the
    program. Even a single worker has its own thread, because the waiting main thread can be interrupted at once.
    ``config`` are settings of scikit-learn for the workers.
    """
    # scikit-learn's settings and the OpenMP limit belong to a thread; workers do not inherit them.
    settings = {**sklearn.get_config(), **config}
    pool = _Pool(work, settings, process_controller(), Event() if stop is None else stop)
    for item in items:
        pool.pending.put(item)
    with one_blas_thread():
        try:
            for _ in range(min(n_workers, len(items))):
                thread = Thread(target=_run_items, args=(pool,), name="compsil", daemon=True)
                _threads.add(thread)
                thread.start()
            for _ in items:
                arrived = pool.wait()
                if arrived is None:
                    return
                value, error = arrived
                if isinstance(error, Cancelled):
                    continue
                if error is not None:
                    raise error
                yield value  # type: ignore[misc]  # either value or error is set
        finally:
            pool.over.set()


@atexit.register
def _wait_at_exit() -> None:
    """Wait for abandoned workers to reach their next tick: native code that still runs at exit may crash."""
    deadline = time.monotonic() + EXIT_WAIT_SECONDS
    for thread in list(_threads):
        thread.join(max(0.0, deadline - time.monotonic()))


def _run_items(pool: _Pool[Item, Value]) -> None:
    with sklearn.config_context(**pool.config), one_openmp_thread(pool.controller):
        while not pool.ended():
            try:
                item = pool.pending.get_nowait()
            except Empty:
                return
            try:
                pool.finished.put((pool.work(item, pool.tick), None))
            except BaseException as error:  # noqa: BLE001  (also KeyboardInterrupt and MemoryError: raised by in_threads)
                pool.finished.put((None, error))


def process_controller() -> ThreadpoolController:
    """Return the thread pools of this process; they are looked up again, in milliseconds, only after imports."""
    return _controller(len(sys.modules))


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001  (a cache key: importing modules may load libraries)
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while at least one run is active, and restore the limit after the last.

    The runs are counted: if each of two overlapping runs saved and restored the limit, the second would restore the
    limit set by the first.
    """
    with _lock:
        if _state["users"] == 0:
            # BLAS alone: a limiter restores the limits of all its libraries, not only those that it set.
            _state["limiter"] = process_controller().select(user_api="blas").limit(limits=1)
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
    with controller.select(user_api="openmp").limit(limits=1):
        yield
