"""What a task read and wrote, as OpenLineage describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from compsil_airflow.compat import lineage_classes, parse_sql_lineage
from compsil_airflow.paths import check_place
from compsil_airflow.source import hook_of


def lineage_of(source: dict[str, Any], columns: list[str], written: dict[str, dict[str, int]]) -> Any:
    """Return inputs with the columns that were used, and outputs with their sizes."""
    operator_lineage, facet = lineage_classes()
    outputs = [
        facet.OutputDataset(
            *_named(place), outputFacets={"outputStatistics": facet.OutputStatisticsOutputDatasetFacet(**counts)}
        )
        for place, counts in written.items()
    ]
    if source.get("sql") is not None:
        found = parse_sql_lineage(hook_of(source["conn_id"]), source["sql"], source["conn_id"])
        return operator_lineage(
            inputs=[] if found is None else found.inputs,
            outputs=outputs,
            run_facets={} if found is None else found.run_facets,
            job_facets={"sql": facet.SQLJobFacet(query=source["sql"])},
        )
    inputs = []
    if source.get("data") is not None:
        schema = facet.SchemaDatasetFacet(fields=[facet.SchemaDatasetFacetFields(name=name) for name in columns])
        place = check_place("data", source["data"], source.get("base_dir"))
        inputs.append(facet.Dataset(*_named(str(place)), facets={"schema": schema}))
    return operator_lineage(inputs=inputs, outputs=outputs)


def _named(place: str) -> tuple[str, str]:
    """Return namespace and name by OpenLineage's naming conventions, without the connection in a URI."""
    parts = urlsplit(place)
    if "://" not in place:
        return "file", Path(place).as_posix()
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.lstrip("/")
