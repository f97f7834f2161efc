"""The DAGs in the guide, run as they stand."""

import re
from pathlib import Path

import pytest
from runs import Run

from compsil_airflow.example_dags.customers import make_customers

pytestmark = pytest.mark.airflow3
TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "airflow.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
TASKS = {"segments": "select_k", "decorated": "segments", "spread": "select_k.combine", "producer": "select_k"}


@pytest.fixture
def bag(home, tmp_path):
    """The DAGs of the guide; its folder /data is one of our own."""
    from airflow.dag_processing.dagbag import DagBag

    make_customers().to_parquet(tmp_path / "customers.parquet")
    files = [home / "dags" / f"guide_{at}.py" for at in range(len(BLOCKS))]
    for file, block in zip(files, BLOCKS, strict=True):
        file.write_text(block.replace('"/data', f'"{tmp_path}'))
    yield DagBag(dag_folder=str(home / "dags"))
    for file in files:
        file.unlink()


def test_every_dag_of_the_guide_runs(bag):
    assert bag.import_errors == {}
    assert set(bag.dags) == {*TASKS, "consumer"}
    for dag_id, task_id in TASKS.items():
        done = Run(bag.dags[dag_id].test())
        assert (dag_id, done.state) == (dag_id, "success")
        assert done.xcom(task_id=task_id) == 4
    assert Run(bag.dags["consumer"].test()).xcom(task_id="use") == 4
