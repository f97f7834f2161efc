"""Tables in pieces that stay where they are: each piece is passed over there, and only what was found comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from compsil_kit._data.sources.scan import Part, Work
from compsil_kit._data.sources.source import Chunk, Tick


def shares(work: Work, lengths: Sequence[int]) -> list[tuple[Work, int]]:
    """Return for each piece its part of the work, which holds no other rows, and the number of its first row."""
    starts = [0, *accumulate(lengths)]
    edges = np.searchsorted(work.rows, starts)
    return [
        (replace(work, rows=work.rows[low:high]), start)
        for low, high, start in zip(edges[:-1], edges[1:], starts[:-1], strict=True)
    ]


def pass_over(chunks: Iterable[Chunk], share: tuple[Work, int]) -> Part:
    """Pass over one piece; a worker calls this."""
    work, start = share
    return work((chunk for chunk in chunks if len(chunk[0])), start)


def as_counted(parts: Iterable[Part], lengths: Sequence[int], what: str, tick: Tick) -> Iterator[Part]:
    """Hand over what was found in the pieces, which must have the rows that were counted in them."""
    for number, (part, counted) in enumerate(zip(parts, lengths, strict=True)):
        if part.stop - part.start != counted:
            raise changed(f"partition {number} of {what}", counted, part.stop - part.start)
        yield part
        tick(counted)


def changed(what: str, counted: int, read: int) -> ValueError:
    """Return the error of data that are not the same every time they are computed."""
    return ValueError(
        f"X has changed: {what} had {counted:,} rows when they were counted, and {read:,} when they were read. Pass "
        "data that are the same every time they are computed, for example after writing them to Parquet files."
    )
