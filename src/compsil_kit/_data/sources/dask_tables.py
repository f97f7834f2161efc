"""Dask DataFrames and arrays: the pass runs on Dask's workers, one task per partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from math import isnan
from typing import Any

import numpy as np

from compsil_kit._data.matrix import is_numeric_dtype, pandas_values
from compsil_kit._data.sources.scan import Part, Work, split_work
from compsil_kit._data.sources.source import Chunk, Chunks, Field, Source, Tick, array_fields, changed, hide_content

# Partitions that a scheduler without a cluster computes before their results are merged.
PARTITIONS_AT_ONCE = 16


class DaskSource(Source):
    """A Dask collection in partitions of rows, which a separate pass counts; subclasses count them."""

    lengths: list[int]

    def partitions(self, positions: Sequence[int]) -> list[Any]:
        """Return the partitions of some columns as delayed objects."""
        raise NotImplementedError

    def count(self) -> list[int]:
        """Return the number of rows of each partition."""
        length = _dask().delayed(len, pure=False)
        lengths = [length(partition) for partition in self.partitions([0])]
        return [int(n) for n in _compute(lengths, max(1, len(lengths)))]

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the workers."""
        run, shares = _dask().delayed(_scan_partition, pure=False), split_work(work, self.lengths)
        tasks = [run(piece, *share) for piece, share in zip(self.partitions(positions), shares, strict=True)]
        parts = zip(_compute(tasks, PARTITIONS_AT_ONCE), self.lengths, strict=True)
        for number, (part, n_rows) in enumerate(parts):
            if part.stop - part.start != n_rows:
                raise changed(f"partition {number} of {self.what}", n_rows, part.stop - part.start)
            yield part
            tick(n_rows)

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Fetch one partition after the other."""
        return (chunk for chunk in map(_values, _compute(self.partitions(positions), 1)) if len(chunk[0]))


class DaskFrame(DaskSource):
    """A ``dask.dataframe.DataFrame``; rows are in the order of its partitions."""

    what = "a Dask DataFrame"

    def __init__(self, frame: Any) -> None:
        """Read the types of the columns, and count the rows."""
        self._frame = frame
        self.fields = tuple(_field(name, dtype) for name, dtype in zip(frame.columns, frame.dtypes, strict=True))
        self.lengths = self.count() if self.fields else []
        self.n_rows = sum(self.lengths)

    def partitions(self, positions: Sequence[int]) -> list[Any]:
        """Return the partitions of these columns; no other columns are read.

        The graph is not optimised, because Dask would then join partitions of few columns, which were counted
        separately.
        """
        return list(self._frame.iloc[:, list(positions)].simplify().to_delayed(optimize_graph=False))


class DaskArray(DaskSource):
    """A two-dimensional ``dask.array.Array``."""

    what = "a Dask array"
    named = False

    def __init__(self, array: Any) -> None:
        """Validate the shape, and count the rows if Dask does not know their number."""
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; got a Dask array of shape {array.shape}.")
        if isnan(array.shape[1]):
            raise ValueError("X: the number of columns of a Dask array must be known. Pass X.compute_chunk_sizes().")
        self._array, self.fields = array, array_fields(array)
        unknown = any(isnan(n) for n in array.chunks[0])
        self.lengths = self.count() if unknown and self.fields else [0 if unknown else int(n) for n in array.chunks[0]]
        self.n_rows = sum(self.lengths)

    def partitions(self, positions: Sequence[int]) -> list[Any]:
        """Return the chunks of rows with these columns."""
        return list(self._array[:, list(positions)].rechunk({1: -1}).to_delayed()[:, 0])


def _field(name: Any, dtype: Any) -> Field:
    import pandas as pd

    values = pandas_values(pd.Series(dtype=dtype)).dtype if is_numeric_dtype(dtype) else None
    return Field(name, str(dtype), values)


def _values(partition: Any) -> Chunk:
    """Return the columns of a partition, which is a pandas frame or an array."""
    if hasattr(partition, "iloc"):
        columns = [partition.iloc[:, at] for at in range(partition.shape[1])]
        # Missing booleans turn the dtype of their partition into object.
        return [pandas_values(column.astype("Float64") if column.dtype == object else column) for column in columns]
    if isinstance(partition, np.ma.MaskedArray):
        return list(np.ma.filled(partition.astype(np.float64), np.nan).T)
    return list(np.asarray(partition).T)


def _scan_partition(partition: Any, work: Work, start: int) -> Part:
    return work([_values(partition)], start)


def _compute(tasks: Sequence[Any], at_once: int) -> Iterator[Any]:
    """Yield the results in order; a cluster gets all tasks at once, other schedulers some at a time."""
    client = _client()
    if client is None or at_once == 1:
        for low in range(0, len(tasks), at_once):
            with _hide_dask_content():
                results = _dask().compute(*tasks[low : low + at_once])
            yield from results
        return
    futures = client.compute(list(tasks))[::-1]
    try:
        while futures:
            with _hide_dask_content():
                result = futures[-1].result()
            yield result
            # Dropping the future lets the worker release the result.
            futures.pop()
    finally:
        client.cancel(futures)


def _hide_dask_content() -> AbstractContextManager[None]:
    # Errors of parsers and casts; those of files, memory and the cluster do not quote cells.
    return hide_content("a Dask collection", (ValueError, TypeError, ArithmeticError))


def _client() -> Any:
    """Return the client of the cluster that Dask uses by default, or None."""
    found = getattr(_dask().base.get_scheduler(), "__self__", None)
    return found if hasattr(found, "compute") else None


def _dask() -> Any:
    return import_module("dask")
