"""One pass over the rows of a table: fetch some rows, validate all cells, and collect moments and a digest.

A table may be split into partitions whose rows stay on other machines; each is scanned there, and only what the scan
found is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import DIGEST_BYTES
from compsil_kit._data.diagnostics import rounded_by_float64
from compsil_kit._data.scaling import BLOCK_ROWS, Moments, merge_moments, moments_of
from compsil_kit._data.sources.source import Chunk

Array = NDArray[Any]


@dataclass(frozen=True)
class Block:
    """The moments and the digest of ``BLOCK_ROWS`` consecutive rows, or of the last rows of a table."""

    moments: Moments | None
    digest: bytes


@dataclass(frozen=True)
class NotFinite:
    """The first cell that is NaN or infinite, and the number of such cells."""

    row: int
    column: int
    value: float
    count: int


@dataclass
class Part:
    """The result of a pass over consecutive rows."""

    start: int
    stop: int
    found: Array
    not_finite: NotFinite | None = None
    # Positions of columns whose integers float64 cannot represent.
    rounded: frozenset[int] = frozenset()
    # In order: blocks, and the rows of blocks that extend beyond this part.
    pieces: list[Block | Array] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """What a pass has to do: the ascending numbers of the rows to fetch, their dtype, and what to collect.

    Calling it scans consecutive rows; instances are sent to the workers of a cluster.
    """

    rows: NDArray[np.int64]
    dtype: str
    moments: bool = False
    digest: bool = False

    def __call__(self, chunks: Iterable[Chunk], start: int) -> Part:
        """Scan consecutive rows, the first of which has the number ``start``."""
        part, found, pending = Part(start, start, np.empty((0, 0), dtype=self.dtype)), [], list[Array]()
        for chunk in chunks:
            if not len(chunk[0]):
                continue
            columns, at = [_to_double(column) for column in chunk], part.stop
            part.stop += len(columns[0])
            low, high = np.searchsorted(self.rows, (at, part.stop))
            found.append(self._matrix(columns, self.rows[low:high] - at))
            part.not_finite = _merge(part.not_finite, _find_not_finite(columns, at))
            part.rounded |= {place for place, column in enumerate(columns) if _is_rounded(column)}
            if self.moments or self.digest:
                first_cut = -at % BLOCK_ROWS or BLOCK_ROWS
                for rows in np.split(self._matrix(columns, slice(None)), range(first_cut, len(chunk[0]), BLOCK_ROWS)):
                    pending.append(rows)
                    at += len(rows)
                    if at % BLOCK_ROWS == 0:
                        part.pieces.append(self._piece(pending))
                        pending = []
        if pending:
            part.pieces.append(self._piece(pending))
        if found:
            part.found = np.concatenate(found)
        return part

    def block(self, rows: Array) -> Block:
        """Return the moments and the digest of a block."""
        digest = blake2b(rows.tobytes(), digest_size=DIGEST_BYTES).digest() if self.digest else b""
        return Block(moments_of(rows) if self.moments else None, digest)

    def _piece(self, pending: list[Array]) -> Block | Array:
        rows = np.concatenate(pending)
        return self.block(rows) if len(rows) == BLOCK_ROWS else rows

    def _matrix(self, columns: Chunk, rows: Any) -> Array:
        return np.stack([column[rows].astype(self.dtype, copy=False) for column in columns], axis=1)


@dataclass(frozen=True)
class Scan:
    """The result of a pass over all rows."""

    n_rows: int
    found: Array
    not_finite: NotFinite | None
    rounded: frozenset[int]
    moments: Moments | None
    digest: str


def merge_parts(parts: Iterable[Part], work: Work) -> Scan:
    """Merge the parts of a table, which come in the order of their rows."""
    total, found, blocks, pending = Part(0, 0, np.empty((0, 0))), [], list[Block](), list[Array]()
    for part in parts:
        if part.start != total.stop:
            raise RuntimeError(f"a pass must return rows in order; row {part.start} came after row {total.stop}")
        total.stop = part.stop
        if len(part.found):
            found.append(part.found)
        total.not_finite = _merge(total.not_finite, part.not_finite)
        total.rounded |= part.rounded
        for piece in part.pieces:
            if isinstance(piece, Block):
                blocks.append(piece)
                continue
            pending.append(piece)
            if sum(map(len, pending)) == BLOCK_ROWS:
                blocks.append(work.block(np.concatenate(pending)))
                pending = []
    if pending:
        blocks.append(work.block(np.concatenate(pending)))
    moments = [block.moments for block in blocks if block.moments is not None]
    digest = blake2b(b"".join(block.digest for block in blocks), digest_size=DIGEST_BYTES).hexdigest()
    rows = np.concatenate(found) if found else total.found
    return Scan(total.stop, rows, total.not_finite, total.rounded, merge_moments(moments) if moments else None, digest)


def split_work(work: Work, lengths: Sequence[int]) -> list[tuple[Work, int]]:
    """Return for each partition its share of the work, and the number of its first row."""
    starts = [0, *accumulate(lengths)]
    edges = np.searchsorted(work.rows, starts)
    return [
        (replace(work, rows=work.rows[low:high]), start)
        for low, high, start in zip(edges[:-1], edges[1:], starts[:-1], strict=True)
    ]


def _to_double(column: Array) -> Array:
    """Return long doubles as doubles; values out of range become infinite, and are reported as such."""
    if column.dtype.kind != "f" or column.dtype.itemsize <= 8:
        return column
    with np.errstate(over="ignore"):
        return column.astype(np.float64)


def _find_not_finite(columns: Chunk, start: int) -> NotFinite | None:
    """Return the first cell that is not finite, by row and then by column, as for a matrix in memory."""
    places = {at: np.flatnonzero(~np.isfinite(values)) for at, values in enumerate(columns) if not _is_finite(values)}
    firsts = [(int(rows[0]), at) for at, rows in places.items() if len(rows)]
    if not firsts:
        return None
    row, at = min(firsts)
    return NotFinite(start + row, at, float(columns[at][row]), sum(map(len, places.values())))


def _is_finite(column: Array) -> bool:
    """Return True if all values are certainly finite: a finite sum has finite terms only."""
    with np.errstate(all="ignore"):
        return column.dtype.kind != "f" or bool(np.isfinite(column.sum()))


def _is_rounded(column: Array) -> bool:
    return column.dtype.kind in "iu" and column.dtype.itemsize == 8 and bool(rounded_by_float64(column).any())


def _merge(one: NotFinite | None, two: NotFinite | None) -> NotFinite | None:
    return one or two if one is None or two is None else replace(one, count=one.count + two.count)
