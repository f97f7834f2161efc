"""Dask DataFrames and arrays: the pass runs on Dask's workers, a partition at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from math import isnan
from typing import Any

import numpy as np

from compsil_kit._data.matrix import is_numeric_dtype, pandas_values
from compsil_kit._data.sources.pieces import as_counted, pass_over, shares
from compsil_kit._data.sources.scan import Part, Work
from compsil_kit._data.sources.source import Array, Chunks, Field, Source, Tick, silent_about_content

# Partitions that a scheduler without workers of its own computes before what was found is put together.
AT_A_TIME = 16
_SINGLE = ("float32", "float[", "sparse[float32")


class DaskSource(Source):
    """A Dask collection in partitions of rows; a partition's rows are counted once, by a pass of its own."""

    def __init__(self, what: str, fields: Sequence[Field], lengths: Sequence[int], *, named: bool) -> None:
        """Keep what is known of a collection."""
        self.what, self.fields, self.lengths, self.named = what, tuple(fields), tuple(lengths), named
        self.n_rows = sum(lengths)

    def pieces(self, at: Sequence[int]) -> list[Any]:
        """Return the partitions with some of their columns, as delayed objects."""
        raise NotImplementedError

    def scan(self, at: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the workers."""
        run = _dask().delayed(_pass, pure=False)
        tasks = [run(piece, share) for piece, share in zip(self.pieces(at), shares(work, self.lengths), strict=True)]
        return as_counted(_computed(tasks, AT_A_TIME), self.lengths, self.what, tick)

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Fetch one partition after the other."""
        return (chunk for chunk in map(_values, _computed(self.pieces(at), 1)) if len(chunk[0]))


class DaskFrame(DaskSource):
    """A ``dask.dataframe.DataFrame``; its order is that of its partitions."""

    def __init__(self, frame: Any) -> None:
        """Look at the types of the columns and count the rows."""
        self._frame = frame
        fields = [
            Field(name, str(dtype), is_numeric_dtype(dtype), str(dtype).lower().startswith(_SINGLE), _width(dtype))
            for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        ]
        super().__init__("a Dask DataFrame", fields, _lengths(self.pieces([0]) if fields else []), named=True)

    def pieces(self, at: Sequence[int]) -> list[Any]:
        """Return the partitions of these columns; only these are read.

        What Dask does by itself would join partitions of few columns, and those were counted one by one.
        """
        return list(self._frame.iloc[:, list(at)].simplify().to_delayed(optimize_graph=False))


class DaskArray(DaskSource):
    """A ``dask.array.Array`` of two dimensions."""

    def __init__(self, array: Any) -> None:
        """Check the shape, and count rows that Dask does not know the number of."""
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; got a Dask array of shape {array.shape}.")
        if isnan(array.shape[1]):
            raise ValueError("X: the number of columns of a Dask array must be known. Pass X.compute_chunk_sizes().")
        self._array = array
        kind = array.dtype
        field = (str(kind), kind.kind in "biuf", kind == np.float32, kind.itemsize)
        known = array.chunks[0]
        unknown = any(isnan(n) for n in known)
        lengths = (
            _lengths(self.pieces([0])) if unknown and array.shape[1] else [0 if unknown else int(n) for n in known]
        )
        super().__init__("a Dask array", [Field(at, *field) for at in range(array.shape[1])], lengths, named=False)

    def pieces(self, at: Sequence[int]) -> list[Any]:
        """Return the chunks of rows with these columns."""
        return list(self._array[:, list(at)].rechunk({1: -1}).to_delayed()[:, 0])


def _values(piece: Any) -> list[Array]:
    """Return the columns of a partition, which is a pandas frame or an array."""
    if hasattr(piece, "iloc"):
        columns = [piece.iloc[:, place] for place in range(piece.shape[1])]
        # A partition in which booleans are missing has objects, whatever the other ones have.
        return [pandas_values(column.astype("Float64") if column.dtype == object else column) for column in columns]
    if isinstance(piece, np.ma.MaskedArray):
        return list(np.ma.filled(piece.astype(np.float64), np.nan).T)
    return list(np.asarray(piece).T)


def _pass(piece: Any, share: tuple[Work, int]) -> Part:
    return pass_over([_values(piece)], share)


def _width(dtype: Any) -> int:
    return int(getattr(dtype, "itemsize", 8))


def _lengths(pieces: Sequence[Any]) -> list[int]:
    count = _dask().delayed(len, pure=False)
    return [int(n) for n in _computed([count(piece) for piece in pieces], max(1, len(pieces)))]


def _computed(tasks: Sequence[Any], at_a_time: int) -> Iterator[Any]:
    """Yield the outcomes in order; a cluster gets all tasks at once, elsewhere some are computed at a time."""
    client = _client()
    if client is None or at_a_time == 1:
        for low in range(0, len(tasks), at_a_time):
            with _quietly():
                part = _dask().compute(*tasks[low : low + at_a_time])
            yield from part
        return
    futures = client.compute(list(tasks))[::-1]
    try:
        while futures:
            with _quietly():
                found = futures[-1].result()
            yield found
            # What was handed over need not be kept by the worker.
            futures.pop()
    finally:
        client.cancel(futures)


def _quietly() -> AbstractContextManager[None]:
    # What parsers and casts raise; those of files, memory and the cluster are told.
    return silent_about_content("a Dask collection", (ValueError, TypeError, ArithmeticError))


def _client() -> Any:
    """Return the client of the cluster that Dask would use by itself, or None."""
    found = getattr(_dask().base.get_scheduler(), "__self__", None)
    return found if hasattr(found, "compute") else None


def _dask() -> Any:
    return import_module("dask")
