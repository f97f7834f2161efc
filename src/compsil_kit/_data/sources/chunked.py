"""Arrays on disk or in a store that are read in chunks: Zarr and HDF5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compsil_kit._data.sources.source import Chunks, Field, Source

# What is read at a time, about.
STEP_BYTES = 2**25


class ChunkedSource(Source):
    """An array of two dimensions that hands over ranges of its rows."""

    named = False

    def __init__(self, array: Any, what: str = "") -> None:
        """Look at the shape and the type of the values."""
        self.what = what or f"an array of {type(array).__module__.partition('.')[0]}"
        if len(array.shape) != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; got {self.what} of shape {array.shape}.")
        self._array, kind = array, np.dtype(array.dtype)
        self.n_rows = int(array.shape[0])
        field = (str(kind), kind.kind in "biuf", kind == np.float32, kind.itemsize)
        self.fields = tuple(Field(at, *field) for at in range(array.shape[1]))

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield ranges of rows that end where chunks do, so that none is read twice."""
        # Arrays without chunks have None.
        rows = (getattr(self._array, "chunks", None) or (1,))[0]
        row_bytes = max(1, sum(field.width for field in self.fields))
        step = rows * max(1, STEP_BYTES // (row_bytes * rows))
        for low in range(0, self.n_rows, step):
            block = np.asarray(self._array[low : low + step])
            if len(block):
                yield [block[:, place] for place in at]
