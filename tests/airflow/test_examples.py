"""Test parts of the example DAGs that the runs in test_live.py do not cover."""

import os
import sqlite3
import sys
from importlib import import_module, resources
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from every_dag import CONSUMERS, EXPECTED, TRUE_K, dag_files
from runs import Run

from compsil_airflow.example_dags.customers import make_customers, write_customers


@pytest.fixture(scope="module")
def examples(home):
    """The example DAGs, linked into the DAGs folder, because Airflow reads only that folder."""
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:
        from airflow.models import DagBag
    link = home / "dags" / "examples"
    link.symlink_to(resources.files("compsil_airflow") / "example_dags")
    os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"] = f'{{"conn_type": "sqlite", "host": "{home}/example.db"}}'
    bag = DagBag(dag_folder=str(home / "dags"))
    assert bag.import_errors == {}
    yield bag.dags
    link.unlink()
    del os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"]


@pytest.fixture
def call(examples):
    """Return a function that calls the Python function of a task."""
    return lambda dag_id, task_id, *given: examples[dag_id].get_task(task_id).python_callable(*given)


def test_every_dag_is_parsed_and_covered_by_the_live_tests(examples, tmp_path):
    assert len([name for name in dag_files(tmp_path, 3) if name.startswith("guide_")]) == 4
    assert set(examples) == {name for name in {**EXPECTED, **CONSUMERS} if name.startswith("compsil_")}


@pytest.mark.airflow3
def test_the_example_branches_on_k(examples, home):
    done = Run(examples["compsil_select_and_branch"].test())
    assert done.xcom() == TRUE_K
    assert str(done.task("plan_campaigns").state) == "success"
    assert str(done.task("ask_an_analyst").state) == "skipped"
    assert (home / "examples" / "report.html").exists()


@pytest.mark.airflow3
def test_mapped_tasks_are_named_after_their_partitions(examples, home):
    done = Run(examples["compsil_regions"].test())
    assert [done.task("select_k", at).rendered_map_index for at in (0, 1)] == ["north.csv", "south.csv"]
    parts = [pd.read_csv(home / "examples" / "regions" / f"{name}.csv") for name in ("north", "south")]
    assert sum(map(len, parts)) == 2600


def test_example_tasks_branch_on_their_input(call, examples):
    branch = "compsil_select_and_branch"
    assert [call(branch, "how_many", k) for k in (3, 4)] == ["ask_an_analyst", "plan_campaigns"]
    assert call(branch, "ask_an_analyst", 3) == "only 3 segments: see the report"
    sure = [call("compsil_probability", "sure", {"probability": value}) for value in (None, 0.79, 0.8)]
    assert sure == ["repeat", "repeat", "use"]
    assert call("compsil_probability", "repeat") == "draw more subsamples"
    segments = import_module("compsil_airflow.example_dags.compsil_assets").SEGMENTS
    assert examples["compsil_asset_producer"].get_task("select_k").outlets == [segments]
    events = [SimpleNamespace(extra={"best_k": k}) for k in (2, 3, "4")]
    assert call("compsil_asset_consumer", "use", {segments: events}) == 4


def test_filling_the_database_again_replaces_the_rows(call, home):
    assert [call("compsil_sql", "fill") for _ in range(2)] == [1300, 1300]
    with sqlite3.connect(home / "example.db") as database:
        stored = pd.read_sql("SELECT * FROM customers ORDER BY customer_id", database)
    expected = make_customers().sort_values("customer_id", ignore_index=True)
    pd.testing.assert_frame_equal(stored, expected, rtol=1e-4)


def test_resources_are_requested_only_with_the_kubernetes_client(monkeypatch):
    resources_of = import_module("compsil_airflow.example_dags.compsil_resources").resources
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    assert resources_of(2, "4Gi") == {}
    names = ("V1Pod", "V1PodSpec", "V1Container", "V1ResourceRequirements")
    models = SimpleNamespace(**dict.fromkeys(names, SimpleNamespace))
    monkeypatch.setitem(sys.modules, "kubernetes", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "kubernetes.client", SimpleNamespace(models=models))
    (container,) = resources_of(2, "4Gi")["pod_override"].spec.containers
    assert container.name == "base"
    assert container.resources.requests == container.resources.limits == {"cpu": "2", "memory": "4Gi"}


def test_customers_are_reproducible():
    frame = make_customers()
    pd.testing.assert_frame_equal(frame, make_customers(seed=7, size=1.0))
    assert not make_customers(seed=8)["basket"].equals(frame["basket"])
    assert len(make_customers(size=0.5)) == 350 + 225 + 45 + 30
    assert sorted(frame["customer_id"]) == list(range(1000, 2300))
    kinds = np.repeat([0, 1, 2, 3], [700, 450, 90, 60])
    centres = frame[["basket", "visits", "returned"]].groupby(kinds).mean().to_numpy()
    expected = [[35, 3, 0.05], [60, 12, 0.08], [210, 6, 0.02], [90, 4, 0.55]]
    np.testing.assert_allclose(centres, expected, rtol=0.1, atol=0.01)


def test_the_file_extension_determines_the_format(tmp_path, monkeypatch):
    monkeypatch.setattr("compsil_airflow.example_dags.customers.FOLDER", tmp_path)
    small = make_customers().iloc[[2, 1]]
    assert write_customers("a/b/c.csv", small) == str(tmp_path / "a" / "b" / "c.csv")
    assert len(pd.read_csv(tmp_path / "a" / "b" / "c.csv")) == 2
    assert len(pd.read_parquet(write_customers("all.parquet"))) == 1300
    assert list(pd.read_parquet(write_customers("some.parquet", small)).index) == [0, 1]
