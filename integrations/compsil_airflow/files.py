"""What a task writes beside its XCom: labels and the report, each there whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow.paths import check_place, store

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit import SelectionResult

LABEL_KINDS = (".parquet", ".csv")
REPORT_KINDS = (".html", ".htm")


def check_output(name: str, value: Any, kinds: tuple[str, ...], base_dir: Any) -> Path | Any:
    """Return where to write, or say before the work, not after it, that this is no place for such a file."""
    if value is None:
        return None
    place = check_place(name, value, base_dir)
    if not str(place).lower().endswith(kinds):
        raise ValueError(f"{name} must end in {' or '.join(kinds)}; got {str(value)!r}.")
    return place


def label_rows(
    frame: pd.DataFrame, k: int, keep: list[str] | None, preparation: dict[str, Any], settings: dict[str, Any]
) -> pd.DataFrame:
    """Return a row per row of the data: its position, the columns to keep, and its cluster (``df.compsil.cluster``).

    Rows that were dropped have no cluster, and 0 is the largest.
    """
    import numpy as np
    import pandas as pd

    from compsil_pandas import CompsilAccessor

    clusters = CompsilAccessor(frame).cluster(k, **preparation, **settings)
    kept = {name: frame[name].to_numpy() for name in keep or []}
    codes = clusters.cat.codes.to_numpy(dtype=np.int64)
    cluster = pd.arrays.IntegerArray(codes, codes < 0)
    return pd.DataFrame({"row": np.arange(len(frame)), **kept, "cluster": cluster})


def check_keep(keep: list[str] | None, frame: pd.DataFrame) -> None:
    """Refuse columns that are not there, or whose name the labels need themselves."""
    for name in keep or []:
        if name in ("row", "cluster"):
            raise ValueError(f"labels_keep: {name!r} is the name of a column that the labels have anyway.")
        if name not in frame.columns:
            raise ValueError(f"labels_keep: {name!r} is not a column of the data.")


def write_labels(place: Path | Any, labels: pd.DataFrame) -> int:
    """Write the labels in the format their name asks for; return the size of the file."""
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
