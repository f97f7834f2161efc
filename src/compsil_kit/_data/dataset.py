"""Data to cluster: a validated matrix, with a record of how its table was prepared."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.matrix import content_digest
from compsil_kit._types import Scale
from compsil_kit._util import schema
from compsil_kit._util.format import shorten

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


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
        Number of rows that were dropped because of missing values.
    notes : tuple of str
        Notes on columns that may distort the clusters: constant columns, copies and identifiers.
    """

    # The annotations validate data read from a file.
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
    """A validated matrix, with the preparation of its original table, or None for a plain array.

    ``prepared`` is False if the caller chose neither columns nor a scale; in that case, a large difference in scale
    between columns is reported.
    """

    matrix: Any
    preparation: Preparation | None
    prepared: bool = field(default=True, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
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
    """A table in memory, prepared for clustering; pass it wherever X is accepted.

    Attributes
    ----------
    matrix : ndarray of shape (n_kept, n_columns)
        The chosen columns of the complete rows, scaled.
    preparation : Preparation
        Columns, scale and dropped rows.
    kept : ndarray of bool of shape (n_rows,)
        True for the rows of the table that are in the matrix.
    raw : DataFrame
        The chosen columns of all rows, unscaled.
    """

    preparation: Preparation
    kept: NDArray[np.bool_]
    raw: pd.DataFrame
