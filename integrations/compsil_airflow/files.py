"""The files that a task writes: the labels and the report, each written completely or not at all."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import ObjectStoragePath
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


def check_apart(data: Any, places: Mapping[str, Any], base_dir: Any) -> None:
    """Refuse to write over the data, or among their files: the next run would read that as data."""
    if not isinstance(data, str | PathLike | ObjectStoragePath):
        return
    source = _plain(check_place("data", data, base_dir)) or "/"
    for name, place in places.items():
        written = _plain(place) if place is not None else ""
        # Only two stars go beyond a folder.
        named = fnmatchcase(written, source) if "**" in source else PurePosixPath(written).match(source)
        if written and (named or written.startswith(f"{source}/")):
            raise ValueError(
                f"{name} must not be among the files that data names: the next run would read it as data; got "
                f"{str(place)!r}. Pass a path outside of {str(data)!r}."
            )


def _plain(place: Any) -> str:
    """Return a path without the connection that a URI may name."""
    return re.sub(r"(?<=://)[^/@]*@", "", str(place)).rstrip("/")


def label_rows(table: PreparedTable, k: int, kept: pd.DataFrame, keywords: Mapping[str, Any]) -> pd.DataFrame:
    """Cluster all rows into k and return one row per row of the data: its position, the columns to keep, its cluster.

    Cluster 0 is the largest; rows that were dropped because of missing values have no cluster.
    """
    import numpy as np
    import pandas as pd

    from compsil_kit._method.labels import number_by_size
    from compsil_kit._run.refit import cluster_rows

    _, labels = cluster_rows(table, k, keywords)
    codes = np.zeros(len(table.kept), dtype=np.int64)
    codes[table.kept] = number_by_size(labels)
    cluster = pd.arrays.IntegerArray(codes, ~table.kept)
    columns = {name: kept[name].to_numpy() for name in kept}
    return pd.DataFrame({"row": np.arange(len(codes)), **columns, "cluster": cluster})


def write_label_parts(
    place: Path | Any, parts: Iterable[Any], kept: Callable[[], Any] | None = None
) -> tuple[int, int]:
    """Write labels that come some rows at a time, by the numbers of the rows; return the rows and the size.

    ``kept`` gives the columns to write with the labels that came last.
    """
    import numpy as np
    import pyarrow as pa

    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        # All of it first: an object store would keep the half of a table whose second half cannot be read.
        file, n_rows = Path(folder) / "labels", 0
        with _writer(place, file) as write:
            for labels in parts:
                rows = pa.table({"row": np.arange(n_rows, n_rows + len(labels))})
                for name, column in [] if kept is None else _columns(kept()):
                    rows = rows.append_column(name, column)
                write(rows.append_column("cluster", pa.array(labels, type=pa.int64())))
                n_rows += len(labels)
        return n_rows, store_file(place, file)


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    return zip(table.column_names, table.columns, strict=True)


@contextmanager
def _writer(place: Path | Any, file: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that adds an Arrow table to a file, in the format that the name of its place ends in."""
    if str(place).lower().endswith(".csv"):
        import pandas as pd

        with file.open("w", encoding="utf-8", newline="") as text:
            # With Arrow's types: as NumPy has them, whole numbers become floats where some are missing.
            yield lambda table: table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
                text, index=False, header=text.tell() == 0
            )
        return
    import pyarrow.parquet as pq

    with ExitStack() as open_file:
        writer: Any = None

        def write(table: Any) -> None:
            nonlocal writer
            if writer is None:
                writer = open_file.enter_context(pq.ParquetWriter(file, table.schema))
            writer.write_table(table)

        yield write


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
    from compsil_kit._show.report import render

    content = render(result).encode()
    store(place, content)
    return len(content)
