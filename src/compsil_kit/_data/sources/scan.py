"""One pass over rows: fetch the wanted ones, look for cells that are not finite, gather moments and a digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.digest import DIGEST_BYTES
from compsil_kit._data.sources.moments import BLOCK_ROWS, Moments, joined, moments_of
from compsil_kit._data.sources.source import Chunk
from compsil_kit._data.whole_numbers import rounded_by_float64

Array = NDArray[Any]


@dataclass(frozen=True)
class Block:
    """What is kept of a block of the grid, all of whose rows were seen together."""

    number: int
    moments: Moments | None
    digest: bytes


@dataclass(frozen=True)
class NotFinite:
    """The first cell that is NaN or infinite, and how many there are."""

    row: int
    column: int
    value: float
    count: int


@dataclass
class Part:
    """What a pass over some rows found."""

    start: int
    stop: int
    found: Array
    bad: NotFinite | None = None
    # Positions of columns whose whole numbers float64 cannot hold.
    rounded: frozenset[int] = frozenset()
    blocks: list[Block] = field(default_factory=list)
    # Rows of blocks that reach beyond this part, by the number of the block.
    edges: list[tuple[int, Array]] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """What a pass is to find: rows by number, ascending, as a type; and what is to be gathered of all rows."""

    rows: NDArray[np.int64]
    dtype: str
    moments: bool = False
    digest: bool = False

    def __call__(self, chunks: Iterable[Chunk], start: int) -> Part:
        """Pass over consecutive rows of which the first one has the number ``start``."""
        at, found, bad, rounded = start, [], None, set()
        grid = _Grid(start, self)
        for given in chunks:
            chunk = [_narrowed(column) for column in given]
            stop = at + len(chunk[0])
            low, high = np.searchsorted(self.rows, (at, stop))
            found.append(self._matrix(chunk, self.rows[low:high] - at))
            bad = _together(bad, _not_finite(chunk, at))
            rounded |= {place for place, column in enumerate(chunk) if _is_rounded(column)}
            if self.moments or self.digest:
                grid.add(self._matrix(chunk, slice(None)))
            at = stop
        grid.end()
        rows = np.concatenate(found) if found else np.empty((0, 0), dtype=self.dtype)
        return Part(start, at, rows, bad, frozenset(rounded), grid.blocks, grid.edges)

    def of_block(self, number: int, rows: Array) -> Block:
        """Return what is kept of a whole block."""
        seen = blake2b(rows.tobytes(), digest_size=DIGEST_BYTES).digest() if self.digest else b""
        return Block(number, moments_of(rows) if self.moments else None, seen)

    def _matrix(self, chunk: Chunk, rows: Any) -> Array:
        return np.stack([column[rows].astype(self.dtype, copy=False) for column in chunk], axis=1)


class _Grid:
    """Cuts consecutive rows at the lines of the grid."""

    def __init__(self, start: int, work: Work) -> None:
        self._at, self._work, self._pending = start, work, list[Array]()
        self.blocks: list[Block] = []
        self.edges: list[tuple[int, Array]] = []

    def add(self, rows: Array) -> None:
        while len(rows):
            room = BLOCK_ROWS - self._at % BLOCK_ROWS
            self._pending.append(rows[:room])
            self._at += len(rows[:room])
            rows = rows[room:]
            if self._at % BLOCK_ROWS == 0:
                self.end()

    def end(self) -> None:
        """Close the block that is open: a whole one is summed up, of another one the rows are kept."""
        if not self._pending:
            return
        rows, number = np.concatenate(self._pending), (self._at - 1) // BLOCK_ROWS
        self._pending = []
        if len(rows) == BLOCK_ROWS:
            self.blocks.append(self._work.of_block(number, rows))
        else:
            self.edges.append((number, rows))


@dataclass(frozen=True)
class Seen:
    """What a pass over all rows found."""

    n_rows: int
    found: Array
    bad: NotFinite | None
    rounded: frozenset[int]
    moments: Moments | None
    digest: str


def gathered(parts: Iterable[Part], work: Work) -> Seen:
    """Put the parts, which come in the order of their rows, together."""
    found, blocks, bad, rounded, stop = [], list[Block](), None, frozenset[int](), 0
    open_block: list[tuple[int, Array]] = []
    for part in parts:
        if part.start != stop:
            raise RuntimeError(f"a pass must hand over rows in order; {part.start} came after {stop}")
        stop = part.stop
        if len(part.found):
            found.append(part.found)
        bad, rounded = _together(bad, part.bad), rounded | part.rounded
        open_block += part.edges
        blocks += part.blocks
        # Blocks that no later part can add to.
        blocks += _closed(open_block, stop // BLOCK_ROWS, work)
        open_block = [edge for edge in open_block if edge[0] >= stop // BLOCK_ROWS]
    blocks += _closed(open_block, stop // BLOCK_ROWS + 1, work)
    blocks.sort(key=lambda block: block.number)
    moments = [block.moments for block in blocks if block.moments is not None]
    digest = blake2b(b"".join(block.digest for block in blocks), digest_size=DIGEST_BYTES).hexdigest()
    rows = np.concatenate(found) if found else np.empty((0, 0))
    return Seen(stop, rows, bad, rounded, joined(moments) if moments else None, digest)


def _closed(edges: Sequence[tuple[int, Array]], before: int, work: Work) -> Iterator[Block]:
    for number in sorted({number for number, _ in edges if number < before}):
        yield work.of_block(number, np.concatenate([rows for where, rows in edges if where == number]))


def _narrowed(column: Array) -> Array:
    """Return long doubles as doubles; one beyond their range becomes infinity, which is reported with its place."""
    if column.dtype.kind != "f" or column.dtype.itemsize <= 8:
        return column
    with np.errstate(over="ignore"):
        return column.astype(np.float64)


def _not_finite(chunk: Chunk, start: int) -> NotFinite | None:
    """Return the first cell of a chunk that is not finite, by row and then by column, as for a matrix in memory."""
    wrong = [(place, column) for place, column in enumerate(chunk) if not _is_finite(column)]
    places = {place: np.flatnonzero(~np.isfinite(column)) for place, column in wrong}
    firsts = [(int(rows[0]), place) for place, rows in places.items() if len(rows)]
    if not firsts:
        return None
    row, place = min(firsts)
    return NotFinite(start + row, place, float(chunk[place][row]), sum(map(len, places.values())))


def _is_finite(column: Array) -> bool:
    """Tell quickly that all is well: a sum that is finite has no other terms. Whole numbers are finite."""
    with np.errstate(all="ignore"):
        return column.dtype.kind != "f" or bool(np.isfinite(column.sum()))


def _is_rounded(column: Array) -> bool:
    return column.dtype.kind in "iu" and column.dtype.itemsize == 8 and bool(rounded_by_float64(column).any())


def _together(one: NotFinite | None, two: NotFinite | None) -> NotFinite | None:
    if one is None or two is None:
        return one or two
    return NotFinite(one.row, one.column, one.value, one.count + two.count)
