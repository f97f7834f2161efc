"""Run the subsamples, in threads or on the joblib backend the user has set, and hand over each as it is finished."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any

import joblib
import numpy as np
import sklearn
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from compsil_kit.errors import ClusteringError
from compsil_kit.method.clusterers import Clusterer
from compsil_kit.method.dispersion import within_shares
from compsil_kit.method.metrics import Metric
from compsil_kit.method.plan import Plan
from compsil_kit.method.silhouette import averages, point_silhouettes
from compsil_kit.method.subsample import subsample_rows
from compsil_kit.result.trials import Failure, Trial
from compsil_kit.run.backends import check_started, check_workers, in_portions, sendable, without_advice
from compsil_kit.run.native_threads import one_blas_thread, one_openmp_thread, process_controller
from compsil_kit.run.pairs import Outcome, paired, with_predecessors
from compsil_kit.run.workers import Stopped, in_threads
from compsil_kit.settings.rules import AUTO

Array = NDArray[Any]
# A subsample, and whether it is scored or only clustered, to be compared with the next.
Task = tuple[int, bool]


@dataclass(frozen=True)
class Job:
    """What a worker needs to know, besides the data and the index of its subsample."""

    plan: Plan
    clusterer: Clusterer
    metric: Metric
    skip_failures: bool


def run_subsample(X: Any, rows: Any, index: int, job: Job, tick: Callable[[], None], *, scored: bool = True) -> Outcome:
    """Cluster the given rows, which are X, under every k, and score what was found unless only labels are wanted."""
    seed = job.plan.seeds[index]
    labelings, best, failures = cluster_under_all(X, index, seed, job, tick)
    small = np.min_scalar_type(-job.plan.ks[-1])
    compact = {at: codes.astype(small) for at, codes in best.items()}
    if not scored:
        return Outcome(index, rows, compact)
    try:
        # The paper's labelings by themselves: beside others, the last bits of their sums would depend on these.
        values = _silhouettes(X, labelings, job, tick)
        better = values | _silhouettes(X, _others(best, labelings), job, tick)
    except (MemoryError, Stopped):
        raise
    except Exception as error:  # noqa: BLE001  (a metric fails on some subsamples only, or is the user's: it is reported)
        what = "measuring distances", f"metric={job.plan.metric!r}"
        failed = [_failed(error, what, job.plan.ks[at], index, seed, job) for at in labelings]
        failures = sorted([*failures, *failed], key=lambda failure: failure.k)
        values, better, compact = {}, {}, {}
    everywhere = range(len(job.plan.ks))
    micro, macro = zip(*(values.get(at, _NONE) for at in everywhere), strict=True)
    best_micro, best_macro = zip(*(better.get(at, _NONE) for at in everywhere), strict=True)
    trial = Trial(index, micro, macro, tuple(failures), best_micro, best_macro, within=_within(X, compact, job))
    return Outcome(index, rows, compact, trial)


def _others(best: dict[int, Array], first: dict[int, Array]) -> dict[int, Array]:
    """Return the labelings of best starts that are not those of the first; with one start they are the same arrays."""
    return {at: codes for at, codes in best.items() if codes is not first[at] and not np.array_equal(codes, first[at])}


def _within(X: Any, labelings: dict[int, Array], job: Job) -> tuple[float, ...]:
    """Return the share of the sum of squares within clusters, per k; NaN where there are no dense points."""
    pointless = job.metric.precomputed or sparse.issparse(X)
    shares = {} if pointless else dict(zip(labelings, within_shares(X, list(labelings.values())), strict=True))
    return tuple(shares.get(at, float("nan")) for at in range(len(job.plan.ks)))


_NONE = (float("nan"), float("nan"))


def cluster_under_all(
    X: Any, index: int, seed: int, job: Job, tick: Callable[[], None]
) -> tuple[dict[int, Array], dict[int, Array], list[Failure]]:
    """Return the labels of X by position in ks, those of the best start, and the clusterings that failed."""
    failures: list[Failure] = []
    labelings: dict[int, Array] = {}
    best: dict[int, Array] = {}
    label = job.clusterer.labeler(X, job.plan.n_starts)
    for position, k in enumerate(job.plan.ks):
        tick()
        outcome = _cluster(label, k, index, seed, job)
        if isinstance(outcome, Failure):
            failures.append(outcome)
        else:
            labelings[position], best[position] = outcome
    return labelings, best, failures


def score_labelings(X: Any, labelings: dict[int, Array], job: Job, tick: Callable[[], None]) -> tuple[Array, Array]:
    """Return micro and macro silhouettes per k, NaN where there is no labeling."""
    values = _silhouettes(X, labelings, job, tick)
    micro, macro = zip(*(values.get(at, _NONE) for at in range(len(job.plan.ks))), strict=True)
    return np.array(micro), np.array(macro)


def _silhouettes(
    X: Any, labelings: dict[int, Array], job: Job, tick: Callable[[], None]
) -> dict[int, tuple[float, float]]:
    """Return micro and macro silhouettes of labelings by their position in ks, from one pass over the distances."""
    if not labelings:
        return {}
    values = point_silhouettes(X, list(labelings.values()), job.metric, tick)
    found = {}
    for (key, codes), row in zip(labelings.items(), values, strict=True):
        micro, means = averages(row, codes)
        found[key] = float(micro), float(means.mean())
    return found


def _cluster(label: Callable[[int, int], tuple[Array, Array]], k: int, index: int, seed: int, job: Job) -> Any:
    """Return the labels of a clustering, or its failure if those are to be skipped."""
    try:
        return label(k, seed)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (a clusterer may raise anything: it is reported with its cause)
        what = f"clustering into k={k}", f"clusterer={job.clusterer.name!r}"
        return _failed(error, what, k, index, seed, job)


def _failed(error: Exception, what: tuple[str, str], k: int, index: int, seed: int, job: Job) -> Failure:
    """Return the failure if those are to be skipped, or raise it with its cause."""
    cause = f"{type(error).__name__}: {str(error).rstrip('.')}"
    if "read-only" in cause:
        cause += " (it writes into its input, which all ks share; let it work on a copy)"
    if job.skip_failures:
        return Failure(k, index, seed, cause)
    raise ClusteringError(
        f"{what[0]} failed on subsample {index} (seed {seed}) with {what[1]}: {cause}. "
        "Pass on_failure='skip' to count failures and continue."
    ) from error


def take_rows(X: Any, rows: Any, metric: Metric) -> Any:
    """Return the subsample: its rows, and of a distance matrix also its columns.

    It is read-only: all ks share it, and a clusterer that writes into its input must not go unnoticed.
    """
    part = X[np.ix_(rows, rows)] if metric.precomputed else X[rows]
    (part.data if sparse.issparse(part) else part).setflags(write=False)
    return part


def run(
    X: Any,
    job: Job,
    n_jobs: int | None,
    indices: Collection[int] | None = None,
    stop: Event | None = None,
    *,
    in_rounds: bool = False,
) -> Generator[Trial, None, None]:
    """Yield the trial of every subsample, or of those in ``indices``, as it is finished, calibration subsamples first.

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
    scored = set(order)
    tasks = [(index, index in scored) for index in with_predecessors(order, plan)]
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "uses_threads", False):
        yield from paired(_in_threads(X, tasks, job, n_workers(n_jobs), stop, in_rounds), plan, order)
    else:
        with closing(_on_backend(X, tasks, job, n_jobs)) as arriving:
            for trial in paired(arriving, plan, order):
                yield trial
                if stop is not None and stop.is_set():
                    return


def n_workers(n_jobs: int | str | None) -> int:
    """Return the number of workers that joblib makes of ``n_jobs`` here and now; "auto" is all, if it is not told."""
    backend, told = get_active_backend()
    check_started(backend)
    if n_jobs == AUTO:
        n_jobs = -1 if told is None else None
    return int(joblib.effective_n_jobs(n_jobs))


def _in_threads(
    X: Any, tasks: list[Task], job: Job, workers: int, stop: Event | None, in_rounds: bool
) -> Iterator[Outcome]:
    """Run in threads of this process, even with one worker: the waiting main thread can then be interrupted at once."""
    controller = ThreadpoolController()
    config = {**sklearn.get_config(), **_settings(job)}

    def work(task: Task, tick: Callable[[], None]) -> Outcome:
        index, scored = task
        # scikit-learn's settings and the limit on OpenMP belong to a thread; neither reaches workers by itself.
        with sklearn.config_context(**config), one_openmp_thread(controller):
            rows = subsample_rows(job.plan.seeds[index], job.plan.n_rows, job.plan.sample_size)
            return run_subsample(take_rows(X, rows, job.metric), rows, index, job, tick, scored=scored)

    if not in_rounds:
        with one_blas_thread(controller):
            yield from in_threads(work, tasks, workers, stop)
        return
    for at in range(0, len(tasks), workers):
        with one_blas_thread(controller):
            outcomes = list(in_threads(work, tasks[at : at + workers], workers, stop))
        yield from outcomes


def _settings(job: Job) -> dict[str, bool]:
    """Return scikit-learn settings that leave out checks which have been made once and for all."""
    return {"assume_finite": True, "skip_parameter_validation": job.clusterer.by_name}


def _no_tick() -> None:
    """Do nothing: a worker in another process is stopped by its backend."""


def _remote(part: tuple[Any, Any], task: Task, job: Job) -> Outcome:
    """Run a subsample, given as its points and their rows.

    As one tuple: joblib would put arrays of their own on a single worker of Dask, and with it they would be lost.
    """
    X, rows = part
    controller = process_controller()
    with sklearn.config_context(**_settings(job)), one_blas_thread(controller), one_openmp_thread(controller):
        return run_subsample(X, rows, task[0], job, _no_tick, scored=task[1])


def _on_backend(X: Any, tasks: list[Task], job: Job, n_jobs: int | None) -> Generator[Outcome, None, None]:
    """Run on the joblib backend that is in force (processes, Dask, Ray, ...); only the rows of a subsample travel."""
    backend, _ = get_active_backend()
    check_workers(backend)
    call = sendable(backend, _remote)

    def calls() -> Iterator[Any]:
        for task in tasks:
            rows = subsample_rows(job.plan.seeds[task[0]], job.plan.n_rows, job.plan.sample_size)
            yield call((take_rows(X, rows, job.metric), rows), task, job)

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
