"""Import Airflow's names from their location in the installed major version; no other module imports Airflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

try:
    # This module of Airflow provides the same names on 2.11 and 3.x.
    from airflow.providers.common.compat.sdk import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
        Asset,
        BaseHook,
        BaseOperator,
        BaseOperatorLink,
        Context,
        DecoratedOperator,
        ObjectStoragePath,
        TaskGroup,
        XCom,
        XComArg,
        context_merge,
        determine_kwargs,
        task_decorator_factory,
    )
except ImportError as error:
    raise ImportError(
        "compsil_airflow needs Airflow 2.11 or later with its common-compat provider. "
        "Install them with: pip install apache-airflow apache-airflow-providers-common-compat"
    ) from error

# Airflow 3 creates links at the end of the task; Airflow 2 creates them in the web server, where templates are not
# rendered.
TASK_MAKES_LINKS = hasattr(BaseOperatorLink, "xcom_key")

# The base class of all objects that support >>; its location depends on the major version. The Airflow mock used to
# build the documentation does not have this class.
DependencyMixin: Any = next((kind for kind in XComArg.__mro__ if kind.__name__ == "DependencyMixin"), object)

__all__ = [
    "TASK_MAKES_LINKS", "AirflowException", "AirflowFailException", "AirflowSkipException", "Asset", "BaseHook",
    "BaseOperator", "BaseOperatorLink", "Context", "DecoratedOperator", "DependencyMixin", "ObjectStoragePath",
    "TaskGroup", "XCom", "XComArg", "airflow_home", "context_merge", "determine_kwargs", "openlineage", "parse_sql",
    "task_decorator_factory",
]  # fmt: skip


def airflow_home() -> Path:
    """Return Airflow's home folder; both major versions use the same rule."""
    return Path(os.path.expandvars(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()


def openlineage() -> tuple[Any, Any]:
    """Return OpenLineage's class for operator lineage, and the module with its facet classes."""
    from airflow.providers.common.compat.openlineage import facet
    from airflow.providers.openlineage.extractors import OperatorLineage

    return OperatorLineage, facet


def parse_sql(hook: Any, sql: str, conn_id: str) -> Any:
    """Return the lineage of a query, or None if the hook does not provide database information."""
    from airflow.providers.openlineage.sqlparser import SQLParser

    connection = hook.get_connection(conn_id)
    database = hook.get_openlineage_database_info(connection)
    if database is None:
        return None
    parser = SQLParser(
        dialect=hook.get_openlineage_database_dialect(connection),
        default_schema=hook.get_openlineage_default_schema(),
    )
    return parser.generate_openlineage_metadata_from_sql(
        sql=sql, hook=hook, database_info=database, use_connection=False
    )
