"""compsil-kit for pandas: ``import compsil_pandas`` adds the ``df.compsil`` accessor."""

from __future__ import annotations

from compsil_pandas.accessor import CompsilAccessor, register
from compsil_pandas.calls import ColumnWarning, GroupSelection

register()

__all__ = ["ColumnWarning", "CompsilAccessor", "GroupSelection"]
