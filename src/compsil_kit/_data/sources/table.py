"""The chosen columns of a table outside memory: some rows of them by one pass, or all of them loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.digest import OUTSIDE
from compsil_kit._data.matrix import raise_not_finite, read
from compsil_kit._data.odd_columns import odd_columns
from compsil_kit._data.scaling import scaled, scaled_by
from compsil_kit._data.sources.fetched import FetchedRows
from compsil_kit._data.sources.moments import WHOLE_ROWS, Moments
from compsil_kit._data.sources.scan import Seen, Work, gathered
from compsil_kit._data.sources.source import Source, Tick, dtype_of
from compsil_kit._data.whole_numbers import warn_of_rounding
from compsil_kit._util.format import few, quoted
from compsil_kit._util.memory import available_bytes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


@dataclass(frozen=True)
class FetchedData(Dataset):
    """Rows that a pass has fetched, with the digest that it took on the way, and what else it found."""

    seen_digest: str
    moments: Moments | None

    @cached_property
    def digest(self) -> str:
        """The digest of all rows, if the pass was told to take one."""
        if not self.seen_digest:
            raise RuntimeError("the pass over the data took no digest")
        return self.seen_digest


@dataclass(frozen=True)
class SourceTable:
    """Columns of a source, as they are or to be scaled; wherever data are taken, this is taken too.

    Attributes
    ----------
    source : Source
        The table.
    at : tuple of int
        Positions of the columns.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : str or None
        How to scale the columns.
    prepared : bool
        Whether somebody has decided on columns and scale.
    """

    source: Source
    at: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    scale: str | None = None
    prepared: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as text."""
        return tuple(str(self.source.fields[i].name) for i in self.at)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.source.n_rows, len(self.at)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the matrix."""
        return dtype_of(self.source.fields[i] for i in self.at)

    @property
    def n_bytes(self) -> int:
        """What a pass reads, about, before it is packed or compressed."""
        return self.source.n_rows * sum(self.source.fields[i].width for i in self.at)

    @property
    def is_large(self) -> bool:
        """Whether a pass is worth it: a small table is loaded, and everything works with it."""
        return self.source.n_rows > WHOLE_ROWS

    @property
    def preparation(self) -> Preparation | None:
        """What is done to the table; None for an array that is taken as it is."""
        named = self.source.named or self.prepared
        return Preparation(self.names, self.left_out, self.scale) if named else None

    def fetch(self, rows: NDArray[np.int64], tick: Tick = lambda _: None, *, digest: bool = False) -> FetchedData:
        """Read the table once; keep the rows of these numbers, which ascend, and refuse cells that are not finite."""
        work = Work(rows, str(self.dtype), moments=self.scale is not None, digest=digest)
        seen = gathered(self.source.scan(self.at, work, tick), work)
        self._check(seen)
        known = np.ascontiguousarray(seen.found)
        notes = tuple(odd_columns(self.names, known, rows)) if self.prepared else ()
        if self.scale is not None and seen.moments is not None:
            known = scaled_by(seen.moments, self.names, known, self.scale)
        done = None if self.preparation is None else replace(self.preparation, notes=notes)
        key = f"{OUTSIDE}{seen.digest} scale {self.scale}" if digest else ""
        return FetchedData(FetchedRows(seen.n_rows, rows, known), done, key, seen.moments)

    def check_length(self, n_rows: int) -> None:
        """Refuse what has other rows than those that were counted."""
        if n_rows != self.source.n_rows:
            raise ValueError(
                f"X has changed: {self.source.what} had {self.source.n_rows:,} rows when they were counted, and "
                f"{n_rows:,} when they were read. Pass data that do not change during the run."
            )

    def _check(self, seen: Seen) -> None:
        self.check_length(seen.n_rows)
        names = list(self.names) if self.source.named else None
        if seen.bad is not None:
            column = seen.bad.column if names else self.at[seen.bad.column]
            raise_not_finite(seen.bad.value, seen.bad.row, column, seen.bad.count, names, self._advice(seen.bad.value))
        warn_of_rounding([names[place] if names else self.at[place] for place in sorted(seen.rounded)])

    def _advice(self, value: float) -> str:
        """Say what to do about a cell that is not finite: there is no frame to drop its row from."""
        if np.isinf(value):
            return "Replace such values where the table comes from."
        how = "missing='drop' (--missing drop)" if self.prepared else "prepare(X, missing='drop')"
        return f"Drop or fill such rows where the table comes from, or with {how} if it fits into memory."

    def load(self) -> Dataset:
        """Load all rows, for what cannot be done in one pass."""
        frame = self.frame()
        _, matrix = read(frame if self.source.named else frame.to_numpy(self.dtype))
        notes = odd_columns(self.names, matrix) if self.prepared else ()
        if self.scale is not None:
            matrix = scaled(self.names, matrix, self.scale)
        done = None if self.preparation is None else replace(self.preparation, notes=tuple(notes))
        return Dataset(matrix, done, prepared=self.prepared)

    def frame(self) -> pd.DataFrame:
        """Return all rows as they are, if they fit into memory."""
        # As they are read, as columns, and as a matrix.
        needed, free = 3 * self.shape[0] * self.shape[1] * self.dtype.itemsize, available_bytes()
        if free is not None and needed > free:
            raise MemoryError(
                f"X must be loaded completely for this: {self.shape[0]:,} rows of {self.shape[1]:,} columns need about "
                f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free. Pass fewer rows or columns. "
                "select_k reads X in one pass with a scale other than 'robust' and missing='raise', and needs less."
            )
        return self.source.frame(self.at)

    def matrices(self, moments: Moments | None) -> Iterator[Array]:
        """Yield all rows in order, some at a time, on the scale of an earlier pass."""
        for chunk in self.source.chunks(self.at):
            rows = np.ascontiguousarray(np.stack(list(chunk), axis=1), dtype=self.dtype)
            yield rows if moments is None or self.scale is None else scaled_by(moments, self.names, rows, self.scale)


def as_it_is(source: Source) -> SourceTable:
    """Return all columns of a source, which must be numeric, as they are."""
    if not source.fields:
        raise ValueError("X must have at least 1 column; it has none.")
    wrong = [f"{quoted(field.name)} ({field.kind})" for field in source.fields if not field.numeric]
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {few(wrong)}. "
            "Leave them out with prepare(X, columns=[...]), or encode them as numbers first."
        )
    return SourceTable(source, tuple(range(len(source.fields))))


def empty_frame(source: Source) -> pd.DataFrame:
    """Return the columns of a source without rows, for choosing among them."""
    import pandas as pd

    kinds: Sequence[type] = [float if field.numeric else object for field in source.fields]
    frame = pd.DataFrame({place: np.empty(0, dtype=kind) for place, kind in enumerate(kinds)})
    frame.columns = pd.Index([field.name for field in source.fields])
    return frame
