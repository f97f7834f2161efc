"""Write files completely or not at all, and lock them for one run at a time."""

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


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a temporary file and move it to ``path``, so that no reader ever sees a part of it.

    ``content`` may be an iterable of parts. A file that is replaced keeps its permissions; those of a new one follow
    the umask.
    """
    check_regular(path)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    _remove_leftovers(path)
    try:
        # Created with the final permissions, so that nobody else can read it meanwhile.
        with open(temporary, "xb", opener=partial(os.open, mode=0o666 if mode is None else mode)) as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        # Name the user's file instead of the temporary one, or of none when the disk is full.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_regular(path: Path) -> None:
    """Raise if the path exists and is neither a regular file nor a folder."""
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "must be an ordinary file, not a pipe, device or socket", str(path))


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of processes that ended while writing."""
    for left in path.parent.glob(f".{escape(path.name)}.*-*.tmp"):
        owner = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        # On Windows os.kill with signal 0 interrupts the process instead of testing it.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It runs under another user.
        return True
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file for this run alone; the system releases the lock when the process ends, however it ends."""
    name = path.with_name(f".{path.name}.lock")
    # Not per thread: a generator that holds the lock may be closed by another thread.
    lock = FileLock(name, thread_local=False)
    try:
        if not path.parent.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        lock.acquire(blocking=False)
    except Timeout as error:
        text = "is in use by another run. Wait until it has ended, or pass another path"
        raise BlockingIOError(errno.EAGAIN, text, str(path)) from error
    except OSError as error:
        # Name the user's file, not the lock file.
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        yield
    finally:
        # Removed while held: filelock refuses to lock a removed file. On Windows it removes the file itself.
        with suppress(OSError):
            name.unlink()
        lock.release()
