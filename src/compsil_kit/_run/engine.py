"""Run the subsamples, in threads or on the joblib backend the user has set, and hand over each as it is finished."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from threading import Event
from typing import Any

import joblib
import sklearn
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from compsil_kit._method.plan import Plan
from compsil_kit._method.subsample import common_rows, subsample_rows
from compsil_kit._result.trials import Trial
from compsil_kit._run.backends import (
    check_started,
    check_workers,
    effective_workers,
    in_portions,
    sendable,
    without_advice,
)
from compsil_kit._run.native_threads import one_blas_thread, one_openmp_thread, process_controller
from compsil_kit._run.one_subsample import Job, Positions, Task, run_subsample, take_rows
from compsil_kit._run.pairs import Outcome, paired, with_predecessors
from compsil_kit._run.workers import in_threads

Array = NDArray[Any]
# Subsamples that run together, and their ks.
Round = tuple[list[int], Positions]


def run(
    X: Any,
    job: Job,
    n_jobs: int | None,
    indices: Collection[int] | None = None,
    stop: Event | None = None,
    *,
    in_rounds: bool = False,
    rounds: Iterator[Round] | None = None,
) -> Generator[Trial, None, None]:
    """Yield the trial of every subsample, or of those in ``indices``, as it is finished, calibration subsamples first.

    ``rounds`` says instead what to run; each is asked for when all trials of the one before have been handed over.

    ``in_rounds`` keeps threads at rest while a trial is looked at: each worker computes one subsample, then they wait.
    Only then can BLAS, whose limit holds for the whole process, have its threads in between.

    Closing the iterator stops the work: at once on this side, in the workers at their next step. Setting ``stop`` in
    another thread ends the iterator, at the latest when the next subsample is finished.
    """
    plan = job.plan
    order = [*range(plan.n_subsamples, len(plan.seeds)), *range(plan.n_subsamples)]
    if indices is not None:
        wanted = set(indices)
        order = [index for index in order if index in wanted]
    planned = iter([(order, tuple(range(len(plan.ks))))]) if rounds is None else rounds
    backend, _ = get_active_backend(prefer="threads")
    threads = getattr(backend, "uses_threads", False)

    def compute(tasks: list[Task]) -> Generator[Outcome, None, None]:
        if threads:
            return _in_threads(X, tasks, job, n_workers(n_jobs), stop, in_rounds)
        return _on_backend(X, tasks, job, n_jobs)

    with closing(_round_by_round(planned, plan, compute, stop)) as arriving:
        for trial in paired(arriving, plan, order):
            yield trial
            # Threads end by themselves, and hand over what they have finished.
            if not threads and stop is not None and stop.is_set():
                return


def _round_by_round(
    rounds: Iterator[Round],
    plan: Plan,
    compute: Callable[[list[Task]], Generator[Outcome, None, None]],
    stop: Event | None,
) -> Generator[Outcome, None, None]:
    """Yield the outcomes of one round after the other; what an earlier one has clustered is not clustered again."""
    clustered: set[int] = set()
    for indices, positions in rounds:
        if stop is not None and stop.is_set():
            return
        scored = set(indices)
        order = [index for index in with_predecessors(indices, plan) if index in scored or index not in clustered]
        clustered |= scored
        with closing(compute([(index, index in scored, positions) for index in order])) as arriving:
            # Not "yield from", which would hand an early end on to joblib before it is told that this is no mistake.
            for outcome in arriving:  # noqa: UP028
                yield outcome


def n_workers(n_jobs: int | str | None) -> int:
    """Return the number of workers that joblib makes of ``n_jobs`` here and now; "auto" is all, if it is not told."""
    backend, told = get_active_backend()
    check_started(backend)
    if isinstance(n_jobs, str):
        n_jobs = -1 if told is None else None
    return effective_workers(n_jobs)


def _in_threads(
    X: Any, tasks: list[Task], job: Job, workers: int, stop: Event | None, in_rounds: bool
) -> Generator[Outcome, None, None]:
    """Run in threads of this process, even with one worker: the waiting main thread can then be interrupted at once."""
    controller = process_controller()
    config = {**sklearn.get_config(), **_settings(job)}
    common = _common_points(X, job.plan)

    def work(task: Task, tick: Callable[[], None]) -> Outcome:
        # scikit-learn's settings and the limit on OpenMP belong to a thread; neither reaches workers by itself.
        with sklearn.config_context(**config), one_openmp_thread(controller):
            rows = subsample_rows(job.plan.seeds[task[0]], job.plan.n_rows, job.plan.sample_size)
            return run_subsample(take_rows(X, rows, job.metric), rows, common, task, job, tick)

    if not in_rounds:
        with one_blas_thread(controller):
            yield from in_threads(work, tasks, workers, stop)
        return
    for at in range(0, len(tasks), workers):
        with one_blas_thread(controller):
            outcomes = list(in_threads(work, tasks[at : at + workers], workers, stop))
        yield from outcomes


def _common_points(X: Any, plan: Plan) -> Any:
    """Return the points that all subsamples label, None where those are compared that two of them share."""
    return X[common_rows(plan.n_rows, plan.n_common)] if plan.n_common else None


def _settings(job: Job) -> dict[str, bool]:
    """Return scikit-learn settings that leave out checks which have been made once and for all."""
    return {"assume_finite": True, "skip_parameter_validation": job.clusterer.by_name}


def _no_tick() -> None:
    """Do nothing: a worker in another process is stopped by its backend."""


def _remote(part: tuple[Any, Any, Any], task: Task, job: Job) -> Outcome:
    """Run a subsample, given as its points, their rows, and the points that all subsamples label.

    As one tuple: joblib would put arrays of their own on a single worker of Dask, and with it they would be lost.
    """
    X, rows, common = part
    controller = process_controller()
    with sklearn.config_context(**_settings(job)), one_blas_thread(controller), one_openmp_thread(controller):
        return run_subsample(X, rows, common, task, job, _no_tick)


def _on_backend(X: Any, tasks: list[Task], job: Job, n_jobs: int | None) -> Generator[Outcome, None, None]:
    """Run on the joblib backend that is in force (processes, Dask, Ray, ...); only the rows of a subsample travel."""
    backend, _ = get_active_backend()
    check_workers(backend)
    call, common = sendable(backend, _remote), _common_points(X, job.plan)

    def calls() -> Iterator[Any]:
        for task in tasks:
            rows = subsample_rows(job.plan.seeds[task[0]], job.plan.n_rows, job.plan.sample_size)
            yield call((take_rows(X, rows, job.metric), rows, common), task, job)

    with without_advice(backend):
        if getattr(backend, "supports_return_generator", False):
            arriving = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls())
        else:
            arriving = in_portions(calls(), n_jobs)
        try:
            # Not "yield from", which would hand an early end on to joblib before it is told that this is no mistake.
            for outcome in arriving:  # noqa: UP028
                yield outcome
        finally:
            with warnings.catch_warnings():
                # joblib warns of work that was in vain; whoever stops a run knows.
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                arriving.close()
