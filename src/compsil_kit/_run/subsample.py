"""Cluster a subsample with every k, score the clusterings, and compare them with the previous subsample's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.labels import agreement, nearest_clusters, shared_rows, within_shares
from compsil_kit._method.metrics import Metric
from compsil_kit._method.silhouette import averages, point_silhouettes
from compsil_kit._method.subsample import POINTS_PER_CLUSTER, subsample_rows
from compsil_kit._result.trials import Failure, Trial
from compsil_kit._run.workers import Cancelled, Tick
from compsil_kit.errors import ClusteringError
from compsil_kit.plan import Plan

Array = NDArray[Any]
# Labels by position of the candidate in ks.
Labelings = dict[int, Array]
# Positions in ks.
Positions = tuple[int, ...]
# Index of a subsample, whether it is scored or only clustered for comparison with the next, and its candidates.
Task = tuple[int, bool, Positions]
# Rows and points of a subsample.
Part = tuple[Array, Any]

NAN = float("nan")


@dataclass(frozen=True)
class Clustered:
    """The labels and the trial of one subsample."""

    index: int
    # None if the labels are for the common rows.
    rows: Array | None
    labelings: Labelings
    # None if only the labels were requested.
    trial: Trial | None = None


def run_subsample(task: Task, tick: Tick, plan: Plan, X: Any, common: Any, part: Part | None = None) -> Clustered:
    """Cluster a subsample of X, or the rows in ``part``, with its candidates, and score the clusterings if requested.

    ``common`` are the points to label for comparisons; with None, the rows that two subsamples share are compared.
    """
    index, scored, positions = task
    rows, X = part or take(X, plan, index)
    first, best, failures = cluster_all(X, index, plan, tick, positions)
    narrow = np.min_scalar_type(-plan.ks[-1])
    compact = {at: codes.astype(narrow) for at, codes in best.items()}
    labelled: tuple[Array | None, Labelings] = (rows, compact)
    if common is not None:
        found = nearest_clusters(X, compact.values(), common)
        labelled = None, {at: codes.astype(narrow) for at, codes in zip(compact, found, strict=True)}
    if not scored:
        return Clustered(index, *labelled)
    metric = plan.config.resolved_metric
    others = {at: codes for at, codes in best.items() if not np.array_equal(codes, first[at])}
    try:
        # Use two calls, because the rounding of the sums depends on all labellings in a call, and scores of the first
        # initialisation must not depend on the number of initialisations.
        values = _averages(first, point_silhouettes(X, list(first.values()), metric, tick) if first else ())
        better = _averages(others, point_silhouettes(X, list(others.values()), metric, tick) if others else ())
    except (MemoryError, Cancelled):
        raise
    except Exception as error:  # noqa: BLE001  (a user's metric may fail on some subsamples)
        what = "measuring distances", f"metric={plan.metric!r}"
        failures += [_failure(error, what, plan.ks[at], index, plan.seeds[index], plan) for at in first]
        failures.sort(key=lambda failure: failure.k)
        first, compact, values, better, labelled = {}, {}, {}, {}, (None, {})
    small = {at: float(np.bincount(codes).min() < POINTS_PER_CLUSTER) for at, codes in first.items()}
    numbers = (*_micro_macro(values, plan), tuple(failures), *_micro_macro(values | better, plan))
    within: dict[int, float] = {}
    if not metric.precomputed and not sparse.issparse(X):
        within = dict(zip(compact, within_shares(X, list(compact.values())), strict=True))
    trial = Trial(index, *numbers, within=_per_k(within, plan), small=_per_k(small, plan))
    return Clustered(index, *labelled, trial)


def _averages(labelings: Labelings, values: Any) -> dict[int, tuple[float, float]]:
    found = {}
    for (at, codes), row in zip(labelings.items(), values, strict=True):
        micro, means = averages(row, codes)
        found[at] = float(micro), float(means.mean())
    return found


def _per_k(values: Mapping[int, float], plan: Plan) -> tuple[float, ...]:
    return tuple(values.get(at, NAN) for at in range(len(plan.ks)))


def _micro_macro(values: Mapping[int, tuple[float, float]], plan: Plan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    micro, macro = ({at: pair[which] for at, pair in values.items()} for which in (0, 1))
    return _per_k(micro, plan), _per_k(macro, plan)


def cluster_all(
    X: Any, index: int, plan: Plan, tick: Tick, positions: Positions | None = None, seed: int | None = None
) -> tuple[Labelings, Labelings, list[Failure]]:
    """Return the labels from the first and the best initialisation for each candidate, and the failures."""
    seed = plan.seeds[index] if seed is None else seed
    failures: list[Failure] = []
    first: Labelings = {}
    best: Labelings = {}
    label = plan.config.resolved_clusterer.labeler(X, plan.n_starts)
    for at in range(len(plan.ks)) if positions is None else positions:
        tick()
        k = plan.ks[at]
        try:
            first[at], best[at] = label(k, seed)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (a clusterer may raise any exception)
            what = f"clustering into k={k}", f"clusterer={plan.clusterer!r}"
            failures.append(_failure(error, what, k, index, seed, plan))
    return first, best, failures


def score_labelings(X: Any, labelings: Labelings, plan: Plan, tick: Tick) -> tuple[Array, Array]:
    """Return the micro and macro silhouettes for each k; NaN where the labelling is missing."""
    metric = plan.config.resolved_metric
    values = point_silhouettes(X, list(labelings.values()), metric, tick) if labelings else ()
    micro, macro = _micro_macro(_averages(labelings, values), plan)
    return np.array(micro), np.array(macro)


def _failure(error: Exception, what: tuple[str, str], k: int, index: int, seed: int, plan: Plan) -> Failure:
    """Return the failure if failures are skipped; otherwise raise an error with the cause."""
    cause = f"{type(error).__name__}: {str(error).rstrip('.')}"
    if "read-only" in cause:
        cause += " (the function modifies its input, which is shared by all values of k; modify a copy instead)"
    if plan.on_failure == "skip":
        return Failure(k, index, seed, cause)
    raise ClusteringError(
        f"{what[0]} failed on subsample {index} (seed {seed}) with {what[1]}: {cause}. "
        "Pass on_failure='skip' to count failures and continue."
    ) from error


def take(X: Any, plan: Plan, index: int) -> Part:
    """Return the row numbers and points of a subsample."""
    rows = subsample_rows(plan.seeds[index], plan.n_rows, plan.sample_size)
    return rows, take_rows(X, rows, plan.config.resolved_metric)


def take_rows(X: Any, rows: Any, metric: Metric) -> Any:
    """Return the given rows; for a distance matrix, take the same columns as well."""
    part = X[np.ix_(rows, rows)] if metric.precomputed else X[rows]
    # Make the input read-only, because all values of k share it; clusterers that modify it fail.
    (part.data if sparse.issparse(part) else part).setflags(write=False)
    return part


def with_predecessors(wanted: Collection[int], plan: Plan) -> list[int]:
    """Return the subsamples to cluster: the requested ones and, before each, the subsample it is compared with."""
    known, order = set(wanted), []
    for index in wanted:
        if plan.before(index) is not None and index - 1 not in known:
            known.add(index - 1)
            order.append(index - 1)
        order.append(index)
    return order


class Pairs:
    """Collect clustered subsamples, and yield each trial with its agreements once its predecessor is clustered."""

    def __init__(self, plan: Plan, wanted: Collection[int]) -> None:
        self._plan = plan
        self._missing = set(wanted)
        self._known: dict[int, Clustered] = {}

    def add(self, clustered: Clustered) -> Iterator[Trial]:
        """Add a subsample, and yield the trials that it completes."""
        self._known[clustered.index] = clustered
        for index in (clustered.index, clustered.index + 1):
            trial = self._complete(index)
            if trial is not None:
                self._missing.remove(index)
                yield trial
        # Labels are kept only as long as they are needed.
        self._known = {
            index: kept
            for index, kept in self._known.items()
            if index in self._missing or (index + 1 in self._missing and self._plan.before(index + 1) is not None)
        }

    def incomplete(self) -> list[Trial]:
        """Return the remaining trials when a run ends early; most of these trials lack agreements."""
        left = [(index, self._known[index].trial) for index in sorted(self._missing & self._known.keys())]
        trials = [self._complete(index) or replace(trial, whole=False) for index, trial in left if trial is not None]
        self._missing.clear()
        return trials

    def _complete(self, index: int) -> Trial | None:
        """Return the trial of a subsample with its agreements, or None if it is not complete or already returned."""
        here, before = self._known.get(index), self._known.get(index - 1)
        if index not in self._missing or here is None or here.trial is None:
            return None
        if self._plan.before(index) is None:
            return here.trial
        if before is None:
            return None
        in_both: tuple[Any, Any] = slice(None), slice(None)
        if before.rows is not None and here.rows is not None:
            in_both = shared_rows(before.rows, here.rows)
        found = {
            at: agreement(before.labelings[at][in_both[0]], labels[in_both[1]], self._plan.ks[at])
            for at, labels in here.labelings.items()
            if at in before.labelings
        }
        return replace(here.trial, agreement=_per_k(found, self._plan))
