"""Validated data, and a record of how a table was prepared."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._data.matrix import row_blocks
from compsil_kit._types import Scale
from compsil_kit._util.format import shorten

if TYPE_CHECKING:
    import pandas as pd

DIGEST_BYTES = 16
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

    columns: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    scale: Scale | None = None
    n_dropped: int = 0
    notes: tuple[str, ...] = ()

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


def content_digest(X: Any) -> str:
    """Return a digest of a dense or sparse array; it is read in blocks, so that a memory map is not loaded whole."""
    hasher = blake2b(f"{X.shape} {X.dtype}".encode(), digest_size=DIGEST_BYTES)
    for part in (X.indptr, X.indices, X.data) if sparse.issparse(X) else (np.atleast_1d(X),):
        for _, block in row_blocks(part):
            hasher.update(block.tobytes())
    return hasher.hexdigest()
