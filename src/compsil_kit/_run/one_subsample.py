"""One subsample: take its rows, cluster them under its ks, and score what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.agreement import nearest_clusters, within_shares
from compsil_kit._method.clusterers import Clusterer
from compsil_kit._method.metrics import Metric
from compsil_kit._method.plan import POINTS_PER_CLUSTER, Plan
from compsil_kit._method.silhouette import averages, point_silhouettes
from compsil_kit._result.trials import Failure, Trial
from compsil_kit._run.pairs import Outcome
from compsil_kit._run.workers import Stopped
from compsil_kit.errors import ClusteringError

Array = NDArray[Any]
# Positions in ks.
Positions = tuple[int, ...]
# A subsample, whether it is scored or only clustered, to be compared with the next, and under which ks.
Task = tuple[int, bool, Positions]


@dataclass(frozen=True)
class Job:
    """What a worker needs to know, besides the data and the index of its subsample."""

    plan: Plan
    clusterer: Clusterer
    metric: Metric
    skip_failures: bool


def run_subsample(X: Any, rows: Any, common: Any, task: Task, job: Job, tick: Callable[[], None]) -> Outcome:
    """Cluster the given rows, which are X, under its ks, and score what was found unless only labels are wanted.

    ``common`` are the points whose labels are compared with those of other subsamples, if these are not X itself.
    """
    index, scored, positions = task
    seed = job.plan.seeds[index]
    labelings, best, failures = cluster_under_all(X, index, seed, job, tick, positions)
    narrow = np.min_scalar_type(-job.plan.ks[-1])
    compact = {at: codes.astype(narrow) for at, codes in best.items()}
    seen: tuple[Any, dict[int, Array]] = (rows, compact) if common is None else (None, _labels_of(common, X, compact))
    if not scored:
        return Outcome(index, *seen)
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
        values, better, compact, seen = {}, {}, {}, (None, {})
    everywhere = range(len(job.plan.ks))
    micro, macro = zip(*(values.get(at, _NONE) for at in everywhere), strict=True)
    best_micro, best_macro = zip(*(better.get(at, _NONE) for at in everywhere), strict=True)
    within, small = _within(X, compact, job), _are_small(labelings if values else {}, job)
    trial = Trial(index, micro, macro, tuple(failures), best_micro, best_macro, within=within, small=small)
    return Outcome(index, *seen, trial)


def _labels_of(points: Any, X: Any, labelings: dict[int, Array]) -> dict[int, Array]:
    """Return the labels of other points than those that were clustered."""
    found = nearest_clusters(X, labelings.values(), points)
    return {at: codes.astype(labelings[at].dtype) for at, codes in zip(labelings, found, strict=True)}


def _others(best: dict[int, Array], first: dict[int, Array]) -> dict[int, Array]:
    """Return the labelings of best starts that are not those of the first; with one start they are the same arrays."""
    return {at: codes for at, codes in best.items() if codes is not first[at] and not np.array_equal(codes, first[at])}


def _are_small(labelings: dict[int, Array], job: Job) -> tuple[float, ...]:
    """Return 1 where the smallest cluster has fewer rows than a cluster should, else 0; NaN without a clustering."""
    found = {at: float(np.bincount(codes).min() < POINTS_PER_CLUSTER) for at, codes in labelings.items()}
    return tuple(found.get(at, float("nan")) for at in range(len(job.plan.ks)))


def _within(X: Any, labelings: dict[int, Array], job: Job) -> tuple[float, ...]:
    """Return the share of the sum of squares within clusters, per k; NaN where there are no dense points."""
    pointless = job.metric.precomputed or sparse.issparse(X)
    shares = {} if pointless else dict(zip(labelings, within_shares(X, list(labelings.values())), strict=True))
    return tuple(shares.get(at, float("nan")) for at in range(len(job.plan.ks)))


_NONE = (float("nan"), float("nan"))


def cluster_under_all(
    X: Any, index: int, seed: int, job: Job, tick: Callable[[], None], positions: Positions | None = None
) -> tuple[dict[int, Array], dict[int, Array], list[Failure]]:
    """Return the labels of X by position in ks, those of the best start, and the clusterings that failed.

    Under some ks only, if their positions are given.
    """
    failures: list[Failure] = []
    labelings: dict[int, Array] = {}
    best: dict[int, Array] = {}
    label = job.clusterer.labeler(X, job.plan.n_starts)
    for position in range(len(job.plan.ks)) if positions is None else positions:
        tick()
        outcome = _cluster(label, job.plan.ks[position], index, seed, job)
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
