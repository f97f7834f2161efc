"""Parquet files, folders and globs, here or on a store that fsspec reaches, and any ``pyarrow.dataset``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compsil_kit.data.sources.source import CHUNK_ROWS, Array, Chunk, Field, Source


class ArrowSource(Source):
    """A ``pyarrow.dataset.Dataset``; its order is that of its files, and within them of their rows."""

    def __init__(self, dataset: Any, what: str = "a pyarrow dataset") -> None:
        """Look at the schema and count the rows, which Parquet files know."""
        self.what, self._dataset = what, dataset
        self.fields = tuple(arrow_field(field) for field in dataset.schema)
        self.n_rows = int(dataset.count_rows())

    def chunks(self, at: Sequence[int]) -> Iterator[Chunk]:
        """Yield the record batches of a scan in order."""
        names = [self.fields[i].name for i in at]
        # Few batches ahead: a scan that runs far ahead of its reader holds the rows in memory.
        ahead = {"batch_size": CHUNK_ROWS, "batch_readahead": 4, "fragment_readahead": 1, "use_threads": True}
        for batch in self._dataset.to_batches(columns=names, **ahead):
            if batch.num_rows:
                yield [arrow_values(column) for column in batch.columns]


def arrow_field(field: Any) -> Field:
    """Return what is known of a column from its Arrow type."""
    kind = str(field.type)
    numeric = kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))
    width = max(1, getattr(field.type, "bit_width", 64) // 8) if numeric else 8
    return Field(field.name, kind, numeric, kind == "float", width)


def arrow_values(column: Any) -> Array:
    """Return the values of an Arrow array, with NaN for what is missing."""
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    values: Array = column.to_numpy(zero_copy_only=False)
    # Booleans with holes come as objects.
    return values.astype(np.float64) if values.dtype == object else values
