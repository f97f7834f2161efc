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
from compsil_kit.method.metrics import Metric
from compsil_kit.method.plan import Plan
from compsil_kit.method.silhouette import averages, point_silhouettes
from compsil_kit.method.subsample import subsample_rows
from compsil_kit.result.trials import Failure, Trial
from compsil_kit.run.native_threads import one_blas_thread, one_openmp_thread, process_controller
from compsil_kit.run.workers import Stopped, in_threads
from compsil_kit.settings.rules import AUTO

Array = NDArray[Any]


@dataclass(frozen=True)
class Job:
    """What a worker needs to know, besides the data and the index of its subsample."""

    plan: Plan
    clusterer: Clusterer
    metric: Metric
    skip_failures: bool


def run_subsample(X: Any, index: int, job: Job, tick: Callable[[], None]) -> Trial:
    """Cluster the rows X of one subsample under every k and score all labelings in one pass."""
    labelings, failures = cluster_under_all(X, index, job.plan.seeds[index], job, tick)
    try:
        micro, macro = score_labelings(X, labelings, job, tick)
    except (MemoryError, Stopped):
        raise
    except Exception as error:  # noqa: BLE001  (a metric fails on some subsamples only, or is the user's: it is reported)
        what = "measuring distances", f"metric={job.plan.metric!r}"
        failed = [_failed(error, what, job.plan.ks[at], index, job.plan.seeds[index], job) for at in labelings]
        failures = sorted([*failures, *failed], key=lambda failure: failure.k)
        micro, macro = score_labelings(X, {}, job, tick)
    return Trial(index, tuple(micro.tolist()), tuple(macro.tolist()), tuple(failures))


def cluster_under_all(
    X: Any, index: int, seed: int, job: Job, tick: Callable[[], None]
) -> tuple[dict[int, Array], list[Failure]]:
    """Return the labels of X by position in ks, and the clusterings that failed."""
    failures: list[Failure] = []
    labelings: dict[int, Array] = {}
    label = job.clusterer.labeler(X)
    for position, k in enumerate(job.plan.ks):
        tick()
        outcome = _cluster(label, k, index, seed, job)
        if isinstance(outcome, Failure):
            failures.append(outcome)
        else:
            labelings[position] = outcome
    return labelings, failures


def score_labelings(X: Any, labelings: dict[int, Array], job: Job, tick: Callable[[], None]) -> tuple[Array, Array]:
    """Return micro and macro silhouettes per k, NaN where there is no labeling."""
    micro = np.full(len(job.plan.ks), np.nan)
    macro = np.full(len(job.plan.ks), np.nan)
    if labelings:
        values = point_silhouettes(X, list(labelings.values()), job.metric, tick)
        for (position, codes), row in zip(labelings.items(), values, strict=True):
            micro[position], means = averages(row, codes)
            macro[position] = means.mean()
    return micro, macro


def _cluster(label: Callable[[int, int], Array], k: int, index: int, seed: int, job: Job) -> Any:
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
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "uses_threads", False):
        yield from _in_threads(X, order, job, n_workers(n_jobs), stop, in_rounds)
    else:
        with closing(_on_backend(X, order, job, n_jobs)) as arriving:
            for trial in arriving:
                yield trial
                if stop is not None and stop.is_set():
                    return


def n_workers(n_jobs: int | str | None) -> int:
    """Return the number of workers that joblib makes of ``n_jobs`` here and now; "auto" is all, if it is not told."""
    if n_jobs == AUTO:
        n_jobs = -1 if get_active_backend()[1] is None else None
    return int(joblib.effective_n_jobs(n_jobs))


def _in_threads(
    X: Any, order: list[int], job: Job, workers: int, stop: Event | None, in_rounds: bool
) -> Iterator[Trial]:
    """Run in threads of this process, even with one worker: the waiting main thread can then be interrupted at once."""
    controller = ThreadpoolController()
    config = {**sklearn.get_config(), **_settings(job)}

    def work(index: int, tick: Callable[[], None]) -> Trial:
        # scikit-learn's settings and the limit on OpenMP belong to a thread; neither reaches workers by itself.
        with sklearn.config_context(**config), one_openmp_thread(controller):
            rows = subsample_rows(job.plan.seeds[index], job.plan.n_rows, job.plan.sample_size)
            return run_subsample(take_rows(X, rows, job.metric), index, job, tick)

    if not in_rounds:
        with one_blas_thread():
            yield from in_threads(work, order, workers, stop)
        return
    for at in range(0, len(order), workers):
        with one_blas_thread():
            trials = list(in_threads(work, order[at : at + workers], workers, stop))
        yield from trials


def _settings(job: Job) -> dict[str, bool]:
    """Return scikit-learn settings that leave out checks which have been made once and for all."""
    return {"assume_finite": True, "skip_parameter_validation": job.clusterer.by_name}


def _no_tick() -> None:
    """Do nothing: a worker in another process is stopped by its backend."""


def _remote(X: Any, index: int, job: Job) -> Trial:
    controller = process_controller()
    with sklearn.config_context(**_settings(job)), one_blas_thread(controller), one_openmp_thread(controller):
        return run_subsample(X, index, job, _no_tick)


def _on_backend(X: Any, order: list[int], job: Job, n_jobs: int | None) -> Generator[Trial, None, None]:
    """Run on the joblib backend that is in force (processes, Dask, Ray, ...); only the rows of a subsample travel."""

    def calls() -> Iterator[Any]:
        for index in order:
            rows = subsample_rows(job.plan.seeds[index], job.plan.n_rows, job.plan.sample_size)
            yield joblib.delayed(_remote)(take_rows(X, rows, job.metric), index, job)

    backend, _ = get_active_backend()
    streams = getattr(backend, "supports_return_generator", False)
    arriving = iter(joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered" if streams else "list")(calls()))
    try:
        # Not "yield from", which would hand an early end on to joblib before it is told that this is no mistake.
        for trial in arriving:  # noqa: UP028
            yield trial
    finally:
        with warnings.catch_warnings():
            # joblib warns of work that was in vain; whoever stops a run knows.
            warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
            if streams:
                arriving.close()
