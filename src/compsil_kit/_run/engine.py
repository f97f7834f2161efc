"""Run the subsamples of a plan, in threads or on the configured joblib backend, and yield each trial as it finishes."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import joblib
import sklearn
from joblib.parallel import get_active_backend

from compsil_kit._method.selection import ROUND, review_candidates
from compsil_kit._method.subsample import common_rows
from compsil_kit._result.trials import Trial, current_versions
from compsil_kit._run.planning import resolve_workers
from compsil_kit._run.subsample import Clustered, Pairs, Part, Positions, Task, run_subsample, take, with_predecessors
from compsil_kit._run.workers import (
    DASK,
    SPARK,
    in_threads,
    n_workers,
    one_blas_thread,
    one_openmp_thread,
    process_controller,
)
from compsil_kit.events import Events
from compsil_kit.plan import Plan
from compsil_kit.result import collect

# Subsamples per worker and call, for backends that return results only when a call ends.
PER_WORKER = 2


def run(
    X: Any,
    plan: Plan,
    events: Events,
    known: Sequence[Trial] = (),
    *,
    indices: Collection[int] | None = None,
) -> Generator[Trial, None, None]:
    """Yield the trials that are not in ``known``, calibration subsamples first; ``indices`` restricts the subsamples.

    Closing the iterator stops the workers. Setting ``events.stop`` ends the run after the next subsample at the latest.
    """
    everywhere = range(len(plan.seeds)) if indices is None else indices
    done = {trial.index for trial in known}
    wanted = sorted({*everywhere} - done, key=lambda index: (index < plan.n_subsamples, index))
    trials, pairs = list(known), Pairs(plan, wanted)
    backend, _ = get_active_backend(prefer="threads")
    in_process = getattr(backend, "uses_threads", False)
    n_jobs = resolve_workers(plan) if isinstance(plan.config.n_jobs, str) else plan.config.n_jobs
    try:
        for tasks in _schedule(plan, wanted, trials):
            if in_process:
                arriving = _in_threads(X, tasks, plan, events, n_workers(n_jobs))
            else:
                arriving = _on_backend(X, tasks, plan, n_jobs)
            with closing(arriving):
                for clustered in arriving:
                    for trial in pairs.add(clustered):
                        trials.append(trial)
                        yield trial
                    if events.stopped and not in_process:
                        # Threads stop by themselves, after returning the work they have finished.
                        return
            if events.stopped:
                break
    except (Exception, KeyboardInterrupt):
        yield from pairs.incomplete()
        raise
    yield from pairs.incomplete()


def _schedule(plan: Plan, wanted: Sequence[int], trials: Sequence[Trial]) -> Iterator[list[Task]]:
    """Yield the tasks of each round; if the number of subsamples is fixed, there is only one round."""
    clustered: set[int] = set()
    one_round = iter([(wanted, tuple(range(len(plan.ks))))])
    for indices, positions in _adaptive_rounds(plan, wanted, trials) if plan.adaptive else one_round:
        scored = set(indices)
        order = [index for index in with_predecessors(indices, plan) if index in scored or index not in clustered]
        clustered |= scored
        yield [(index, index in scored, positions) for index in order]


def _adaptive_rounds(
    plan: Plan, wanted: Sequence[int], trials: Sequence[Trial]
) -> Iterator[tuple[Sequence[int], Positions]]:
    """Yield each round's missing subsamples and candidate positions; ``trials`` grows between rounds."""
    # A round depends only on the trials of earlier rounds, so that a resumed run equals an uninterrupted one.
    positions: Positions = tuple(range(len(plan.ks)))
    calibration = [index for index in wanted if index >= plan.n_subsamples]
    for low in range(0, plan.n_subsamples, ROUND):
        high = min(low + ROUND, plan.n_subsamples)
        # Calibration subsamples belong to the first round, because the weights depend on them.
        missing = [*(calibration if low == 0 else ()), *(index for index in wanted if low <= index < high)]
        if missing:
            yield missing, positions
        so_far = [trial for trial in trials if trial.index < high or trial.index >= plan.n_subsamples]
        result = collect(plan, so_far, **plan.config.choice)
        enough, positions = review_candidates(result.selection_probability, result._selectable, positions)
        if enough:
            return


def _in_threads(
    X: Any, tasks: list[Task], plan: Plan, events: Events, workers: int
) -> Generator[Clustered, None, None]:
    work = partial(run_subsample, plan=plan, X=X, common=_common_points(X, plan))
    settings = _sklearn_settings(plan)
    if not events.pause_between:
        return in_threads(work, tasks, workers, events.stop, **settings)
    # After one subsample per worker all workers pause, because the BLAS limit applies to the whole process.
    return (
        clustered
        for at in range(0, len(tasks), workers)
        for clustered in list(in_threads(work, tasks[at : at + workers], workers, events.stop, **settings))
    )


def _common_points(X: Any, plan: Plan) -> Any:
    """Return the points that every subsample labels, or None if clusterings are compared on shared rows."""
    return X[common_rows(plan.n_rows, plan.n_common)] if plan.n_common else None


def _sklearn_settings(plan: Plan) -> dict[str, bool]:
    """Return scikit-learn settings that skip repeated validation."""
    return {"assume_finite": True, "skip_parameter_validation": plan.config.resolved_clusterer.by_name}


# --- joblib backends --------------------------------------------------------------------------------------------------


def _on_backend(X: Any, tasks: list[Task], plan: Plan, n_jobs: int | None) -> Generator[Clustered, None, None]:
    """Run on the configured joblib backend (processes, Dask, Ray, ...); only the rows of a subsample are sent."""
    backend, _ = get_active_backend()
    check_workers(backend)
    spark = type(backend).__name__ == SPARK
    call = joblib.delayed(partial(_return_error, _run_remotely) if spark else _run_remotely)
    common = _common_points(X, plan)
    if callable(plan.config.transform):
        # Workers do not need the transform, and some backends cannot send functions.
        plan = replace(plan, config=plan.config.changed(transform="tanh"))
    calls = (call((take(X, plan, task[0]), common), task, plan) for task in tasks)
    with ExitStack() as stack:
        if type(backend).__name__ == DASK:
            import dask

            # Dask warns about large tasks. Tasks contain their subsample, so that losing a worker loses no data.
            stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}))
        if getattr(backend, "supports_return_generator", False):
            arriving = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)
        else:
            arriving = in_portions(calls, n_jobs)
        try:
            # "yield from" would close joblib's generator before the warnings are silenced.
            for clustered in arriving:  # noqa: UP028
                yield clustered
        finally:
            with warnings.catch_warnings():
                # joblib warns about discarded work, which is intended here.
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                arriving.close()


def _run_remotely(data: tuple[Part, Any], task: Task, plan: Plan) -> Clustered:
    # The data are one tuple, because joblib would scatter separate arrays to one Dask worker and could lose them.
    part, common = data
    settings = sklearn.config_context(**_sklearn_settings(plan))
    with settings, one_blas_thread(), one_openmp_thread(process_controller()):
        # Ticks are not needed, because the backend stops workers in other processes.
        return run_subsample(task, lambda: None, plan, None, common, part)


def check_workers(backend: Any) -> None:
    """Raise if Spark's workers run another Python or other library versions, because joblibspark hides the cause."""
    if type(backend).__name__ != SPARK:
        return
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():
        # With Spark Connect, clients have no access to the workers.
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
    # The workers run the interpreter in PYSPARK_PYTHON, by default the first python3 on the path, which ignores
    # virtual environments.
    return RuntimeError(
        f"Spark's workers run {command!r}, which cannot compute subsamples for this process: {why.rstrip('.')}. "
        "Before the Spark session starts, set PYSPARK_PYTHON to a Python on the workers with compsil-kit and the same "
        "library versions as here; on a single machine: os.environ['PYSPARK_PYTHON'] = sys.executable."
    )


def _return_error(function: Callable[..., Any], *args: Any) -> Any:
    """Return an error instead of raising it, because joblibspark turns every raised error into a TypeError."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001  (the caller raises it)
        error.add_note(f"On the worker:\n{traceback.format_exc()}")
        return error


def in_portions(calls: Iterable[Any], n_jobs: int | None) -> Generator[Any, None, None]:
    """Split the calls, so that a backend that returns results only at the end can still report progress."""
    remaining = iter(calls)
    with joblib.Parallel(n_jobs=n_jobs) as parallel:
        size = PER_WORKER * n_workers(n_jobs)
        while part := list(islice(remaining, size)):
            try:
                results = list(parallel(part))
            except (TypeError, AttributeError) as error:
                # With Spark Connect, joblibspark fails again during its cleanup.
                if "_ExceptionWithTraceback" not in f"{error} {error.__context__}":
                    raise
                raise RuntimeError(
                    "Spark could not finish a subsample, and joblibspark does not report the cause. See Spark's log: "
                    "usually, workers were lost, ran out of memory or cannot import the clusterer or the metric, or "
                    "the Spark Connect session has no cluster."
                ) from error
            for found in results:
                if isinstance(found, Exception):
                    raise found
                yield found
