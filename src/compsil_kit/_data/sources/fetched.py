"""Some rows of a large table, under the numbers that they have there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class FetchedRows:
    """A matrix of which only some rows are known; it is asked for rows by an array of their numbers.

    Attributes
    ----------
    n_rows : int
        Rows of the whole matrix.
    numbers : ndarray of int
        Which rows are known, ascending.
    known : ndarray of shape (n_known, n_features)
        These rows.
    """

    n_rows: int
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
    """Return the rows that are in memory: of a matrix that was fetched some, otherwise all."""
    return matrix.known if isinstance(matrix, FetchedRows) else matrix
