"""Store the results of a selection: labels, report, XComs and asset events."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow.checkpoints import LogProgress
from compsil_airflow.compat import Asset, Context
from compsil_airflow.errors import data_errors
from compsil_airflow.lineage import REPORT_URL
from compsil_airflow.storage import Place, write
from compsil_airflow.summary import decide, summarise
from compsil_mlflow import log_if_active

if TYPE_CHECKING:
    import pandas as pd

    from compsil_airflow.operator import SelectKOperator
    from compsil_airflow.types import Data
    from compsil_kit import PreparedTable, SelectionResult
    from compsil_kit.adapters import Source

FACTS = ("best_k", "selected_k", "fell_back", "score", "probability", "confidence")
LABEL_COLUMNS = ("row", "cluster")


def publish(operator: SelectKOperator, result: SelectionResult, data: Data | None, context: Context) -> int:
    """Log the result, decide on k, write the files, push the summary, and return k; raise if k* is not accepted."""
    operator.log.info("%s", result.explain())
    decision = decide(result, operator._thresholds(), operator.fallback_k, operator.on_unsure)
    for note in decision.notes:
        operator.log.warning("%s", note)
    written, labels = _write_files(operator, result, data, decision.k)
    summary = summarise(result, decision, {**operator._table.to_dict(), **operator._selection.to_dict()})
    operator._written, operator._facts = written, {name: summary[name] for name in (*FACTS, "outcome")}
    if operator.do_xcom_push:
        context["ti"].xcom_push(key="selection", value={**summary, "files": list(written)})
        if operator.report_url:
            context["ti"].xcom_push(key=REPORT_URL, value=str(operator.report_url))
    log_if_active(result, labels)
    if decision.error is not None:
        raise decision.error
    assert decision.k is not None
    for outlet in operator.outlets:
        if isinstance(outlet, Asset):
            context["outlet_events"][outlet].extra.update({name: summary[name] for name in FACTS})
    return decision.k


def _write_files(
    operator: SelectKOperator, result: SelectionResult, data: Data | None, k: int | None
) -> tuple[dict[str, dict[str, Any]], pd.DataFrame | None]:
    """Write the report, and the labels if k is not None; return the sizes of the files, and any labels in memory."""
    written: dict[str, dict[str, Any]] = {}
    labels = None
    if (place := operator._labels_place) is not None and data is not None and k is not None:
        with data_errors():
            labels, n_rows, size = _write_labels(operator, place, data, k, result.plan.seeds)
        written[str(place)] = {"rowCount": n_rows, "size": size}
        operator.log.info("Labels of %s rows: %s", f"{n_rows:,}", place)
    if (place := operator._report_place) is not None:
        from compsil_kit.adapters import render

        written[str(place)] = {"size": write(place, render(result).encode())}
        operator.log.info("Report: %s", place)
    return written, labels


def _write_labels(
    operator: SelectKOperator, place: Place, data: Data, k: int, seeds: Sequence[int]
) -> tuple[pd.DataFrame | None, int, int]:
    """Write the labels; return the labels (None if out of core), the number of rows, and the file size."""
    from compsil_kit import PreparedTable, label_rows
    from compsil_kit.adapters import SidecarColumns

    keep, (loaded, table), config = operator.labels_keep or [], data, operator._selection
    progress = LogProgress(operator.log)
    sidecar = None
    if keep and not isinstance(table, PreparedTable):
        sidecar = SidecarColumns(table.source, keep)
        table = replace(table, source=sidecar)
    parts = label_rows(
        table,
        k,
        clusterer=config.clusterer,
        metric=config.metric,
        sample_size=config.sample_size,
        # Use the seeds of the selection, even if random_state=None.
        random_state=seeds,
        progress=progress,
    )
    if isinstance(table, PreparedTable):
        (clusters,) = parts
        frame = label_frame(table, clusters, kept_columns(loaded, keep))
        return frame, len(frame), write_frame(place, frame)
    logged = _with_progress(parts, table.source.n_rows, progress)
    return None, *write_parts(place, logged, None if sidecar is None else sidecar.take)


def check_labels_keep(keep: Sequence[str] | None, data: pd.DataFrame | Source) -> None:
    """Raise for columns that are not in the data, or whose names are reserved for label columns."""
    import pandas as pd

    from compsil_kit.adapters import shorten

    if not keep:
        return
    if isinstance(data, pd.DataFrame):
        known = list(data.columns)
    elif data.has_records:
        known = [field.name for field in data.fields]
    else:
        raise ValueError(
            f"labels_keep is not supported for {data.what}. Omit it and join the labels by row number, or write the "
            "data to Parquet files first."
        )
    for name in keep:
        if list(keep).count(name) > 1:
            raise ValueError(f"labels_keep must name each column once; got {name!r} more than once.")
        if name in LABEL_COLUMNS:
            raise ValueError(
                f"labels_keep must not contain {name!r}, because the labels already have a column with that name."
            )
        if name not in known:
            raise ValueError(
                f"labels_keep: {name!r} is not a column of the data, which has the columns "
                f"{shorten(tuple(map(str, known)))}."
            )


def kept_columns(data: pd.DataFrame | Source, keep: Sequence[str]) -> pd.DataFrame:
    """Return all rows of the given columns."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data[list(keep)]
    if not keep:
        return pd.DataFrame()
    import pyarrow as pa

    names = [field.name for field in data.fields]
    table = pa.Table.from_batches(data.records([names.index(name) for name in keep]))
    frame: pd.DataFrame = table.rename_columns(list(keep)).to_pandas()
    return frame


def label_frame(table: PreparedTable, clusters: Any, kept: pd.DataFrame) -> pd.DataFrame:
    """Return the row position, the columns to keep, and the cluster of every row of the data.

    The cluster is missing for rows that were dropped because of missing values.
    """
    import numpy as np
    import pandas as pd

    codes = np.zeros(len(table.kept), dtype=np.int64)
    codes[table.kept] = clusters
    columns = {name: kept[name].to_numpy() for name in kept}
    return pd.DataFrame(
        {"row": np.arange(len(codes)), **columns, "cluster": pd.arrays.IntegerArray(codes, ~table.kept)}
    )


def write_frame(place: Place, labels: pd.DataFrame) -> int:
    """Write the labels in the format given by the file extension; return the file size."""
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        file = Path(folder) / "labels"
        if _is_csv(place):
            labels.to_csv(file, index=False)
        else:
            labels.to_parquet(file, index=False)
        return write(place, file)


def write_parts(place: Place, parts: Iterable[Any], take_kept: Callable[[], Any] | None = None) -> tuple[int, int]:
    """Write the labels part by part, with row numbers; return the number of rows and the file size.

    ``take_kept`` returns the kept columns for the current part as an Arrow table.
    """
    import numpy as np
    import pyarrow as pa

    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        # The file is complete before the upload, so that a read error cannot leave a partial file in the object store.
        file, n_rows = Path(folder) / "labels", 0
        with _writer(place, file) as write_table:
            for clusters in parts:
                rows = pa.table({"row": np.arange(n_rows, n_rows + len(clusters))})
                if take_kept is not None:
                    kept = take_kept()
                    for name, column in zip(kept.column_names, kept.columns, strict=True):
                        rows = rows.append_column(name, column)
                write_table(rows.append_column("cluster", pa.array(clusters, type=pa.int64())))
                n_rows += len(clusters)
        return n_rows, write(place, file)


@contextmanager
def _writer(place: Place, file: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends an Arrow table to ``file``; the extension of ``place`` determines the format."""
    if _is_csv(place):
        import pandas as pd

        with file.open("w", encoding="utf-8", newline="") as text:
            # Keep Arrow types, because NumPy converts integer columns with missing values to floats.
            yield lambda table: table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
                text, index=False, header=text.tell() == 0
            )
        return
    import pyarrow.parquet as pq

    with ExitStack() as open_file:
        writer: Any = None

        def write_table(table: Any) -> None:
            nonlocal writer
            if writer is None:
                writer = open_file.enter_context(pq.ParquetWriter(file, table.schema))
            writer.write_table(table)

        yield write_table


def _is_csv(place: Place) -> bool:
    return str(place).lower().endswith(".csv")


def _with_progress(parts: Iterable[Any], n_rows: int, progress: LogProgress) -> Iterator[Any]:
    """Yield the labels, and log the number of labelled rows."""
    done = 0
    for clusters in parts:
        yield clusters
        done += len(clusters)
        progress.rows(done, n_rows)
