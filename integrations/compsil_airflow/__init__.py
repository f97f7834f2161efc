"""compsil-kit for Airflow: select the number of clusters in a task, with ``SelectKOperator`` or ``@task.compsil``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_airflow.lineage import ReportLink
    from compsil_airflow.mapped import select_k_mapped
    from compsil_airflow.operator import SelectKOperator

# Public names are loaded on first use, because Airflow imports ``compsil_airflow.provider`` while it reads its
# configuration, and Airflow itself cannot be imported until it has finished.
_MODULES = {"ReportLink": "lineage", "SelectKOperator": "operator", "select_k_mapped": "mapped"}

__all__ = ["ReportLink", "SelectKOperator", "select_k_mapped"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module 'compsil_airflow' has no attribute {name!r}")
    return getattr(importlib.import_module(f"compsil_airflow.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names, including names that are not loaded yet."""
    return sorted([*globals(), *__all__])
