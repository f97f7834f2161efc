"""What a table outside memory can do: say its size and its columns, and hand over its rows in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit._data.sources.scan import Part, Work

Array = NDArray[Any]
# Rows in a row, as one array per column.
Chunk = Sequence[Array]
Chunks = Generator[Chunk, None, None]
# It is told how many more rows were read; it may raise to end the pass.
Tick = Callable[[int], None]
# Rows that are handed over at a time where a source leaves it to us.
CHUNK_ROWS = 1 << 17


@dataclass(frozen=True)
class Field:
    """A column: its name, its type in the words of its library, whether it holds numbers, and float32 ones."""

    name: Any
    kind: str
    numeric: bool
    single: bool = False
    # Bytes of one value, for what a pass will read.
    width: int = 8


class Source(ABC):
    """A table outside memory. Rows have numbers: the order in which chunks hand them over, the same every time."""

    # For messages: "Parquet data", "a Dask DataFrame".
    what: str
    n_rows: int
    fields: tuple[Field, ...]
    # Whether the columns have names of their own; those of an array have none.
    named: bool = True
    # Whether columns of any type can be handed over, as records.
    has_records: bool = False

    @abstractmethod
    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield all rows in order, of the columns at these positions, with NaN for what is missing."""

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Yield all rows in order as Arrow record batches, of columns of any type."""
        raise NotImplementedError(f"{self.what} has no records")

    def scan(self, at: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Yield what a pass finds, in the order of the rows; those whose data are elsewhere do the work there."""
        # Closed at once also where the pass is interrupted: a traceback may keep what is open for long.
        with closing(self.chunks(at)) as chunks:
            yield work(_told(chunks, tick), 0)

    def frame(self, at: Sequence[int]) -> pd.DataFrame:
        """Return all rows of some columns as a pandas frame: for what cannot be done in one pass."""
        import pandas as pd

        parts = [dict(enumerate(chunk)) for chunk in self.chunks(at)]
        columns = {
            place: np.concatenate([part[place] for part in parts]) if parts else np.empty(0) for place in range(len(at))
        }
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = pd.Index([self.fields[i].name for i in at])
        return frame


def _told(chunks: Iterable[Chunk], tick: Tick) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk
        tick(len(chunk[0]))


@contextmanager
def silent_about_content(what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Say that a query fails, without what its library says of it: that may quote the content of cells."""
    try:
        yield
    except errors as error:
        raise ValueError(
            f"X: {what} cannot be read ({type(error).__name__}). The error itself is not shown, as it may quote cells; "
            "compute the data without compsil-kit to see it."
        ) from None


def dtype_of(fields: Iterable[Field]) -> np.dtype[Any]:
    """Return the type of the matrix that the same columns would make in memory."""
    return np.dtype(np.float32 if all(field.single for field in fields) else np.float64)
