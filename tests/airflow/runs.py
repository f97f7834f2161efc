"""Run a DAG of a test in this process, and read its results."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from airflow.providers.common.compat.sdk import DAG, task

from compsil_airflow import SelectKOperator

BUILDERS: dict[str, Callable[[], Any]] = {}
# Few subsamples, so that the tests are fast.
QUICK = {"columns": ["x", "y"], "ks": [2, 3, 4], "n_subsamples": 4}
RETRY = {"retries": 1, "retry_delay": timedelta(0)}
_numbers = count()


@dataclass
class Run:
    """A finished DAG run."""

    dag_run: Any

    @property
    def state(self) -> str:
        return str(self.dag_run.state)

    @property
    def ended(self) -> tuple[str, int]:
        """Return the state of the selection and the number of its attempts."""
        return str(self.task().state), self.task().try_number

    def task(self, task_id: str = "select_k", map_index: int = -1) -> Any:
        return self.dag_run.get_task_instance(task_id, map_index=map_index)

    def summary(self, task_id: str = "select_k", map_index: int = -1) -> Any:
        return self.xcom("selection", task_id, map_index)

    def xcom(self, key: str = "return_value", task_id: str = "select_k", map_index: int = -1) -> Any:
        """Return an XCom as the database stores it."""
        from airflow import settings
        from sqlalchemy import select

        try:
            from airflow.models.xcom import XComModel as Model
        except ImportError:
            from airflow.models.xcom import XCom as Model
        where = {
            "dag_id": self.dag_run.dag_id, "run_id": self.dag_run.run_id, "task_id": task_id, "key": key,
            "map_index": map_index,
        }  # fmt: skip
        with settings.Session() as session:
            value = session.scalar(select(Model.value).filter_by(**where))
        # Airflow 2 stores text, Airflow 3 values.
        return json.loads(value) if isinstance(value, bytes) else value


def run(build: Callable[[], Any]) -> Run:
    """Run a DAG; ``build`` adds its tasks.

    Airflow 3 runs only DAGs from its folder, so a file there refers to this one.
    """
    dag_id = f"dag_{next(_numbers)}"
    BUILDERS[dag_id] = build
    file = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]) / f"{dag_id}.py"
    file.write_text(f"import airflow, runs\ndag = runs.make({dag_id!r})\n")
    try:
        namespace: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), namespace)
        dag = namespace["dag"]
        if hasattr(dag, "sync_to_db"):
            # Airflow 2 registers the assets of a DAG only here.
            dag.sync_to_db()
        return Run(dag.test())
    finally:
        file.unlink()


def make(dag_id: str) -> Any:
    """Build a DAG; Airflow calls this as well when it reads the file."""
    with DAG(dag_id, schedule=None, template_searchpath=os.environ["AIRFLOW__CORE__DAGS_FOLDER"]) as dag:
        BUILDERS[dag_id]()
    return dag


def select(**settings: Any) -> Any:
    """Add a quick selection."""
    return SelectKOperator(task_id="select_k", **(QUICK | settings))


def run_select(**settings: Any) -> Run:
    """Run one SelectKOperator."""
    return run(lambda: select(**settings))


def upstream(value: Any) -> Any:
    """Add a task that returns a value."""

    @task
    def extract() -> Any:
        return value

    return extract()


@task
def double(k: int) -> int:
    return 2 * k


def cut(X: Any, k: int) -> Any:
    """Cluster along the first column."""
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))


def failing(at: int, error: BaseException) -> Any:
    """Return a clusterer that fails once, in the call with this number; ``seeds`` lists its calls."""

    def cluster(X: Any, k: int, seed: int) -> Any:
        cluster.seeds.append(seed)
        if len(cluster.seeds) == at:
            raise error
        return cut(X, k)

    cluster.seeds = []
    return cluster


def n_trials(files: Iterable[Path]) -> int:
    """Return the number of subsamples in the only checkpoint."""
    found = list(files)
    return len(json.loads(found[0].read_bytes())["trials"]) if found else 0
