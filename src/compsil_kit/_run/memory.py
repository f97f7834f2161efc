"""Whether a selection fits into the memory that is free."""

from __future__ import annotations

from compsil_kit._method.clusterers import Clusterer
from compsil_kit._method.plan import Plan
from compsil_kit._util.memory import available_bytes

WORKER_BYTES = 64 * 2**20
# Of one point under one k: its labels, its cell and its silhouette.
LABEL_BYTES = 25
# Of one subsample under one k while the result is written: its scores as numbers, as Python's objects and as text.
TRIAL_BYTES = 250


def check_memory(
    plan: Plan, clusterer: Clusterer, n_workers: int, n_rows: int | None = None, *, held: int = 0, fewer: bool = False
) -> int:
    """Refuse work that does not fit into the memory that is free; on subsamples, or on more rows where that is said.

    ``held`` are the bytes of the rows that will be fetched from a table outside memory.

    Returns the number of workers; with ``fewer`` these are as many as fit, and only what a single one needs is refused.
    """
    rows = plan.sample_size if n_rows is None else n_rows
    what = "subsamples" if n_rows is None else "runs on all the data, which the other criteria need,"
    n_busy = min(n_workers, len(plan.seeds))
    distances = 8 * rows**2 if plan.metric == "precomputed" else 0
    # The rows, what k-means and the distances make of them, and the exact differences of what has lost digits.
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
            "free. Pass a smaller sample_size, fewer workers (n_jobs), fewer ks, or a clusterer that does not hold all "
            "pairs."
        )
    return n_workers


def fetched_bytes(plan: Plan) -> int:
    """Return what the rows of all subsamples take: as they are fetched, and once more while they are put together."""
    return 2 * plan.n_fetched * plan.n_features * (4 if plan.dtype == "float32" else 8)
