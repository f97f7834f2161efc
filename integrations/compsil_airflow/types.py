"""Types for the operator's parameters and data, used only by type checkers."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

    from compsil_airflow.compat import ObjectStoragePath, XComArg
    from compsil_kit import PreparedTable, SourceTable
    from compsil_kit.adapters import Source as OutOfCore

    # A string, which may be a template, or the output of an upstream task.
    Template: TypeAlias = str | XComArg
    Location: TypeAlias = PathLike[str] | ObjectStoragePath | Template
    # The loaded table, in memory or out of core, and the table prepared for clustering.
    Data = tuple[pd.DataFrame | OutOfCore, PreparedTable | SourceTable]
