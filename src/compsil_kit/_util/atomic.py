"""Files that are there whole or not at all, and that one run at a time may use."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

# A file without a name: a process that is killed while it writes leaves nothing behind.
_UNNAMED = getattr(os, "O_TMPFILE", None)


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it.

    The content may come in parts. A file that is replaced keeps its permissions; a new one has those that the user's
    mask gives.
    """
    mode = _mode_of(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    _remove_left_over(path)
    try:
        handle = _open(path.parent, temporary)
        with os.fdopen(handle, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if not temporary.exists():
                # By the number of its descriptor; the second argument makes Python follow the link.
                os.link(f"/proc/self/fd/{file.fileno()}", temporary, src_dir_fd=0)
        temporary.replace(path)
    except OSError as error:
        # The user knows the file, not what stands beside it; and a full disk is told without any name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        # Gone already if it was moved; left over only if something went wrong.
        temporary.unlink(missing_ok=True)


def check_regular(path: Path) -> None:
    """Refuse what is there but no ordinary file: a pipe, a device, a socket."""
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "must be an ordinary file, not a pipe, device or socket", str(path))


def _mode_of(path: Path) -> int | None:
    check_regular(path)
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _open(folder: Path, temporary: Path) -> int:
    """Open a file without a name where the system has such, else one beside its place; the kernel applies the mask."""
    if _UNNAMED is not None and Path("/proc/self/fd").is_dir():
        # Not every file system can do it.
        with suppress(OSError):
            return os.open(folder, _UNNAMED | os.O_WRONLY, 0o666)
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)


def _remove_left_over(path: Path) -> None:
    """Remove what a process that is no more left of an earlier write."""
    for left in path.parent.glob(f".{escape(path.name)}.*-*.tmp"):
        owner = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is there, but not ours.
        return True
    return True


def _open_lock(name: Path, path: Path) -> int:
    try:
        return os.open(name, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        # The user knows the file, not what stands beside it.
        raise type(error)(error.errno, error.strerror, str(path)) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file for this run alone; the system lets go of it when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:
        # Windows: no lock, as before.
        yield
        return
    name = path.with_name(f".{path.name}.lock")
    while True:
        handle = _open_lock(name, path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            text = "is in use by another run. Wait until it has ended, or pass another path"
            raise BlockingIOError(errno.EAGAIN, text, str(path)) from error
        # Whoever held it before may have removed it just now.
        if name.exists() and os.path.samestat(os.fstat(handle), name.stat()):
            break
        os.close(handle)
    try:
        yield
    finally:
        name.unlink(missing_ok=True)
        os.close(handle)
