"""The task in a flow, on a real server of Prefect with a database of its own."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import KEYWORDS
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.testing.utilities import prefect_test_harness

import compsil_kit
from compsil_prefect import run_one, select_k


@pytest.fixture(scope="module", autouse=True)
def server():
    with prefect_test_harness(server_startup_timeout=180):
        yield


def task_runs(flow_run_id):
    async def ask():
        async with get_client() as client:
            chosen = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
            return await client.read_task_runs(flow_run_filter=chosen)

    return asyncio.run(ask())


def test_the_task_is_the_selection_of_one_process(table, whole):
    @flow
    def segments():
        from prefect.runtime import flow_run

        return select_k(lambda: table, n_batches=3, artifact="segments", **KEYWORDS), flow_run.id

    result, flow_run_id = segments()
    assert json.dumps(result.to_dict()) == json.dumps(whole.to_dict())
    states = [(run.name.rpartition("-")[0], str(run.state_type.value)) for run in task_runs(flow_run_id)]
    assert states.count(("compsil batch", "COMPLETED")) == 3
    assert states.count(("compsil select k", "COMPLETED")) == 1

    async def artifact():
        from prefect.artifacts import Artifact

        return await Artifact.aget("segments")

    assert asyncio.run(artifact()).data == whole.explain()


@pytest.fixture
def parts(monkeypatch):
    """What a selection asks Prefect for, without a flow; the batches are run all the same."""
    asked = SimpleNamespace(batches=[], again=[], artifacts=[], said=[], logged=[])

    def spread(load, batches, again):
        asked.batches.extend(batches)
        asked.again.append(again.value)
        return SimpleNamespace(result=lambda: [run_one.fn(load.value, batch, again.value) for batch in batches])

    logger = SimpleNamespace(info=lambda text, *values: asked.said.append(text % values))
    monkeypatch.setattr("compsil_prefect.run_one", SimpleNamespace(map=spread))
    monkeypatch.setattr("compsil_prefect.get_run_logger", lambda: logger)
    monkeypatch.setattr(
        "compsil_prefect.create_markdown_artifact", lambda text, **given: asked.artifacts.append((text, given))
    )
    monkeypatch.setattr("compsil_prefect.log_if_active", asked.logged.append)
    return asked


def test_what_is_asked_of_prefect(parts, table, whole):
    found = select_k.fn(lambda: table, **KEYWORDS)
    assert (len(parts.batches), parts.again, parts.said) == (4, [{}], [whole.explain()])
    assert parts.artifacts == [(whole.explain(), {"key": "compsil-selection", "description": "k = 3"})]
    assert parts.logged == [found]
    assert found.preparation == table.preparation


def test_an_array_without_an_artifact(parts, table):
    given = {"metric": "euclidean", "clusterer": "kmeans"}
    found = select_k.fn(lambda: table.matrix, n_batches=2, artifact=None, rule="lcb", z=2.0, **given, **KEYWORDS)
    assert (len(parts.batches), parts.again, parts.artifacts) == (2, [given], [])
    assert (found.rule, found.z, found.preparation) == ("lcb", 2.0, None)


def test_names_and_what_is_kept():
    assert (run_one.name, select_k.name) == ("compsil batch", "compsil select k")
    assert (run_one.persist_result, select_k.persist_result) == (False, False)
    assert select_k.retries == 0


def test_what_batches_do_not_hold_is_passed_to_each(wide, manhattan):
    """Names of many columns, and a metric that is a function."""

    @flow
    def segments():
        return select_k(lambda: wide, n_batches=2, artifact=None, ks=[2, 3], n_subsamples=2, metric=manhattan)

    found = segments()
    assert found.preparation == wide.preparation
    expected = compsil_kit.select_k(wide, ks=[2, 3], n_subsamples=2, metric=manhattan)
    np.testing.assert_array_equal(found.micro, expected.micro)


def test_a_failed_batch_is_retried_alone(table, fragile):
    assert (run_one.retries, run_one.retry_delay_seconds) == (2, 1)

    @flow
    def segments():
        from prefect.runtime import flow_run

        keywords = {**KEYWORDS, "clusterer": fragile, "rule": "lcb"}
        return select_k(lambda: table, n_batches=3, artifact=None, **keywords).rule, flow_run.id

    rule, flow_run_id = segments()
    assert rule == "lcb"
    counts = sorted(run.run_count for run in task_runs(flow_run_id) if "batch" in run.name)
    assert counts == [1, 1, 2]


def test_an_active_run_of_mlflow_gets_it(table, mlflow_run):
    @flow
    def segments():
        select_k(lambda: table, n_batches=2, artifact=None, **KEYWORDS)

    segments()
    _, run = mlflow_run()
    assert run.data.metrics["best_k"] == 3
