"""Make the plan of a selection: everything random or costly is decided here, also the number of workers."""

from __future__ import annotations

from joblib.parallel import get_active_backend

from compsil_kit._config.values import AUTO
from compsil_kit._data.dataset import Dataset, SourceTable
from compsil_kit._method.likelihood import why_unknown
from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA
from compsil_kit._method.subsample import make_seeds, resolve_sample_size
from compsil_kit._run.backends import check_started, effective_workers, is_elsewhere
from compsil_kit._util.checks import describe
from compsil_kit._util.memory import available_bytes
from compsil_kit.config import SelectionConfig
from compsil_kit.plan import Plan

# Initialisations for the criteria that score the best of several.
SEVERAL_STARTS = 5
WORKER_BYTES = 64 * 2**20
# Per point and k: its label, its cell and its silhouette.
LABEL_BYTES = 25
# Per subsample and k while the result is written: its scores as numbers, as Python objects and as text.
TRIAL_BYTES = 250


def make_plan(table: Dataset | SourceTable, config: SelectionConfig) -> Plan:
    """Decide what will be computed, from the settings and from the shape and dtype of what ``open_data`` returned."""
    n_rows, n_features = table.shape
    largest = config.ks[-1]
    _check_k(largest, n_rows, "rows", table.shape, "Pass smaller ks, or more rows.")
    size = resolve_sample_size(config.sample_size, n_rows, largest)
    advice = "Pass smaller ks, or a larger sample_size."
    _check_k(largest, size, "rows in a subsample", table.shape, advice)
    if config.resolved_metric.precomputed and isinstance(table, SourceTable):
        raise ValueError("metric='precomputed' needs the matrix of distances in memory. Load it first.")
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
            f"criterion='likely' selects k by the confidence, which is not available here: {reason}. Pass "
            "criterion='stable' or another."
        )
    return plan


def _check_k(largest: int, limit: int, what: str, shape: tuple[int, int], advice: str) -> None:
    if largest >= limit:
        raise ValueError(
            f"ks must be smaller than the number of {what}, {limit:,}; got k={describe(largest)} "
            f"(X: n_samples={shape[0]}, n_features={shape[1]}). {advice}"
        )


def resolve_starts(config: SelectionConfig, criterion: str) -> int:
    """Return the number of initialisations of each clustering if this criterion selects k."""
    clusterer, n_starts = config.resolved_clusterer, config.n_starts
    if isinstance(n_starts, str):
        return SEVERAL_STARTS if criterion in MULTI_INIT_CRITERIA and clusterer.takes_starts else 1
    if n_starts > 1 and not clusterer.takes_starts:
        raise ValueError(
            f"n_starts must be 1 with clusterer={clusterer.name!r}, which has no n_init, or has fixed initial centres; "
            f"got {n_starts}. Leave n_starts out, or pass clusterer='kmeans'."
        )
    return n_starts


def n_workers(n_jobs: int | str | None) -> int:
    """Return the number of workers that joblib derives from ``n_jobs``; "auto" is all unless joblib is configured."""
    backend, configured = get_active_backend()
    check_started(backend)
    if isinstance(n_jobs, str):
        n_jobs = -1 if configured is None else None
    return effective_workers(n_jobs)


def resolve_workers(plan: Plan, n_rows: int | None = None, *, fetched: bool = False) -> int:
    """Return the number of workers; raise MemoryError if what they need exceeds the free memory.

    ``n_jobs="auto"`` means as many workers as fit. ``n_rows`` checks runs on that many rows instead of subsamples;
    ``fetched`` adds the rows that are still to be fetched from an out-of-core table.
    """
    workers, held = n_workers(plan.config.n_jobs), fetched_bytes(plan) if fetched else 0
    if is_elsewhere():
        # The free memory of other machines is unknown here; each of them runs at least one worker.
        check_memory(plan, 1, n_rows, held=held)
        return workers
    return check_memory(plan, workers, n_rows, held=held)


def check_memory(plan: Plan, n_workers: int, n_rows: int | None = None, *, held: int = 0) -> int:
    """Return how many of the workers fit into the free memory; raise if too few do."""
    free = available_bytes()
    if free is None:
        return n_workers
    if held > free:
        raise MemoryError(
            f"the rows of {len(plan.seeds):,} subsamples of {plan.sample_size:,} rows need about {held / 2**30:.1f} "
            f"GiB, and {free / 2**30:.1f} GiB are free. Pass a smaller sample_size, or fewer n_subsamples."
        )
    free -= held
    result = TRIAL_BYTES * len(plan.seeds) * len(plan.ks)
    if result > free:
        raise MemoryError(
            f"the result of {len(plan.seeds):,} subsamples and {len(plan.ks):,} candidates needs about "
            f"{result / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free. Pass fewer n_subsamples, or fewer ks."
        )
    rows = plan.sample_size if n_rows is None else n_rows
    per_worker, n_busy = _worker_bytes(plan, rows), min(n_workers, len(plan.seeds))
    if n_busy * per_worker <= free:
        return n_workers
    if plan.config.n_jobs == AUTO:
        if per_worker <= free:
            return free // per_worker
        n_busy = 1
    what = "subsamples" if n_rows is None else "runs on all the data, which the other criteria need,"
    raise MemoryError(
        f"{what} of {rows:,} rows with clusterer={plan.clusterer!r} need about {n_busy * per_worker / 2**30:.1f} GiB "
        f"with {n_busy} worker(s), and {free / 2**30:.1f} GiB are free. Pass a smaller sample_size, fewer workers "
        "(n_jobs), fewer ks, or a clusterer that does not store all pairs."
    )


def _worker_bytes(plan: Plan, rows: int) -> int:
    # The rows, the copies of k-means and the silhouettes, and the exact differences of nearly equal points.
    per_point = 48 * plan.n_features + LABEL_BYTES * len(plan.ks)
    per_pair = plan.config.resolved_clusterer.bytes_per_pair + (8 if plan.metric == "precomputed" else 0)
    return WORKER_BYTES + per_point * rows + per_pair * rows**2


def fetched_bytes(plan: Plan) -> int:
    """Return the size of the rows of all subsamples: once as they are fetched, and once more while they are joined."""
    return 2 * plan.n_fetched * plan.n_features * (4 if plan.dtype == "float32" else 8)
