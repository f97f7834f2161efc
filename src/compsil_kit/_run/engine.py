"""Run the subsamples of a plan, in threads or on the configured joblib backend, and yield each trial as it finishes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
import sklearn
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from compsil_kit._method.selection import ROUND, review_candidates
from compsil_kit._method.subsample import common_rows, subsample_rows
from compsil_kit._result.trials import Trial
from compsil_kit._run.backends import check_workers, in_portions, sendable, without_advice
from compsil_kit._run.planning import n_workers, resolve_workers
from compsil_kit._run.subsample import Clustered, Pairs, Positions, Task, run_subsample, take_rows, with_predecessors
from compsil_kit._run.workers import in_threads, one_blas_thread, one_openmp_thread, process_controller
from compsil_kit.config import Events
from compsil_kit.plan import Plan
from compsil_kit.result import collect

Array = NDArray[Any]


def run(
    X: Any,
    plan: Plan,
    events: Events,
    known: Sequence[Trial] = (),
    *,
    indices: Collection[int] | None = None,
    pause_between: bool = False,
) -> Generator[Trial, None, None]:
    """Yield the trials that are not known yet, calibration subsamples first.

    ``indices`` restricts the run to some subsamples. ``pause_between`` stops the workers while the caller processes a
    trial: each worker computes one subsample, then all of them pause. Only then can BLAS use its own threads in
    between, because its limit applies to the whole process.

    Closing the iterator stops the work: at once on this side, in the workers at their next step. Setting
    ``events.stop`` ends the iterator, at the latest when the next subsample is finished.
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
                arriving = _in_threads(X, tasks, plan, events, n_workers(n_jobs), pause_between=pause_between)
            else:
                arriving = _on_backend(X, tasks, plan, n_jobs)
            with closing(arriving):
                for clustered in arriving:
                    for trial in pairs.add(clustered):
                        trials.append(trial)
                        yield trial
                    if events.stopped and not in_process:
                        # Threads stop on their own and first return what they have finished.
                        return
            if events.stopped:
                break
    except (Exception, KeyboardInterrupt):
        yield from pairs.incomplete()
        raise
    yield from pairs.incomplete()


def _schedule(plan: Plan, wanted: Sequence[int], trials: Sequence[Trial]) -> Iterator[list[Task]]:
    """Yield the tasks of each round; a fixed number of subsamples is one round.

    Subsamples that an earlier round clustered are not clustered again.
    """
    clustered: set[int] = set()
    one_round = iter([(list(wanted), tuple(range(len(plan.ks))))])
    for indices, positions in _adaptive_rounds(plan, wanted, trials) if plan.adaptive else one_round:
        scored = set(indices)
        order = [index for index in with_predecessors(indices, plan) if index in scored or index not in clustered]
        clustered |= scored
        yield [(index, index in scored, positions) for index in order]


def _adaptive_rounds(
    plan: Plan, wanted: Sequence[int], trials: Sequence[Trial]
) -> Iterator[tuple[list[int], Positions]]:
    """Yield the missing subsamples of each round and the positions of its ks; ``trials`` grows between the rounds.

    A round depends only on the trials of earlier rounds, so that a run resumed from a checkpoint equals an
    uninterrupted one.
    """
    positions: Positions = tuple(range(len(plan.ks)))
    calibration = [index for index in wanted if index >= plan.n_subsamples]
    for low in range(0, plan.n_subsamples, ROUND):
        high = min(low + ROUND, plan.n_subsamples)
        # Calibration subsamples belong to the first round: the weights depend on them.
        missing = [*(calibration if low == 0 else ()), *(index for index in wanted if low <= index < high)]
        if missing:
            yield missing, positions
        so_far = [trial for trial in trials if trial.index < high or trial.index >= plan.n_subsamples]
        result = collect(plan, so_far, **plan.config.choice)
        enough, positions = review_candidates(result.selection_probability, result._selectable, positions)
        if enough:
            return


def _in_threads(
    X: Any, tasks: list[Task], plan: Plan, events: Events, workers: int, *, pause_between: bool
) -> Generator[Clustered, None, None]:
    """Return an iterator that computes the tasks in threads of this process."""
    work = partial(run_subsample, plan=plan, take=partial(_take, X, plan), common=_common_points(X, plan))
    settings = _sklearn_settings(plan)
    if not pause_between:
        return in_threads(work, tasks, workers, events.stop, **settings)
    return (
        clustered
        for at in range(0, len(tasks), workers)
        for clustered in list(in_threads(work, tasks[at : at + workers], workers, events.stop, **settings))
    )


def _take(X: Any, plan: Plan, index: int) -> tuple[Array, Any]:
    """Return the rows of a subsample and their points."""
    rows = subsample_rows(plan.seeds[index], plan.n_rows, plan.sample_size)
    return rows, take_rows(X, rows, plan.config.resolved_metric)


def _common_points(X: Any, plan: Plan) -> Any:
    """Return the points that all subsamples label; None if the rows that two subsamples share are compared."""
    return X[common_rows(plan.n_rows, plan.n_common)] if plan.n_common else None


def _sklearn_settings(plan: Plan) -> dict[str, bool]:
    """Return scikit-learn settings that skip validation done before."""
    return {"assume_finite": True, "skip_parameter_validation": plan.config.resolved_clusterer.by_name}


def _no_tick() -> None:
    """Do nothing: the backend stops a worker in another process."""


def _run_remotely(part: tuple[Any, Any, Any], task: Task, plan: Plan) -> Clustered:
    """Run a subsample, given as its rows, their points, and the common points.

    As one tuple: joblib would scatter separate arrays to a single Dask worker, and lose them with it.
    """
    rows, X, common = part
    settings = sklearn.config_context(**_sklearn_settings(plan))
    with settings, one_blas_thread(), one_openmp_thread(process_controller()):
        return run_subsample(task, _no_tick, plan, lambda _: (rows, X), common)


def _on_backend(X: Any, tasks: list[Task], plan: Plan, n_jobs: int | None) -> Generator[Clustered, None, None]:
    """Run on the configured joblib backend (processes, Dask, Ray, ...); only the rows of a subsample are sent."""
    backend, _ = get_active_backend()
    check_workers(backend)
    call, common = sendable(backend, _run_remotely), _common_points(X, plan)
    if callable(plan.config.transform):
        # Workers do not need it, and some backends cannot send functions.
        plan = replace(plan, config=plan.config.changed(transform="tanh"))
    calls = (call((*_take(X, plan, task[0]), common), task, plan) for task in tasks)
    with without_advice(backend):
        if getattr(backend, "supports_return_generator", False):
            arriving = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)
        else:
            arriving = in_portions(calls, n_jobs)
        try:
            # Not "yield from": it would pass an early end on to joblib before the warnings are silenced.
            for clustered in arriving:  # noqa: UP028
                yield clustered
        finally:
            with warnings.catch_warnings():
                # joblib warns about discarded work, which is intended here.
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                arriving.close()
