"""The interface of out-of-core tables, and a pass over their rows.

A pass fetches some rows, validates all values, and computes moments and a digest. If the partitions of a table are on
other machines, each partition is scanned there, and only the results are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.columns import BLOCK_ROWS, Moments, merge_moments, moments_of, rounded_by_float64
from compsil_kit._data.matrix import DIGEST_BYTES, arrow_values

Array = NDArray[Any]
# Consecutive rows, with one array per column.
Chunk = Sequence[Array]
Chunks = Generator[Chunk, None, None]
# Called with the number of rows that have just been read; it may raise an exception to stop the pass.
Tick = Callable[[int], None]
# Approximate number of bytes in each read from an array.
STEP_BYTES = 2**25
_HIDDEN = "The original message is hidden because it may quote data. To see it, compute the data directly."


@dataclass(frozen=True)
class Field:
    """A column: its name, the name of its type in its library, and the dtype of its values (None if not numeric)."""

    name: Any
    kind: str
    dtype: np.dtype[Any] | None

    @property
    def numeric(self) -> bool:
        """Whether the values are real numbers or booleans."""
        return self.dtype is not None


class Source:
    """An out-of-core table, whose rows have the same order in every pass and are numbered in this order.

    Subclasses implement ``chunks`` or ``records``.
    """

    # A description for messages, for example "Parquet data" or "a Dask DataFrame".
    what: str
    n_rows: int
    fields: tuple[Field, ...]
    # Whether the columns have names; False for arrays.
    named: bool = True

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield all rows in order, with the columns at these positions and NaN for missing values."""
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
        """Yield the results of a pass in row order; distributed sources run the pass on their workers."""
        # Tracebacks keep generators alive, so close the files of an interrupted pass explicitly.
        with closing(self.chunks(positions)) as chunks:
            yield work(chunks, 0, tick)


class ArraySource(Source):
    """A two-dimensional array on disk or in a store (Zarr, HDF5 or a memory map), read in ranges of rows."""

    named = False

    def __init__(self, array: Any, what: str = "") -> None:
        """Read the shape and the dtype."""
        self.what = what or f"an array from {type(array).__module__.partition('.')[0]}"
        self._array, self.fields = array, array_fields(array, self.what)
        self.n_rows = int(array.shape[0])

    def chunks(self, positions: Sequence[int]) -> Chunks:
        """Yield ranges of rows that end at chunk boundaries, so that no chunk is read twice."""
        # In h5py, chunks is None for arrays stored contiguously.
        chunk_rows = (getattr(self._array, "chunks", None) or (1,))[0]
        row_bytes = max(1, np.dtype(self._array.dtype).itemsize * len(self.fields))
        step = chunk_rows * max(1, STEP_BYTES // (row_bytes * chunk_rows))
        for low in range(0, self.n_rows, step):
            rows = np.asarray(self._array[low : low + step])
            yield [rows[:, at] for at in positions]


def array_fields(array: Any, what: str) -> tuple[Field, ...]:
    """Return the columns of an array; their names are their positions."""
    if len(array.shape) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; got {what} of shape {array.shape}.")
    dtype = np.dtype(array.dtype)
    return tuple(Field(at, str(dtype), dtype if dtype.kind in "biuf" else None) for at in range(array.shape[1]))


@contextmanager
def hide_content(what: str, *errors: type[Exception], advice: str = _HIDDEN) -> Iterator[None]:
    """Replace errors from a library with an error without the original message, which may quote cells."""
    try:
        yield
    except errors as error:
        # Errors for missing or protected files have an errno or belong to a subclass of OSError, unlike errors for
        # damaged files.
        is_system_error = isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError)
        # ArrowMemoryError is both an ArrowException and a MemoryError.
        if is_system_error or isinstance(error, MemoryError):
            raise
        raise ValueError(f"X: {what} cannot be read ({type(error).__name__}). {advice}") from None


def changed(what: str, n_counted: int, n_read: int) -> ValueError:
    """Return the error for data whose number of rows changed between passes."""
    return ValueError(
        f"X has changed: {what} had {n_counted:,} rows when they were counted, and {n_read:,} when they were read. "
        "Pass data that do not change between passes; for example, write them to Parquet files first."
    )


@dataclass(frozen=True)
class NotFinite:
    """The first NaN or infinite value in some rows, and the number of such values."""

    row: int
    column: int
    value: float
    count: int


@dataclass
class Part:
    """The result of a pass over the consecutive rows from ``start`` to ``stop``."""

    start: int
    stop: int
    found: list[Array] = field(default_factory=list)
    not_finite: list[NotFinite] = field(default_factory=list)
    # Positions of columns with integers that float64 cannot represent.
    rounded: set[int] = field(default_factory=set)
    # Moments and digest of each complete block of BLOCK_ROWS, and the rows before the first and after the last block.
    moments: list[Moments] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    head: Array | None = None
    tail: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """A task for a pass: the row numbers to fetch, in ascending order, their dtype, and the results to compute.

    Calling an instance scans consecutive rows; instances are sent to the workers of a cluster.
    """

    rows: NDArray[np.int64]
    dtype: str
    moments: bool = False
    digest: bool = False

    def __call__(self, chunks: Iterable[Chunk], start: int, tick: Tick = lambda _: None) -> Part:
        """Scan consecutive rows that begin at row number ``start``."""
        part = Part(start, start)
        for chunk in chunks:
            n_rows, at = len(chunk[0]), part.stop
            if not n_rows:
                continue
            columns = [_to_double(column) for column in chunk]
            part.stop += n_rows
            low, high = np.searchsorted(self.rows, (at, part.stop))
            part.found.append(self._matrix(columns, self.rows[low:high] - at))
            part.not_finite += _find_not_finite(columns, at)
            part.rounded |= {place for place, column in enumerate(columns) if rounded_by_float64(column).any()}
            if self.moments or self.digest:
                first_cut = -at % BLOCK_ROWS or BLOCK_ROWS
                for rows in np.split(self._matrix(columns, slice(None)), range(first_cut, n_rows, BLOCK_ROWS)):
                    part.tail.append(rows)
                    at += len(rows)
                    if at % BLOCK_ROWS == 0:
                        self._end_block(part)
            tick(n_rows)
        if part.tail:
            # Make a copy, because a view would keep the whole chunk in memory.
            part.tail = [np.concatenate(part.tail)]
        return part

    def merge(self, parts: Iterable[Part]) -> Part:
        """Merge the parts of a table, which must be in row order, and the moments of all blocks."""
        total = Part(0, 0)
        for part in parts:
            if part.start != total.stop:
                raise RuntimeError(f"a pass must return rows in order; row {part.start} came after row {total.stop}")
            total.stop = part.stop
            total.found += part.found
            total.not_finite += part.not_finite
            total.rounded |= part.rounded
            if part.head is not None:
                total.tail.append(part.head)
                self._end_block(total)
            total.moments += part.moments
            total.digests += part.digests
            total.tail += part.tail
        if total.tail:
            self._end_block(total, is_last=True)
        if total.moments:
            total.moments = [merge_moments(total.moments)]
        return total

    def split(self, lengths: Sequence[int]) -> list[tuple[Work, int]]:
        """Return the task and first row number for each of the partitions with these lengths."""
        starts = [0, *accumulate(lengths)]
        shares = [self.rows[low:high] for low, high in pairwise(np.searchsorted(self.rows, starts))]
        return [(replace(self, rows=rows), start) for rows, start in zip(shares, starts[:-1], strict=True)]

    def _end_block(self, part: Part, *, is_last: bool = False) -> None:
        """Compute the moments and digest of the rows collected since the last block, which end at a block boundary."""
        rows = np.concatenate(part.tail)
        part.tail.clear()
        if len(rows) < BLOCK_ROWS and not is_last:
            part.head = rows
            return
        if self.moments:
            part.moments.append(moments_of(rows))
        if self.digest:
            part.digests.append(blake2b(rows.tobytes(), digest_size=DIGEST_BYTES).digest())

    def _matrix(self, columns: Chunk, rows: Any) -> Array:
        return np.stack([column[rows].astype(self.dtype, copy=False) for column in columns], axis=1)


def _to_double(column: Array) -> Array:
    """Convert long doubles to doubles; values outside the range become infinite, and are reported as infinite."""
    if column.dtype.kind != "f" or column.dtype.itemsize <= 8:
        return column
    with np.errstate(over="ignore"):
        return column.astype(np.float64)


def _find_not_finite(columns: Chunk, start: int) -> list[NotFinite]:
    """Return the first non-finite value, if any, in row-major order, as for a matrix in memory."""
    # If the sum is finite, all terms are finite.
    with np.errstate(all="ignore"):
        doubtful = {at: v for at, v in enumerate(columns) if v.dtype.kind == "f" and not np.isfinite(v.sum())}
    places = {at: np.flatnonzero(~np.isfinite(values)) for at, values in doubtful.items()}
    firsts = [(int(rows[0]), at) for at, rows in places.items() if len(rows)]
    if not firsts:
        return []
    row, at = min(firsts)
    return [NotFinite(start + row, at, float(columns[at][row]), sum(map(len, places.values())))]
