"""A pool of threads, each with one native thread, that yields results as they finish and can be abandoned at once."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import sklearn
from threadpoolctl import ThreadpoolController

from compsil_kit._run.native_threads import one_blas_thread, one_openmp_thread, process_controller

Item = TypeVar("Item")
Value = TypeVar("Value")
Tick = Callable[[], None]

# How long the interpreter waits at exit for abandoned workers.
EXIT_WAIT_SECONDS = 5.0
# The main thread wakes up this often: on some systems it notices an interrupt only then.
POLL_SECONDS = 0.5
_threads: WeakSet[Thread] = WeakSet()


class Cancelled(Exception):
    """Raised inside a worker whose result is no longer needed."""


@dataclass(frozen=True)
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
    with one_blas_thread(pool.controller):
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
