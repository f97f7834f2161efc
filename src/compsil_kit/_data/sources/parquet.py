"""Open Parquet files from a path, a glob pattern or a URL."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from compsil_kit._data.sources.arrow import ArrowSource, hide_arrow_content
from compsil_kit._data.sources.source import Source
from compsil_kit._util.format import quoted, shorten
from compsil_kit._util.imports import require
from compsil_kit._util.system import available_bytes

ENDINGS = (".parquet", ".pq")
_GLOB = "*?["
_LOCAL_URL = re.compile(r"^(?:file|local)://")
# File properties that change when a file is overwritten; each store reports only some of these properties.
_VERSION_KEYS = ("size", "ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created", "ino")


class LocalFiles:
    """The local file system, with the methods of fsspec file systems that this module uses.

    Symbolic links to folders are followed, as in PyArrow and pandas; fsspec treats such links as files.
    """

    isfile = staticmethod(os.path.isfile)
    isdir = staticmethod(os.path.isdir)

    def find(self, place: str, *, detail: bool = False) -> Any:
        """Return all files in a folder and its subfolders; with ``detail``, as a dict of file properties."""
        found = [place] if os.path.isfile(place) else []
        for root, folders, names in os.walk(place, followlinks=True):
            for folder in (Path(root, name) for name in folders):
                if folder.is_symlink() and folder.resolve() in [parent.resolve() for parent in folder.parents]:
                    raise ValueError(
                        f"X: {str(folder)!r} is a symbolic link to one of its parent folders. Remove it, or pass a "
                        "glob that excludes it."
                    )
            found += [Path(root, name).as_posix() for name in names]
        return {file: self.info(file) for file in found} if detail else found

    def glob(self, pattern: str) -> list[str]:
        """Return the files and folders that match a pattern; ``**`` does not follow symbolic links."""
        base = _fixed_part(pattern)
        return [found.as_posix() for found in Path(base).glob(pattern[len(base) :])]

    def info(self, file: str) -> dict[str, int]:
        """Return the properties of a file."""
        stat = os.stat(file)
        return {"size": stat.st_size, "mtime": stat.st_mtime_ns, "ino": stat.st_ino}

    def invalidate_cache(self) -> None:
        """Do nothing, because nothing is cached."""


def is_parquet(name: str) -> bool:
    """Return whether a string refers to Parquet data: a file, folder, glob pattern or URL."""
    if name.rstrip("/").lower().endswith(ENDINGS) or "://" in name or os.path.isdir(name):
        return True
    # The name of an existing file may contain wildcard characters.
    return any(c in name for c in _GLOB) and not os.path.exists(name)


def fits_memory(file: Any) -> bool:
    """Return whether a Parquet file, given open or as a path, fits into memory; True if its footer is unreadable."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return True
    free = available_bytes()
    # Loading needs memory for three copies with 8 bytes per cell: Arrow buffers, columns and the matrix.
    return free is None or 3 * 8 * known.num_rows * known.num_columns <= free


def list_files(place: str, files: Any) -> list[str]:
    """Return the files that match a folder or glob pattern in an fsspec file system, without ignored files."""
    return _find(_native(files), place)[0]


def open_parquet(place: str | PathLike[str], files: Any = None, exclude: Collection[str] = ()) -> Source:
    """Open the Parquet files at a path, folder, glob pattern, or URL such as ``s3://bucket/table/*.parquet``.

    With ``files``, the path belongs to this fsspec file system. Local files need only PyArrow; URLs also need fsspec.
    The columns in ``exclude`` are left out.

    Rows have the same order as in ``pandas.read_parquet``: the files of a folder are sorted alphabetically by path, so
    ``part-10`` precedes ``part-2``. Folders are read recursively; names that begin with ``_`` or ``.`` are ignored.
    Folder names such as ``year=2026`` become categorical columns, and index columns written by pandas are left out.
    """
    name = os.fspath(place)
    if files is None and not is_parquet(name):
        raise ValueError(
            "X must refer to Parquet data if it is a string: a file that ends in .parquet, a folder, a glob pattern or "
            "a URL. Read other files first, for example with pandas."
        )
    ds = require("pyarrow.dataset", purpose=f"X: reading {name!r}")
    from pyarrow.fs import LocalFileSystem

    files, path = _resolve(name) if files is None else (_native(files), name)
    found, base = _find(files, path)
    if not found:
        raise FileNotFoundError(
            f"X: there is no Parquet file at {name!r}. Files and folders that begin with '_' or '.' are ignored."
        )
    hive = {} if base is None else {"partitioning": ds.HivePartitioning.discover(infer_dictionary=True)}
    what = f"Parquet data at {name!r}"
    # Record the versions before reading, because the dataset keeps footers that do not fit files written later.
    versions = partial(_versions, files, found, base)
    before = versions()
    # PyArrow uses the columns of the first file.
    with hide_arrow_content(what, found[0], len(found)):
        system = LocalFileSystem() if isinstance(files, LocalFiles) else files
        dataset = ds.dataset(found, filesystem=system, format="parquet", partition_base_dir=base, **hive)
    # Columns that were the index of a pandas DataFrame; a RangeIndex is not stored as a column.
    pandas = json.loads((dataset.schema.metadata or {}).get(b"pandas", b"{}")) or {}
    index = [name for name in pandas.get("index_columns", ()) if isinstance(name, str)]
    known = tuple(column for column in dataset.schema.names if column not in index)
    for column in exclude:
        if column not in known:
            raise ValueError(
                f"--exclude: {quoted(column)} is not a column of the data. Available columns: {shorten(known)}."
            )
    return ArrowSource(dataset, what, lambda: versions() != before, [*index, *exclude])


def _resolve(name: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path within it."""
    if "://" not in name or _LOCAL_URL.match(name):
        return LocalFiles(), Path(os.path.abspath(os.path.expanduser(_LOCAL_URL.sub("", name)))).as_posix()
    fsspec = require("fsspec", purpose=f"X: reading {name!r}")
    try:
        files, path = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise ImportError(f"X: {name!r} needs another package: {error}") from error
    except ValueError as error:
        raise ValueError(f"X: {name!r} is not a URL that fsspec supports: {error}") from error
    # Listings are cached across calls, but files may have been added or deleted since then.
    files.invalidate_cache()
    return files, path


def _native(files: Any) -> Any:
    """Replace fsspec's local file system with our own."""
    from fsspec.implementations.local import LocalFileSystem

    return LocalFiles() if isinstance(files, LocalFileSystem) else files


def _find(files: Any, path: str) -> tuple[list[str], str | None]:
    """Return the files sorted by path, and the folder below which folder names may contain values."""
    if files.isfile(path):
        return [path], None
    is_folder = files.isdir(path)
    base = (path if is_folder else _fixed_part(path)).rstrip("/")
    if files.isdir(f"{base}/_delta_log"):
        raise ValueError(
            f"X: {base!r} is a Delta Lake table, whose folder also contains files with deleted rows. "
            "Pass DeltaTable(...).to_pyarrow_dataset() from the deltalake package."
        )
    # A glob pattern such as table/year=* matches folders.
    matches = [path] if is_folder else files.glob(path) if any(c in path for c in _GLOB) else []
    found = {file for match in matches for file in files.find(match)}
    # Ignore auxiliary files such as _SUCCESS and .part-0.parquet.crc, and keys that end in a slash, which object stores
    # use for empty folders.
    return sorted(file for file in found if not re.search(r"/[_.]|/$", file[len(base) :])), base


def _fixed_part(pattern: str) -> str:
    """Return the path up to the first component with a wildcard."""
    return re.split(rf"[^/]*[{re.escape(_GLOB)}]", pattern)[0]


def _versions(files: Any, found: Sequence[str], base: str | None) -> dict[str, list[Any]]:
    """Return the properties that change when a file is overwritten, with one listing for a folder or pattern."""
    files.invalidate_cache()
    listed = {found[0]: files.info(found[0])} if base is None else files.find(base, detail=True)
    return {place: [listed[place].get(key) for key in _VERSION_KEYS] for place in found if place in listed}
