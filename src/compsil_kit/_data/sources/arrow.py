"""Tables that are read in record batches: pyarrow datasets, Polars LazyFrames and DuckDB relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from compsil_kit._data.matrix import arrow_numeric, arrow_values, polars_numeric, polars_values
from compsil_kit._data.sources.source import CHUNK_ROWS, Chunks, Field, Source, hide_content, unreadable
from compsil_kit._util.format import few, quoted

# Bytes per column that are read from a file at once; object stores answer few large requests faster than many small.
BUFFER_BYTES = 2**22
# Row groups of a Parquet file are read together up to this many rows.
PORTION_ROWS = 1 << 20
_DUCKDB_ORDER = "preserve_insertion_order"


class ArrowSource(Source):
    """A ``pyarrow.dataset.Dataset``; rows are in the order of its files, and of the rows in each file."""

    def __init__(
        self,
        dataset: Any,
        what: str = "a pyarrow dataset",
        has_changed: Callable[[], bool] = lambda: False,
        exclude: Collection[str] = (),
    ) -> None:
        """Read the schema and count the rows; columns named in ``exclude`` are left out."""
        self.what, self.dataset, self._has_changed = what, dataset, has_changed
        repeated = [quoted(name) for name, n in Counter(dataset.schema.names).items() if n > 1]
        if repeated:
            raise ValueError(f"X: {what} has more than one column named {few(repeated)}. Rename them.")
        self.fields = tuple(arrow_field(field) for field in dataset.schema if field.name not in exclude)
        self._n_files = len(getattr(dataset, "files", ()))
        self.n_rows = self._count()

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches of a scan in order."""
        self._check_unchanged()
        with hide_arrow_content(self.what):
            yield from self._batches([self.fields[at].name for at in positions])
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._has_changed():
            raise ValueError(
                f"X has changed: a file of {self.what} was written since its rows were counted. Pass data that do not "
                "change during the run."
            )

    def _count(self) -> int:
        import pyarrow as pa

        with hide_arrow_content(self.what):
            try:
                return int(self.dataset.count_rows())
            except MemoryError:
                raise
            except (pa.ArrowException, OSError):
                # Count file by file, to name the damaged one.
                for fragment in self._fragments() if self._n_files else ():
                    with hide_arrow_content(name_file(self.what, fragment.path, self._n_files)):
                        fragment.count_rows()
                raise

    def _fragments(self) -> list[Any]:
        """Return the files; none of a filtered dataset, which raises because the files have other rows."""
        with suppress(ValueError):
            return list(self.dataset.get_fragments())
        return []

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow.dataset as ds

        options = {"columns": list(names), "batch_size": CHUNK_ROWS}
        fragments = list[Any]()
        if isinstance(getattr(self.dataset, "format", None), ds.ParquetFileFormat):
            # By default a scan caches everything that it has read of a file.
            uncached = {"pre_buffer": False, "use_buffered_stream": True, "buffer_size": BUFFER_BYTES}
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(**uncached)
            fragments = self._fragments()
        for fragment in fragments:
            with hide_arrow_content(name_file(self.what, fragment.path, self._n_files)):
                for portion in _portions(fragment):
                    yield from portion.to_batches(schema=self.dataset.schema, **options)
        if not fragments:
            # More threads would read ahead without a limit, and fill the memory.
            yield from self.dataset.to_batches(**options, batch_readahead=4, fragment_readahead=1, use_threads=False)


class PolarsSource(Source):
    """A ``polars.LazyFrame``, whose query is executed by the streaming engine; rows are in the order of the query."""

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
        with hide_content(self.what, (pl.exceptions.PolarsError,)):
            self.fields = tuple(
                Field(name, str(kind), polars_values(pl.Series(dtype=kind)).dtype if polars_numeric(kind) else None)
                for name, kind in frame.collect_schema().items()
            )
            self.n_rows = int(frame.select(pl.len()).collect(engine="streaming").item())

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield the batches of the query; unlike records, this needs no pyarrow and supports all numeric types."""
        for batch in self._batches(positions):
            if len(batch):
                yield [polars_values(column) for column in batch.get_columns()]

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the batches of the query as Arrow record batches."""
        for batch in self._batches(positions):
            yield from batch.to_arrow().to_batches()

    def _batches(self, positions: Sequence[int]) -> Iterator[Any]:
        import polars as pl

        # By position: Polars interprets names such as ^b$ as patterns.
        query = self._frame.select(pl.nth(list(positions)))
        with hide_content(self.what, (pl.exceptions.PolarsError,)):
            yield from query.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=True, engine="streaming")


class DuckDBSource(Source):
    """A ``duckdb.DuckDBPyRelation``; rows are in the order of the query."""

    what = "a DuckDB relation"

    def __init__(self, relation: Any) -> None:
        """Read the schema, and count the rows with a separate query."""
        self._relation = relation
        with _hide_duckdb_content():
            counted = f"count(*), any_value(current_setting('{_DUCKDB_ORDER}'))"
            ((n_rows, ordered),) = relation.aggregate(counted).fetchall()
            self.fields = tuple(arrow_field(field) for field in _duckdb_reader(relation.limit(0)).schema)
        if ordered is False:
            raise ValueError(
                f"X: a DuckDB relation must have its rows in the same order every time, but {_DUCKDB_ORDER} is off. "
                f"Run SET {_DUCKDB_ORDER} = true on its connection."
            )
        self.n_rows = int(n_rows)

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches of the query in order."""
        names = ['"{}"'.format(self.fields[at].name.replace('"', '""')) for at in positions]
        with _hide_duckdb_content():
            yield from _duckdb_reader(self._relation.project(", ".join(names)))


def arrow_field(field: Any) -> Field:
    """Return the description of an Arrow column."""
    import pyarrow as pa

    kind = str(field.type)
    return Field(field.name, kind, arrow_values(pa.array([], field.type)).dtype if arrow_numeric(kind) else None)


def _portions(fragment: Any) -> Iterator[Any]:
    """Yield a Parquet file by groups of row groups; within each, several threads may read ahead."""
    groups, n_rows = list[int](), 0
    for group in fragment.row_groups:
        if groups and n_rows + group.num_rows > PORTION_ROWS:
            yield fragment.subset(row_group_ids=groups)
            groups, n_rows = [], 0
        groups.append(group.id)
        n_rows += group.num_rows
    if groups:
        yield fragment.subset(row_group_ids=groups)


def _duckdb_reader(relation: Any) -> Any:
    # Older versions have fetch_record_batch.
    read = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_record_batch"
    return getattr(relation, read)(CHUNK_ROWS)


def name_file(what: str, file: str, n_files: int) -> str:
    """Return the description of the data, with the file if there are several."""
    return f"{what}, file {file!r}," if n_files > 1 else what


@contextmanager
def hide_arrow_content(what: str) -> Iterator[None]:
    """Replace errors of damaged data by one without the message of Arrow, which may quote cells."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        # ArrowMemoryError is an ArrowException as well.
        raise
    except (pa.ArrowException, OSError) as error:
        # Missing or protected files have an errno or a subclass of OSError, damaged ones have neither.
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise
        raise unreadable(
            what,
            error,
            "Possible causes: a file is damaged, of another kind, or was changed after its rows were counted; the "
            "files have different types of columns; two columns have the same name.",
        ) from None


@contextmanager
def _hide_duckdb_content() -> Iterator[None]:
    import duckdb

    try:
        with hide_arrow_content(DuckDBSource.what):
            yield
    except duckdb.Error as error:
        raise unreadable(
            DuckDBSource.what,
            error,
            "The query runs twice, to count its rows and to read them; its connection must be open, and its input "
            "must exist both times.",
        ) from None
