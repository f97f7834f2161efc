"""Write large Parquet tables with ten columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

COLUMNS = tuple(f"x{i}" for i in range(10))
K = 6
FILE_ROWS, GROUP_ROWS = 10_000_000, 1_000_000


def rows(n_rows: int, part: int = 0) -> NDArray[np.float32]:
    """Return rows from six clusters of different sizes, in single precision."""
    centres = np.random.default_rng(0).uniform(0, 9, size=(K, len(COLUMNS))).astype(np.float32)
    random = np.random.default_rng([1, part])
    found = random.standard_normal((n_rows, len(COLUMNS)), dtype=np.float32)
    found += centres[random.choice(K, n_rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])]
    return found


def write(folder: Path, n_rows: int) -> Path:
    """Write Parquet files with this number of rows unless the files exist, and return their folder."""
    place = folder / f"{n_rows}.parquet"
    if place.exists():
        return place
    unfinished = folder / f"{n_rows}.unfinished"
    unfinished.mkdir(parents=True, exist_ok=True)
    for number, low in enumerate(range(0, n_rows, FILE_ROWS)):
        schema = pa.schema([(name, pa.float32()) for name in COLUMNS])
        with pq.ParquetWriter(unfinished / f"part-{number:03}.parquet", schema) as file:
            for at in range(low, min(low + FILE_ROWS, n_rows), GROUP_ROWS):
                part = rows(min(GROUP_ROWS, n_rows - at), at // GROUP_ROWS)
                columns = [pa.array(np.ascontiguousarray(column)) for column in part.T]
                file.write_table(pa.table(columns, schema=schema))
    unfinished.rename(place)
    return place
