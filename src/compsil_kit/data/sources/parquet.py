"""From a path, a glob or an address to the Parquet files behind it."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

from compsil_kit.data.sources.arrow import ArrowSource

ENDINGS = (".parquet", ".pq")
_GLOB = "*?["


def is_parquet(name: str) -> bool:
    """Tell whether a text names Parquet data: a file, a folder, a glob or an address of them."""
    plain = name.rstrip("/")
    return plain.lower().endswith(ENDINGS) or "://" in name or os.path.isdir(name) or any(c in plain for c in _GLOB)


def open_parquet(place: str | PathLike[str]) -> ArrowSource:
    """Return the Parquet files behind a path, a folder, a glob, or an address such as ``s3://bucket/table/*.parquet``.

    Files are taken in the order of their names.
    """
    name = os.fspath(place)
    if not is_parquet(name):
        raise ValueError(
            "X as text must name Parquet data (a file, a folder, a glob or an address), and ends in none of "
            f"{', '.join(ENDINGS)}. Read other files first, for example with pandas."
        )
    try:
        import fsspec
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError(
            f"X: reading {name!r} needs the packages pyarrow and fsspec. "
            "Install them with: pip install 'compsil-kit[scale]'"
        ) from error
    files, path = _filesystem(fsspec, name)
    found = _found(files, path)
    if not found:
        raise FileNotFoundError(f"X: there is no Parquet file at {name!r}.")
    dataset = ds.dataset(found, filesystem=files, format="parquet")
    return ArrowSource(dataset, "Parquet data")


def _filesystem(fsspec: Any, name: str) -> tuple[Any, str]:
    try:
        files, path = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise ImportError(f"X: {name!r} needs another package: {error}") from error
    return files, path


def _found(files: Any, path: str) -> list[str]:
    if any(c in path for c in _GLOB):
        places = files.glob(path)
    elif files.isdir(path):
        places = files.find(path)
    else:
        return [path] if files.exists(path) else []
    return sorted(place for place in places if place.lower().endswith(ENDINGS) and files.isfile(place))
