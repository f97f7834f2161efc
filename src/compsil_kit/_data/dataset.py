"""Data to cluster: a matrix in memory, or an out-of-core table; with a record of how a table was prepared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.columns import Moments, column_notes, scale_matrix, scale_rows, warn_of_rounding
from compsil_kit._data.matrix import DIGEST_BYTES, content_digest, raise_not_finite, validate_matrix
from compsil_kit._data.sources.source import Part, Source, Tick, Work, changed
from compsil_kit._types import Scale
from compsil_kit._util import schema
from compsil_kit._util.format import shorten
from compsil_kit._util.system import available_bytes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
# Prefix of the digest of an out-of-core table, which differs from that of the same rows in memory.
OUT_OF_CORE = "outside memory "


@dataclass(frozen=True)
class Preparation:
    """How a table was prepared for clustering.

    Attributes
    ----------
    columns : tuple of str
        The columns that were used.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : {"standard", "robust", "minmax"} or None
        How the columns were scaled.
    n_dropped : int
        Rows that were dropped because of missing values.
    notes : tuple of str
        Columns that may distort the clusters: constant ones, copies and identifiers.
    """

    # With the validation of data that come from a file.
    columns: Annotated[tuple[str, ...], schema.list_of(schema.text)]
    left_out: Annotated[tuple[str, ...], schema.list_of(schema.text)] = ()
    scale: Annotated[Scale | None, schema.optional(schema.text)] = None
    n_dropped: Annotated[int, schema.integer(0)] = 0
    notes: Annotated[tuple[str, ...], schema.list_of(schema.text)] = ()

    def __str__(self) -> str:
        """Return a summary in one line."""
        parts = [f"columns {shorten(self.columns)}", f"scale {self.scale or 'none'}"]
        if self.left_out:
            parts.append(f"left out as not numeric: {shorten(self.left_out)}")
        if self.n_dropped:
            parts.append(f"{self.n_dropped:,} {'row' if self.n_dropped == 1 else 'rows'} with missing values dropped")
        return "; ".join(parts)


@dataclass(frozen=True)
class Dataset:
    """A validated matrix, with the preparation of the table it came from; None for plain arrays.

    ``prepared`` is False if the caller chose neither columns nor a scale: then columns of different scales are
    reported.
    """

    matrix: Any
    preparation: Preparation | None
    prepared: bool = field(default=True, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.matrix.dtype  # type: ignore[no-any-return]

    @cached_property
    def digest(self) -> str:
        """A digest of the matrix, computed on first access."""
        return content_digest(self.matrix)


@dataclass(frozen=True)
class PreparedTable(Dataset):
    """A table in memory, prepared for clustering; it is accepted wherever X is.

    Attributes
    ----------
    matrix : ndarray of shape (n_kept, n_columns)
        The chosen columns of the complete rows, scaled.
    preparation : Preparation
        Columns, scale and dropped rows.
    kept : ndarray of bool of shape (n_rows,)
        Which rows of the table are in the matrix.
    raw : DataFrame
        The chosen columns of all rows, unscaled.
    """

    preparation: Preparation
    kept: NDArray[np.bool_]
    raw: pd.DataFrame


@dataclass(frozen=True, eq=False)
class FetchedRows:
    """A matrix of which some rows were fetched; they are indexed by an array of their numbers in the whole matrix."""

    n_rows: int
    # The ascending numbers of the fetched rows, and these rows.
    numbers: NDArray[np.int64]
    known: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole matrix."""
        return self.n_rows, self.known.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.known.dtype

    def __len__(self) -> int:
        """Return the number of rows of the whole matrix."""
        return self.n_rows

    def __getitem__(self, rows: Array) -> Array:
        """Return a copy of these rows, in this order."""
        places = np.searchsorted(self.numbers, rows)
        if not np.array_equal(self.numbers[np.minimum(places, len(self.numbers) - 1)], rows):
            raise IndexError("some of these rows were not fetched")
        return self.known[places]


def known_rows(matrix: Any) -> Any:
    """Return the rows of a matrix that are in memory."""
    return matrix.known if isinstance(matrix, FetchedRows) else matrix


@dataclass(frozen=True)
class FetchedData(Dataset):
    """The rows that a pass fetched, with the digest and the moments of all rows."""

    scanned_digest: str
    moments: Moments | None

    @cached_property
    def digest(self) -> str:
        """The digest of all rows, if the pass computed it."""
        if not self.scanned_digest:
            raise RuntimeError("the pass over the data did not compute a digest")
        return self.scanned_digest


@dataclass(frozen=True)
class SourceTable:
    """An out-of-core table, opened but not read, with the columns to use and the scale to put them on.

    :func:`compsil_kit.prepare` returns it for large tables. Pass it wherever X is accepted: ``select_k`` and the like
    fetch the rows of their subsamples in one pass; what needs all rows loads them if they fit into memory.

    Attributes
    ----------
    source : Source
        The table: Parquet files, a query, a collection of Dask or Spark, or an array on disk.
    positions : tuple of int
        Positions of the columns in the source.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : {"standard", "robust", "minmax"} or None
        How to scale the columns.
    prepared : bool
        Whether the columns and the scale were chosen by ``prepare``.
    """

    source: Source
    positions: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    scale: Scale | None = None
    prepared: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, as text."""
        return tuple(str(self.source.fields[at].name) for at in self.positions)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.source.n_rows, len(self.positions)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the matrix: float32 if all columns are, otherwise float64, as in memory."""
        single = all(self.source.fields[at].dtype == np.float32 for at in self.positions)
        return np.dtype(np.float32 if single else np.float64)

    @property
    def n_bytes(self) -> int:
        """Approximate bytes that a pass reads, before compression."""
        dtypes = (self.source.fields[at].dtype for at in self.positions)
        return self.source.n_rows * sum(dtype.itemsize for dtype in dtypes if dtype is not None)

    @property
    def preparation(self) -> Preparation | None:
        """Columns and scale, as known before a pass; None for an array that is used as it is."""
        if not self.source.named and not self.prepared:
            return None
        return Preparation(self.names, self.left_out, self.scale)

    def fetch(self, rows: NDArray[np.int64], tick: Tick = lambda _: None, *, digest: bool = False) -> FetchedData:
        """Fetch some rows in one pass, which also validates all rows and counts them.

        Parameters
        ----------
        rows : ndarray
            The numbers of the rows, ascending.
        tick : callable
            Called with the number of rows read since the last call; it may raise an exception to stop the pass.
        digest : bool, default=False
            Whether to compute the digest of all rows as well.

        Returns
        -------
        FetchedData
            The rows, scaled, and the facts about all rows that the pass gathered.
        """
        work = Work(rows, str(self.dtype), moments=self.scale is not None, digest=digest)
        scan = work.merge(self.source.scan(self.positions, work, tick))
        self._validate(scan)
        known = np.ascontiguousarray(np.concatenate(scan.found))
        preparation = self._with_notes(known, rows)
        moments = None
        if self.scale is not None:
            (moments,) = scan.moments
            known = scale_rows(moments, self.names, known, self.scale)
        all_rows = blake2b(b"".join(scan.digests), digest_size=DIGEST_BYTES).hexdigest()
        key = f"{OUT_OF_CORE}{all_rows} scale {self.scale}" if digest else ""
        fetched = FetchedRows(scan.stop, rows, known)
        return FetchedData(fetched, preparation, key, moments, prepared=self.prepared)

    def load(self) -> Dataset:
        """Load and validate all rows, and scale them."""
        frame = self.frame()
        _, matrix = validate_matrix(frame if self.source.named else frame.to_numpy(self.dtype))
        preparation = self._with_notes(matrix)
        if self.scale is not None:
            matrix = scale_matrix(self.names, matrix, self.scale)
        return Dataset(matrix, preparation, prepared=self.prepared)

    def frame(self) -> pd.DataFrame:
        """Load all rows as they are; a MemoryError is raised before reading if they do not fit into memory."""
        import pandas as pd

        # Loading holds three copies: the chunks, the columns and the matrix.
        needed, free = 3 * self.shape[0] * self.shape[1] * self.dtype.itemsize, available_bytes()
        if free is not None and needed > free:
            raise MemoryError(
                f"X must be loaded completely for this: {self.shape[0]:,} rows of {self.shape[1]:,} columns need about "
                f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free. Pass fewer rows or columns. "
                "select_k reads X in one pass with a scale other than 'robust' and missing='raise', and needs less."
            )
        chunks = list(self.source.chunks(self.positions)) or [[np.empty(0)] * len(self.positions)]
        # Names may occur twice, so they are set afterwards.
        columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
        frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
        frame.columns = pd.Index([self.source.fields[at].name for at in self.positions])
        return frame

    def matrices(self, moments: Moments | None) -> Iterator[Array]:
        """Yield all rows in order as matrices.

        Parameters
        ----------
        moments : Moments or None
            The moments that ``fetch`` returned, by which the rows are scaled.

        Yields
        ------
        ndarray
            The next rows.
        """
        n_rows = 0
        for chunk in self.source.chunks(self.positions):
            rows = np.ascontiguousarray(np.stack(list(chunk), axis=1), dtype=self.dtype)
            n_rows += len(rows)
            yield rows if moments is None or self.scale is None else scale_rows(moments, self.names, rows, self.scale)
        self._check_length(n_rows)

    def _check_length(self, n_rows: int) -> None:
        if n_rows != self.source.n_rows:
            raise changed(self.source.what, self.source.n_rows, n_rows)

    def _validate(self, scan: Part) -> None:
        self._check_length(scan.stop)
        names = list(self.names) if self.source.named else None
        if scan.not_finite:
            bad, count = scan.not_finite[0], sum(cells.count for cells in scan.not_finite)
            column = bad.column if names else self.positions[bad.column]
            # The caller has no frame to drop the row from.
            how = "missing='drop' (--missing drop)" if self.prepared else "prepare(X, missing='drop')"
            advice = f"Drop or fill such rows where the table comes from, or with {how} if it fits into memory."
            if np.isinf(bad.value):
                advice = "Replace such values where the table comes from."
            raise_not_finite(bad.value, bad.row, column, count, names, advice)
        warn_of_rounding([names[at] if names else self.positions[at] for at in sorted(scan.rounded)])

    def _with_notes(self, matrix: Array, numbers: Array | None = None) -> Preparation | None:
        preparation = self.preparation
        if preparation is None or not self.prepared:
            return preparation
        return replace(preparation, notes=column_notes(self.names, matrix, numbers))
