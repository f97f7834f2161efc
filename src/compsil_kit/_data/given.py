"""Open X, in any of the forms that a caller may pass, for the engine."""

from __future__ import annotations

from typing import Any

from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.matrix import read
from compsil_kit._data.sources.opening import open_source
from compsil_kit._data.sources.table import SourceTable, as_it_is


def open_data(X: Any) -> Dataset | SourceTable:
    """Return X as a validated matrix; a large out-of-core table is opened, but not read.

    Parameters
    ----------
    X : array, sparse matrix, table or prepared table
        The data, as :func:`compsil_kit.select_k` takes them.
    """
    if isinstance(X, SourceTable):
        return X
    source = open_source(X)
    if source is None:
        return load_data(X)
    table = as_it_is(source)
    return table if table.is_large else table.load()


def load_data(X: Any) -> Dataset:
    """Return X as a validated matrix in memory; an out-of-core table is loaded.

    Parameters
    ----------
    X : array, sparse matrix, table or prepared table
        The data, as :func:`compsil_kit.select_k` takes them.
    """
    if isinstance(X, Dataset):
        read(X.matrix)
        return X
    if isinstance(X, SourceTable):
        return X.load()
    source = open_source(X)
    if source is not None:
        return as_it_is(source).load()
    names, matrix = read(X)
    return Dataset(matrix, None if names is None else Preparation(tuple(names)), prepared=False)


def in_memory(X: Any) -> Any:
    """Return an out-of-core table loaded, as a frame if its columns have names; anything else as it is."""
    if isinstance(X, SourceTable):
        return X.load().matrix
    source = open_source(X)
    if source is None:
        return X
    table = as_it_is(source)
    return table.frame() if source.named else table.load().matrix
