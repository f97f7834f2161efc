"""Every example DAG runs, and finds what is in its data."""

import json
import os
from importlib import resources

import pytest
from runs import Run

pytestmark = pytest.mark.airflow3

# Four kinds of customers were put into the data.
TRUE_K = 4


@pytest.fixture(scope="module")
def examples(home):
    """Airflow reads DAGs from one folder; the package's own is linked into it."""
    from airflow.dag_processing.dagbag import DagBag

    link = home / "dags" / "examples"
    link.symlink_to(resources.files("compsil_airflow") / "example_dags")
    connection = {"conn_type": "sqlite", "host": str(home / "example.db")}
    os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"] = json.dumps(connection)
    bag = DagBag(dag_folder=str(home / "dags"))
    assert bag.import_errors == {}
    yield bag.dags
    link.unlink()
    del os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"]


def test_all_are_tested(examples):
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_compsil")}
    assert {"compsil_asset_consumer", "compsil_asset_producer"} <= set(examples)
    assert {name for name in examples if "asset" not in name} | {"compsil_assets"} == tested


def test_compsil_select_and_branch(examples, home):
    done = Run(examples["compsil_select_and_branch"].test())
    assert done.state == "success"
    assert done.xcom() == TRUE_K
    assert done.xcom(task_id="count_clusters") == [700, 450, 90, 60]
    assert str(done.task("plan_campaigns").state) == "success"
    assert str(done.task("ask_an_analyst").state) == "skipped"
    assert (home / "examples" / "report.html").exists()


def test_compsil_regions(examples):
    done = Run(examples["compsil_regions"].test())
    assert done.state == "success"
    assert done.xcom(task_id="collect") == [TRUE_K, TRUE_K]
    assert [done.task("select_k", at).rendered_map_index for at in (0, 1)] == ["north.csv", "south.csv"]


def test_compsil_spread(examples):
    done = Run(examples["compsil_spread"].test())
    assert done.state == "success"
    assert done.xcom(task_id="select_k.combine") == TRUE_K
    assert done.xcom(task_id="use") == "4 clusters"


def test_compsil_sql(examples):
    done = Run(examples["compsil_sql"].test(run_conf={"region": "south"}))
    assert done.state == "success"
    assert done.xcom() == TRUE_K


def test_compsil_assets(examples):
    produced = Run(examples["compsil_asset_producer"].test())
    assert produced.xcom() == TRUE_K
    consumed = Run(examples["compsil_asset_consumer"].test())
    assert consumed.state == "success"
    assert consumed.xcom(task_id="use") == TRUE_K
