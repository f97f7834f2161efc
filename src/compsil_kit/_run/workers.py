"""A pool of threads that hands over results as they come and is left behind at once when nobody waits any more."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar
from weakref import WeakSet

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


# How long the end of the program waits for workers that nobody waits for any more.
EXIT_WAIT_SECONDS = 5.0
# The main thread looks up this often while it waits: on some systems only then does it notice an interrupt.
POLL_SECONDS = 0.5
_workers: WeakSet[Thread] = WeakSet()


class Stopped(Exception):
    """Raised inside a worker once nobody waits for its result."""


def in_threads(
    work: Callable[[Item, Callable[[], None]], Outcome],
    items: Sequence[Item],
    n_workers: int,
    stop: Event | None = None,
) -> Iterator[Outcome]:
    """Yield ``work(item, tick)`` of every item as it is finished; an exception in a worker is raised here.

    Work calls ``tick`` now and then; once the iterator is closed or interrupted, or somebody else sets ``stop``, tick
    raises and the iterator ends. The threads are daemons, so that one deep inside foreign code does not hold up the end
    of the program.
    """
    # Two events: the one given may serve several pools, one after the other.
    over, stop = Event(), Event() if stop is None else stop

    def ended() -> bool:
        return over.is_set() or stop.is_set()

    waiting: SimpleQueue[Item] = SimpleQueue()
    finished: SimpleQueue[tuple[Outcome | None, BaseException | None]] = SimpleQueue()
    for item in items:
        waiting.put(item)
    try:
        for _ in range(min(n_workers, len(items))):
            worker = Thread(target=_run_items, args=(work, waiting, finished, ended), name="compsil", daemon=True)
            _workers.add(worker)
            worker.start()
        for _ in items:
            arrived = _wait(finished, ended)
            if arrived is None:
                return
            outcome, error = arrived
            if isinstance(error, Stopped):
                continue
            if error is not None:
                raise error
            yield outcome  # type: ignore[misc]  # either outcome or error is set
    finally:
        over.set()


def _wait(finished: SimpleQueue[Outcome], ended: Callable[[], bool]) -> Outcome | None:
    """Return what arrives next; None once the work is to stop and all that was finished has been handed over."""
    while True:
        stopped = ended()
        try:
            return finished.get(timeout=0 if stopped else POLL_SECONDS)
        except Empty:
            if stopped:
                return None


@atexit.register
def _wait_at_exit() -> None:
    """Give abandoned workers a moment to reach their next tick: native code still running at the end may crash it."""
    deadline = time.monotonic() + EXIT_WAIT_SECONDS
    for worker in list(_workers):
        worker.join(max(0.0, deadline - time.monotonic()))


def _run_items(
    work: Callable[[Item, Callable[[], None]], Outcome],
    waiting: SimpleQueue[Item],
    finished: SimpleQueue[tuple[Outcome | None, BaseException | None]],
    ended: Callable[[], bool],
) -> None:
    def tick() -> None:
        if ended():
            raise Stopped

    while not ended():
        try:
            item = waiting.get_nowait()
        except Empty:
            return
        try:
            finished.put((work(item, tick), None))
        except BaseException as error:  # noqa: BLE001  (KeyboardInterrupt and MemoryError too: the waiting side raises it)
            finished.put((None, error))
