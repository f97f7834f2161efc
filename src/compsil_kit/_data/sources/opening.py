"""Tell a table outside memory by its type, without importing the library that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from compsil_kit._data.sources.chunked import ChunkedSource
from compsil_kit._data.sources.source import Source

# By library and name of a class or one of its bases: the module here that reads it, and what to call there.
_READERS = {
    ("pyarrow", "Dataset"): ("arrow", "ArrowSource"),
    ("polars", "LazyFrame"): ("lazy", "LazySource"),
    ("dask", "DataFrame"): ("dask_tables", "DaskFrame"),
    ("dask", "Array"): ("dask_tables", "DaskArray"),
    ("duckdb", "DuckDBPyRelation"): ("duck", "DuckSource"),
    ("_duckdb", "DuckDBPyRelation"): ("duck", "DuckSource"),
    ("zarr", "Array"): ("chunked", "ChunkedSource"),
    ("h5py", "Dataset"): ("chunked", "ChunkedSource"),
    ("pyspark", "DataFrame"): ("spark", "SparkSource"),
}


# What hands over its rows only once; they are counted first, and read later.
_ONCE = {("pyarrow", "RecordBatchReader"), ("pyarrow", "Scanner")}


def open_source(X: Any) -> Source | None:
    """Return X as a source if it is one; None for what is in memory."""
    if isinstance(X, Source):
        return X
    if isinstance(X, str | PathLike):
        from compsil_kit._data.sources.parquet import open_parquet

        return open_parquet(X)
    if isinstance(X, list | tuple) and X and all(isinstance(each, str | PathLike) for each in X):
        raise ValueError(
            "X as text must be one path. Pass a folder, a glob such as 'table/*.parquet', or "
            "pyarrow.dataset.dataset([...]) of several files."
        )
    if isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf" and X.dtype not in (np.float32, np.float64):
        # Those two are used where they are; of other types the rows of subsamples are copied, not all of them.
        return ChunkedSource(X, "a memory map")
    homes = [(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__]
    if any(home in _ONCE for home in homes):
        raise TypeError(
            f"X must be readable more than once, because its rows are counted before they are read; got a "
            f"{type(X).__name__}. Pass the dataset or the relation that it was made from, or load it as a table."
        )
    reader = next((_READERS[home] for home in homes if home in _READERS), None)
    if reader is None:
        return None
    module, name = reader
    read: Callable[[Any], Source] = getattr(import_module(f"compsil_kit._data.sources.{module}"), name)
    return read(X)
