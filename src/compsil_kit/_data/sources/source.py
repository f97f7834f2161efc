"""Out-of-core tables: their interface, arrays on disk, and how to open a table by its type."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.matrix import arrow_values

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit._data.sources.scan import Part, Work

Array = NDArray[Any]
# Consecutive rows, as one array per column.
Chunk = Sequence[Array]
Chunks = Generator[Chunk, None, None]
# Called with the number of rows that were read; it may raise to stop the pass.
Tick = Callable[[int], None]
# Rows per chunk, for sources that leave the choice to the reader.
CHUNK_ROWS = 1 << 17
# Approximate bytes that are read at once from an array.
STEP_BYTES = 2**25
# By library and name of a class or one of its bases: the module and the class here that reads it.
_READERS = {
    ("pyarrow", "Dataset"): ("arrow", "ArrowSource"),
    ("polars", "LazyFrame"): ("arrow", "PolarsSource"),
    ("duckdb", "DuckDBPyRelation"): ("arrow", "DuckDBSource"),
    ("_duckdb", "DuckDBPyRelation"): ("arrow", "DuckDBSource"),
    ("dask", "DataFrame"): ("dask_tables", "DaskFrame"),
    ("dask", "Array"): ("dask_tables", "DaskArray"),
    ("pyspark", "DataFrame"): ("spark", "SparkSource"),
    ("zarr", "Array"): ("source", "ArraySource"),
    ("h5py", "Dataset"): ("source", "ArraySource"),
}
# Their rows can be read only once, while a source reads them twice: to count them and to fetch them.
_READ_ONCE = {("pyarrow", "RecordBatchReader"), ("pyarrow", "Scanner")}


@dataclass(frozen=True)
class Field:
    """A column: its name, its type as its library calls it, and the dtype of its values, None if not numeric."""

    name: Any
    kind: str
    dtype: np.dtype[Any] | None

    @property
    def numeric(self) -> bool:
        """Whether the values are real numbers or booleans."""
        return self.dtype is not None


class Source:
    """An out-of-core table. Its rows have the same order in every pass, and are numbered in that order.

    Subclasses implement ``chunks`` or ``records``.
    """

    # For messages, for example "Parquet data" or "a Dask DataFrame".
    what: str
    n_rows: int
    fields: tuple[Field, ...]
    # Whether the columns have names of their own; those of an array have none.
    named: bool = True

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield all rows in order, of the columns at these positions, with NaN for missing values."""
        for batch in self.records(positions):
            if batch.num_rows:
                yield [arrow_values(column) for column in batch.columns]

    def records(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield all rows in order as Arrow record batches; the columns may have any type."""
        raise NotImplementedError(f"{self.what} has no records")

    @property
    def has_records(self) -> bool:
        """Whether ``records`` is implemented."""
        return type(self).records is not Source.records

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Yield the results of a pass in the order of the rows; distributed sources scan where their data are."""
        # Tracebacks keep generators alive, so an interrupted pass must close files explicitly.
        with closing(self.chunks(positions)) as chunks:
            yield work(_counted(chunks, tick), 0)

    def frame(self, positions: Sequence[int]) -> pd.DataFrame:
        """Load all rows of some columns as a pandas frame."""
        import pandas as pd

        parts = list(self.chunks(positions))
        columns = {at: np.concatenate([part[at] for part in parts] or [np.empty(0)]) for at in range(len(positions))}
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = pd.Index([self.fields[at].name for at in positions])
        return frame


class ArraySource(Source):
    """A two-dimensional array on disk or in a store, read by ranges of rows: Zarr, HDF5 or a memory map."""

    named = False

    def __init__(self, array: Any, what: str = "") -> None:
        """Read the shape and the dtype."""
        self.what = what or f"an array of {type(array).__module__.partition('.')[0]}"
        if len(array.shape) != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; got {self.what} of shape {array.shape}.")
        self._array, self.n_rows, self.fields = array, int(array.shape[0]), array_fields(array)

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield ranges of rows that end at chunk boundaries, so that no chunk is read twice."""
        # h5py uses None for arrays without chunks.
        chunk_rows = (getattr(self._array, "chunks", None) or (1,))[0]
        row_bytes = max(1, np.dtype(self._array.dtype).itemsize * len(self.fields))
        step = chunk_rows * max(1, STEP_BYTES // (row_bytes * chunk_rows))
        for low in range(0, self.n_rows, step):
            rows = np.asarray(self._array[low : low + step])
            yield [rows[:, at] for at in positions]


class SidecarColumns(Source):
    """A source with records, which keeps columns of any type for ``take`` while its chunks are read.

    Two readers of one table may see its rows in a different order, and some connections allow one reader only.
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        """Keep the columns of these names."""
        self.what, self.n_rows, self.fields, self.named = source.what, source.n_rows, source.fields, source.named
        known = [field.name for field in source.fields]
        self._source, self._names, self._kept = source, list(names), [known.index(name) for name in names]
        self._queue = deque[Any]()

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield the rows of the source."""
        wanted = list(dict.fromkeys([*positions, *self._kept]))
        for batch in self._source.records(wanted):
            if batch.num_rows:
                self._queue.append([batch.column(wanted.index(at)) for at in self._kept])
                yield [arrow_values(batch.column(wanted.index(at))) for at in positions]

    def take(self) -> Any:
        """Return the kept columns of the oldest chunk that was not taken yet, as an Arrow table."""
        import pyarrow as pa

        return pa.table(self._queue.popleft(), names=self._names)

    def scan(self, positions: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Scan the source; columns are not kept."""
        return self._source.scan(positions, work, tick)


def open_source(X: Any) -> Source | None:
    """Return X as a source if it is an out-of-core table; None for data in memory."""
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
        # Maps of these two dtypes are used in place; others would be copied as a whole to convert them.
        return ArraySource(X, "a memory map")
    classes = [(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__]
    if any(each in _READ_ONCE for each in classes):
        raise TypeError(
            f"X must be readable more than once, because its rows are counted before they are read; got a "
            f"{type(X).__name__}. Pass the dataset or the relation that it was made from, or load it as a table."
        )
    reader = next((_READERS[each] for each in classes if each in _READERS), None)
    if reader is None:
        return None
    module, name = reader
    open_as: Callable[[Any], Source] = getattr(import_module(f"compsil_kit._data.sources.{module}"), name)
    return open_as(X)


def array_fields(array: Any) -> tuple[Field, ...]:
    """Return the columns of an array, named by their positions."""
    dtype = np.dtype(array.dtype)
    return tuple(Field(at, str(dtype), dtype if dtype.kind in "biuf" else None) for at in range(array.shape[1]))


def _counted(chunks: Iterable[Chunk], tick: Tick) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk
        tick(len(chunk[0]))


@contextmanager
def hide_content(what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Replace errors of a library by one without its message, which may quote cells."""
    try:
        yield
    except errors as error:
        raise unreadable(
            what, error, "The message is hidden because it may quote cells; compute the data by itself to see it."
        ) from None


def unreadable(what: str, error: Exception, advice: str) -> ValueError:
    """Return the error for data that cannot be read, without the message of the library."""
    return ValueError(f"X: {what} cannot be read ({type(error).__name__}). {advice}")


def changed(what: str, n_counted: int, n_read: int) -> ValueError:
    """Return the error for data whose number of rows differs between passes."""
    return ValueError(
        f"X has changed: {what} had {n_counted:,} rows when they were counted, and {n_read:,} when they were read. "
        "Pass data that are the same in every pass, for example after writing them to Parquet files."
    )
