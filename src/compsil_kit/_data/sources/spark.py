"""Spark DataFrames: the pass runs on Spark's executors, and only its results are sent to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from compsil_kit._data.matrix import arrow_values
from compsil_kit._data.sources.scan import Part, Work, split_work
from compsil_kit._data.sources.source import Field, Source, Tick, changed, hide_content

_DTYPES = {
    "double": "f8", "float": "f4", "bigint": "i8", "int": "i4", "smallint": "i2", "tinyint": "i1", "boolean": "b1",
    "decimal": "f8",
}  # fmt: skip
# What executors return: the number of the partition, and serialised content.
_REPLY = "number int, content binary"


class SparkSource(Source):
    """A Spark DataFrame that is not streaming; rows are in the order of its partitions."""

    what = "a Spark DataFrame"

    def __init__(self, frame: Any) -> None:
        """Read the types of the columns, and count the rows per partition with a query that reads no column."""
        from pyspark.sql import functions

        # pandas on Spark; the class is checked because on instances any attribute may be a column.
        frame = frame.to_spark() if hasattr(type(frame), "to_spark") else frame
        if frame.isStreaming:
            raise ValueError(
                "X: the rows of a streaming Spark DataFrame cannot be counted, because the stream does not end. Write "
                "them to Parquet files, and pass the frame that spark.read returns for those."
            )
        self.fields = tuple(_field(field) for field in frame.schema.fields)
        # Names with dots, or that occur twice, cannot be selected.
        self._frame = frame.toDF(*(f"c{at}" for at in range(len(self.fields))))
        numbers = self._frame.select(functions.spark_partition_id().alias("number"))
        with _hide_spark_content():
            counts = numbers.groupBy("number").count().collect()
        self._lengths = _lengths({row["number"]: row["count"] for row in counts})
        self.n_rows = sum(self._lengths)

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the executors."""
        frame, lengths = self._columns(positions), self._lengths
        parts = _scan_partitions(frame, work, lengths)
        if not _matches(parts, lengths):
            # Partitions of shuffled data depend on the selected columns, and sorting is skipped if rows are only
            # counted; so count the rows of these columns.
            none = Work(np.empty(0, dtype=np.int64), "float64")
            lengths = _lengths({at: part.stop - part.start for at, part in _scan_partitions(frame, none, ()).items()})
            parts = _scan_partitions(frame, work, lengths)
        if not _matches(parts, lengths):
            raise changed(self.what, sum(lengths), sum(part.stop - part.start for part in parts.values()))
        for _, part in sorted(parts.items()):
            tick(part.stop - part.start)
            yield part

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Fetch one partition after the other."""
        import pyarrow as pa

        packed = self._columns(positions).mapInArrow(_serialise_batches, _REPLY)
        with _hide_spark_content():
            for row in packed.toLocalIterator():
                with pa.ipc.open_stream(row["content"]) as reader:
                    yield from reader

    def _columns(self, positions: Sequence[int]) -> Any:
        return self._frame.select(*(f"c{at}" for at in positions))


def _field(field: Any) -> Field:
    kind = field.dataType.simpleString()
    dtype = _DTYPES.get(kind.partition("(")[0])
    return Field(field.name, kind, None if dtype is None else np.dtype(dtype))


def _lengths(counts: Mapping[int, int]) -> tuple[int, ...]:
    """Return the number of rows of all partitions; those without rows are not in the counts."""
    return tuple(int(counts.get(number, 0)) for number in range(max(counts, default=-1) + 1))


def _matches(parts: Mapping[int, Part], lengths: Sequence[int]) -> bool:
    rows = {number: part.stop - part.start for number, part in parts.items()}
    return rows == {number: n for number, n in enumerate(lengths) if n}


def _scan_partitions(frame: Any, work: Work, lengths: Sequence[int]) -> dict[int, Part]:
    """Return the results for all partitions that have rows, by their numbers."""
    with _hide_spark_content():
        replies = frame.mapInArrow(_scanner(work, lengths), _REPLY).collect()
    parts = {row["number"]: pickle.loads(row["content"]) for row in replies}
    return {number: part for number, part in parts.items() if part.stop > part.start}


def _hide_spark_content() -> AbstractContextManager[None]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return hide_content(SparkSource.what, (PySparkException, Py4JJavaError))


def _scanner(work: Work, lengths: Sequence[int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that an executor runs on a partition."""
    shares = split_work(work, lengths)
    # A partition beyond those that were counted: its rows are counted.
    uncounted = (Work(work.rows[:0], work.dtype), sum(lengths))

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        number = _partition_number()
        share, start = shares[number] if number < len(shares) else uncounted
        part = share(([arrow_values(column) for column in batch.columns] for batch in batches), start)
        yield _reply(number, pickle.dumps(part))

    return run


def _serialise_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches as bytes, because Spark would send their rows as Python objects."""
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

    schema = pa.schema([("number", pa.int32()), ("content", pa.binary())])
    return pa.RecordBatch.from_pydict({"number": [number], "content": [content]}, schema=schema)
