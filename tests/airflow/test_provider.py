"""What Airflow sees of the package before any task runs, on both majors."""

import importlib
import importlib.resources
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from airflow.providers.common.compat.sdk import task
from airflow.providers_manager import ProvidersManager
from conftest import MAJOR

from compsil_airflow import compat
from compsil_airflow.provider import get_provider_info
from compsil_kit import __version__

HEAVY = ["numpy", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "joblib"]


def python(code):
    """Run code in a fresh interpreter and return the last line that it printed."""
    return subprocess.check_output([sys.executable, "-W", "ignore", "-c", code], text=True).splitlines()[-1]


def test_airflow_finds_the_provider_the_decorator_and_the_link():
    """Airflow drops what does not match its schema."""
    assert ProvidersManager().providers["compsil-kit"].version == __version__
    assert callable(task.compsil)
    assert "compsil_airflow.lineage.ReportLink" in ProvidersManager().extra_links_class_names
    info = get_provider_info()
    schema = json.loads((importlib.resources.files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.validate(info, schema)
    (operators,) = info["operators"]
    for name in operators["python-modules"]:
        assert any(each.endswith("Operator") for each in vars(importlib.import_module(name)))


@pytest.mark.parametrize(
    "code",
    [
        "import compsil_airflow.provider",
        """
from airflow.providers.common.compat.sdk import DAG, task
from compsil_airflow import ReportLink, SelectKOperator, select_k_mapped
with DAG("d", schedule=None):
    SelectKOperator(task_id="a", data="x.csv", ks=range(2, 9), labels_path="l.csv")
    select_k_mapped("b", data="x.csv")
    @task.compsil(ks="2:9")
    def c():
        return None
    c()
""",
    ],
    ids=["the provider", "a DAG"],
)
def test_parsing_loads_nothing_heavy(code):
    assert python(f"import sys\n{code}\nprint([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_without_airflow_the_message_names_what_to_install():
    code = """
import sys, compsil_airflow
sys.modules["airflow"] = None
try:
    compsil_airflow.SelectKOperator
except ImportError as error:
    print(error)
"""
    assert "pip install apache-airflow apache-airflow-providers-common-compat" in python(code)


@pytest.mark.parametrize(
    ("given", "expected"), [(None, "/home/me/airflow"), ("~/af", "/home/me/af"), ("$COMPSIL_ROOM/af", "/room/af")]
)
def test_airflow_home(given, expected, monkeypatch):
    monkeypatch.delenv("AIRFLOW_HOME")
    for name, value in {"HOME": "/home/me", "COMPSIL_ROOM": "/room", "AIRFLOW_HOME": given}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    assert compat.airflow_home() == Path(expected)


def test_names_of_both_majors():
    assert (MAJOR >= 3) == compat.TASK_MAKES_LINKS
    assert issubclass(compat.XComArg, compat.DependencyMixin)
    assert issubclass(compat.BaseOperator, compat.DependencyMixin)
    assert all(hasattr(compat, name) for name in compat.__all__)
