"""Any ``pyarrow.dataset``, Parquet files among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from compsil_kit._data.matrix import arrow_numeric, arrow_values
from compsil_kit._data.sources.source import CHUNK_ROWS, Chunks, Field, Source
from compsil_kit._util.format import few, quoted

# Of each column, what is read from a file at a time; a store answers few large requests faster than many small ones.
BUFFER_BYTES = 2**22
# Row groups of a Parquet file are read together up to so many rows.
PORTION_ROWS = 1 << 20


class RecordSource(Source):
    """A source that has its rows as Arrow record batches."""

    has_records = True

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield the values of the record batches."""
        for batch in self.records(at):
            if batch.num_rows:
                yield [arrow_values(column) for column in batch.columns]


class ArrowSource(RecordSource):
    """A ``pyarrow.dataset.Dataset``; its order is that of its files, and within them of their rows."""

    def __init__(
        self, dataset: Any, what: str = "a pyarrow dataset", has_changed: Callable[[], bool] = lambda: False
    ) -> None:
        """Look at the schema and count the rows, which Parquet files know."""
        self.what, self.dataset, self._has_changed = what, dataset, has_changed
        self.fields = tuple(arrow_field(field) for field in dataset.schema)
        twice = [name for name, n in Counter(dataset.schema.names).items() if n > 1]
        if twice:
            raise ValueError(
                f"X: {what} has more than one column named {few([quoted(name) for name in twice])}. Rename them."
            )
        self._n_files = len(getattr(dataset, "files", ()))
        self.n_rows = self._count()

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches of a scan in order."""
        self._check_unchanged()
        with readable(self.what):
            yield from self._batches([self.fields[i].name for i in at])
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._has_changed():
            raise ValueError(
                f"X has changed: a file of {self.what} was written since its rows were counted. Pass data that do not "
                "change during the run."
            )

    def _count(self) -> int:
        import pyarrow as pa

        with readable(self.what):
            try:
                return int(self.dataset.count_rows())
            except MemoryError:
                raise
            except (pa.ArrowException, OSError):
                # One by one, to find out which file it is.
                for fragment in self._fragments() if self._n_files else ():
                    with readable(one_of(self.what, fragment.path, self._n_files)):
                        fragment.count_rows()
                raise

    def _fragments(self) -> list[Any]:
        """Return the files; none of a dataset with a filter, which does not give them away, as they have other rows."""
        with suppress(ValueError):
            return list(self.dataset.get_fragments())
        return []

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow.dataset as ds

        reading = {"columns": list(names), "batch_size": CHUNK_ROWS}
        fragments = list[Any]()
        if isinstance(getattr(self.dataset, "format", None), ds.ParquetFileFormat):
            # Without the cache in which a scan keeps all of a file that it has seen.
            plain = {"pre_buffer": False, "use_buffered_stream": True, "buffer_size": BUFFER_BYTES}
            reading["fragment_scan_options"] = ds.ParquetFragmentScanOptions(**plain)
            fragments = self._fragments()
        for fragment in fragments:
            with readable(one_of(self.what, fragment.path, self._n_files)):
                for part in _portions(fragment):
                    yield from part.to_batches(schema=self.dataset.schema, **reading)
        if not fragments:
            # By one thread: several read as fast as they can, and hold what is not asked for yet in memory.
            yield from self.dataset.to_batches(**reading, batch_readahead=4, fragment_readahead=1, use_threads=False)


def _portions(fragment: Any) -> Iterator[Any]:
    """Yield a Parquet file by some row groups at a time: within these, several threads may read ahead."""
    groups, n_rows = list[int](), 0
    for group in fragment.row_groups:
        if groups and n_rows + group.num_rows > PORTION_ROWS:
            yield fragment.subset(row_group_ids=groups)
            groups, n_rows = [], 0
        groups.append(group.id)
        n_rows += group.num_rows
    if groups:
        yield fragment.subset(row_group_ids=groups)


def arrow_field(field: Any) -> Field:
    """Return what is known of a column from its Arrow type."""
    kind = str(field.type)
    numeric = arrow_numeric(kind)
    width = max(1, getattr(field.type, "bit_width", 64) // 8) if numeric else 8
    return Field(field.name, kind, numeric, kind == "float", width)


def one_of(what: str, file: str, n_files: int) -> str:
    """Name the file too where there are several."""
    return f"{what}, file {file!r}," if n_files > 1 else what


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Say that data cannot be read, without what Arrow says of them: that may quote their content."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        # Arrow's own is one of its errors as well.
        raise
    except (pa.ArrowException, OSError) as error:
        # Files that are gone or not ours to read have a number or an error of their own; what is damaged has neither.
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise
        raise ValueError(
            f"X: {what} cannot be read ({type(error).__name__}). Possible causes: a file is damaged, of another kind, "
            "or was changed after its rows were counted; the files have different types of columns; two columns have "
            "the same name."
        ) from None
