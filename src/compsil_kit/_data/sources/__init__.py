"""Out-of-core tables, read in row order in a single pass: Parquet, Polars, DuckDB, Dask, Spark and arrays on disk."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from compsil_kit._data.sources.source import ArraySource, Source

# Map the library and name of a class, or of a base class, to the module and function that opens its instances.
_READERS = {
    ("pyarrow", "Dataset"): ("arrow", "ArrowSource"),
    ("polars", "LazyFrame"): ("arrow", "PolarsSource"),
    ("duckdb", "DuckDBPyRelation"): ("arrow", "DuckDBSource"),
    ("_duckdb", "DuckDBPyRelation"): ("arrow", "DuckDBSource"),
    ("dask", "DataFrame"): ("distributed", "open_dask_frame"),
    ("dask", "Array"): ("distributed", "open_dask_array"),
    ("pyspark", "DataFrame"): ("distributed", "SparkSource"),
    ("zarr", "Array"): ("source", "ArraySource"),
    ("h5py", "Dataset"): ("source", "ArraySource"),
}
# Rows of these classes can be read only once, but a source reads its rows twice: to count and to fetch them.
_READ_ONCE = {("pyarrow", "RecordBatchReader"), ("pyarrow", "Scanner")}


def open_source(X: Any) -> Source | None:
    """Return X as a source if it is an out-of-core table; None for data in memory."""
    if isinstance(X, Source):
        return X
    if isinstance(X, str | PathLike):
        from compsil_kit._data.sources.parquet import open_parquet

        return open_parquet(X)
    if isinstance(X, list | tuple) and X and all(isinstance(each, str | PathLike) for each in X):
        raise ValueError(
            "X must be a single path, not a list of paths. Pass a folder, a glob pattern such as 'table/*.parquet', or "
            "pyarrow.dataset.dataset([...]) with several files."
        )
    if isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf" and X.dtype not in (np.float32, np.float64):
        # Memory maps with these two dtypes are used in place; any other dtype would require a converted copy.
        return ArraySource(X, "a memory map")
    classes = [(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__]
    if any(each in _READ_ONCE for each in classes):
        raise TypeError(
            f"X must be readable more than once, because its rows are counted before they are read; got a "
            f"{type(X).__name__}. Pass the original dataset or relation, or load the rows as a table."
        )
    reader = next((_READERS[each] for each in classes if each in _READERS), None)
    if reader is None:
        return None
    module, name = reader
    open_as: Callable[[Any], Source] = getattr(import_module(f"compsil_kit._data.sources.{module}"), name)
    return open_as(X)
