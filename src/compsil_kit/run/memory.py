"""Whether a selection fits into the memory that is free: that of the machine, of its container and of the process."""

from __future__ import annotations

import os
from pathlib import Path

from compsil_kit.method.clusterers import Clusterer
from compsil_kit.method.plan import Plan

WORKER_BYTES = 64 * 2**20
# Of one point under one k: its labels, its cell and its silhouette.
LABEL_BYTES = 25
# Of one subsample under one k while the result is written: its scores as numbers, as Python's objects and as text.
TRIAL_BYTES = 250
# Above this a limit is none: version 1 of control groups writes a number near 2**63 for "no limit".
UNLIMITED = 2**60
PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


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


def available_bytes() -> int | None:
    """Return the memory that this process can still take, or None where the system does not say."""
    known = [_of_the_machine(), _of_the_container(), _of_the_process()]
    return min((free for free in known if free is not None), default=None)


def _of_the_machine() -> int | None:
    found = _numbers(PROC / "meminfo", ("MemAvailable:",))
    if found:
        return found["MemAvailable:"] * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_AVPHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_the_container() -> int | None:
    """Return what the limits of the control groups leave (versions 2 and 1), with those of the groups around."""
    free = []
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            root, limit, used = CGROUP, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = CGROUP / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        here = root / group.lstrip("/")
        for folder in (here, *(parent for parent in here.parents if parent.is_relative_to(root))):
            free += _left(folder, limit, used)
    return min(free, default=None)


def _left(folder: Path, limit: str, used: str) -> list[int]:
    most, now = ("".join(_lines(folder / name)) for name in (limit, used))
    if not most.isdigit() or not now.isdigit() or int(most) >= UNLIMITED:
        return []
    # Files that are only cached count as used, but make room when it is needed.
    cached = _numbers(folder / "memory.stat", ("inactive_file", "total_inactive_file"))
    return [max(0, int(most) - int(now) + max(cached.values(), default=0))]


def _of_the_process() -> int | None:
    """Return what ``ulimit -v`` leaves."""
    try:
        import resource
    except ImportError:
        # Windows.
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = "".join(_lines(PROC / "self" / "statm")).split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return max(0, limit - int(pages[0]) * resource.getpagesize())


def _numbers(path: Path, names: tuple[str, ...]) -> dict[str, int]:
    """Return the numbers that follow some names in a file of names and numbers."""
    words = (line.split() for line in _lines(path))
    return {parts[0]: int(parts[1]) for parts in words if len(parts) > 1 and parts[0] in names}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        # Another system, or not ours to read.
        return []
