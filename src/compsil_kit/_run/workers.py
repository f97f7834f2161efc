"""Determine the number of workers, and run work in threads that use one native thread each.

BLAS limits apply to the process, OpenMP limits to the calling thread.
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
# Time that the interpreter waits at exit for abandoned workers.
EXIT_WAIT_SECONDS = 5.0
# Interval at which the main thread wakes up; on some systems, interrupts are handled only then.
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
    """Register placeholders that raise helpful errors for missing backends; joblib raises before our code can run."""
    for name in _REGISTRATIONS:
        if name not in BACKENDS:
            joblib.register_parallel_backend(name, partial(_fail_unregistered, name))


def n_workers(n_jobs: int | str | None) -> int:
    """Return joblib's number of workers for ``n_jobs``; "auto" means all cores unless joblib is configured."""
    backend, configured = get_active_backend()
    check_started(backend)
    if isinstance(n_jobs, str):
        n_jobs = -1 if configured is None else None
    # While a cluster starts, joblib counts no workers.
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def check_started(backend: Any) -> None:
    """Raise if the cluster of the backend is not running."""
    kind = type(backend).__name__
    if kind == DASK and backend.client.status == "closed":
        raise RuntimeError(
            "joblib's backend 'dask' uses a Client that is closed. Create a Client, enter "
            "joblib.parallel_config(backend='dask') again, and keep the Client open until the run has finished."
        )
    if kind == RAY:
        import ray

        if not ray.is_initialized():
            raise RuntimeError(
                "joblib's backend is 'ray', but Ray has not been started. Call ray.init() first, or "
                "ray.init(address=...) to use a running cluster."
            )


class Cancelled(Exception):
    """Raised inside a worker whose result is no longer needed."""


# No repr, because Airflow logs local variables and ``work`` contains the data.
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
        """Return the next result, or None after a stop, once all finished results have been returned."""
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
    """Yield ``work(item, tick)`` for every item as it finishes; ``config`` are scikit-learn settings for the workers.

    The work must call ``tick``, which raises once the iterator is closed or interrupted, or ``stop`` is set.
    """
    # Even a single worker has its own thread, so that the waiting main thread can be interrupted immediately. The
    # threads are daemons, so that long-running native or user code does not delay the exit of the program.
    # scikit-learn's settings and the OpenMP limit apply to one thread and are not inherited by workers.
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
    """Wait for abandoned workers to reach their next tick, because native code that runs at exit may crash."""
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
            except BaseException as error:  # noqa: BLE001  (in_threads raises it, including KeyboardInterrupt)
                pool.finished.put((None, error))


def process_controller() -> ThreadpoolController:
    """Return the native thread pools of this process, searched again only after further imports."""
    return _controller(len(sys.modules))


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001  (a cache key: importing modules may load libraries)
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while at least one run is active, and restore the limit after the last run."""
    # Runs are counted, because the second of two overlapping runs would otherwise restore the limit set by the first.
    with _lock:
        if _state["users"] == 0:
            # Select only BLAS, because a limiter restores the limits of all its libraries, even those it did not set.
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
