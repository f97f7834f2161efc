"""Write files atomically, lock files, and determine the available memory."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path

from filelock import FileLock, Timeout

# Control groups version 1 use a limit near 2**63 for "no limit".
UNLIMITED = 2**60
PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a temporary file and move it to ``path``, so that readers never see an incomplete file.

    A replaced file keeps its permissions; a new file gets its permissions from the umask.
    """
    check_regular(path)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    _remove_leftovers(path)
    try:
        # Create the file with the final permissions, so that other users can never read it.
        with open(temporary, "xb", opener=partial(os.open, mode=0o666 if mode is None else mode)) as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        # Name the user's file, because the original error names the temporary file, or no file if the disk is full.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_regular(path: Path) -> None:
    """Raise if the path exists and is neither a regular file nor a folder."""
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "must be a regular file, not a pipe, device or socket", str(path))


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files from processes that ended while writing."""
    for left in path.parent.glob(f".{escape(path.name)}.*-*.tmp"):
        owner = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        # On Windows, os.kill with signal 0 interrupts the process instead of checking it.
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        # Other errors mean that the process belongs to another user.
        return not isinstance(error, ProcessLookupError)
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file for this run; the operating system releases the lock when the process ends for any reason."""
    name = path.with_name(f".{path.name}.lock")
    # Do not bind the lock to a thread, because a generator that holds it may be closed in another thread.
    lock = FileLock(name, thread_local=False)
    try:
        if not path.parent.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        lock.acquire(blocking=False)
    except Timeout as error:
        text = "is in use by another run. Wait until that run has ended, or pass another path"
        raise BlockingIOError(errno.EAGAIN, text, str(path)) from error
    except OSError as error:
        # Name the user's file, not the lock file.
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        yield
    finally:
        # Remove the file while the lock is held, so that no other run can lock a removed file. On Windows, filelock
        # removes the file itself.
        with suppress(OSError):
            name.unlink()
        lock.release()


def available_bytes() -> int | None:
    """Return the memory available to this process, or None if the system does not report it.

    The limits of the machine, the container and the process are taken into account.
    """
    machine = [1024 * kib for kib in _fields(PROC / "meminfo", "MemAvailable:")]
    return min([*machine, *_cgroup_memory(), *_process_memory()], default=None)


def _cgroup_memory() -> Iterator[int]:
    """Yield the free memory of each control group (version 2 or 1) of this process and its ancestors."""
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
                # Cached file pages count as used memory, but the kernel frees them on demand.
                cached = max(_fields(folder / "memory.stat", "inactive_file", "total_inactive_file"), default=0)
                yield max(0, int(maximum) - int(current) + cached)


def _process_memory() -> Iterator[int]:
    """Yield the free memory within ``ulimit -v``."""
    try:
        import resource
    except ImportError:
        return  # Windows
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = "".join(_lines(PROC / "self" / "statm")).split()
    if limit != resource.RLIM_INFINITY and pages:
        yield max(0, limit - int(pages[0]) * resource.getpagesize())


def _fields(path: Path, *names: str) -> list[int]:
    """Return the numbers that follow one of the given names at the start of a line."""
    words = (line.split() for line in _lines(path))
    return [int(parts[1]) for parts in words if len(parts) > 1 and parts[0] in names]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []  # The file is missing on this system or not readable.
