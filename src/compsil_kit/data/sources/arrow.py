"""Any ``pyarrow.dataset``, Parquet files among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compsil_kit.data.matrix import arrow_numeric, arrow_values
from compsil_kit.data.sources.source import CHUNK_ROWS, Chunk, Field, Source


class ArrowSource(Source):
    """A ``pyarrow.dataset.Dataset``; its order is that of its files, and within them of their rows."""

    def __init__(self, dataset: Any, what: str = "a pyarrow dataset") -> None:
        """Look at the schema and count the rows, which Parquet files know."""
        self.what, self._dataset = what, dataset
        self.fields = tuple(arrow_field(field) for field in dataset.schema)
        with readable(what):
            self.n_rows = int(dataset.count_rows())

    def chunks(self, at: Sequence[int]) -> Iterator[Chunk]:
        """Yield the record batches of a scan in order."""
        names = [self.fields[i].name for i in at]
        # Few batches ahead: a scan that runs far ahead of its reader holds the rows in memory.
        ahead = {"batch_size": CHUNK_ROWS, "batch_readahead": 4, "fragment_readahead": 1, "use_threads": True}
        with readable(self.what):
            for batch in self._dataset.to_batches(columns=names, **ahead):
                if batch.num_rows:
                    yield [arrow_values(column) for column in batch.columns]


def arrow_field(field: Any) -> Field:
    """Return what is known of a column from its Arrow type."""
    kind = str(field.type)
    numeric = arrow_numeric(kind)
    width = max(1, getattr(field.type, "bit_width", 64) // 8) if numeric else 8
    return Field(field.name, kind, numeric, kind == "float", width)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Say that data cannot be read, without what Arrow says of them: that may quote their content."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Files that are gone or not ours to read have a number and a name; what is damaged has neither.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(
            f"X: {what} cannot be read ({type(error).__name__}): a file is damaged, of another kind, or was changed "
            "since its rows were counted; or the files differ in the types of their columns."
        ) from error
