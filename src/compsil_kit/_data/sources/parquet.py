"""From a path, a glob or an address to the Parquet files behind it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
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
# Files of these names are the notes of those who write tables: _SUCCESS, _metadata, .part-0.parquet.crc.
_IGNORED = ("_", ".")
# What stores say of an object that is another one after its content has changed.
_TELLING = ("size", "ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created")


def is_parquet(name: str) -> bool:
    """Tell whether a text names Parquet data: a file, a folder, a glob or an address of them."""
    if name.rstrip("/").lower().endswith(ENDINGS) or "://" in name or os.path.isdir(name):
        return True
    # A star may be part of the name of a file that is there.
    return any(c in name for c in _GLOB) and not os.path.exists(name)


def fits_memory(file: Any) -> bool:
    """Tell whether a Parquet file, open or by its path, can be loaded; what is none can, for its reader to say so."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return True
    free = available_bytes()
    # As it is read, as columns, and as a matrix.
    return free is None or 3 * 8 * known.num_rows * known.num_columns <= free


def files_of(place: str, files: Any) -> list[str]:
    """Return the files behind a folder or a glob of a file system of fsspec."""
    return _found(files, place)[0]


def has_others(folder: str, files: Any) -> bool:
    """Tell whether a folder has files that are not Parquet; it stops at the first, as there may be millions."""
    _refuse_delta(files, folder, folder)
    base = folder.rstrip("/")
    for root, _, names in files.walk(base):
        seen = [name for name in names if name and not _is_note(f"{root[len(base) :]}/{name}")]
        if not all(name.lower().endswith(ENDINGS) or _is_linked(files, f"{root}/{name}") for name in seen):
            return True
    return False


def open_parquet(place: str | PathLike[str], files: Any = None) -> Source:
    """Return the Parquet files behind a path, a folder, a glob, or an address such as ``s3://bucket/table/*.parquet``.

    With ``files``, a file system of fsspec, the path is one of it.

    Rows are in the order in which ``pandas.read_parquet`` has those of a folder: files by their paths, compared as
    text, so that ``part-10`` comes before ``part-2``. As there, all files of a folder and of the folders in it count,
    but those that begin with ``_`` or ``.``; values in names such as ``year=2026`` are categories, not numbers; what
    pandas wrote as an index is no column.
    """
    name = os.fspath(place)
    if files is None and not is_parquet(name):
        raise ValueError(
            "X as text must name Parquet data: a file that ends in .parquet, a folder, a glob or an address. "
            "Read other files first, for example with pandas."
        )
    try:
        import fsspec
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError(
            f"X: reading {name!r} needs the packages pyarrow and fsspec. "
            "Install them with: pip install 'compsil-kit[scale]'"
        ) from error
    files, path = _filesystem(fsspec, name) if files is None else (files, name)
    found, base = _found(files, path)
    _refuse_delta(files, base or path, name)
    if not found:
        raise FileNotFoundError(
            f"X: there is no Parquet file at {name!r}. Files and folders that begin with '_' or '.' are ignored."
        )
    hive = {} if base is None else {"partitioning": ds.HivePartitioning.discover(infer_dictionary=True)}
    what = f"Parquet data at {name!r}"
    # Before anything is read of the files: their footers are kept, and would not fit other content.
    state = partial(_state, files, found, base)
    known = state()
    # The columns are those of the first file.
    with readable(one_of(what, found[0], len(found))):
        dataset = ds.dataset(found, filesystem=files, format="parquet", partition_base_dir=base, **hive)
    return without(ArrowSource(dataset, what, lambda: state() != known), _indexes(dataset.schema))


def _state(files: Any, found: Sequence[str], base: str | None) -> dict[str, list[Any]]:
    """Return what changes with the content of files: of a store, by one listing."""
    if _is_local(files):
        stats = {place: os.stat(place) for place in found if os.path.exists(place)}
        return {place: [seen.st_size, seen.st_mtime_ns, seen.st_ino] for place, seen in stats.items()}
    files.invalidate_cache()
    listed = {found[0]: files.info(found[0])} if base is None else files.find(base, detail=True)
    return {place: [listed[place].get(name) for name in _TELLING] for place in found if place in listed}


def _refuse_delta(files: Any, path: str, name: str) -> None:
    """Refuse a table of Delta Lake: its folder also holds files of rows that were deleted or overwritten."""
    if files.isdir(f"{path.rstrip('/')}/_delta_log"):
        raise ValueError(
            f"X: {name!r} is a Delta Lake table, whose folder also holds rows that are not part of it any more. "
            "Pass DeltaTable(...).to_pyarrow_dataset() of the package deltalake."
        )


def _indexes(schema: Any) -> list[str]:
    """Return the columns that were the index of a pandas frame; one that counts rows is no column."""
    pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}")) or {}
    names = [name for name in pandas.get("index_columns", ()) if isinstance(name, str)]
    return [name for name in names if name in schema.names]


def _filesystem(fsspec: Any, name: str) -> tuple[Any, str]:
    try:
        files, path = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise ImportError(f"X: {name!r} needs another package: {error}") from error
    except ValueError as error:
        raise ValueError(f"X: {name!r} is not an address that fsspec supports: {error}") from error
    # What an earlier call saw of a store may be gone, or more may have come.
    files.invalidate_cache()
    return files, path


def _found(files: Any, path: str) -> tuple[list[str], str | None]:
    """Return the files in the order of their paths, and the folder below which names may hold values."""
    if files.isfile(path):
        return [path], None
    if files.isdir(path):
        return _tables(_below(files, path), path), path
    if not any(c in path for c in _GLOB):
        return [], None
    # Folders too: a glob such as table/year=* names them.
    places = {place for match in files.glob(path) for place in _below(files, match)}
    base = re.split(rf"[^/]*[{re.escape(_GLOB)}]", path)[0].rstrip("/")
    return _tables(places, base), base


def _below(files: Any, place: str) -> Iterable[str]:
    """Return all files of a folder and of the folders in it; a file is returned itself."""
    found: list[str] = files.find(place)
    links = [Path(each) for each in found if _is_linked(files, each)]
    for link in links:
        if link.resolve() in [folder.resolve() for folder in link.parents]:
            raise ValueError(
                f"X: {str(link)!r} is a symbolic link to a folder that it is in. Remove it, or pass a glob without it."
            )
    return [*({*found} - {*map(str, links)}), *(each for link in links for each in _below(files, str(link)))]


def _is_local(files: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(files, LocalFileSystem)


def _is_linked(files: Any, place: str) -> bool:
    """Tell whether a file is a link to a local folder: fsspec takes it for a file, readers of tables follow it."""
    return _is_local(files) and os.path.islink(place) and os.path.isdir(place)


def _is_note(path: str) -> bool:
    return any(part.startswith(_IGNORED) for part in path.strip("/").split("/"))


def _tables(places: Iterable[str], base: str) -> list[str]:
    # A place that ends in a slash is the mark of an empty folder in an object store.
    return sorted(place for place in places if not place.endswith("/") and not _is_note(place[len(base) :]))
