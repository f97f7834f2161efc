"""Every example DAG can be read on both majors; test_live.py runs them all, these are looked at more closely."""

import json
import os
import sqlite3
import sys
from importlib import import_module, resources
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from every_dag import CONSUMERS, EXPECTED, TRUE_K, texts
from runs import Run


@pytest.fixture(scope="module")
def examples(home):
    """Airflow reads DAGs from one folder; the package's own is linked into it."""
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:
        from airflow.models import DagBag
    link = home / "dags" / "examples"
    link.symlink_to(resources.files("compsil_airflow") / "example_dags")
    connection = {"conn_type": "sqlite", "host": str(home / "example.db")}
    os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"] = json.dumps(connection)
    bag = DagBag(dag_folder=str(home / "dags"))
    assert bag.import_errors == {}
    yield bag.dags
    link.unlink()
    del os.environ["AIRFLOW_CONN_COMPSIL_EXAMPLE_DB"]


def test_all_can_be_read_and_are_run(examples, tmp_path):
    guide = {name for name in texts(tmp_path, 3) if name.startswith("guide_")}
    assert len(guide) == 4
    assert set(examples) == {name for name in {**EXPECTED, **CONSUMERS} if name.startswith("compsil_")}


@pytest.mark.airflow3
def test_a_branch_on_k(examples, home):
    done = Run(examples["compsil_select_and_branch"].test())
    assert done.state == "success"
    assert done.xcom() == TRUE_K
    assert str(done.task("plan_campaigns").state) == "success"
    assert str(done.task("ask_an_analyst").state) == "skipped"
    assert (home / "examples" / "report.html").exists()


@pytest.mark.airflow3
def test_partitions_have_names(examples):
    done = Run(examples["compsil_regions"].test())
    assert done.state == "success"
    assert [done.task("select_k", at).rendered_map_index for at in (0, 1)] == ["north.csv", "south.csv"]


def test_resources_with_and_without_kubernetes(monkeypatch):
    """The client is no dependency; its models are plain records."""
    resources_of = import_module("compsil_airflow.example_dags.compsil_resources").resources
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    assert resources_of(2, "4Gi") == {}
    client = ModuleType("kubernetes.client")
    names = ("V1Pod", "V1PodSpec", "V1Container", "V1ResourceRequirements")
    client.models = SimpleNamespace(**dict.fromkeys(names, lambda **fields: SimpleNamespace(**fields)))
    monkeypatch.setitem(sys.modules, "kubernetes", ModuleType("kubernetes"))
    monkeypatch.setitem(sys.modules, "kubernetes.client", client)
    (container,) = resources_of(2, "4Gi")["pod_override"].spec.containers
    assert container.name == "base"
    assert container.resources.requests == container.resources.limits == {"cpu": "2", "memory": "4Gi"}


def test_customers_are_the_same_every_time():
    make = import_module("compsil_airflow.example_dags.customers").make_customers
    frame = make()
    pd.testing.assert_frame_equal(frame, make(seed=7, size=1.0))
    assert list(frame) == ["customer_id", "basket", "visits", "returned", "region"]
    assert sorted(frame["customer_id"]) == list(range(1000, 2300))
    assert set(frame["region"]) == {"north", "south"}
    assert len(make(size=0.5)) == 350 + 225 + 45 + 30
    assert not make(seed=8)["basket"].equals(frame["basket"])
    kinds = np.repeat([0, 1, 2, 3], [700, 450, 90, 60])
    centres = frame[["basket", "visits", "returned"]].groupby(kinds).mean().to_numpy()
    expected = [[35, 3, 0.05], [60, 12, 0.08], [210, 6, 0.02], [90, 4, 0.55]]
    np.testing.assert_allclose(centres, expected, rtol=0.1, atol=0.01)
    spread = np.log(frame[["basket", "visits"]]).groupby(kinds).std().to_numpy()
    np.testing.assert_allclose(spread, 0.12, rtol=0.3)
    np.testing.assert_allclose(frame["returned"].groupby(kinds).std(), 0.02, rtol=0.3)


def test_customers_are_written_as_their_name_says(tmp_path, monkeypatch):
    customers = import_module("compsil_airflow.example_dags.customers")
    monkeypatch.setattr(customers, "FOLDER", tmp_path)
    small = customers.make_customers().head(3)
    for _ in range(2):
        assert customers.write_customers("a/b/c.csv", small) == str(tmp_path / "a" / "b" / "c.csv")
    assert (tmp_path / "a" / "b" / "c.csv").read_text().startswith("customer_id,basket,")
    assert len(pd.read_csv(tmp_path / "a" / "b" / "c.csv")) == 3
    written = pd.read_parquet(customers.write_customers("all.parquet"))
    pd.testing.assert_frame_equal(written, customers.make_customers())
    assert list(pd.read_parquet(customers.write_customers("some.parquet", small.iloc[[2, 1]])).index) == [0, 1]


@pytest.fixture
def call(examples):
    """The function of a task, by itself."""
    return lambda dag_id, task_id, *given: examples[dag_id].get_task(task_id).python_callable(*given)


def test_what_the_examples_do_with_k(call):
    branch = "compsil_select_and_branch"
    assert [call(branch, "how_many", k) for k in (3, 4)] == ["ask_an_analyst", "plan_campaigns"]
    assert call(branch, "plan_campaigns", 4) == "one campaign for each of 4 segments"
    assert call(branch, "ask_an_analyst", 3) == "only 3 segments: see the report"
    sure = [call("compsil_probability", "sure", {"probability": value}) for value in (None, 0.79, 0.8)]
    assert sure == ["repeat", "repeat", "use"]
    assert call("compsil_probability", "use", 4) == "4 segments"
    assert call("compsil_regions", "collect", iter([2, 3])) == [2, 3]
    assert call("compsil_spread", "use", 4) == "4 clusters"
    segments = import_module("compsil_airflow.example_dags.compsil_assets").SEGMENTS
    events = [SimpleNamespace(extra={"best_k": k}) for k in (2, 3, "4")]
    assert call("compsil_asset_consumer", "use", {segments: events}) == 4


def test_labels_are_counted(call, home):
    path = home / "examples" / "labels.parquet"
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame({"cluster": pd.array([1, 0, 0, 2, 0, 1], dtype="Int64")}).to_parquet(path)
    sizes = call("compsil_select_and_branch", "count_clusters", 3)
    assert (sizes, {type(size) for size in sizes}) == ([3, 2, 1], {int})
    with pytest.raises(AssertionError):
        call("compsil_select_and_branch", "count_clusters", 4)


def test_partitions_are_the_regions(call, home):
    paths = call("compsil_regions", "partition")
    assert paths == [str(home / "examples" / "regions" / f"{name}.csv") for name in ("north", "south")]
    parts = [pd.read_csv(path) for path in paths]
    assert sum(map(len, parts)) == 2600
    assert all(list(part) == ["customer_id", "basket", "visits", "returned"] for part in parts)


def test_the_database_is_filled_anew(call, home):
    assert [call("compsil_sql", "fill") for _ in range(2)] == [1300, 1300]
    with sqlite3.connect(home / "example.db") as database:
        stored = pd.read_sql("SELECT * FROM customers ORDER BY customer_id", database)
    made = import_module("compsil_airflow.example_dags.customers").make_customers()
    expected = made.sort_values("customer_id", ignore_index=True)
    pd.testing.assert_frame_equal(stored, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("dag_id", "task_id", "settings"),
    [
        ("compsil_select_and_branch", "select_k", {"ks": "2:8", "labels_keep": ["customer_id"], "retries": 2}),
        ("compsil_probability", "select_k", {"ks": "2:7", "n_subsamples": 20}),
        ("compsil_resources", "select_k", {"n_subsamples": 20, "n_jobs": 2, "checkpoint": None, "retries": 2}),
        ("compsil_sql", "select_k",
         {"ks": "2:7", "n_subsamples": 20, "min_probability": 0.5, "fallback_k": 3, "conn_id": "compsil_example_db"}),
        ("compsil_asset_producer", "select_k", {"ks": "2:7", "n_subsamples": 15}),
        ("compsil_regions", "select_k", {"ks": [2, 3, 4, 5, 6], "n_subsamples": 15}),
        ("compsil_spread", "select_k.combine", {"retries": 2, "ks": "2:8", "n_subsamples": 24}),
        ("compsil_spread", "select_k.plan", {"retries": 2, "n_batches": 4}),
    ],
)  # fmt: skip
def test_settings_of_the_examples(examples, dag_id, task_id, settings):
    found = examples[dag_id].get_task(task_id)
    given = found.partial_kwargs if dag_id == "compsil_regions" else vars(found)
    assert {name: given[name] for name in settings} == settings
    assert set(examples[dag_id].tags) == {"compsil", "example"}
    if "columns" in given and dag_id != "compsil_sql":
        assert given["columns"] == ["basket", "visits", "returned"]
