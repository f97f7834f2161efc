"""Make the plan of a selection, with every random or costly decision, and load the data."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from compsil_kit._config.values import AUTO
from compsil_kit._data.columns import MAX_SCALE_RATIO, check_enough_distinct, scale_ratio
from compsil_kit._data.dataset import Dataset
from compsil_kit._data.sources.table import FetchedData, SourceTable, known_rows
from compsil_kit._method.clusterers import check_input_kind
from compsil_kit._method.likelihood import why_unknown
from compsil_kit._method.metrics import check_metric_fits
from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA
from compsil_kit._method.structure import check_testable
from compsil_kit._method.subsample import common_rows, make_seeds, resolve_sample_size, subsample_rows
from compsil_kit._run.progress import make_row_meter
from compsil_kit._run.structure import compared_rows
from compsil_kit._run.subsample import with_predecessors
from compsil_kit._run.workers import DASK, RAY, SPARK, n_workers
from compsil_kit._util.checks import describe
from compsil_kit._util.system import available_bytes
from compsil_kit.config import SelectionConfig
from compsil_kit.errors import ROWS_READ, Interrupted, ScaleWarning, caller_level
from compsil_kit.events import Events
from compsil_kit.plan import Plan

# Number of initialisations for criteria that score the best of several.
SEVERAL_STARTS = 5
WORKER_BYTES = 64 * 2**20
# Per point and k: the label, the cell and the silhouette.
LABEL_BYTES = 25
# Per subsample and k while the result is written: the scores as numbers, as Python objects and as strings.
TRIAL_BYTES = 250


def make_plan(table: Dataset | SourceTable, config: SelectionConfig) -> Plan:
    """Make the plan from the settings and from the shape and dtype of a table returned by ``open_data``."""
    n_rows, n_features = table.shape
    largest = config.ks[-1]
    _check_k(largest, n_rows, "rows", table.shape, "Pass smaller values of k, or more rows.")
    size = resolve_sample_size(config.sample_size, n_rows, largest)
    advice = "Pass smaller values of k, or a larger sample_size."
    _check_k(largest, size, "rows in a subsample", table.shape, advice)
    if config.resolved_metric.precomputed and isinstance(table, SourceTable):
        raise ValueError("metric='precomputed' needs the distance matrix in memory. Load the matrix first.")
    plan = Plan(
        n_rows=n_rows,
        n_features=n_features,
        ks=tuple(config.ks),
        n_subsamples=config.max_subsamples,
        n_calibration=config.n_calibration,
        sample_size=size,
        seeds=make_seeds(config.random_state, config.max_subsamples, config.n_calibration),
        clusterer=config.resolved_clusterer.name,
        metric=config.resolved_metric.name,
        dtype=str(table.dtype),
        n_starts=resolve_starts(config, config.criterion),
        structure=config.structure,
        adaptive=config.criterion if config.adaptive else "",
        scanned_bytes=table.n_bytes if isinstance(table, SourceTable) else 0,
        on_failure=config.on_failure,
        config=config,
    )
    reason = why_unknown(plan, plan.n_subsamples) if config.criterion == LIKELY else ""
    if reason:
        raise ValueError(
            f"criterion='likely' selects k by the confidence, which is not available here: {reason}. Pass another "
            "criterion, such as 'stable'."
        )
    return plan


def _check_k(largest: int, limit: int, what: str, shape: tuple[int, int], advice: str) -> None:
    if largest >= limit:
        raise ValueError(
            f"ks must be smaller than the number of {what}, {limit:,}; got k={describe(largest)} "
            f"(X: n_samples={shape[0]}, n_features={shape[1]}). {advice}"
        )


def resolve_starts(config: SelectionConfig, criterion: str) -> int:
    """Return the number of initialisations per clustering for selection by this criterion."""
    clusterer, n_starts = config.resolved_clusterer, config.n_starts
    if isinstance(n_starts, str):
        return SEVERAL_STARTS if criterion in MULTI_INIT_CRITERIA and clusterer.takes_starts else 1
    if n_starts > 1 and not clusterer.takes_starts:
        raise ValueError(
            f"n_starts must be 1 with clusterer={clusterer.name!r}, which has no n_init or has fixed initial centres; "
            f"got {n_starts}. Omit n_starts, or pass clusterer='kmeans'."
        )
    return n_starts


def resolve_workers(plan: Plan, n_rows: int | None = None, *, pending_bytes: int = 0) -> int:
    """Return the number of workers that fit into the free memory; raise MemoryError if too few do.

    With ``n_rows``, the check is for runs on that many rows instead of subsamples; ``pending_bytes`` is the size of the
    rows still to be fetched.
    """
    workers, free = n_workers(plan.config.n_jobs), available_bytes()
    if free is None:
        return workers
    if pending_bytes > free:
        raise MemoryError(
            f"{len(plan.seeds):,} subsamples of {plan.sample_size:,} rows need about {pending_bytes / 2**30:.1f} GiB, "
            f"but only {free / 2**30:.1f} GiB is free. Reduce sample_size or n_subsamples."
        )
    free -= pending_bytes
    result = TRIAL_BYTES * len(plan.seeds) * len(plan.ks)
    if result > free:
        raise MemoryError(
            f"the result for {len(plan.seeds):,} subsamples and {len(plan.ks):,} candidates needs about "
            f"{result / 2**30:.1f} GiB, but only {free / 2**30:.1f} GiB is free. Reduce n_subsamples or pass fewer ks."
        )
    rows = plan.sample_size if n_rows is None else n_rows
    # The rows, the copies made by k-means and the silhouettes, and the exact differences between nearby points.
    per_point = 48 * plan.n_features + LABEL_BYTES * len(plan.ks)
    per_pair = plan.config.resolved_clusterer.bytes_per_pair + (8 if plan.metric == "precomputed" else 0)
    per_worker = WORKER_BYTES + per_point * rows + per_pair * rows**2
    # The free memory of other machines is unknown here; each machine runs at least one worker.
    elsewhere = type(get_active_backend()[0]).__name__ in (DASK, RAY, SPARK)
    n_busy = 1 if elsewhere else min(workers, len(plan.seeds))
    if n_busy * per_worker <= free:
        return workers
    if plan.config.n_jobs == AUTO:
        if per_worker <= free:
            return free // per_worker
        n_busy = 1
    what = "subsamples" if n_rows is None else "runs on the full data set, which the other criteria need,"
    raise MemoryError(
        f"{what} of {rows:,} rows with clusterer={plan.clusterer!r} need about {n_busy * per_worker / 2**30:.1f} GiB "
        f"with {n_busy} worker(s), but only {free / 2**30:.1f} GiB is free. Reduce sample_size or n_jobs, pass fewer "
        "ks, or use a clusterer that does not store all pairwise distances."
    )


def fetched_bytes(plan: Plan) -> int:
    """Return the memory for fetching the rows of all subsamples, which are copied once when they are joined."""
    return 2 * plan.n_fetched * plan.n_features * np.dtype(plan.dtype).itemsize


def load(
    table: Dataset | SourceTable,
    plan: Plan,
    events: Events,
    *,
    indices: Collection[int] | None = None,
    digest: bool = False,
    warn: bool = True,
) -> Dataset:
    """Return the data for a selection, or for the subsamples in ``indices``, validated against the settings.

    ``digest`` also computes a digest of all rows of an out-of-core table; ``warn`` warns if columns differ in scale.
    """
    data = table
    if isinstance(data, SourceTable):
        resolve_workers(plan, pending_bytes=fetched_bytes(plan))
        warn = warn and not data.prepared
        data = fetch(data, plan, events, indices, digest=digest or events.checkpoint is not None)
    else:
        resolve_workers(plan)
    clusterer, metric = plan.config.resolved_clusterer, plan.config.resolved_metric
    matrix = known_rows(data.matrix)
    check_input_kind(clusterer, matrix)
    check_metric_fits(metric, matrix)
    if plan.structure:
        check_testable(clusterer, metric, matrix)
    check_enough_distinct(matrix, plan.ks[-1], whole=matrix is data.matrix)
    if warn and not data.prepared and not metric.precomputed:
        warn_of_scale(
            matrix, "prepare(df, scale='standard') or StandardScaler, or keep the scale with prepare(df, scale=None)"
        )
    return data


def fetch(
    table: SourceTable, plan: Plan, events: Events, indices: Collection[int] | None, *, digest: bool
) -> FetchedData:
    """Fetch the rows of all subsamples or the ones in ``indices`` in one pass; an interrupt reports the progress."""
    meter = make_row_meter(events.progress, plan.n_rows)
    try:
        return table.fetch(needed_rows(plan, indices), meter.advance, digest=digest)
    except KeyboardInterrupt as stop:
        raise Interrupted(meter.done, plan.n_rows, ROWS_READ, "nothing has been computed yet") from stop
    finally:
        meter.close()


def needed_rows(plan: Plan, indices: Collection[int] | None = None) -> NDArray[np.int64]:
    """Return the row numbers used by a selection, or by some of its subsamples, in ascending order."""
    wanted = range(len(plan.seeds)) if indices is None else with_predecessors(indices, plan)
    drawn = [subsample_rows(plan.seeds[index], plan.n_rows, plan.sample_size) for index in wanted]
    if plan.n_common:
        drawn.append(common_rows(plan.n_rows, plan.n_common))
    if plan.structure and (indices is None or 0 in indices):
        drawn.append(compared_rows(plan))
    return np.unique(np.concatenate(drawn))


def warn_of_scale(matrix: Any, advice: str) -> None:
    """Warn, with the caller's line, if columns with a large scale dominate the distances."""
    ratio = scale_ratio(matrix)
    if ratio > MAX_SCALE_RATIO:
        warnings.warn(
            f"the columns of X differ in scale by a factor of {ratio:,.0f}, and X is not scaled, so columns with a "
            f"large scale dominate the distances. Scale X first, with {advice}.",
            ScaleWarning,
            stacklevel=caller_level(),
        )
