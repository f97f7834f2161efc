"""Number of workers, and whether what they need fits into the free memory."""

from __future__ import annotations

from joblib.parallel import get_active_backend

from compsil_kit._config.validators import AUTO
from compsil_kit._run.backends import check_started, effective_workers, is_elsewhere
from compsil_kit._util.memory import available_bytes
from compsil_kit.plan import Plan

WORKER_BYTES = 64 * 2**20
# Per point and k: its label, its cell and its silhouette.
LABEL_BYTES = 25
# Per subsample and k while the result is written: its scores as numbers, as Python objects and as text.
TRIAL_BYTES = 250


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
    workers = n_workers(plan.config.n_jobs)
    # The free memory of other machines is unknown here; each of them runs at least one worker.
    here = 1 if is_elsewhere() else workers
    fitting = check_memory(plan, here, n_rows, held=fetched_bytes(plan) if fetched else 0)
    return workers if is_elsewhere() else fitting


def check_memory(plan: Plan, n_workers: int, n_rows: int | None = None, *, held: int = 0) -> int:
    """Return how many of the workers fit into the free memory; raise if too few do."""
    clusterer, fewer = plan.config.resolved_clusterer, plan.config.n_jobs == AUTO
    rows = plan.sample_size if n_rows is None else n_rows
    what = "subsamples" if n_rows is None else "runs on all the data, which the other criteria need,"
    n_busy = min(n_workers, len(plan.seeds))
    distances = 8 * rows**2 if plan.metric == "precomputed" else 0
    # The rows, the copies of k-means and the silhouettes, and the exact differences of nearly equal points.
    per_point = 48 * plan.n_features + LABEL_BYTES * len(plan.ks)
    per_worker = WORKER_BYTES + per_point * rows + clusterer.bytes_per_pair * rows**2 + distances
    free = available_bytes()
    if free is not None and held > free:
        raise MemoryError(
            f"the rows of {len(plan.seeds):,} subsamples of {plan.sample_size:,} rows need about {held / 2**30:.1f} "
            f"GiB, and {free / 2**30:.1f} GiB are free. Pass a smaller sample_size, or fewer n_subsamples."
        )
    free = None if free is None else free - held
    result = TRIAL_BYTES * len(plan.seeds) * len(plan.ks)
    if free is not None and result > free:
        raise MemoryError(
            f"the result of {len(plan.seeds):,} subsamples and {len(plan.ks):,} candidates needs about "
            f"{result / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free. Pass fewer n_subsamples, or fewer ks."
        )
    if free is not None and n_busy * per_worker > free:
        if fewer and per_worker <= free:
            return free // per_worker
        n_busy = 1 if fewer else n_busy
        raise MemoryError(
            f"{what} of {rows:,} rows with clusterer={plan.clusterer!r} need about "
            f"{n_busy * per_worker / 2**30:.1f} GiB with {n_busy} worker(s), and {free / 2**30:.1f} GiB are "
            "free. Pass a smaller sample_size, fewer workers (n_jobs), fewer ks, or a clusterer that does not store "
            "all pairs."
        )
    return n_workers


def fetched_bytes(plan: Plan) -> int:
    """Return the size of the rows of all subsamples: once as they are fetched, and once more while they are joined."""
    return 2 * plan.n_fetched * plan.n_features * (4 if plan.dtype == "float32" else 8)
