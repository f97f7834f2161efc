"""Resolve, check and write files, local or in an object store; a file is written completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from compsil_airflow.compat import ObjectStoragePath

# A resolved local path, or the URI of an object as a string.
Place = Path | str
# Size of the temporary file used to check that a folder is writable.
PROBE_BYTES = 2**16
LOCAL_SCHEMES = ("file", "local")
LABELS_ENDINGS = (".parquet", ".csv")
REPORT_ENDINGS = (".html", ".htm")


def is_path(value: Any) -> bool:
    """Return whether a value has a type that can represent a path or a URI."""
    return isinstance(value, str | os.PathLike | ObjectStoragePath)


def resolve_place(name: str, value: Any, base_dir: Any = None) -> Place:
    """Return a URI unchanged as a string, or a resolved local path, which must be inside ``base_dir``."""
    if not is_path(value) or not str(value).strip():
        raise TypeError(f"{name} must be a path or a URI; got a value of type {type(value).__name__}.")
    text = str(value)
    if "::" in text:
        # A chained URL can reach local files through another file system.
        raise ValueError(f"{name} must be a single path or URI; chained URLs ('::') are not supported.")
    parts = urlsplit(text)
    # A single-letter scheme is a Windows drive.
    if "://" in text and len(parts.scheme) > 1 and parts.scheme not in LOCAL_SCHEMES:
        return text
    # Only URIs are unquoted; in a plain path, ?, # and % are part of the name.
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


def resolve_output(name: str, value: Any, endings: tuple[str, ...], base_dir: Any) -> Place | None:
    """Return the resolved path or URI of an output file, or None; raise for a wrong extension or an unwritable path."""
    if value is None:
        return None
    place = resolve_place(name, value, base_dir)
    if not str(place).lower().endswith(endings):
        raise ValueError(f"{name} must end in {' or '.join(endings)}; got {str(value)!r}.")
    check_writable(name, place)
    return place


def check_outputs(data: Any, outputs: Mapping[str, Place | None], base_dir: Any) -> None:
    """Raise if an output file would match ``data``, because the next run would read it as data."""
    if not is_path(data):
        return
    source = _without_connection(resolve_place("data", data, base_dir)) or "/"
    for name, place in outputs.items():
        output = "" if place is None else _without_connection(place)
        # Only ** matches across folders.
        matches = fnmatchcase(output, source) if "**" in source else PurePosixPath(output).match(source)
        if output and (matches or output.startswith(f"{source}/")):
            raise ValueError(
                f"{name} must not be a file that matches data, because the next run would read it as data; got "
                f"{str(place)!r}. Pass a path outside {str(data)!r}."
            )


def _without_connection(place: Place) -> str:
    return re.sub(r"(?<=://)[^/@]*@", "", str(place)).rstrip("/")


def remote_path(uri: str, conn_id: str | None = None) -> Any:
    """Return the path of an object; use the connection ``conn_id``, or the connection in the URI."""
    return ObjectStoragePath(uri, conn_id=conn_id)


def file_system(place: Place, conn_id: str | None = None) -> tuple[Any, str]:
    """Return the fsspec file system for a path or URI, and the path within that file system."""
    if isinstance(place, Path):
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem(), str(place)
    remote = remote_path(place, conn_id)
    # A worker may run several attempts, so listings cached by an earlier attempt may be outdated.
    remote.fs.invalidate_cache()
    return remote.fs, remote.path


def check_scheme(name: str, uri: str, conn_id: str | None = None) -> None:
    """Raise if Airflow has no file system for the URI scheme."""
    try:
        _ = remote_path(uri, conn_id).fs
    except ValueError as error:
        scheme = urlsplit(uri).scheme
        raise ValueError(
            f"{name}: Airflow has no file system for {scheme}://. Install the Airflow provider for it. ({error})"
        ) from None


def check_writable(name: str, place: Place) -> None:
    """Raise if a file cannot be written; create missing folders."""
    if not isinstance(place, Path):
        check_scheme(name, place)
        return
    if place.is_dir():
        raise ValueError(f"{name} must be a file; {str(place)!r} is a folder.")
    try:
        if any(parent.exists() and not parent.is_dir() for parent in place.parents):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise OSError(error.errno, f"{name} cannot be written: {error.strerror or error}", str(place)) from None


@contextmanager
def downloaded(uri: str, conn_id: str | None) -> Iterator[Path]:
    """Copy an object to a temporary folder; the copy keeps its name, because the extension determines the format."""
    source = remote_path(uri, conn_id)
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        copy = Path(folder) / source.name
        with source.open("rb") as remote, copy.open("wb") as local:
            shutil.copyfileobj(remote, local)
        yield copy


def write(place: Place, content: bytes | Path) -> int:
    """Write bytes or the content of a local file, completely or not at all, and return the size."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    if isinstance(place, Path):
        _write_local(place, content)
        return size
    # Do not write through an open remote file, because closing it after an error would upload a partial object.
    remote = remote_path(place)
    if isinstance(content, bytes):
        remote.fs.pipe_file(remote.path, content)
    else:
        remote.fs.put_file(str(content), remote.path)
    return size


def _write_local(place: Path, content: bytes | Path) -> None:
    from compsil_kit.adapters import write_atomically

    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        write_atomically(place, content)
        return
    with content.open("rb") as file:
        write_atomically(place, iter(lambda: file.read(2**20), b""))
