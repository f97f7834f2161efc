"""Out-of-core tables, and sources whose chunks and parts are split at given rows."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compsil_kit._data.sources.source import Field, Source

# Just enough rows to be processed out of core.
LARGE = 50_500


def columns_of(n_rows=LARGE, n_columns=3, dtype="float64", seed=0):
    """Return named columns with three clusters of different sizes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=6, size=(3, n_columns))
    rows = centers[rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])] + rng.normal(size=(n_rows, n_columns))
    return {f"x{at}": rows[:, at].astype(dtype) for at in range(n_columns)}


def write_parquet(place, columns, n_files=1, row_group_size=7_000):
    """Write a table to one Parquet file, or to a folder of several files."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if n_files == 1:
        pq.write_table(table, place, row_group_size=row_group_size)
        return place
    place.mkdir(parents=True)
    edges = np.linspace(0, len(table), n_files + 1).astype(int)
    for at, (low, high) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(low, high - low), place / f"part-{at}.parquet", row_group_size=row_group_size)
    return place


def rows(source, positions):
    """Return all rows of a source, as one array per column."""
    return [np.concatenate(parts) for parts in zip(*source.chunks(positions), strict=True)]


class CutSource(Source):
    """A source for in-memory columns, split into chunks and, like partitions on workers, into parts at given rows."""

    what = "a table of the tests"

    def __init__(self, columns, chunk_rows=9_000, parts=(), named=True):
        self._columns, self._chunk_rows, self._parts = list(columns.values()), chunk_rows, tuple(parts)
        self.fields = tuple(
            Field(name, str(values.dtype), values.dtype if values.dtype.kind in "biuf" else None)
            for name, values in columns.items()
        )
        self.n_rows, self.named = len(self._columns[0]), named
        # The row range of each chunk read so far.
        self.handed = []

    def chunks(self, positions):
        return self._between(positions, 0, self.n_rows)

    def _between(self, positions, start, stop):
        for low in range(start, stop, self._chunk_rows):
            high = min(low + self._chunk_rows, stop)
            self.handed.append((low, high))
            yield [self._columns[i][low:high] for i in positions]

    def scan(self, positions, work, tick):
        if not self._parts:
            yield from super().scan(positions, work, tick)
            return
        for start, stop in zip((0, *self._parts), (*self._parts, self.n_rows), strict=True):
            yield work(self._between(positions, start, stop), start)
            tick(stop - start)
