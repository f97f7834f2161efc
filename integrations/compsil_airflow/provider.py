"""Metadata that Airflow reads from an installed provider: its name, operators, decorator and links."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

INTEGRATION = "Composite Silhouette"


def get_provider_info() -> dict[str, Any]:
    """Return the provider metadata; ``package-name`` must match the name of the distribution."""
    return {
        "package-name": "compsil-kit",
        "name": "compsil-kit",
        "description": "How many clusters? Composite Silhouette as a pipeline step.",
        "versions": [version("compsil-kit")],
        "integrations": [{"integration-name": INTEGRATION, "tags": ["software"]}],
        "operators": [
            {
                "integration-name": INTEGRATION,
                "python-modules": ["compsil_airflow.operator", "compsil_airflow.mapped"],
            }
        ],
        "task-decorators": [{"name": "compsil", "class-name": "compsil_airflow.decorator.compsil_task"}],
        "extra-links": ["compsil_airflow.lineage.ReportLink"],
    }
