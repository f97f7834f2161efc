"""What Airflow sees of the package before any task runs."""

import importlib
import json
import subprocess
import sys
from importlib.metadata import metadata

import pytest
from airflow.providers.common.compat.sdk import task
from airflow.providers_manager import ProvidersManager

from compsil_airflow.provider import get_provider_info
from compsil_kit import __version__

HEAVY = ["numpy", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "joblib"]


def test_airflow_lists_it():
    done = subprocess.run(
        [sys.executable, "-m", "airflow", "providers", "list", "--output", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = json.loads(done.stdout[done.stdout.index("[{") :])
    (ours,) = [provider for provider in listed if provider["package_name"] == "compsil-kit"]
    assert ours["version"] == __version__


def test_decorator_and_link_are_registered():
    assert callable(task.compsil)
    assert "compsil_airflow.lineage.ReportLink" in ProvidersManager().extra_links_class_names


def test_airflow_accepts_what_it_says():
    """Airflow validates provider info and drops what it does not understand."""
    import importlib.resources

    import jsonschema

    schema = json.loads((importlib.resources.files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def test_it_follows_the_conventions():
    info = get_provider_info()
    assert info["versions"] == [__version__]
    (integration,) = info["integrations"]
    (operators,) = info["operators"]
    assert operators["integration-name"] == integration["integration-name"]
    modules = [importlib.import_module(name) for name in operators["python-modules"]]
    assert [any(name.endswith("Operator") for name in vars(module)) for module in modules] == [True, True]
    classifiers = metadata("compsil-kit").get_all("Classifier")
    assert {"Framework :: Apache Airflow", "Framework :: Apache Airflow :: Provider"} <= set(classifiers)


@pytest.mark.parametrize(
    "code",
    [
        "import compsil_airflow",
        "from compsil_airflow import SelectKOperator, select_k_mapped, ReportLink; import compsil_airflow.decorator",
        "import compsil_airflow.provider",
    ],
)
def test_importing_loads_nothing_heavy(code):
    code = f"import sys; {code}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_building_a_dag_loads_nothing_heavy():
    code = f"""
import sys
from airflow.providers.common.compat.sdk import DAG, task
from compsil_airflow import SelectKOperator, select_k_mapped
with DAG("d", schedule=None):
    SelectKOperator(task_id="a", data="x.csv", ks=range(2, 9), labels_path="l.csv")
    select_k_mapped("b", data="x.csv")
    @task.compsil(ks="2:9")
    def c():
        return None
    c()
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_without_airflow_the_message_says_what_to_install():
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "airflow":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
import compsil_airflow
try:
    compsil_airflow.SelectKOperator
except ImportError as error:
    assert "pip install apache-airflow apache-airflow-providers-common-compat" in str(error), error
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
