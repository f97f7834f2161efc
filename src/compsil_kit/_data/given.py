"""Open X, in any of the forms that a caller may pass, for the engine."""

from __future__ import annotations

from typing import Any

from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.matrix import validate_matrix
from compsil_kit._data.sources.source import open_source
from compsil_kit._data.sources.table import SourceTable, select_all


def open_data(X: Any, *, min_rows: int = 2) -> Dataset | SourceTable:
    """Return X as a validated matrix; a large out-of-core table is opened, but not read.

    Parameters
    ----------
    X : array, sparse matrix, table or prepared table
        The data, as :func:`compsil_kit.select_k` takes them.
    min_rows : int, default=2
        Smallest valid number of rows.
    """
    if isinstance(X, SourceTable):
        return X
    if isinstance(X, Dataset):
        validate_matrix(X.matrix, min_rows=min_rows)
        return X
    source = open_source(X)
    if source is not None:
        table = select_all(source)
        return table if table.is_large else table.load()
    names, matrix = validate_matrix(X, min_rows=min_rows)
    return Dataset(matrix, None if names is None else Preparation(tuple(names)), prepared=False)


def load_data(X: Any, *, min_rows: int = 2) -> Dataset:
    """Return X as a validated matrix in memory; an out-of-core table is loaded.

    Parameters
    ----------
    X : array, sparse matrix, table or prepared table
        The data, as :func:`compsil_kit.select_k` takes them.
    min_rows : int, default=2
        Smallest valid number of rows.
    """
    table = open_data(X, min_rows=min_rows)
    return table.load() if isinstance(table, SourceTable) else table
