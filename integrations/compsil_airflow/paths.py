"""Local paths, which may be confined to a folder, and URIs of object stores."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from compsil_airflow.compat import ObjectStoragePath

# What must fit on the disk for a file to count as writable.
PROBE_BYTES = 2**16
LOCAL_SCHEMES = ("file", "local")


def is_remote(value: Any) -> bool:
    """Tell whether a path is the URI of an object store; ``file:`` URIs and plain paths are local."""
    scheme = urlsplit(str(value)).scheme
    # A single letter is a Windows drive.
    return "://" in str(value) and len(scheme) > 1 and scheme not in LOCAL_SCHEMES


def check_place(name: str, value: Any, base_dir: Any = None) -> Path | Any:
    """Return a local path, resolved and inside ``base_dir``, or the URI of an object store as it is."""
    if not isinstance(value, str | os.PathLike | ObjectStoragePath) or not str(value).strip():
        raise TypeError(f"{name} must be a path or a URI; got a value of type {type(value).__name__}.")
    text = str(value)
    if "::" in text:
        # A chained URL can reach local files behind the name of another file system.
        raise ValueError(f"{name} must be a single path or URI; chained URLs ('::') are not supported.")
    if is_remote(value):
        return value
    return _local(name, text, base_dir)


def _local(name: str, text: str, base_dir: Any) -> Path:
    parts = urlsplit(text)
    # In a plain path, ? and # are part of the name; urlsplit would cut there.
    path = Path(unquote(parts.path)) if parts.scheme in LOCAL_SCHEMES else Path(text)
    if base_dir is None:
        return path.resolve()
    root = Path(base_dir).resolve()
    place = (root / path).resolve()
    if not place.is_relative_to(root):
        raise ValueError(
            f"{name} must be inside base_dir, {str(root)!r}, after resolving symbolic links; got {text!r}."
        )
    return place


def remote_path(place: Any, conn_id: str | None = None) -> Any:
    """Return a path in an object store; the connection is ``conn_id`` or the one named in the URI."""
    return place if isinstance(place, ObjectStoragePath) else ObjectStoragePath(str(place), conn_id=conn_id)


def file_system(place: Path | Any, conn_id: str | None = None) -> tuple[Any, str]:
    """Return the file system of fsspec in which a path is, with its connection, and the path there."""
    if isinstance(place, Path):
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem(), str(place)
    remote = remote_path(place, conn_id)
    # A worker may run several attempts: what an earlier one saw of the store may be gone, or more may have come.
    remote.fs.invalidate_cache()
    return remote.fs, remote.path


def check_scheme(name: str, place: Any, conn_id: str | None = None) -> None:
    """Refuse the URI of a file system that Airflow does not know, before anything is read or written."""
    try:
        found = remote_path(place, conn_id).fs
    except ValueError as error:
        scheme = urlsplit(str(place)).scheme
        raise ValueError(
            f"{name}: Airflow knows no file system for {scheme}://. Install the provider that has it. ({error})"
        ) from None
    assert found is not None


def check_writable(name: str, place: Path | Any) -> None:
    """Find out before the work whether a file can be written; folders are created."""
    if not isinstance(place, Path):
        check_scheme(name, place)
        return
    if place.is_dir():
        raise ValueError(f"{name} must be a file; {str(place)!r} is a folder.")
    with named_errors(name, place):
        if any(parent.exists() and not parent.is_dir() for parent in place.parents):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def named_errors(name: str, place: Any) -> Iterator[None]:
    """Let errors of files say which parameter and which path they are about."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{name} cannot be written: {error.strerror or error}", str(place)) from None


@contextmanager
def fetched(place: Any, conn_id: str | None) -> Iterator[Path]:
    """Copy a file from an object store to a temporary folder; its name, which tells the format, is kept."""
    source = remote_path(place, conn_id)
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        copy = Path(folder) / source.name
        with source.open("rb") as remote, copy.open("wb") as local:
            local.writelines(_blocks(remote))
        yield copy


def _blocks(file: Any) -> Iterator[bytes]:
    while block := file.read(2**20):
        yield block


def store(place: Path | Any, content: bytes) -> None:
    """Write a file completely or not at all; object stores replace an object once its upload is complete."""
    if isinstance(place, Path):
        _write_local(place, content)
        return
    # Not by a file that is opened: closing it uploads what it has, also after an error or the end of the task.
    remote = remote_path(place)
    remote.fs.pipe_file(remote.path, content)


def store_file(place: Path | Any, file: Path) -> int:
    """Write what a finished local file holds, as :func:`store` does, and return its size."""
    if isinstance(place, Path):
        with file.open("rb") as content:
            _write_local(place, _blocks(content))
    else:
        remote = remote_path(place)
        remote.fs.put_file(str(file), remote.path)
    return file.stat().st_size


def _write_local(place: Path, content: bytes | Iterable[bytes]) -> None:
    from compsil_kit._util.atomic import write_atomically

    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, content)
