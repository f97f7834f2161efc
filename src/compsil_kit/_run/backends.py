"""What joblib's backends for clusters need to run subsamples, and errors that say what to do where it is missing."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
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
# Where results do not arrive one by one: so many subsamples of each worker make a portion, at whose end they do.
PER_WORKER = 2


def _unregistered(name: str) -> Callable[..., Any]:
    def refuse(**_: Any) -> Any:
        raise ValueError(
            f"joblib's backend {name!r} is not registered. Run '{REGISTRATIONS[name]}' before "
            f"joblib.parallel_config(backend={name!r})."
        )

    return refuse


def explain_unregistered() -> None:
    """Stand in for backends that nobody has registered yet: joblib would only say that it does not know the name.

    joblib raises before anything of ours is called, so its register of backends is the place. The real one, whenever
    it is registered, takes this one's place.
    """
    for name in REGISTRATIONS:
        if name not in BACKENDS:
            joblib.register_parallel_backend(name, _unregistered(name))


def check_started(backend: Any) -> None:
    """Refuse a backend whose cluster is not there, before it is asked how many workers it has."""
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
    """Tell whether the workers of the backend in force need not be on this machine."""
    backend, _ = get_active_backend()
    return type(backend).__name__ in (DASK, RAY, SPARK)


def effective_workers(n_jobs: int | None) -> int:
    """Return the number of workers that joblib makes of ``n_jobs``; at least 1, also while a cluster is starting."""
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def check_workers(backend: Any) -> None:
    """Refuse workers of Spark that run another Python or other versions; joblibspark hides why they fail.

    They run what PYSPARK_PYTHON says, by default the first python3 that is found, in no virtual environment.
    """
    if type(backend).__name__ != SPARK:
        return
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():
        # Spark Connect does not let its clients near the workers.
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
    """Keep Dask from warning of tasks that carry data: subsamples must, to outlive the worker that has them."""
    if type(backend).__name__ != DASK:
        return nullcontext()
    import dask

    quiet: AbstractContextManager[Any] = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})
    return quiet


def sendable(backend: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function such that its errors survive the way back from the workers."""
    call: Callable[..., Any] = joblib.delayed(_Returning(function) if type(backend).__name__ == SPARK else function)
    return call


class _Returning:
    """A function that returns errors instead of raising them; joblibspark makes a TypeError of each that is raised."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        try:
            return self.function(*args)
        except Exception as error:  # noqa: BLE001  (it is raised on the other side)
            error.add_note(f"On the worker:\n{traceback.format_exc()}")
            return error


def in_portions(calls: Iterable[Any], n_jobs: int | None) -> Generator[Any, None, None]:
    """Yield what calls return from a backend that hands over nothing until all that it was given is done.

    In portions there is progress to see and a checkpoint to continue from; the workers are kept between them.
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
        # With Spark Connect, joblibspark fails a second time while it cleans up.
        if "_ExceptionWithTraceback" not in f"{error} {error.__context__}":
            raise
        raise RuntimeError(
            "Spark could not finish a subsample, and joblibspark does not say why: Spark's log has the cause. "
            "Usually workers were lost or ran out of memory, or cannot import the clusterer or the metric; or it is a "
            "Spark Connect session that has no cluster behind it."
        ) from error


explain_unregistered()
