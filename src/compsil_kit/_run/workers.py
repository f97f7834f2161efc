"""Workers: how many there are, and threads that yield results as they finish, each with one native thread.

BLAS limits hold for the process, OpenMP limits for the calling thread.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import joblib
import sklearn
from joblib.parallel import BACKENDS, get_active_backend
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Value = TypeVar("Value")
Tick = Callable[[], None]

DASK, RAY, SPARK = "DaskDistributedBackend", "RayBackend", "SparkDistributedBackend"
_REGISTRATIONS = {
    "ray": "from ray.util.joblib import register_ray; register_ray()",
    "spark": "from joblibspark import register_spark; register_spark()",
}
# How long the interpreter waits at exit for abandoned workers.
EXIT_WAIT_SECONDS = 5.0
# The main thread wakes up this often: on some systems it notices an interrupt only then.
POLL_SECONDS = 0.5
_threads: WeakSet[Thread] = WeakSet()
_lock = Lock()
_state: dict[str, Any] = {"users": 0, "limiter": None}


def _fail_unregistered(name: str, **_: Any) -> Any:
    raise ValueError(
        f"joblib's backend {name!r} is not registered. Run '{_REGISTRATIONS[name]}' before "
        f"joblib.parallel_config(backend={name!r})."
    )


def explain_unregistered() -> None:
    """Register placeholders for missing backends: joblib raises before our code runs, without this advice."""
    for name in _REGISTRATIONS:
        if name not in BACKENDS:
            joblib.register_parallel_backend(name, partial(_fail_unregistered, name))


def n_workers(n_jobs: int | str | None) -> int:
    """Return the number of workers that joblib derives from ``n_jobs``; "auto" is all unless joblib is configured."""
    backend, configured = get_active_backend()
    check_started(backend)
    if isinstance(n_jobs, str):
        n_jobs = -1 if configured is None else None
    # joblib counts none while a cluster starts.
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def check_started(backend: Any) -> None:
    """Raise if the cluster of the backend is not running."""
    kind = type(backend).__name__
    if kind == DASK and backend.client.status == "closed":
        raise RuntimeError(
            "joblib's backend 'dask' belongs to a Client that is closed. Create a Client, then enter "
            "joblib.parallel_config(backend='dask') again, and keep the Client open until the run has ended."
        )
    if kind == RAY:
        import ray

        if not ray.is_initialized():
            raise RuntimeError(
                "joblib's backend 'ray' is set, but Ray has not been started. Call ray.init() before, or "
                "ray.init(address=...) for a cluster that is running."
            )


class Cancelled(Exception):
    """Raised inside a worker whose result is no longer needed."""


# Without a repr: Airflow logs local variables, and the work contains the data.
@dataclass(frozen=True, repr=False)
class _Pool(Generic[Item, Value]):
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
    """Yield ``work(item, tick)`` of every item as it finishes; ``config`` are settings of scikit-learn for the workers.

    The work calls ``tick``, which raises once the iterator is closed or interrupted, or ``stop`` is set.
    """
    # Even a single worker has its own thread, because the waiting main thread can be interrupted at once. The threads
    # are daemons, so that one inside foreign code does not block the end of the program.
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
    """Limit BLAS to one thread while at least one run is active, and restore the limit after the last."""
    # Counted: if each of two overlapping runs restored what it found, the second would restore the limit of the first.
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


explain_unregistered()
