"""How much memory is free: of the machine, of its container and of the process."""

from __future__ import annotations

import os
from pathlib import Path

# Above this a limit is none: version 1 of control groups writes a number near 2**63 for "no limit".
UNLIMITED = 2**60
PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


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
