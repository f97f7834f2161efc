"""Tables outside memory, and sources whose chunks and parts are cut wherever a test wants them."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compsil_kit._data.sources.source import Field, Source

# Just too many rows to be loaded at once.
LARGE = 50_500


def columns_of(n_rows=LARGE, n_columns=3, dtype="float64", seed=0):
    """Named columns of three clusters of different sizes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=6, size=(3, n_columns))
    rows = centers[rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])] + rng.normal(size=(n_rows, n_columns))
    return {f"x{at}": rows[:, at].astype(dtype) for at in range(n_columns)}


def write_parquet(place, columns, n_files=1, row_group_size=7_000):
    """Write a table as one file, or as a folder of several."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if n_files == 1:
        pq.write_table(table, place, row_group_size=row_group_size)
        return place
    place.mkdir(parents=True)
    edges = np.linspace(0, len(table), n_files + 1).astype(int)
    for at, (low, high) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(low, high - low), place / f"part-{at}.parquet", row_group_size=row_group_size)
    return place


class CutSource(Source):
    """Columns in memory, handed over in chunks and, as workers would do it, in parts that begin at given rows."""

    what = "a table of the tests"

    def __init__(self, columns, chunk_rows=9_000, parts=(), named=True):
        self._columns, self._chunk_rows, self._parts = list(columns.values()), chunk_rows, tuple(parts)
        self.fields = tuple(
            Field(name, str(values.dtype), values.dtype.kind in "biuf", values.dtype == np.float32)
            for name, values in columns.items()
        )
        self.n_rows, self.named = len(self._columns[0]), named
        # The rows of each chunk that was handed over.
        self.handed = []

    def chunks(self, at):
        return self._between(at, 0, self.n_rows)

    def _between(self, at, start, stop):
        for low in range(start, stop, self._chunk_rows):
            high = min(low + self._chunk_rows, stop)
            self.handed.append((low, high))
            yield [self._columns[i][low:high] for i in at]

    def scan(self, at, work, tick):
        if not self._parts:
            yield from super().scan(at, work, tick)
            return
        for start, stop in zip((0, *self._parts), (*self._parts, self.n_rows), strict=True):
            yield work(self._between(at, start, stop), start)
            tick(stop - start)
