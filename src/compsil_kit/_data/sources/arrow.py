"""Tables that are read in record batches: PyArrow datasets, Polars LazyFrames and DuckDB relations."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import accumulate, groupby
from typing import Any

from compsil_kit._data.matrix import arrow_numeric, arrow_values, polars_numeric, polars_values
from compsil_kit._data.sources.source import Chunks, Field, Part, Source, Tick, Work, hide_content
from compsil_kit._util.format import few, quoted

CHUNK_ROWS = 1 << 17
# Bytes to read per column and request; object stores answer a few large requests faster than many small ones.
BUFFER_BYTES = 2**22
# Row groups of a Parquet file are read together, up to about this many rows.
PORTION_ROWS = 1 << 20
_DUCKDB_ORDER = "preserve_insertion_order"


class ArrowSource(Source):
    """A ``pyarrow.dataset.Dataset``; rows are in file order, and in their original order within each file."""

    def __init__(
        self,
        dataset: Any,
        what: str = "a PyArrow dataset",
        has_changed: Callable[[], bool] = lambda: False,
        exclude: Collection[str] = (),
    ) -> None:
        """Read the schema and count the rows; the columns in ``exclude`` are left out."""
        self.what, self._dataset, self._has_changed = what, dataset, has_changed
        repeated = [quoted(name) for name, n in Counter(dataset.schema.names).items() if n > 1]
        if repeated:
            raise ValueError(f"X: {what} has more than one column named {few(repeated)}. Rename these columns.")
        self.fields = tuple(arrow_field(field) for field in dataset.schema if field.name not in exclude)
        self._n_files = len(getattr(dataset, "files", ()))
        self.n_rows = self._count()

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches in row order."""
        self._check_unchanged()
        with hide_arrow_content(self.what):
            yield from self._batches([self.fields[at].name for at in positions])
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._has_changed():
            raise ValueError(
                f"X has changed: a file was modified after its rows were counted ({self.what}). Pass data that do not "
                "change during the run."
            )

    def _count(self) -> int:
        import pyarrow as pa

        with hide_arrow_content(self.what):
            try:
                return int(self._dataset.count_rows())
            except (pa.ArrowException, OSError):
                # Count the rows file by file, so that the error names the damaged file.
                for fragment in self._fragments() if self._n_files else ():
                    with hide_arrow_content(self.what, fragment.path, self._n_files):
                        fragment.count_rows()
                raise

    def _fragments(self) -> list[Any]:
        """Return the files, or an empty list for a filtered dataset, whose files contain additional rows."""
        with suppress(ValueError):
            return list(self._dataset.get_fragments())
        return []

    def _batches(self, names: list[str]) -> Iterator[Any]:
        import pyarrow.dataset as ds

        options: dict[str, Any] = {"columns": names, "batch_size": CHUNK_ROWS}
        fragments = list[Any]()
        if isinstance(getattr(self._dataset, "format", None), ds.ParquetFileFormat):
            # By default, a scan caches everything it has read from a file.
            uncached = {"pre_buffer": False, "use_buffered_stream": True, "buffer_size": BUFFER_BYTES}
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(**uncached)
            fragments = self._fragments()
        for fragment in fragments:
            with hide_arrow_content(self.what, fragment.path, self._n_files):
                for portion in _portions(fragment):
                    yield from portion.to_batches(schema=self._dataset.schema, **options)
        if not fragments:
            # Several threads would read ahead without limit and exhaust memory.
            yield from self._dataset.to_batches(**options, batch_readahead=4, fragment_readahead=1, use_threads=False)


class PolarsSource(Source):
    """A ``polars.LazyFrame``, executed by the streaming engine; rows are in query order."""

    what = "a Polars LazyFrame"

    def __init__(self, frame: Any) -> None:
        """Resolve the schema, and count the rows with a query that reads as little as possible."""
        import polars as pl

        if not hasattr(frame, "collect_batches"):
            raise ImportError(
                f"X: a LazyFrame is read in batches, which Polars {pl.__version__} does not support. Upgrade with "
                "pip install --upgrade polars, or pass X.collect()."
            )
        self._frame = frame
        self._hide_content = partial(hide_content, self.what, pl.exceptions.PolarsError)
        with self._hide_content():
            self.fields = tuple(
                Field(name, str(kind), polars_values(pl.Series(dtype=kind)).dtype if polars_numeric(kind) else None)
                for name, kind in frame.collect_schema().items()
            )
            self.n_rows = int(frame.select(pl.len()).collect(engine="streaming").item())

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield the batches of the query; unlike ``records``, this works without PyArrow and for all numeric types."""
        for batch in self._batches(positions):
            if len(batch):
                yield [polars_values(column) for column in batch.get_columns()]

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the batches of the query as Arrow record batches."""
        for batch in self._batches(positions):
            yield from batch.to_arrow().to_batches()

    def _batches(self, positions: Sequence[int]) -> Iterator[Any]:
        import polars as pl

        # Select columns by position, because Polars interprets names such as ^b$ as patterns.
        query = self._frame.select(pl.nth(list(positions)))
        with self._hide_content():
            yield from query.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=True, engine="streaming")


class DuckDBSource(Source):
    """A ``duckdb.DuckDBPyRelation``; rows are in query order."""

    what = "a DuckDB relation"

    def __init__(self, relation: Any) -> None:
        """Read the schema, and count the rows with a separate query."""
        import duckdb
        import pyarrow as pa

        self._relation = relation
        advice = (
            "The query runs twice, to count its rows and to read them. Both times, the connection must be open and the "
            "input must exist."
        )
        self._hide_content = partial(hide_content, self.what, duckdb.Error, pa.ArrowException, OSError, advice=advice)
        with self._hide_content():
            counted = f"count(*), any_value(current_setting('{_DUCKDB_ORDER}'))"
            ((n_rows, ordered),) = relation.aggregate(counted).fetchall()
            self.fields = tuple(arrow_field(field) for field in _duckdb_reader(relation.limit(0)).schema)
        if ordered is False:
            raise ValueError(
                f"X: a DuckDB relation must return rows in the same order every time, but {_DUCKDB_ORDER} is off. "
                f"Run SET {_DUCKDB_ORDER} = true on the connection."
            )
        self.n_rows = int(n_rows)

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches of the query in row order."""
        names = ['"{}"'.format(self.fields[at].name.replace('"', '""')) for at in positions]
        with self._hide_content():
            yield from _duckdb_reader(self._relation.project(", ".join(names)))


class SidecarColumns(Source):
    """A source that also keeps columns of any type while its chunks are read; ``take`` returns the kept columns.

    A second reader could see the rows in a different order, and some connections allow only one reader.
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        """Keep the columns with these names; the source must support records."""
        self.what, self.n_rows, self.fields, self.named = source.what, source.n_rows, source.fields, source.named
        known = [field.name for field in source.fields]
        self._source, self._names, self._kept = source, list(names), [known.index(name) for name in names]
        self._queue = deque[Any]()

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield the rows of the source, and keep the sidecar columns of each chunk."""
        wanted = list(dict.fromkeys([*positions, *self._kept]))
        for batch in self._source.records(wanted):
            if batch.num_rows:
                self._queue.append([batch.column(wanted.index(at)) for at in self._kept])
                yield [arrow_values(batch.column(wanted.index(at))) for at in positions]

    def take(self) -> Any:
        """Return the kept columns of the oldest chunk that has not been taken yet, as an Arrow table."""
        import pyarrow as pa

        return pa.table(self._queue.popleft(), names=self._names)

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Scan the source without keeping columns."""
        return self._source.scan(positions, work, tick)


def arrow_field(field: Any) -> Field:
    """Return a Field that describes an Arrow column."""
    import pyarrow as pa

    kind = str(field.type)
    return Field(field.name, kind, arrow_values(pa.array([], field.type)).dtype if arrow_numeric(kind) else None)


def _portions(fragment: Any) -> Iterator[Any]:
    """Yield parts of a Parquet file that contain several row groups; threads read ahead only within a part."""
    groups = fragment.row_groups
    ends = accumulate(group.num_rows for group in groups)
    for _, portion in groupby(zip(groups, ends, strict=True), lambda pair: (pair[1] - 1) // PORTION_ROWS):
        yield fragment.subset(row_group_ids=[group.id for group, _ in portion])


def _duckdb_reader(relation: Any) -> Any:
    # Older versions of DuckDB have fetch_record_batch instead.
    read = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_record_batch"
    return getattr(relation, read)(CHUNK_ROWS)


def hide_arrow_content(what: str, file: str = "", n_files: int = 1) -> AbstractContextManager[None]:
    """Replace errors for damaged data, which may quote cells; the new error names the file if there are several."""
    import pyarrow as pa

    advice = (
        "Possible causes: a file is damaged, has a different format, or was changed after its rows were counted; the "
        "column types differ between files; two columns have the same name."
    )
    place = f"{what}, file {file!r}," if n_files > 1 else what
    return hide_content(place, pa.ArrowException, OSError, advice=advice)
