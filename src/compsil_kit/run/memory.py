"""Whether a selection fits into the memory that is free."""

from __future__ import annotations

import os
from pathlib import Path

from compsil_kit.method.clusterers import Clusterer
from compsil_kit.method.plan import Plan

WORKER_BYTES = 64 * 2**20


def check_memory(plan: Plan, clusterer: Clusterer, n_workers: int) -> None:
    """Refuse work that does not fit into the memory that is free."""
    rows = plan.sample_size
    n_workers = min(n_workers, len(plan.seeds))
    distances = 8 * rows**2 if plan.metric == "precomputed" else 0
    per_worker = WORKER_BYTES + 32 * rows * plan.n_features + clusterer.bytes_per_pair * rows**2 + distances
    free = available_bytes()
    if free is not None and n_workers * per_worker > free:
        raise MemoryError(
            f"subsamples of {rows:,} rows with clusterer={plan.clusterer!r} need about "
            f"{n_workers * per_worker / 2**30:.1f} GiB with {n_workers} worker(s), and {free / 2**30:.1f} GiB are "
            "free. Pass a smaller sample_size, fewer workers (n_jobs), or a clusterer that does not hold all pairs."
        )


def available_bytes() -> int | None:
    """Return the memory that is free for use, or None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_AVPHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
