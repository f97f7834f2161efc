"""Every example DAG can be read on both majors; test_live.py runs them all, these are looked at more closely."""

import json
import os
import sys
from importlib import import_module, resources
from types import ModuleType, SimpleNamespace

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
