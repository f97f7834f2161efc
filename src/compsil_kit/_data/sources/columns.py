"""A table outside memory without some of its columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from compsil_kit._data.sources.scan import Part, Work
from compsil_kit._data.sources.source import Chunks, Source, Tick
from compsil_kit._util.format import quoted, shorten


class Without(Source):
    """Another source, of which some columns are not to be seen."""

    def __init__(self, source: Source, names: Collection[str]) -> None:
        """Leave out the columns whose names, as text, are these."""
        self.what, self.n_rows, self._source = source.what, source.n_rows, source
        self.named, self.has_records = source.named, source.has_records
        self._at = [at for at, field in enumerate(source.fields) if str(field.name) not in names]
        self.fields = tuple(source.fields[at] for at in self._at)

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield the rows of the other source."""
        return self._source.chunks([self._at[i] for i in at])

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Yield the records of the other source."""
        return self._source.records([self._at[i] for i in at])

    def scan(self, at: Sequence[int], work: Work, tick: Tick) -> Iterable[Part]:
        """Let the other source make the pass, wherever its data are."""
        return self._source.scan([self._at[i] for i in at], work, tick)


def without(source: Source, names: Collection[str]) -> Source:
    """Return the source without these columns; a name that it does not have is an error."""
    known = tuple(str(field.name) for field in source.fields)
    for name in names:
        if name not in known:
            raise ValueError(f"--exclude: {quoted(name)} is not a column of the data, which has {shorten(known)}.")
    return Without(source, names) if names else source
