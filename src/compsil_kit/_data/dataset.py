"""The data in the form that the engine takes: a checked matrix, and what was done to the table it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._data.digest import content_digest
from compsil_kit._util.format import shorten

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Preparation:
    """What was done to a table before it was clustered.

    Attributes
    ----------
    columns : tuple of str
        The columns that were used.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : str or None
        How the columns were scaled.
    n_dropped : int
        Rows left out because of missing values.
    notes : tuple of str
        What looked odd about the columns.
    """

    columns: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    scale: str | None = None
    n_dropped: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say in one line what was used and what was left out."""
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
        """A digest of the matrix, computed when it is first asked for."""
        return content_digest(self.matrix)


@dataclass(frozen=True)
class PreparedTable(Dataset):
    """A table made ready for clustering; wherever data are taken, this is taken too.

    Attributes
    ----------
    matrix : ndarray of shape (n_kept, n_columns)
        The chosen columns of the complete rows, scaled.
    preparation : Preparation
        Columns, scale and dropped rows.
    kept : ndarray of bool of shape (n_rows,)
        Which rows of the table are in the matrix.
    raw : DataFrame
        The chosen columns of all rows, as they were.
    """

    preparation: Preparation
    kept: NDArray[np.bool_]
    raw: pd.DataFrame


# Columns whose spreads differ by more than this are hardly meant to count alike.
MOST_RATIO = 10.0
# The spread of columns shows in a part of many rows.
MOST_ROWS = 100_000


def scale_ratio(matrix: Any) -> float:
    """Return by what factor the spreads of the columns differ; those of a sparse matrix are not looked at."""
    if sparse.issparse(matrix):
        return 1.0
    some = matrix[:: max(1, len(matrix) // MOST_ROWS)]
    # Half the range of the middle values: a single far value is no scale.
    spread = np.subtract(*np.quantile(some, [0.9, 0.1], axis=0))
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) > 1 else 1.0
