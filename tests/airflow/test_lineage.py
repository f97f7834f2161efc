"""The link to the report, and the lineage that OpenLineage gets if its provider is installed."""

import pytest
from runs import run_select

from compsil_airflow import ReportLink, SelectKOperator
from compsil_airflow.lineage import check_report_url, dataset_name


@pytest.mark.parametrize("url", ["", "r.html", "file:///r.html", "https:r.html", "//a"])
def test_only_web_pages_are_linked(url):
    check_report_url(" https://a.example/r.html\n")
    with pytest.raises(ValueError, match=r"^report_url must begin with http:// or https://; got "):
        check_report_url(url)


@pytest.mark.parametrize("url", [None, "https://reports.example/{{ dag.dag_id }}.html"])
def test_the_link_leads_to_the_report(csv, url):
    done = run_select(data=str(csv), report_url=url)
    expected = f"https://reports.example/{done.dag_run.dag_id}.html" if url else ""
    assert (done.xcom("report_url") or "") == expected
    (link,) = SelectKOperator(task_id="t").operator_extra_links
    assert (type(link), link.name) == (ReportLink, "Selection report")
    if hasattr(link, "xcom_key"):
        assert (done.xcom(link.xcom_key) or "") == expected
    else:
        operator = SelectKOperator(task_id="select_k", report_url="{{ not rendered }}")
        assert link.get_link(operator, ti_key=done.task().key) == expected


@pytest.fixture
def lineage(monkeypatch):
    """Lineage as OpenLineage's extractor gets it from the operator at the end of its task."""
    from airflow.providers.common.compat.sdk import TaskInstanceState
    from airflow.providers.openlineage.extractors.manager import ExtractorManager

    found = []
    execute = SelectKOperator.execute

    def record(self, context):
        k = execute(self, context)
        state = TaskInstanceState.SUCCESS
        found.append(ExtractorManager().extract_metadata(context["dag_run"], self, state, context["ti"]))
        return k

    monkeypatch.setattr(SelectKOperator, "execute", record)
    return found


@pytest.mark.airflow3
class TestOpenLineage:
    def test_files_and_the_selection(self, lineage, csv, tmp_path):
        labels, report = tmp_path / "l.parquet", tmp_path / "r.html"
        params = {"path": str(csv)}
        run_select(data="{{ params.path }}", params=params, labels_path=str(labels), report_path=str(report))
        (found,) = lineage
        (source,) = found.inputs
        assert (source.namespace, source.name) == ("file", str(csv))
        assert [field.name for field in source.facets["schema"].fields] == ["x", "y"]
        assert [(each.namespace, each.name) for each in found.outputs] == [("file", str(labels)), ("file", str(report))]
        statistics = found.outputs[0].outputFacets["outputStatistics"]
        assert (statistics.rowCount, statistics.size) == (300, labels.stat().st_size)
        facet = found.run_facets["compsil_selection"]
        assert (facet.best_k, facet.selected_k, facet.outcome, facet.fell_back) == (3, 3, "accepted", False)

    def test_inputs_at_the_start(self, csv):
        operator = SelectKOperator(task_id="t", data=csv.name, base_dir=str(csv.parent))
        start = operator.get_openlineage_facets_on_start()
        (source,) = start.inputs
        assert (source.namespace, source.name, source.facets) == ("file", str(csv), {})
        assert (start.outputs, start.run_facets) == ([], {})
        # The task itself raises for a mistake, later.
        assert SelectKOperator(task_id="t", data=5).get_openlineage_facets_on_start().inputs == []

    def test_a_query(self, lineage, postgres_conn_id):
        sql = "SELECT x, y FROM points ORDER BY id"
        run_select(sql=sql, conn_id=postgres_conn_id)
        (found,) = lineage
        (source,) = found.inputs
        assert source.namespace.startswith("postgres://127.0.0.1:")
        assert source.name == "postgres.public.points"
        assert found.job_facets["sql"].query == sql
        assert found.run_facets["compsil_selection"].best_k == 3

    def test_a_query_through_a_hook_without_lineage(self, lineage, sqlite_conn_id):
        run_select(sql="SELECT x, y FROM points", conn_id=sqlite_conn_id)
        (found,) = lineage
        assert (found.inputs, found.job_facets["sql"].query) == ([], "SELECT x, y FROM points")

    def test_a_function_has_no_inputs(self, lineage, frame):
        run_select(python_callable=lambda: frame)
        assert lineage[0].inputs == lineage[0].outputs == []


@pytest.mark.parametrize(
    ("place", "name"),
    [("s3://my_connection@bucket/a/b.parquet", ("s3://bucket", "a/b.parquet")), ("/a/b.csv", ("file", "/a/b.csv"))],
)
def test_names_follow_the_conventions_of_openlineage(place, name):
    assert dataset_name(place) == name
