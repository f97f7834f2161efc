"""Rows of a table outside memory with other columns beside them, from one pass over both."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from compsil_kit._data.matrix import arrow_values
from compsil_kit._data.sources.scan import Part, Work
from compsil_kit._data.sources.source import Chunks, Source, Tick


class Beside(Source):
    """Another source that has records; while its chunks are handed over, columns of any type are kept for ``take``.

    Two readers of one table need not see its rows in the same order, and some connections allow for one only.
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        """Keep the columns of these names."""
        self.what, self.n_rows, self.fields, self.named = source.what, source.n_rows, source.fields, source.named
        known = [field.name for field in source.fields]
        self._source, self._names, self._kept_at = source, list(names), [known.index(name) for name in names]
        self._waiting = deque[Any]()

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield the rows of the other source."""
        wanted = list(dict.fromkeys([*at, *self._kept_at]))
        for batch in self._source.records(wanted):
            if batch.num_rows:
                self._waiting.append([batch.column(wanted.index(i)) for i in self._kept_at])
                yield [arrow_values(batch.column(wanted.index(i))) for i in at]

    def take(self) -> Any:
        """Return the kept columns of the chunk that was handed over next, as an Arrow table."""
        import pyarrow as pa

        return pa.table(self._waiting.popleft(), names=self._names)

    def scan(self, at: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Let the other source make the pass; nothing is kept of it."""
        return self._source.scan(at, work, tick)
