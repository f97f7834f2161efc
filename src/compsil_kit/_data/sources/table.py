"""Out-of-core tables as they are clustered: the chosen columns, scaled, and the rows that a pass fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.columns import Moments, column_notes, scale_matrix, scale_rows, warn_about_rounding
from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.matrix import DIGEST_BYTES, raise_not_finite, validate_matrix
from compsil_kit._data.sources.source import Part, Source, Tick, Work, changed
from compsil_kit._types import Scale
from compsil_kit._util.system import available_bytes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
# Prefix for digests of out-of-core tables, which differ from the digest of the same rows in memory.
OUT_OF_CORE = "outside memory "


@dataclass(frozen=True, eq=False)
class FetchedRows:
    """The fetched rows of a larger matrix, indexed by an array of row numbers in that matrix."""

    n_rows: int
    # The numbers of the fetched rows, in ascending order, and the rows themselves.
    numbers: NDArray[np.int64]
    known: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns of the whole matrix."""
        return self.n_rows, self.known.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.known.dtype

    def __len__(self) -> int:
        """Return the number of rows in the whole matrix."""
        return self.n_rows

    def __getitem__(self, rows: Array) -> Array:
        """Return a copy of the rows with these numbers, in this order."""
        places = np.searchsorted(self.numbers, rows)
        if not np.array_equal(self.numbers[np.minimum(places, len(self.numbers) - 1)], rows):
            raise IndexError("some of these rows were not fetched")
        return self.known[places]


def known_rows(matrix: Any) -> Any:
    """Return the rows of a matrix that are in memory."""
    return matrix.known if isinstance(matrix, FetchedRows) else matrix


@dataclass(frozen=True)
class FetchedData(Dataset):
    """The rows fetched by a pass, with the digest and moments of all rows."""

    scanned_digest: str
    moments: Moments | None

    @cached_property
    def digest(self) -> str:
        """The digest of all rows; raises a RuntimeError if the pass did not compute it."""
        if not self.scanned_digest:
            raise RuntimeError("the pass over the data did not compute a digest")
        return self.scanned_digest


@dataclass(frozen=True)
class SourceTable:
    """An out-of-core table, opened but not read, with the columns to use and how to scale them.

    :func:`compsil_kit.prepare` returns this class for large tables. Pass it wherever X is accepted: ``select_k`` and
    similar functions fetch the rows of their subsamples in one pass; functions that need all rows load them if they
    fit into memory.

    Attributes
    ----------
    source : Source
        The table: Parquet files, a query, a Dask or Spark collection, or an array on disk.
    positions : tuple of int
        Positions of the columns in the source.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : {"standard", "robust", "minmax"} or None
        How to scale the columns.
    prepared : bool
        Whether ``prepare`` chose the columns and the scale.
    """

    source: Source
    positions: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    scale: Scale | None = None
    prepared: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Column names as strings."""
        return tuple(str(self.source.fields[at].name) for at in self.positions)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.source.n_rows, len(self.positions)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the matrix: float32 if all columns are float32, otherwise float64, as for data in memory."""
        single = all(self.source.fields[at].dtype == np.float32 for at in self.positions)
        return np.dtype(np.float32 if single else np.float64)

    @property
    def n_bytes(self) -> int:
        """Approximate number of uncompressed bytes read by a pass."""
        dtypes = (self.source.fields[at].dtype for at in self.positions)
        return self.source.n_rows * sum(dtype.itemsize for dtype in dtypes if dtype is not None)

    @property
    def preparation(self) -> Preparation | None:
        """Columns and scale, which are known before any pass; None for an array that was not passed to ``prepare``."""
        if not self.source.named and not self.prepared:
            return None
        return Preparation(self.names, self.left_out, self.scale)

    def fetch(self, rows: NDArray[np.int64], tick: Tick = lambda _: None, *, digest: bool = False) -> FetchedData:
        """Fetch some rows in one pass, which also validates and counts all rows.

        Parameters
        ----------
        rows : ndarray
            The row numbers, in ascending order.
        tick : callable
            Called with the number of rows read since the last call; it may raise an exception to stop the pass.
        digest : bool, default=False
            Whether to also compute the digest of all rows.

        Returns
        -------
        FetchedData
            The scaled rows, and the digest and moments of all rows if requested.
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
        """Load, validate and scale all rows."""
        frame = self.frame()
        _, matrix = validate_matrix(frame if self.source.named else frame.to_numpy(self.dtype))
        preparation = self._with_notes(matrix)
        if self.scale is not None:
            matrix = scale_matrix(self.names, matrix, self.scale)
        return Dataset(matrix, preparation, prepared=self.prepared)

    def frame(self) -> pd.DataFrame:
        """Load all rows unscaled; raise a MemoryError before reading if they do not fit into memory."""
        import pandas as pd

        # Loading needs memory for three copies: the chunks, the columns and the matrix.
        needed, free = 3 * self.shape[0] * self.shape[1] * self.dtype.itemsize, available_bytes()
        if free is not None and needed > free:
            raise MemoryError(
                f"X must be loaded completely, but {self.shape[0]:,} rows of {self.shape[1]:,} columns need about "
                f"{needed / 2**30:.1f} GiB, and only {free / 2**30:.1f} GiB is free. Pass fewer rows or columns. "
                "select_k needs less memory if missing='raise' and scale is not 'robust'."
            )
        chunks = list(self.source.chunks(self.positions)) or [[np.empty(0)] * len(self.positions)]
        # Column names may be duplicated, so set them after creating the frame.
        columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
        frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
        frame.columns = pd.Index([self.source.fields[at].name for at in self.positions])
        return frame

    def matrices(self, moments: Moments | None) -> Iterator[Array]:
        """Yield all rows in order as matrices.

        Parameters
        ----------
        moments : Moments or None
            The moments returned by ``fetch``, which are used to scale the rows.

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
            # The rows are not in memory, so the caller cannot drop them directly.
            how = "missing='drop' (--missing drop)" if self.prepared else "prepare(X, missing='drop')"
            advice = f"Drop or fill such rows in the original table, or use {how} if the table fits into memory."
            if np.isinf(bad.value):
                advice = "Replace such values in the original table."
            raise_not_finite(bad.value, bad.row, column, count, names, advice)
        warn_about_rounding([names[at] if names else self.positions[at] for at in sorted(scan.rounded)])

    def _with_notes(self, matrix: Array, numbers: Array | None = None) -> Preparation | None:
        preparation = self.preparation
        if preparation is None or not self.prepared:
            return preparation
        return replace(preparation, notes=column_notes(self.names, matrix, numbers))
