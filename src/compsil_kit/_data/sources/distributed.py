"""Dask and Spark collections; the pass runs on the workers, with one task per partition."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from math import isnan, nan
from typing import Any

import numpy as np

from compsil_kit._data.matrix import arrow_values, is_numeric_dtype, pandas_values
from compsil_kit._data.sources.source import (
    Chunk,
    Chunks,
    Field,
    Part,
    Source,
    Tick,
    Work,
    array_fields,
    changed,
    hide_content,
)

# Without a cluster, this many partitions are computed before their results are merged.
PARTITIONS_AT_ONCE = 16
_SPARK_DTYPES = {
    "double": "f8", "float": "f4", "bigint": "i8", "int": "i4", "smallint": "i2", "tinyint": "i1", "boolean": "b1",
    "decimal": "f8",
}  # fmt: skip
# Only errors from parsers and casts are hidden; errors from files, memory or the cluster do not quote cells.
_hide_dask_content = partial(hide_content, "a Dask collection", ValueError, TypeError, ArithmeticError)
# Schema of the replies from Spark's executors: the partition number and the serialised content.
_REPLY = "number long, content binary"


class DaskSource(Source):
    """A Dask collection; rows are in partition order, and are counted if the partition lengths are unknown."""

    def __init__(
        self,
        what: str,
        fields: tuple[Field, ...],
        partitions: Callable[[list[int]], list[Any]],
        lengths: Sequence[float] = (nan,),
    ) -> None:
        """Store ``partitions``, which returns the partitions of given columns as delayed objects; count the rows."""
        self.what, self.fields, self._partitions = what, fields, partitions
        if any(map(isnan, lengths)):
            length = _dask().delayed(len, pure=False)
            tasks = [length(partition) for partition in partitions([0])] if fields else []
            lengths = list(_compute(tasks, max(1, len(tasks))))
        self.lengths = [int(n) for n in lengths]
        self.n_rows = sum(self.lengths)

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the workers."""
        run = _dask().delayed(_scan_partition, pure=False)
        shares = zip(self._partitions(list(positions)), work.split(self.lengths), strict=True)
        parts = _compute([run(partition, *share) for partition, share in shares], PARTITIONS_AT_ONCE)
        for number, (part, n_rows) in enumerate(zip(parts, self.lengths, strict=True)):
            if part.stop - part.start != n_rows:
                raise changed(f"partition {number} of {self.what}", n_rows, part.stop - part.start)
            yield part
            tick(n_rows)

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Fetch the partitions one after another."""
        partitions = _compute(self._partitions(list(positions)), 1)
        return (chunk for chunk in map(_values, partitions) if len(chunk[0]))


def open_dask_frame(frame: Any) -> DaskSource:
    """Open a ``dask.dataframe.DataFrame``."""
    import pandas as pd

    fields = list[Field]()
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        values = pandas_values(pd.Series(dtype=dtype)).dtype if is_numeric_dtype(dtype) else None
        fields.append(Field(name, str(dtype), values))

    def partitions(positions: list[int]) -> list[Any]:
        # Do not optimise the graph, because Dask may join partitions with few columns, but their rows were counted
        # separately.
        return list(frame.iloc[:, positions].simplify().to_delayed(optimize_graph=False))

    return DaskSource("a Dask DataFrame", tuple(fields), partitions)


def open_dask_array(array: Any) -> DaskSource:
    """Open a two-dimensional ``dask.array.Array``."""
    what = "a Dask array"
    if array.ndim == 2 and isnan(array.shape[1]):
        raise ValueError("X: the number of columns in a Dask array must be known. Pass X.compute_chunk_sizes().")
    fields = array_fields(array, what)

    def partitions(positions: list[int]) -> list[Any]:
        return list(array[:, positions].rechunk({1: -1}).to_delayed()[:, 0])

    source = DaskSource(what, fields, partitions, array.chunks[0])
    source.named = False
    return source


def _values(partition: Any) -> Chunk:
    """Return the columns of a partition, which is a pandas frame or an array."""
    if hasattr(partition, "iloc"):
        columns = [partition.iloc[:, at] for at in range(partition.shape[1])]
        # In partitions with missing booleans, the column has dtype object.
        return [pandas_values(column.astype("Float64") if column.dtype == object else column) for column in columns]
    if isinstance(partition, np.ma.MaskedArray):
        return list(np.ma.filled(partition.astype(np.float64), np.nan).T)
    return list(np.asarray(partition).T)


def _scan_partition(partition: Any, work: Work, start: int) -> Part:
    return work([_values(partition)], start)


def _compute(tasks: Sequence[Any], at_once: int) -> Iterator[Any]:
    """Yield the results in order; submit all tasks together on a cluster, or ``at_once`` tasks at a time otherwise."""
    # The client of Dask's default cluster, if there is one.
    client: Any = getattr(_dask().base.get_scheduler(), "__self__", None)
    if at_once == 1 or not hasattr(client, "compute"):
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


def _dask() -> Any:
    return import_module("dask")


class SparkSource(Source):
    """A non-streaming Spark DataFrame; rows are in partition order."""

    what = "a Spark DataFrame"

    def __init__(self, frame: Any) -> None:
        """Read the column types, and count the rows of each partition with a query that reads no columns."""
        from pyspark.sql import functions

        # Convert pandas-on-Spark frames. Check the class, because an attribute of an instance may be a column.
        frame = frame.to_spark() if hasattr(type(frame), "to_spark") else frame
        if frame.isStreaming:
            raise ValueError(
                "X: the rows of a streaming Spark DataFrame cannot be counted, because the stream does not end. Write "
                "them to Parquet files, and pass the frame that spark.read.parquet returns."
            )
        kinds = [field.dataType.simpleString() for field in frame.schema.fields]
        dtypes = [_SPARK_DTYPES.get(kind.partition("(")[0]) for kind in kinds]
        self.fields = tuple(
            Field(field.name, kind, None if dtype is None else np.dtype(dtype))
            for field, kind, dtype in zip(frame.schema.fields, kinds, dtypes, strict=True)
        )
        # Rename the columns, because duplicate names and names with dots cannot be selected.
        self._frame = frame.toDF(*(f"c{at}" for at in range(len(self.fields))))
        numbers = self._frame.select(functions.spark_partition_id().alias("number"))
        with _hide_spark_content():
            # Empty partitions do not appear in the counts.
            self._lengths = {row["number"]: row["count"] for row in numbers.groupBy("number").count().collect()}
        self.n_rows = sum(self._lengths.values())

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the executors."""
        frame, lengths = self._columns(positions), self._lengths
        parts = _scan_partitions(frame, work, lengths)
        if _lengths(parts) != lengths:
            # The partitions of shuffled data depend on the selected columns, and Spark does not sort rows that it only
            # counts. Therefore, count the rows again with the selected columns.
            lengths = _lengths(_scan_partitions(frame, work, {}))
            parts = _scan_partitions(frame, work, lengths)
        if _lengths(parts) != lengths:
            raise changed(self.what, sum(lengths.values()), sum(_lengths(parts).values()))
        for _, part in sorted(parts.items()):
            tick(part.stop - part.start)
            yield part

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Fetch the partitions one after another."""
        import pyarrow as pa

        packed = self._columns(positions).mapInArrow(_serialise_batches, _REPLY)
        with _hide_spark_content():
            for row in packed.toLocalIterator():
                with pa.ipc.open_stream(row["content"]) as reader:
                    yield from reader

    def _columns(self, positions: Sequence[int]) -> Any:
        return self._frame.select(*(f"c{at}" for at in positions))


def _lengths(parts: Mapping[int, Part]) -> dict[int, int]:
    return {number: part.stop - part.start for number, part in parts.items()}


def _scan_partitions(frame: Any, work: Work, lengths: Mapping[int, int]) -> dict[int, Part]:
    """Return the results for all non-empty partitions, by partition number."""
    with _hide_spark_content():
        replies = frame.mapInArrow(_scanner(work, lengths), _REPLY).collect()
    parts = {row["number"]: pickle.loads(row["content"]) for row in replies}
    return {number: part for number, part in parts.items() if part.stop > part.start}


def _hide_spark_content() -> AbstractContextManager[None]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return hide_content(SparkSource.what, PySparkException, Py4JJavaError)


def _scanner(work: Work, lengths: Mapping[int, int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that executors run on a partition; it only counts the rows of uncounted partitions."""
    numbers = sorted(lengths)
    shares = dict(zip(numbers, work.split([lengths[number] for number in numbers]), strict=True))
    uncounted = (Work(work.rows[:0], work.dtype), 0)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        number = _partition_number()
        share, start = shares.get(number, uncounted)
        part = share(([arrow_values(column) for column in batch.columns] for batch in batches), start)
        yield _reply(number, pickle.dumps(part))

    return run


def _serialise_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches as bytes, because Spark would otherwise send rows as Python objects."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            content = pa.BufferOutputStream()
            with pa.ipc.new_stream(content, batch.schema) as writer:
                writer.write_batch(batch)
            yield _reply(_partition_number(), content.getvalue().to_pybytes())


def _partition_number() -> int:
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())


def _reply(number: int, content: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"number": [number], "content": [content]})
