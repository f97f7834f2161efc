"""The code in the guide, run as it stands."""

import re
import runpy
from pathlib import Path

import dagster as dg
import mlflow
import pytest
from prefect.testing.utilities import prefect_test_harness

from compsil_airflow.example_dags.customers import make_customers

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "orchestrators.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path):
    """Run the block that imports a module, with a temporary folder for /data."""
    make_customers(size=0.5).to_parquet(tmp_path / "customers.parquet")

    def run(name):
        (block,) = [block for block in BLOCKS if f"from {name} import" in block]
        (tmp_path / "block.py").write_text(block.replace("/data", str(tmp_path)))
        return runpy.run_path(str(tmp_path / "block.py"))

    return run


def test_dagster(run):
    found = run("compsil_dagster")
    done = dg.materialize([found["segments"], found["announcement"]])
    assert done.output_for_node("announcement") == "4 segments"
    assert found["defs"].resolve_asset_graph().get_all_asset_keys()


def test_prefect(run):
    with prefect_test_harness(server_startup_timeout=180):
        assert run("compsil_prefect")["segments"]() == 4


def test_mlflow(run, tmp_path):
    mlflow.set_tracking_uri(tmp_path.as_uri() + "/mlruns")
    run("compsil_mlflow")
    (found,) = mlflow.MlflowClient().search_runs(["0"])
    assert found.data.metrics["best_k"] == 4
