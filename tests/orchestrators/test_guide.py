"""The code in the guide, run as it stands."""

import re
import runpy
from pathlib import Path

import dagster as dg
import mlflow
import numpy as np
import pandas as pd
import pytest
from prefect.testing.utilities import prefect_test_harness

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "orchestrators.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path):
    """Run the block that imports a module, with a temporary folder for /data."""
    rng = np.random.default_rng(7)
    sizes = [400, 250, 90]
    means = {"basket": [35, 60, 210], "visits": [3, 12, 6], "returned": [0.1, 0.5, 0.9]}
    columns = {name: np.repeat(at, sizes) * rng.lognormal(0, 0.05, sum(sizes)) for name, at in means.items()}
    pd.DataFrame(columns).to_parquet(tmp_path / "customers.parquet")

    def run(name):
        (block,) = [block for block in BLOCKS if f"from {name} import" in block]
        (tmp_path / "block.py").write_text(block.replace("/data", str(tmp_path)))
        return runpy.run_path(str(tmp_path / "block.py"))

    return run


def test_dagster(run):
    found = run("compsil_dagster")
    done = dg.materialize([found["segments"], found["announcement"]])
    assert done.output_for_node("announcement") == "3 segments"
    assert found["defs"].resolve_asset_graph().get_all_asset_keys()


def test_prefect(run):
    with prefect_test_harness(server_startup_timeout=180):
        assert run("compsil_prefect")["segments"]() == 3


def test_mlflow(run, tmp_path):
    mlflow.set_tracking_uri(tmp_path.as_uri() + "/mlruns")
    run("compsil_mlflow")
    (found,) = mlflow.MlflowClient().search_runs(["0"])
    assert found.data.metrics["best_k"] == 3
