"""joblib backends on clusters: what Dask, Ray and Spark need to run subsamples, and helpful errors if it is missing."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from typing import Any

import joblib
from joblib.parallel import BACKENDS, get_active_backend

from compsil_kit._result.trials import current_versions

REGISTRATIONS = {
    "ray": "from ray.util.joblib import register_ray; register_ray()",
    "spark": "from joblibspark import register_spark; register_spark()",
}
DASK, RAY, SPARK = "DaskDistributedBackend", "RayBackend", "SparkDistributedBackend"
# Subsamples per worker in a portion, for backends that return results only at the end of a call.
PER_WORKER = 2


def _unregistered(name: str) -> Callable[..., Any]:
    def fail(**_: Any) -> Any:
        raise ValueError(
            f"joblib's backend {name!r} is not registered. Run '{REGISTRATIONS[name]}' before "
            f"joblib.parallel_config(backend={name!r})."
        )

    return fail


def explain_unregistered() -> None:
    """Register placeholders for backends that are not registered yet, with an error that shows how to register them.

    joblib raises before our code runs, so the placeholders are part of its registry. Registering the real backend
    replaces them.
    """
    for name in REGISTRATIONS:
        if name not in BACKENDS:
            joblib.register_parallel_backend(name, _unregistered(name))


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


def is_elsewhere() -> bool:
    """Return whether the workers of the active backend may be on other machines."""
    backend, _ = get_active_backend()
    return type(backend).__name__ in (DASK, RAY, SPARK)


def effective_workers(n_jobs: int | None) -> int:
    """Return the number of workers that joblib derives from ``n_jobs``; at least 1, also while a cluster starts."""
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def check_workers(backend: Any) -> None:
    """Raise if Spark's workers run another Python or other library versions; joblibspark hides the cause.

    They run the interpreter in PYSPARK_PYTHON, by default the first python3 on the path, outside virtual environments.
    """
    if type(backend).__name__ != SPARK:
        return
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():
        # Spark Connect gives clients no access to the workers.
        return
    context = SparkSession.builder.getOrCreate().sparkContext
    try:
        (there,) = context.parallelize([0], 1).map(_versions).collect()
    except Exception as error:
        found = re.search(r"^\S*Error: .*$", str(error), re.MULTILINE)
        raise _other_python(context.pythonExec, found[0] if found else type(error).__name__) from error
    here = current_versions()
    different = [f"{name} {there.get(name)} instead of {here[name]}" for name in here if there.get(name) != here[name]]
    if different:
        raise _other_python(context.pythonExec, f"it has {', '.join(different)}")


def _versions(_: Any) -> dict[str, str]:
    return current_versions()


def _other_python(command: str, why: str) -> RuntimeError:
    return RuntimeError(
        f"Spark's workers run {command!r}, which cannot compute subsamples for this process: {why.rstrip('.')}. Set "
        "PYSPARK_PYTHON to a Python of the workers that has compsil-kit, in the versions of this one, before the Spark "
        "session starts; on one machine: os.environ['PYSPARK_PYTHON'] = sys.executable."
    )


def without_advice(backend: Any) -> AbstractContextManager[Any]:
    """Silence Dask's warning about large tasks: tasks contain their subsample, so lost workers lose no data."""
    if type(backend).__name__ != DASK:
        return nullcontext()
    import dask

    quiet: AbstractContextManager[Any] = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})
    return quiet


def sendable(backend: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a delayed function whose errors reach the caller unchanged."""
    spark = type(backend).__name__ == SPARK
    call: Callable[..., Any] = joblib.delayed(partial(_return_error, function) if spark else function)
    return call


def _return_error(function: Callable[..., Any], *args: Any) -> Any:
    """Return an error instead of raising it; joblibspark turns every raised one into a TypeError."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001  (the caller raises it)
        error.add_note(f"On the worker:\n{traceback.format_exc()}")
        return error


def in_portions(calls: Iterable[Any], n_jobs: int | None) -> Generator[Any, None, None]:
    """Yield the results of calls from a backend that returns nothing until a whole call is done.

    Portions make progress and checkpoints possible; the workers are kept between them.
    """
    remaining = iter(calls)
    with joblib.Parallel(n_jobs=n_jobs) as parallel:
        size = PER_WORKER * effective_workers(n_jobs)
        while part := list(islice(remaining, size)):
            for found in _results(parallel, part):
                if isinstance(found, Exception):
                    raise found
                yield found


def _results(parallel: joblib.Parallel, part: list[Any]) -> list[Any]:
    try:
        return list(parallel(part))
    except (TypeError, AttributeError) as error:
        # With Spark Connect, joblibspark fails again during its cleanup.
        if "_ExceptionWithTraceback" not in f"{error} {error.__context__}":
            raise
        raise RuntimeError(
            "Spark could not finish a subsample, and joblibspark does not report the cause, which is in Spark's log. "
            "Usually workers were lost, ran out of memory or cannot import the clusterer or the metric, or the Spark "
            "Connect session has no cluster."
        ) from error


explain_unregistered()
