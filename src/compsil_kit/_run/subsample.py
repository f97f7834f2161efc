"""One subsample: take its rows, cluster them under every k, and score the clusterings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.agreement import nearest_clusters, within_shares
from compsil_kit._method.metrics import Metric
from compsil_kit._method.silhouette import averages, point_silhouettes
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._result.trials import Failure, Trial
from compsil_kit._run.pairs import Clustered
from compsil_kit._run.workers import Cancelled, Tick
from compsil_kit.errors import ClusteringError
from compsil_kit.plan import Plan

Array = NDArray[Any]
# Labels by position in ks.
Labelings = dict[int, Array]
# Positions in ks.
Positions = tuple[int, ...]
# Index of a subsample, whether it is scored or only clustered for the comparison with the next, and under which ks.
Task = tuple[int, bool, Positions]
# Rows and points of a subsample.
Take = Callable[[int], tuple[Array, Any]]

_UNKNOWN = (float("nan"), float("nan"))


def run_subsample(task: Task, tick: Tick, plan: Plan, take: Take, common: Any) -> Clustered:
    """Cluster a subsample under its ks and, if requested, score the clusterings.

    ``take`` returns the rows of a subsample and their points. ``common`` are the points whose labels are compared with
    those of other subsamples; None compares the rows that two subsamples share.
    """
    index, scored, positions = task
    rows, X = take(index)
    first, best, failures = cluster_all(X, index, plan, tick, positions)
    narrow = np.min_scalar_type(-plan.ks[-1])
    compact = {at: codes.astype(narrow) for at, codes in best.items()}
    labelled: tuple[Array | None, Labelings] = (
        (rows, compact) if common is None else (None, _label_common(common, X, compact))
    )
    if not scored:
        return Clustered(index, labelled[0], labelled[1])
    metric = plan.config.resolved_metric
    others = {at: codes for at, codes in best.items() if not np.array_equal(codes, first[at])}
    try:
        # In two calls: the last bits of the sums depend on the other labelings of the call, and those of the first
        # initialisation must not depend on the number of initialisations.
        values = _averages(first, point_silhouettes(X, list(first.values()), metric, tick) if first else ())
        better = _averages(others, point_silhouettes(X, list(others.values()), metric, tick) if others else ())
    except (MemoryError, Cancelled):
        raise
    except Exception as error:  # noqa: BLE001  (a metric may be the user's and fail on some subsamples: it is reported)
        what = "measuring distances", f"metric={plan.metric!r}"
        failures += [_failure(error, what, plan.ks[at], index, plan) for at in first]
        failures.sort(key=lambda failure: failure.k)
        first, compact, values, better, labelled = {}, {}, {}, {}, (None, {})
    trial = _trial(index, values, values | better, failures, X, first, compact, plan)
    return Clustered(index, labelled[0], labelled[1], trial)


def _trial(
    index: int,
    values: Mapping[int, tuple[float, float]],
    best: Mapping[int, tuple[float, float]],
    failures: list[Failure],
    X: Any,
    first: Labelings,
    compact: Labelings,
    plan: Plan,
) -> Trial:
    micro, macro = _per_k(values, plan)
    best_micro, best_macro = _per_k(best, plan)
    within, small = _within(X, compact, plan), _are_small(first, plan)
    return Trial(index, micro, macro, tuple(failures), best_micro, best_macro, within=within, small=small)


def _per_k(values: Mapping[int, tuple[float, float]], plan: Plan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    micro, macro = zip(*(values.get(at, _UNKNOWN) for at in range(len(plan.ks))), strict=True)
    return micro, macro


def _averages(labelings: Labelings, values: Any) -> dict[int, tuple[float, float]]:
    """Return the micro and macro averages of the silhouettes of each labeling."""
    found = {}
    for (at, codes), row in zip(labelings.items(), values, strict=True):
        micro, means = averages(row, codes)
        found[at] = float(micro), float(means.mean())
    return found


def _label_common(points: Any, X: Any, labelings: Labelings) -> Labelings:
    """Return the labels of the common points from the clusterings of X."""
    found = nearest_clusters(X, labelings.values(), points)
    return {at: codes.astype(labelings[at].dtype) for at, codes in zip(labelings, found, strict=True)}


def _are_small(labelings: Labelings, plan: Plan) -> tuple[float, ...]:
    """Return 1 where the smallest cluster has too few rows, else 0; NaN without a clustering."""
    found = {at: float(np.bincount(codes).min() < POINTS_PER_CLUSTER) for at, codes in labelings.items()}
    return tuple(found.get(at, float("nan")) for at in range(len(plan.ks)))


def _within(X: Any, labelings: Labelings, plan: Plan) -> tuple[float, ...]:
    """Return the within-cluster share of the sum of squares per k; NaN without dense points."""
    no_points = plan.config.resolved_metric.precomputed or sparse.issparse(X)
    shares = {} if no_points else dict(zip(labelings, within_shares(X, list(labelings.values())), strict=True))
    return tuple(shares.get(at, float("nan")) for at in range(len(plan.ks)))


def cluster_all(
    X: Any, index: int, plan: Plan, tick: Tick, positions: Positions | None = None, seed: int | None = None
) -> tuple[Labelings, Labelings, list[Failure]]:
    """Return the labels of the first and of the best initialisation by position in ks, and the failed clusterings.

    ``positions`` restricts the ks; ``seed`` replaces the seed of the subsample.
    """
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
        except Exception as error:  # noqa: BLE001  (a clusterer may raise anything: it is reported with its cause)
            what = f"clustering into k={k}", f"clusterer={plan.clusterer!r}"
            failures.append(_failure(error, what, k, index, plan, seed))
    return first, best, failures


def score_labelings(X: Any, labelings: Labelings, plan: Plan, tick: Tick) -> tuple[Array, Array]:
    """Return micro and macro silhouettes per k, NaN where there is no labeling."""
    metric = plan.config.resolved_metric
    values = point_silhouettes(X, list(labelings.values()), metric, tick) if labelings else ()
    micro, macro = _per_k(_averages(labelings, values), plan)
    return np.array(micro), np.array(macro)


def _failure(
    error: Exception, what: tuple[str, str], k: int, index: int, plan: Plan, seed: int | None = None
) -> Failure:
    """Return the failure if failures are skipped, or raise an error with its cause."""
    seed = plan.seeds[index] if seed is None else seed
    cause = f"{type(error).__name__}: {str(error).rstrip('.')}"
    if "read-only" in cause:
        cause += " (it writes into its input, which all ks share; let it work on a copy)"
    if plan.on_failure == "skip":
        return Failure(k, index, seed, cause)
    raise ClusteringError(
        f"{what[0]} failed on subsample {index} (seed {seed}) with {what[1]}: {cause}. "
        "Pass on_failure='skip' to count failures and continue."
    ) from error


def take_rows(X: Any, rows: Any, metric: Metric) -> Any:
    """Return these rows, and of a distance matrix also these columns.

    The result is read-only: all ks share it, so a clusterer that writes into its input must fail.
    """
    part = X[np.ix_(rows, rows)] if metric.precomputed else X[rows]
    (part.data if sparse.issparse(part) else part).setflags(write=False)
    return part
