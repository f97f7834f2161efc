"""What a task read and wrote, and which k it selected, as OpenLineage describes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from compsil_airflow.compat import BaseOperator, ObjectStoragePath, lineage_classes, parse_sql_lineage
from compsil_airflow.paths import check_place
from compsil_airflow.sql import hook_of

FACET = "compsil_selection"


class LineageOperator(BaseOperator):
    """An operator that tells OpenLineage, where its provider is installed, what it reads, writes and selects."""

    # Columns that were used, sizes of the files that were written, and what was selected.
    _used: list[str]
    _written: dict[str, dict[str, Any]]
    _facts: dict[str, Any]

    def get_openlineage_facets_on_start(self) -> Any:
        """Return what the task is about to read.

        Returns
        -------
        OperatorLineage
            Inputs.
        """
        return lineage_of(self._source(), [], {})

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002  (OpenLineage passes it)
        """Return what the task read and wrote, and the k it selected.

        Parameters
        ----------
        task_instance : TaskInstance
            The task instance.

        Returns
        -------
        OperatorLineage
            Inputs, outputs and the run facet ``compsil_selection``.
        """
        return lineage_of(self._source(), self._used, self._written, self._facts)

    def _source(self) -> dict[str, Any]:
        return {name: getattr(self, name, None) for name in ("data", "sql", "conn_id", "base_dir")}


def lineage_of(
    source: dict[str, Any], columns: list[str], written: dict[str, dict[str, int]], facts: dict[str, Any] | None = None
) -> Any:
    """Return inputs with the columns that were used, outputs with their sizes, and the selection as a run facet."""
    operator_lineage, facet = lineage_classes()
    outputs = [
        facet.OutputDataset(
            *_named(place), outputFacets={"outputStatistics": facet.OutputStatisticsOutputDatasetFacet(**counts)}
        )
        for place, counts in written.items()
    ]
    run_facets = {FACET: _selection_facet(facet.RunFacet, facts)} if facts else {}
    if source.get("sql") is not None:
        found = parse_sql_lineage(hook_of(source["conn_id"]), source["sql"], source["conn_id"])
        return operator_lineage(
            inputs=[] if found is None else found.inputs,
            outputs=outputs,
            run_facets=run_facets | ({} if found is None else found.run_facets),
            job_facets={"sql": facet.SQLJobFacet(query=source["sql"])},
        )
    inputs = []
    if isinstance(source.get("data"), str | os.PathLike | ObjectStoragePath):
        schema = facet.SchemaDatasetFacet(fields=[facet.SchemaDatasetFacetFields(name=name) for name in columns])
        place = check_place("data", source["data"], source.get("base_dir"))
        inputs.append(facet.Dataset(*_named(str(place)), facets={"schema": schema} if columns else {}))
    return operator_lineage(inputs=inputs, outputs=outputs, run_facets=run_facets)


def _selection_facet(base: Any, facts: dict[str, Any]) -> Any:
    """Return the facts as a facet of OpenLineage, whose classes are made with attrs."""
    import attr

    fields = {name: attr.field(default=None) for name in facts}
    kind = attr.make_class("CompsilSelectionRunFacet", fields, bases=(base,), slots=True)
    return kind(**facts)


def _named(place: str) -> tuple[str, str]:
    """Return namespace and name by OpenLineage's naming conventions, without the connection in a URI."""
    parts = urlsplit(place)
    if "://" not in place:
        return "file", Path(place).as_posix()
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.lstrip("/")
