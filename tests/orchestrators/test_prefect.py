"""The task in a flow, on a real Prefect server with a separate database."""

import asyncio

import pytest
from conftest import KEYWORDS, SETTINGS
from prefect import flow
from prefect.artifacts import Artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.runtime import flow_run
from prefect.testing.utilities import prefect_test_harness

import compsil_kit
from compsil_prefect import run_one, select_k


@pytest.fixture(scope="module", autouse=True)
def server():
    with prefect_test_harness(server_startup_timeout=180):
        yield


def select(data, **keywords):
    """Run a flow; return the result and the id of the run."""

    @flow
    def segments():
        return select_k(lambda: data, **keywords), flow_run.id

    return segments()


def task_runs(flow_run_id):
    async def read():
        async with get_client() as client:
            chosen = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
            return await client.read_task_runs(flow_run_filter=chosen)

    return asyncio.run(read())


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_task_equals_select_k(table, settings):
    keywords = {**KEYWORDS, **settings}
    result, _ = select(table, n_batches=3, artifact=None, **keywords)
    assert result.to_dict() == compsil_kit.select_k(table, **keywords).to_dict()
    assert result.preparation == table.preparation


def test_tasks_log_and_artifact(table, whole, caplog):
    _, flow_run_id = select(table, **KEYWORDS)
    states = [(run.name.rpartition("-")[0], str(run.state_type.value)) for run in task_runs(flow_run_id)]
    assert states.count(("compsil batch", "COMPLETED")) == 4
    assert states.count(("compsil select k", "COMPLETED")) == 1
    artifact = asyncio.run(Artifact.aget("compsil-selection"))
    assert (artifact.data, artifact.description) == (whole.explain(), "k = 3")
    assert whole.explain() in caplog.text


def test_a_failed_batch_is_retried_alone(table, fragile):
    _, flow_run_id = select(table, n_batches=3, artifact=None, clusterer=fragile, **KEYWORDS)
    counts = sorted(run.run_count for run in task_runs(flow_run_id) if "batch" in run.name)
    assert counts == [1, 1, 2]


@pytest.mark.parametrize("task", [run_one, select_k])
def test_results_of_tasks_are_not_stored(task):
    assert task.persist_result is False


def test_an_active_mlflow_run_gets_the_selection(table, mlflow_run):
    select(table, n_batches=2, artifact=None, **KEYWORDS)
    _, run = mlflow_run()
    assert run.data.metrics["best_k"] == 3
