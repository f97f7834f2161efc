"""What OpenLineage is told, where its provider is installed."""

import json
import sqlite3
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from runs import run_select

from compsil_airflow import SelectKOperator
from compsil_airflow.compat import openlineage
from compsil_airflow.lineage import dataset_name, lineage_of

pytestmark = pytest.mark.airflow3


@pytest.fixture
def told(monkeypatch):
    """Lineage as OpenLineage's own extractor gets it from the operator at the end of its task."""
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


def test_files_that_were_read_and_written(told, csv, tmp_path):
    labels, report = tmp_path / "l.parquet", tmp_path / "r.html"
    run_select(data="{{ params.path }}", params={"path": str(csv)}, labels_path=str(labels), report_path=str(report))
    (lineage,) = told
    (source,) = lineage.inputs
    assert (source.namespace, source.name) == ("file", str(csv))
    assert [field.name for field in source.facets["schema"].fields] == ["x", "y"]
    assert [(made.namespace, made.name) for made in lineage.outputs] == [("file", str(labels)), ("file", str(report))]
    statistics = lineage.outputs[0].outputFacets["outputStatistics"]
    assert (statistics.rowCount, statistics.size) == (300, labels.stat().st_size)


def test_the_selection_is_a_run_facet(told, csv):
    run_select(data=str(csv))
    (lineage,) = told
    facet = lineage.run_facets["compsil_selection"]
    assert (facet.best_k, facet.selected_k, facet.outcome, facet.fell_back) == (3, 3, "accepted", False)
    assert 0.0 <= facet.probability <= 1.0


def test_inputs_are_told_at_the_start(csv, postgres_conn_id):
    (source,) = SelectKOperator(task_id="t", data=str(csv)).get_openlineage_facets_on_start().inputs
    assert (source.namespace, source.name) == ("file", str(csv))
    query = SelectKOperator(task_id="t", sql="SELECT x FROM points", conn_id=postgres_conn_id)
    (source,) = query.get_openlineage_facets_on_start().inputs
    assert source.name == "postgres.public.points"
    # A mistake is told by the task itself, later.
    assert SelectKOperator(task_id="t", data=5).get_openlineage_facets_on_start().inputs == []


def test_a_query(told, postgres_conn_id):
    sql = "SELECT x, y FROM points ORDER BY id"
    run_select(sql=sql, conn_id=postgres_conn_id)
    (lineage,) = told
    (source,) = lineage.inputs
    assert source.namespace.startswith("postgres://127.0.0.1:")
    assert source.name == "postgres.public.points"
    assert lineage.job_facets["sql"].query == sql


def test_a_query_through_a_hook_that_does_not_say_where(told, frame, tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "shop.db") as database:
        frame.to_sql("points", database, index=False)
    connection = {"conn_type": "sqlite", "host": str(tmp_path / "shop.db")}
    monkeypatch.setenv("AIRFLOW_CONN_COMPSIL_TEST_LINEAGE", json.dumps(connection))
    run_select(sql="SELECT x, y FROM points", conn_id="compsil_test_lineage")
    (lineage,) = told
    assert lineage.job_facets["sql"].query == "SELECT x, y FROM points"


def test_a_function_has_no_place(told, frame):
    run_select(python_callable=lambda: frame)
    (lineage,) = told
    assert lineage.inputs == lineage.outputs == []


def test_what_is_told_of_given_facts(tmp_path, monkeypatch):
    place = {"data": "a.csv", "base_dir": str(tmp_path)}
    (tmp_path / "a.csv").touch()
    found = lineage_of(place, ["x"], {"s3://conn@bucket/l.csv": {"rowCount": 3, "size": 5}}, {"best_k": 3})
    assert [(each.namespace, each.name) for each in found.inputs] == [("file", str(tmp_path / "a.csv"))]
    assert [field.name for field in found.inputs[0].facets["schema"].fields] == ["x"]
    (made,) = found.outputs
    assert (made.namespace, made.name) == ("s3://bucket", "l.csv")
    assert made.outputFacets["outputStatistics"].rowCount == 3
    assert found.run_facets["compsil_selection"].best_k == 3
    assert isinstance(found.run_facets["compsil_selection"], openlineage()[1].RunFacet)
    early = lineage_of(place, [], {})
    assert (early.inputs[0].facets, early.outputs, early.run_facets) == ({}, [], {})
    # Of a query, what the parser finds comes beside the selection.
    parsed = SimpleNamespace(inputs=["points"], run_facets={"parser": 1})
    monkeypatch.setattr("compsil_airflow.lineage.database_hook", lambda conn_id: f"hook of {conn_id}")
    for answer, inputs, facets in ((parsed, ["points"], {"parser"}), (None, [], set())):
        ask = Mock(return_value=answer)
        monkeypatch.setattr("compsil_airflow.lineage.parse_sql", ask)
        found = lineage_of({"sql": "SELECT 1", "conn_id": "shop"}, ["x"], {}, {"best_k": 3})
        ask.assert_called_once_with("hook of shop", "SELECT 1", "shop")
        assert found.job_facets["sql"].query == "SELECT 1"
        assert (found.inputs, set(found.run_facets)) == (inputs, facets | {"compsil_selection"})


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("s3://my_connection@bucket/a/b.parquet", ("s3://bucket", "a/b.parquet")),
        ("gs://bucket/b.csv", ("gs://bucket", "b.csv")),
        ("/a/b.csv", ("file", "/a/b.csv")),
    ],
)
def test_names_are_those_of_the_convention(place, name):
    assert dataset_name(place) == name
