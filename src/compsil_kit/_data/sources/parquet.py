"""Open Parquet files by a path, a glob or an address."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from compsil_kit._data.sources.arrow import ArrowSource, one_of, readable
from compsil_kit._data.sources.columns import without
from compsil_kit._data.sources.source import Source
from compsil_kit._util.memory import available_bytes

ENDINGS = (".parquet", ".pq")
_GLOB = "*?["
_LOCAL_ADDRESS = re.compile(r"^(?:file|local)://")
# Writers of tables use these prefixes for their own files: _SUCCESS, _metadata, .part-0.parquet.crc.
_IGNORED = ("_", ".")
# The entries of a listing that change when an object is overwritten; stores differ in what they report.
_VERSION_KEYS = ("size", "ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created")


class LocalFiles:
    """The local file system, with the methods of an fsspec file system that are used here.

    Links to folders are followed, as pyarrow and pandas do; fsspec takes them for files.
    """

    isfile = staticmethod(os.path.isfile)
    isdir = staticmethod(os.path.isdir)

    def walk(self, folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield each folder with the names of its folders and files."""
        for root, folders, names in os.walk(folder, followlinks=True):
            for link in (Path(root, name) for name in folders if os.path.islink(os.path.join(root, name))):
                if link.resolve() in [parent.resolve() for parent in link.parents]:
                    raise ValueError(
                        f"X: {str(link)!r} is a symbolic link to one of its parent folders. Remove it, or pass a glob "
                        "that excludes it."
                    )
            yield Path(root).as_posix(), folders, names

    def find(self, place: str) -> list[str]:
        """Return all files of a folder and of the folders in it; a file is returned itself."""
        return (
            [place] if os.path.isfile(place) else [f"{root}/{n}" for root, _, names in self.walk(place) for n in names]
        )

    def glob(self, pattern: str) -> list[str]:
        """Return the files and folders that match; ``**`` does not follow links."""
        base = _fixed_part(pattern)
        return [found.as_posix() for found in Path(base).glob(pattern[len(base) :])]


def is_parquet(name: str) -> bool:
    """Return whether a text names Parquet data: a file, a folder, a glob or an address of them."""
    if name.rstrip("/").lower().endswith(ENDINGS) or "://" in name or os.path.isdir(name):
        return True
    # The name of an existing file may contain a star.
    return any(c in name for c in _GLOB) and not os.path.exists(name)


def fits_memory(file: Any) -> bool:
    """Return whether a Parquet file, open or by its path, fits into memory; True if its footer cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return True
    free = available_bytes()
    # Loading holds three copies of 8 bytes per cell: Arrow buffers, columns and the matrix.
    return free is None or 3 * 8 * known.num_rows * known.num_columns <= free


def files_of(place: str, files: Any) -> list[str]:
    """Return the Parquet files of a folder or a glob in an fsspec file system."""
    return _find(_native(files), place)[0]


def has_others(folder: str, files: Any) -> bool:
    """Return whether a folder of an fsspec file system contains other files than Parquet; stop at the first."""
    files = _native(files)
    _reject_delta(files, folder, folder)
    base = folder.rstrip("/")
    for root, _, names in files.walk(base):
        seen = [name for name in names if name and not _is_ignored(f"{root[len(base) :]}/{name}")]
        if not all(name.lower().endswith(ENDINGS) for name in seen):
            return True
    return False


def open_parquet(place: str | PathLike[str], files: Any = None) -> Source:
    """Open the Parquet files behind a path, a folder, a glob, or an address such as ``s3://bucket/table/*.parquet``.

    With ``files``, the path is one of this fsspec file system. Local files need pyarrow only, addresses also fsspec.

    Rows are in the order of ``pandas.read_parquet``: files of a folder are sorted by path as text, so that ``part-10``
    precedes ``part-2``. Folders are read recursively without names that begin with ``_`` or ``.``; values in names such
    as ``year=2026`` are categories; a column that pandas wrote as an index is left out.
    """
    name = os.fspath(place)
    if files is None and not is_parquet(name):
        raise ValueError(
            "X as text must name Parquet data: a file that ends in .parquet, a folder, a glob or an address. "
            "Read other files first, for example with pandas."
        )
    try:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem
    except ImportError as error:
        raise ImportError(
            f"X: reading {name!r} needs the package pyarrow. Install it with: pip install 'compsil-kit[scale]'"
        ) from error
    files, path = _resolve(name) if files is None else (_native(files), name)
    found, base = _find(files, path)
    _reject_delta(files, base or path, name)
    if not found:
        raise FileNotFoundError(
            f"X: there is no Parquet file at {name!r}. Files and folders that begin with '_' or '.' are ignored."
        )
    hive = {} if base is None else {"partitioning": ds.HivePartitioning.discover(infer_dictionary=True)}
    what = f"Parquet data at {name!r}"
    # Taken before anything is read: the dataset keeps the footers, which do not fit files that are written later.
    versions = partial(_versions, files, found, base)
    before = versions()
    # pyarrow takes the columns of the first file.
    with readable(one_of(what, found[0], len(found))):
        system = LocalFileSystem() if isinstance(files, LocalFiles) else files
        dataset = ds.dataset(found, filesystem=system, format="parquet", partition_base_dir=base, **hive)
    return without(ArrowSource(dataset, what, lambda: versions() != before), _index_columns(dataset.schema))


def _resolve(name: str) -> tuple[Any, str]:
    """Return the file system of a path or an address, and the path there."""
    if "://" not in name or _LOCAL_ADDRESS.match(name):
        return LocalFiles(), Path(os.path.abspath(os.path.expanduser(_LOCAL_ADDRESS.sub("", name)))).as_posix()
    try:
        import fsspec
    except ImportError as error:
        raise ImportError(
            f"X: reading {name!r} needs the package fsspec. Install it with: pip install 'compsil-kit[scale]'"
        ) from error
    try:
        files, path = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise ImportError(f"X: {name!r} needs another package: {error}") from error
    except ValueError as error:
        raise ValueError(f"X: {name!r} is not an address that fsspec supports: {error}") from error
    # fsspec caches listings across calls; files may have come or gone since.
    files.invalidate_cache()
    return files, path


def _native(files: Any) -> Any:
    """Return our own local file system in place of the one of fsspec."""
    from fsspec.implementations.local import LocalFileSystem

    return LocalFiles() if isinstance(files, LocalFileSystem) else files


def _find(files: Any, path: str) -> tuple[list[str], str | None]:
    """Return the files in the order of their paths, and the folder below which names may hold values."""
    if files.isfile(path):
        return [path], None
    if files.isdir(path):
        return _tables(files.find(path), path), path
    if not any(c in path for c in _GLOB):
        return [], None
    base = _fixed_part(path).rstrip("/")
    # A glob such as table/year=* matches folders.
    return _tables({file for match in files.glob(path) for file in files.find(match)}, base), base


def _fixed_part(pattern: str) -> str:
    """Return the path up to the first component with a wildcard."""
    return re.split(rf"[^/]*[{re.escape(_GLOB)}]", pattern)[0]


def _tables(places: Iterable[str], base: str) -> list[str]:
    # Object stores mark an empty folder by a key that ends in a slash.
    return sorted(place for place in places if not place.endswith("/") and not _is_ignored(place[len(base) :]))


def _is_ignored(path: str) -> bool:
    return any(part.startswith(_IGNORED) for part in path.strip("/").split("/"))


def _versions(files: Any, found: Sequence[str], base: str | None) -> dict[str, list[Any]]:
    """Return per file what changes when it is overwritten; one listing is enough for a remote store."""
    if isinstance(files, LocalFiles):
        stats = {place: os.stat(place) for place in found if os.path.exists(place)}
        return {place: [seen.st_size, seen.st_mtime_ns, seen.st_ino] for place, seen in stats.items()}
    files.invalidate_cache()
    listed = {found[0]: files.info(found[0])} if base is None else files.find(base, detail=True)
    return {place: [listed[place].get(key) for key in _VERSION_KEYS] for place in found if place in listed}


def _reject_delta(files: Any, path: str, name: str) -> None:
    """Reject a Delta Lake table: its folder also contains files of rows that were deleted or overwritten."""
    if files.isdir(f"{path.rstrip('/')}/_delta_log"):
        raise ValueError(
            f"X: {name!r} is a Delta Lake table, whose folder also contains files of deleted rows. "
            "Pass DeltaTable(...).to_pyarrow_dataset() of the package deltalake."
        )


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that were the index of a pandas frame; a RangeIndex is stored without a column."""
    pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}")) or {}
    names = [name for name in pandas.get("index_columns", ()) if isinstance(name, str)]
    return [name for name in names if name in schema.names]
