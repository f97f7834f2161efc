"""Memory available to this process, within the limits of the machine, its container and the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Control groups version 1 write a limit near 2**63 for "no limit".
UNLIMITED = 2**60
PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the memory available to this process, or None if the system does not report it."""
    limits = [_machine_memory(), *_cgroup_memory(), _process_memory()]
    return min((free for free in limits if free is not None), default=None)


def _machine_memory() -> int | None:
    found = _fields(PROC / "meminfo", "MemAvailable:")
    if found:
        return found[0] * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_AVPHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_memory() -> Iterator[int]:
    """Yield what the control groups of this process and their ancestors leave (versions 2 and 1)."""
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            root, limit, used = CGROUP, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = CGROUP / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = root / group.lstrip("/")
        for folder in (own, *(parent for parent in own.parents if parent.is_relative_to(root))):
            maximum, current = ("".join(_lines(folder / name)) for name in (limit, used))
            if maximum.isdigit() and current.isdigit() and int(maximum) < UNLIMITED:
                # Cached file pages count as used, but the kernel frees them on demand.
                cached = max(_fields(folder / "memory.stat", "inactive_file", "total_inactive_file"), default=0)
                yield max(0, int(maximum) - int(current) + cached)


def _process_memory() -> int | None:
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


def _fields(path: Path, *names: str) -> list[int]:
    """Return the numbers that follow the given names at the start of a line."""
    words = (line.split() for line in _lines(path))
    return [int(parts[1]) for parts in words if len(parts) > 1 and parts[0] in names]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        # Missing on this system, or not readable.
        return []
