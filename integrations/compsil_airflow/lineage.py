"""The link to the report in the Airflow UI, and the lineage of a task for OpenLineage."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from compsil_airflow.compat import TASK_MAKES_LINKS, BaseOperator, BaseOperatorLink, XCom, openlineage, parse_sql
from compsil_airflow.source import database_hook
from compsil_airflow.storage import is_path, resolve_place

REPORT_URL = "report_url"
FACET = "compsil_selection"


def is_web_url(url: Any) -> bool:
    """Return whether a value is a URL of a web page, rather than a script or a file."""
    parts = urlsplit(str(url).strip())
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def check_report_url(url: Any) -> None:
    """Raise unless the URL is a web page, because everyone who opens the task can see the link."""
    if url is not None and not is_web_url(url):
        raise ValueError(f"report_url must begin with http:// or https://; got {str(url)!r}.")


class ReportLink(BaseOperatorLink):
    """A link to ``report_url``; if the parameter is not set, no link is shown."""

    name = "Selection report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the URL of the report.

        Parameters
        ----------
        operator : BaseOperator
            The task's operator; on Airflow 2, its templates are not rendered here.
        ti_key : TaskInstanceKey
            The task instance.

        Returns
        -------
        str
            The URL, or an empty string.
        """
        url = operator.report_url if TASK_MAKES_LINKS else XCom.get_value(key=REPORT_URL, ti_key=ti_key)
        return str(url) if is_web_url(url) else ""


class LineageOperator(BaseOperator):
    """An operator that reports inputs, outputs and the selection to OpenLineage, if its provider is installed."""

    # The columns used, the sizes of the files written, and facts about the selection.
    _used: list[str]
    _written: dict[str, dict[str, Any]]
    _facts: dict[str, Any]

    def get_openlineage_facets_on_start(self) -> Any:
        """Return the inputs of the task as an ``OperatorLineage``."""
        return self._lineage({}, {})

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002  (OpenLineage passes it)
        """Return the inputs and outputs of the task, and the selected k.

        Parameters
        ----------
        task_instance : TaskInstance
            The task instance.

        Returns
        -------
        OperatorLineage
            Inputs, outputs and the run facet ``compsil_selection``.
        """
        return self._lineage(self._written, self._facts)

    def _lineage(self, written: dict[str, dict[str, Any]], facts: dict[str, Any]) -> Any:
        """Return inputs with the columns used, outputs with their sizes, and the facts as a run facet."""
        operator_lineage, facet = openlineage()
        outputs = [
            facet.OutputDataset(
                *dataset_name(place),
                outputFacets={"outputStatistics": facet.OutputStatisticsOutputDatasetFacet(**counts)},
            )
            for place, counts in written.items()
        ]
        run_facets = {FACET: _selection_facet(facet.RunFacet, facts)} if facts else {}
        if self.sql is not None:
            parsed = parse_sql(database_hook(self.conn_id), self.sql, self.conn_id)
            return operator_lineage(
                inputs=[] if parsed is None else parsed.inputs,
                outputs=outputs,
                run_facets=run_facets | ({} if parsed is None else parsed.run_facets),
                job_facets={"sql": facet.SQLJobFacet(query=self.sql)},
            )
        inputs = []
        if is_path(self.data):
            columns = [facet.SchemaDatasetFacetFields(name=name) for name in self._used]
            place = resolve_place("data", self.data, self.base_dir)
            facets = {"schema": facet.SchemaDatasetFacet(fields=columns)} if columns else {}
            inputs.append(facet.Dataset(*dataset_name(str(place)), facets=facets))
        return operator_lineage(inputs=inputs, outputs=outputs, run_facets=run_facets)


def _selection_facet(base: Any, facts: dict[str, Any]) -> Any:
    """Return the facts as a facet, built with attrs like OpenLineage's own facets."""
    import attr

    fields = {name: attr.field(default=None) for name in facts}
    kind = attr.make_class("CompsilSelectionRunFacet", fields, bases=(base,), slots=True)
    return kind(**facts)


def dataset_name(place: str) -> tuple[str, str]:
    """Return the namespace and name according to OpenLineage's conventions; omit the connection in a URI."""
    parts = urlsplit(place)
    if "://" not in place:
        return "file", Path(place).as_posix()
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.lstrip("/")
