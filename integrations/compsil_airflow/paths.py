"""Where files are: on this machine, if need be confined to a folder, or in an object store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from compsil_airflow.compat import ObjectStoragePath

LOCAL_SCHEMES = ("file", "local")


def is_remote(value: Any) -> bool:
    """Tell whether a path leads to an object store; ``file:`` and plain paths are local."""
    scheme = urlsplit(str(value)).scheme
    # One letter is a Windows drive.
    return "://" in str(value) and len(scheme) > 1 and scheme not in LOCAL_SCHEMES


def check_place(name: str, value: Any, base_dir: Any = None) -> Path | Any:
    """Return a local path, resolved and inside ``base_dir``, or the path in an object store."""
    if not isinstance(value, str | os.PathLike | ObjectStoragePath) or not str(value).strip():
        raise TypeError(f"{name} must be a path or the URI of one; got a value of type {type(value).__name__}.")
    text = str(value)
    if "::" in text:
        # Chained URLs reach local files through another file system's name.
        raise ValueError(f"{name} must be one path or URI; chains with '::' are not followed.")
    if is_remote(value):
        return value
    return _local(name, text, base_dir)


def _local(name: str, text: str, base_dir: Any) -> Path:
    parts = urlsplit(text)
    # urlsplit takes ? and # for the ends of a URL, where a plain path may hold them.
    path = Path(unquote(parts.path)) if parts.scheme in LOCAL_SCHEMES else Path(text)
    if base_dir is None:
        return path.resolve()
    root = Path(base_dir).resolve()
    place = (root / path).resolve()
    if not place.is_relative_to(root):
        raise ValueError(f"{name} must lie inside base_dir, {str(root)!r}, also after following links; got {text!r}.")
    return place


def remote_path(place: Any, conn_id: str | None = None) -> Any:
    """Return a path in an object store, opened with a connection if one is named here or in the URI."""
    return place if isinstance(place, ObjectStoragePath) else ObjectStoragePath(str(place), conn_id=conn_id)


@contextmanager
def fetched(place: Any, conn_id: str | None) -> Iterator[Path]:
    """Copy a file from an object store into a temporary folder, under its own name, which says what it holds."""
    source = remote_path(place, conn_id)
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        copy = Path(folder) / source.name
        with source.open("rb") as remote, copy.open("wb") as local:
            while block := remote.read(2**20):
                local.write(block)
        yield copy


def store(place: Path | Any, content: bytes) -> None:
    """Write a file whole or not at all; object stores replace an object only when its upload is complete."""
    from compsil_kit.util.atomic import write_atomically

    if isinstance(place, Path):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, content)
        return
    with remote_path(place).open("wb") as file:
        file.write(content)
