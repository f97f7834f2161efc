"""The columns of the data that go with the labels: looked for before the work, read when the labels are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit.data.sources.source import Source

OWN = ("row", "cluster")


def check_keep(keep: Sequence[str] | None, data: pd.DataFrame | Source) -> None:
    """Refuse columns that are not in the data, or that have the name of a column of the labels."""
    import pandas as pd

    if not keep:
        return
    if isinstance(data, pd.DataFrame):
        known = set(data.columns)
    elif data.has_records:
        known = {field.name for field in data.fields}
    else:
        raise ValueError(
            f"labels_keep cannot be used with {data.what}. Leave it out: the labels have the number of each row, by "
            "which they can be joined; or write the data to Parquet files first."
        )
    if len(set(keep)) < len(keep):
        raise ValueError("labels_keep must name each column once.")
    for name in keep:
        if name in OWN:
            raise ValueError(f"labels_keep must not contain {name!r}: the labels have a column of that name already.")
        if name not in known:
            raise ValueError(f"labels_keep: {name!r} is not a column of the data.")


def kept_rows(source: Source, keep: Sequence[str]) -> Callable[[int], Any]:
    """Return a function that gives so many more rows of these columns as an Arrow table, in the order of the source."""
    import pyarrow as pa

    names = [field.name for field in source.fields]
    batches = source.records([names.index(name) for name in keep])
    waiting: list[Any] = []

    def take(n_rows: int) -> Any:
        nonlocal waiting
        while sum(len(part) for part in waiting) < n_rows and (batch := next(batches, None)) is not None:
            waiting.append(pa.Table.from_batches([batch]).rename_columns(list(keep)))
        found = pa.concat_tables(waiting)
        waiting = [found.slice(n_rows)]
        return found.slice(0, n_rows)

    return take


def kept_frame(data: pd.DataFrame | Source, keep: Sequence[str]) -> pd.DataFrame:
    """Return all rows of these columns."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data[list(keep)]
    frame: pd.DataFrame = kept_rows(data, keep)(data.n_rows).to_pandas() if keep else pd.DataFrame()
    return frame
