"""Whatever a notebook calls its data, as one matrix to cluster and a note of what was done to get there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import sparse

from compsil_kit.data.matrix import as_matrix, to_matrix
from compsil_kit.data.table import Preparation, prepare

# Frames are scaled unless told otherwise, as df.compsil does; arrays are taken as they are, as select_k does.
AUTO = "auto"


@dataclass(frozen=True)
class Ready:
    """A matrix to cluster, and what was done to the data before; None for a sparse matrix, which is left alone."""

    matrix: Any
    preparation: Preparation | None


def is_table(data: Any) -> bool:
    """Tell whether the data has named columns: a pandas, Polars or PyArrow table, or a pandas column."""
    return isinstance(data, pd.DataFrame | pd.Series) or hasattr(data, "to_pandas")


def resolve_scale(scale: str | None, data: Any, metric: Any) -> str | None:
    """Return how the data is scaled: as told, or as suits it. Distances are what they are, also in a frame."""
    if scale != AUTO:
        return scale
    return "standard" if is_table(data) and metric != "precomputed" else None


def as_frame(data: Any) -> pd.DataFrame:
    """Return dense data as a frame; the columns of an array are its positions."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        return data.to_frame()
    if is_table(data):
        # A lazy table computes nothing before it is collected, and says so itself.
        return pd.DataFrame(data.to_pandas())
    return pd.DataFrame(to_matrix(data)[1])


def make_ready(data: Any, *, columns: Any, scale: str | None, missing: str) -> Ready:
    """Choose columns, treat missing values and scale, whatever kind of data it is."""
    if not sparse.issparse(data):
        table = prepare(as_frame(data), columns=columns, scale=scale, missing=missing)
        return Ready(table.matrix, table.preparation)
    check_sparse(columns, scale)
    return Ready(as_matrix(data), None)


def check_sparse(columns: Any, scale: str | None) -> None:
    """Refuse what cannot be done to a sparse matrix without filling it."""
    if columns is not None or scale is not None:
        raise ValueError(
            "columns and scale must be None on sparse data. Choose columns and scale before, for instance with "
            "sklearn.preprocessing.MaxAbsScaler."
        )
