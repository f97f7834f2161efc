"""Spark DataFrames: the pass runs on Spark's executors, and only what was found comes to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from compsil_kit._data.matrix import arrow_values
from compsil_kit._data.sources.arrow import RecordSource
from compsil_kit._data.sources.pieces import changed, pass_over, shares
from compsil_kit._data.sources.scan import Part, Work
from compsil_kit._data.sources.source import Field, Tick, silent_about_content

_WIDTHS = {"double": 8, "float": 4, "bigint": 8, "int": 4, "smallint": 2, "tinyint": 1, "boolean": 1, "decimal": 16}
# What comes back from a partition: its number, and bytes.
_REPLY = "number int, content binary"


class SparkSource(RecordSource):
    """A Spark DataFrame that is not streaming; its order is that of its partitions."""

    what = "a Spark DataFrame"

    def __init__(self, frame: Any) -> None:
        """Look at the types of the columns, and count the rows of each partition by a query that reads no column."""
        from pyspark.sql import functions

        # What pandas on Spark holds. Of the class: any other name may be that of a column.
        frame = frame.to_spark() if hasattr(type(frame), "to_spark") else frame
        if frame.isStreaming:
            raise ValueError(
                "X: the rows of a streaming Spark DataFrame cannot be counted, as there is no last one. Write them to "
                "Parquet files, and pass what spark.read makes of those."
            )
        self.fields = tuple(_field(field) for field in frame.schema.fields)
        # Names with dots, or that occur twice, cannot be selected; positions can.
        self._frame = frame.toDF(*(f"c{at}" for at in range(len(self.fields))))
        places = self._frame.select(functions.spark_partition_id().alias("place"))
        with _quietly():
            counts = places.groupBy("place").count().collect()
        self._lengths = _lengths({row["place"]: row["count"] for row in counts})
        self.n_rows = sum(self._lengths)

    def scan(self, at: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Run the pass on the executors."""
        frame, lengths = self._columns(at), self._lengths
        found = _passed(frame, work, lengths)
        if not _agree(found, lengths):
            # Spark cuts what it has shuffled into partitions by the size of the columns, or does not sort what is only
            # counted: then the same columns are counted.
            lengths = _counted(frame)
            found = _passed(frame, work, lengths)
        if not _agree(found, lengths):
            raise changed(self.what, sum(lengths), sum(part.stop - part.start for part in found.values()))
        for number in sorted(found):
            tick(found[number].stop - found[number].start)
            yield found[number]

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Fetch one partition after the other."""
        import pyarrow as pa

        packed = self._columns(at).mapInArrow(_pack, _REPLY)
        with _quietly():
            for row in packed.toLocalIterator():
                with pa.ipc.open_stream(row["content"]) as reader:
                    yield from reader

    def _columns(self, at: Sequence[int]) -> Any:
        return self._frame.select(*(f"c{i}" for i in at))


def _field(field: Any) -> Field:
    kind = field.dataType.simpleString()
    width = _WIDTHS.get(kind.partition("(")[0])
    return Field(field.name, kind, width is not None, kind == "float", width or 8)


def _lengths(found: Mapping[int, int]) -> tuple[int, ...]:
    """Return the rows of all partitions; what is not mentioned has none."""
    return tuple(int(found.get(number, 0)) for number in range(max(found, default=-1) + 1))


def _agree(found: Mapping[int, Part], lengths: Sequence[int]) -> bool:
    rows = {number: part.stop - part.start for number, part in found.items()}
    return rows == {number: n for number, n in enumerate(lengths) if n}


def _passed(frame: Any, work: Work, lengths: Sequence[int]) -> dict[int, Part]:
    """Return what was found in the partitions that have rows, by their numbers."""
    with _quietly():
        replies = frame.mapInArrow(_passing(work, lengths), _REPLY).collect()
    parts = {row["number"]: pickle.loads(row["content"]) for row in replies}
    return {number: part for number, part in parts.items() if part.stop > part.start}


def _quietly() -> AbstractContextManager[None]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return silent_about_content(SparkSource.what, (PySparkException, Py4JJavaError))


def _counted(frame: Any) -> tuple[int, ...]:
    none = Work(np.empty(0, dtype=np.int64), "float64")
    return _lengths({number: part.stop - part.start for number, part in _passed(frame, none, ()).items()})


def _passing(work: Work, lengths: Sequence[int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what an executor does with a partition."""
    known = shares(work, lengths)
    # Of a partition that was not counted, the rows are.
    other = (Work(work.rows[:0], work.dtype), sum(lengths))

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        number = _number()
        chunks = ([arrow_values(column) for column in batch.columns] for batch in batches)
        part = pass_over(chunks, known[number] if number < len(known) else other)
        yield _reply(number, pickle.dumps(part))

    return run


def _pack(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches as bytes, as which they come to the driver without becoming rows of Python objects."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            content = pa.BufferOutputStream()
            with pa.ipc.new_stream(content, batch.schema) as writer:
                writer.write_batch(batch)
            yield _reply(_number(), content.getvalue().to_pybytes())


def _number() -> int:
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())


def _reply(number: int, content: bytes) -> Any:
    import pyarrow as pa

    schema = pa.schema([("number", pa.int32()), ("content", pa.binary())])
    return pa.RecordBatch.from_pydict({"number": [number], "content": [content]}, schema=schema)
