"""The files that a task writes: the labels and the report, each written completely or not at all."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow.paths import check_place, check_writable, store, store_file

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit import PreparedTable, SelectionResult

LABEL_KINDS = (".parquet", ".csv")
REPORT_KINDS = (".html", ".htm")


def labels_place(labels_path: Any, labels_keep: Any, base_dir: Any) -> Path | Any:
    """Return where to write the labels, if anywhere; it must be possible."""
    if labels_keep is not None and labels_path is None:
        raise ValueError("labels_keep requires labels_path, the file to write the labels to.")
    return _place("labels_path", labels_path, LABEL_KINDS, base_dir)


def report_place(report_path: Any, base_dir: Any) -> Path | Any:
    """Return where to write the report, if anywhere."""
    return _place("report_path", report_path, REPORT_KINDS, base_dir)


def _place(name: str, value: Any, kinds: tuple[str, ...], base_dir: Any) -> Path | Any:
    if value is None:
        return None
    place = check_place(name, value, base_dir)
    if not str(place).lower().endswith(kinds):
        raise ValueError(f"{name} must end in {' or '.join(kinds)}; got {str(value)!r}.")
    check_writable(name, place)
    return place


def label_rows(
    frame: pd.DataFrame, table: PreparedTable, k: int, keep: list[str] | None, keywords: Mapping[str, Any]
) -> pd.DataFrame:
    """Cluster all rows into k and return one row per row of the data: its position, the columns to keep, its cluster.

    Cluster 0 is the largest; rows that were dropped because of missing values have no cluster.
    """
    import numpy as np
    import pandas as pd

    from compsil_kit.method.labels import number_by_size
    from compsil_kit.run.refit import cluster_rows

    _, labels = cluster_rows(table, k, keywords)
    codes = np.zeros(len(frame), dtype=np.int64)
    codes[table.kept] = number_by_size(labels)
    kept = {name: frame[name].to_numpy() for name in keep or []}
    cluster = pd.arrays.IntegerArray(codes, ~table.kept)
    return pd.DataFrame({"row": np.arange(len(frame)), **kept, "cluster": cluster})


def write_label_parts(place: Path | Any, parts: Iterable[Any]) -> tuple[int, int]:
    """Write labels that come some rows at a time, by the numbers of the rows; return the rows and the size."""
    import numpy as np
    import pandas as pd

    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        # All of it first: an object store would keep the half of a table whose second half cannot be read.
        file, n_rows = Path(folder) / "labels", 0
        with _writer(place, file) as write:
            for labels in parts:
                write(
                    pd.DataFrame({"row": np.arange(n_rows, n_rows + len(labels)), "cluster": labels.astype(np.int64)})
                )
                n_rows += len(labels)
        return n_rows, store_file(place, file)


@contextmanager
def _writer(place: Path | Any, file: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that adds rows to a file, in the format that the name of its place ends in."""
    if str(place).lower().endswith(".csv"):
        with file.open("w", newline="") as text:
            yield lambda frame: frame.to_csv(text, index=False, header=text.tell() == 0)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("row", pa.int64()), ("cluster", pa.int64())])
    with pq.ParquetWriter(file, schema) as table:
        yield lambda frame: table.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))


def check_keep(keep: list[str] | None, frame: pd.DataFrame | None) -> None:
    """Refuse columns that are not in the data, or that have the name of a column of the labels."""
    if keep and frame is None:
        raise ValueError(
            "labels_keep requires a table in memory, and this one is read in parts. Leave it out: the labels have the "
            "number of each row, by which they can be joined."
        )
    for name in keep or []:
        if name in ("row", "cluster"):
            raise ValueError(f"labels_keep must not contain {name!r}: the labels have a column of that name already.")
        if frame is not None and name not in frame.columns:
            raise ValueError(f"labels_keep: {name!r} is not a column of the data.")


def write_labels(place: Path | Any, labels: pd.DataFrame) -> int:
    """Write the labels in the format that the file name ends in; return the size of the file."""
    buffer = io.BytesIO()
    if str(place).lower().endswith(".csv"):
        labels.to_csv(buffer, index=False)
    else:
        labels.to_parquet(buffer, index=False)
    store(place, buffer.getvalue())
    return len(buffer.getvalue())


def write_report(place: Path | Any, result: SelectionResult) -> int:
    """Write the self-contained HTML report; return the size of the file."""
    from compsil_kit.show.report import render

    content = render(result).encode()
    store(place, content)
    return len(content)
