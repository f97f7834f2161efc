"""Convert notebook data (tables in memory or out of core, arrays, sparse matrices) to input for the engine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from compsil_kit import SourceTable, prepare
from compsil_kit.adapters import (
    Dataset,
    Scale,
    Source,
    check_choice,
    load_data,
    open_data,
    open_source,
    optional,
    to_matrix,
    warn_of_scale,
)
from compsil_kit.config import TableConfig, settings_of

# Tables are standardised by default, as in df.compsil; arrays are used unscaled, as in select_k.
AUTO = "auto"
_SCALE = settings_of(TableConfig)["scale"]
SCALE = replace(
    _SCALE,
    default=AUTO,
    validate=optional(partial(check_choice, "scale", allowed=(AUTO, *_SCALE.choices))),
    choices=(AUTO, *_SCALE.choices),
    doc="How to scale the columns; auto means standard for tables and none for arrays.",
)


def is_table(data: Any) -> bool:
    """Return whether the data have named columns."""
    if isinstance(data, Source):
        return data.named
    return isinstance(data, pd.DataFrame | pd.Series) or hasattr(data, "to_pandas")


def is_data(value: Any) -> bool:
    """Return whether a value can be clustered: a table, a sparse matrix or a numeric array."""
    is_array = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf"
    return is_table(value) or sparse.issparse(value) or is_array


def load_numeric(data: Any) -> Any:
    """Load the numeric columns of an out-of-core table, if they fit into memory; return other data unchanged."""
    source = open_source(data)
    if source is None:
        return data
    return SourceTable(source, tuple(at for at, field in enumerate(source.fields) if field.numeric)).frame()


def resolve_scale(scale: Scale | Literal["auto"] | None, data: Any, metric: Any) -> Scale | None:
    """Resolve ``"auto"`` according to the type of data; distances are never scaled, even in a frame."""
    if scale != "auto":
        return scale
    if metric == "precomputed":
        return None
    if is_data(data) and not is_table(data):
        warn_of_scale(data, "scale='standard' (--scale standard); or pass scale=None (--scale none)")
    return "standard" if is_table(data) else None


def as_frame(data: Any) -> pd.DataFrame:
    """Return dense data as a frame; the columns of an array are numbered."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        return data.to_frame()
    return pd.DataFrame(data.to_pandas() if is_table(data) else to_matrix(data)[1])


def column_names(data: Any) -> list[Any]:
    """Return the column names without converting the rows; an empty list for a sparse matrix."""
    if isinstance(data, Source):
        return [field.name for field in data.fields]
    return [] if sparse.issparse(data) else list(as_frame(data[:0] if hasattr(data, "shape") else data).columns)


def load_table(data: Any, table: TableConfig) -> Dataset | SourceTable:
    """Select columns, handle missing values and scale data of any supported type."""
    if sparse.issparse(data):
        validate_sparse(table.columns, table.scale)
        return load_data(data)
    if isinstance(data, Source) and not data.named and table.columns is None and table.scale is None:
        # The engine warns if unnamed columns have different scales.
        return open_data(data)
    return open_data(prepare(data if isinstance(data, Source) else as_frame(data), **vars(table)))


def validate_sparse(columns: Any, scale: str | None) -> None:
    """Raise an error if the settings would make a sparse matrix dense."""
    if columns is not None or scale is not None:
        raise ValueError(
            "columns and scale must be None for a sparse matrix. Select columns and scale them beforehand, for example "
            "with sklearn.preprocessing.MaxAbsScaler."
        )
