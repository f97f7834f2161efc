"""The data of a notebook (frames, arrays, sparse matrices, other tables and those outside memory) for the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from compsil_kit import prepare
from compsil_kit._data.dataset import Dataset
from compsil_kit._data.given import as_dataset, as_given
from compsil_kit._data.matrix import to_matrix
from compsil_kit._data.scaling import check_scale
from compsil_kit._data.sources.opening import open_source
from compsil_kit._data.sources.parquet import ENDINGS
from compsil_kit._data.sources.source import Source
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._run.request import warn_of_scale
from compsil_kit._settings.keywords import TableKeywords, keywords_of
from compsil_kit._settings.rules import choice, optional

# Tables are standardised unless told otherwise, as df.compsil does; arrays are taken as they are, as select_k does.
AUTO = "auto"
_SCALE = keywords_of(TableKeywords)["scale"]
SCALE = replace(
    _SCALE,
    default=AUTO,
    check=optional(choice("scale", (AUTO, *_SCALE.choices))),
    choices=(AUTO, *_SCALE.choices),
    doc="How to scale the columns; auto is standard for tables and none for arrays.",
)


def is_table(data: Any) -> bool:
    """Tell whether the data has named columns: a pandas, Polars or PyArrow table, a pandas column, or one outside."""
    if isinstance(data, Source):
        return data.named
    return isinstance(data, pd.DataFrame | pd.Series) or hasattr(data, "to_pandas")


def is_data(value: Any) -> bool:
    """Tell whether a value can be clustered by its kind: a table, a sparse matrix or a numeric array."""
    is_array = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf"
    return is_table(value) or sparse.issparse(value) or is_array


def opened(data: Any) -> Any:
    """Return a table outside memory as what reads it, anything else as it is."""
    return open_source(data) or data


def loaded(data: Any) -> Any:
    """Return a table outside memory as a frame of its numeric columns, if it fits; anything else as it is."""
    source = open_source(data)
    if source is None:
        return data
    return SourceTable(source, tuple(at for at, field in enumerate(source.fields) if field.numeric)).frame()


def names_parquet(text: str) -> bool:
    """Tell whether a text that is no expression names Parquet data."""
    return text.rstrip("/").lower().endswith(ENDINGS) or "://" in text or Path(text).is_dir()


def resolve_scale(scale: str | None, data: Any, metric: Any) -> str | None:
    """Return how the data is scaled: as given, or by the kind of data. Distances are not scaled, even in a frame."""
    if scale != AUTO:
        return check_scale(scale)
    if metric == "precomputed":
        return None
    if is_data(data) and not is_table(data):
        warn_of_scale(data, "scale='standard' (--scale standard); or pass scale=None (--scale none)")
    return "standard" if is_table(data) else None


def as_frame(data: Any) -> pd.DataFrame:
    """Return dense data as a frame; the columns of an array are its positions."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        return data.to_frame()
    if is_table(data):
        return pd.DataFrame(data.to_pandas())
    return pd.DataFrame(to_matrix(data)[1])


def column_names(data: Any) -> list[Any]:
    """Return the names of the columns without converting the rows; a sparse matrix has none."""
    if isinstance(data, Source):
        return [field.name for field in data.fields]
    return [] if sparse.issparse(data) else list(as_frame(data[:0] if hasattr(data, "shape") else data).columns)


def make_ready(data: Any, *, columns: Any, scale: str | None, missing: str) -> Dataset | SourceTable:
    """Choose columns, treat missing values and scale, whatever kind of data it is."""
    if isinstance(data, Source):
        # Columns without names that are taken as they are get the engine's look at their scales.
        plain = not data.named and columns is None and scale is None
        return as_given(data) if plain else prepare(data, columns=columns, scale=scale, missing=missing)
    if not sparse.issparse(data):
        return prepare(as_frame(data), columns=columns, scale=scale, missing=missing)
    check_sparse(columns, scale)
    return as_dataset(data)


def check_sparse(columns: Any, scale: str | None) -> None:
    """Refuse what cannot be done to a sparse matrix without making it dense."""
    if columns is not None or scale is not None:
        raise ValueError(
            "columns and scale must be None for a sparse matrix. Select columns and scale them beforehand, for example "
            "with sklearn.preprocessing.MaxAbsScaler."
        )
