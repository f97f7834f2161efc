"""The columns of the data that go with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit._data.sources.source import Source

OWN = ("row", "cluster")


def check_keep(keep: Sequence[str] | None, data: pd.DataFrame | Source) -> None:
    """Refuse columns that are not in the data, or that have the name of a column of the labels."""
    import pandas as pd

    from compsil_kit._util.format import shorten

    if not keep:
        return
    if isinstance(data, pd.DataFrame):
        known = list(data.columns)
    elif data.has_records:
        known = [field.name for field in data.fields]
    else:
        raise ValueError(
            f"labels_keep is not supported for {data.what}. Leave it out and join the labels by the number of the row, "
            "or write the data to Parquet files first."
        )
    for name in keep:
        if list(keep).count(name) > 1:
            raise ValueError(f"labels_keep must name each column once; it has {name!r} more than once.")
    for name in keep:
        if name in OWN:
            raise ValueError(f"labels_keep must not contain {name!r}: the labels have a column of that name already.")
        if name not in known:
            raise ValueError(
                f"labels_keep: {name!r} is not a column of the data, which has {shorten(tuple(map(str, known)))}."
            )


def kept_frame(data: pd.DataFrame | Source, keep: Sequence[str]) -> pd.DataFrame:
    """Return all rows of these columns."""
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
