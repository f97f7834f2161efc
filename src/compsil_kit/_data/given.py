"""What is given as X, in the form that the engine takes: in memory, or a table outside it that is read later."""

from __future__ import annotations

from typing import Any

from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.matrix import read
from compsil_kit._data.sources.opening import open_source
from compsil_kit._data.sources.table import SourceTable, as_it_is


def as_given(X: Any) -> Dataset | SourceTable:
    """Return prepared data as they are, a large table outside memory unread, anything else read and checked."""
    if isinstance(X, SourceTable):
        return X
    source = open_source(X)
    if source is None:
        return as_dataset(X)
    table = as_it_is(source)
    return table if table.is_large else table.load()


def as_dataset(X: Any) -> Dataset:
    """Return the data in memory: a prepared table as it is, one outside memory loaded, anything else checked."""
    if isinstance(X, Dataset):
        read(X.matrix)
        return X
    if isinstance(X, SourceTable):
        return X.load()
    source = open_source(X)
    if source is not None:
        return as_it_is(source).load()
    names, matrix = read(X)
    return Dataset(matrix, None if names is None else Preparation(tuple(names)))


def in_memory(X: Any) -> Any:
    """Return a table outside memory loaded, as a frame if its columns have names; anything else as it is."""
    if isinstance(X, SourceTable):
        return X.load().matrix
    source = open_source(X)
    if source is None:
        return X
    table = as_it_is(source)
    return table.frame() if source.named else table.load().matrix
