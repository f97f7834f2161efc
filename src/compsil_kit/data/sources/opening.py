"""Tell a table outside memory by its type, without importing the library that it comes from."""

from __future__ import annotations

from os import PathLike
from typing import Any

from compsil_kit.data.sources.source import Source


def open_source(X: Any) -> Source | None:
    """Return X as a source if it is one; None for what is in memory."""
    if isinstance(X, Source):
        return X
    if isinstance(X, str | PathLike):
        from compsil_kit.data.sources.parquet import open_parquet

        return open_parquet(X)
    homes = [(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__]
    if any(home == "pyarrow" and name in ("Dataset", "FileSystemDataset", "UnionDataset") for home, name in homes):
        from compsil_kit.data.sources.arrow import ArrowSource

        return ArrowSource(X)
    return None
