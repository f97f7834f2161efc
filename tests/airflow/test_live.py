"""A whole Airflow: triggered and read back through its REST API, with a worker killed in the middle."""

import json
import os
import shutil
import signal
from importlib import resources
from pathlib import Path

import pytest
from live import live_airflow
from servers import wait_for

pytestmark = pytest.mark.airflow3
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def live(frame, tmp_path_factory):
    home = tmp_path_factory.mktemp("live")
    dags = home / "dags"
    shutil.copytree(HERE / "dags", dags)
    shutil.copytree(resources.files("compsil_airflow") / "example_dags", dags / "examples")
    frame.to_csv(home / "slow.csv", index=False)
    transport = {"type": "file", "log_file_path": str(home / "lineage.jsonl"), "append": True}
    with live_airflow(
        home, dags, COMPSIL_SLOW_DATA=str(home / "slow.csv"), COMPSIL_EXAMPLES=str(home / "examples"),
        AIRFLOW__OPENLINEAGE__TRANSPORT=json.dumps(transport),
        AIRFLOW_CONN_COMPSIL_EXAMPLE_DB=json.dumps({"conn_type": "sqlite", "host": str(home / "example.db")}),
    ) as running:  # fmt: skip
        yield running


def kept_subsamples(home):
    """How many subsamples the only checkpoint holds."""
    files = list((home / "compsil-checkpoints").rglob("*.json"))
    return len(json.loads(files[0].read_bytes())["trials"]) if files else 0


def parent_of(pid):
    """The process that watches over a task: the executor's worker."""
    status = Path(f"/proc/{pid}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


def test_a_killed_worker_costs_only_what_was_not_finished(live):
    dag, task = "slow_selection", "select_k"
    run = live.trigger(dag)
    kept = wait_for("finished subsamples", lambda: n if (n := kept_subsamples(live.home)) >= 4 else 0)
    (live.home / "go-on").touch()
    pid = live.task(dag, run, task)["pid"]
    # First the one that would report the death of the other.
    for victim in (parent_of(pid), pid):
        os.kill(victim, signal.SIGKILL)
    assert live.wait(dag, run) == "success"
    found = live.task(dag, run, task)
    assert (found["state"], found["try_number"]) == ("success", 2)
    log = live.log(dag, run, task, 2)
    begun = int(log.partition("Resuming: ")[2].partition(" of 20 subsamples")[0])
    assert kept <= begun < 20
    assert kept_subsamples(live.home) == 0
    assert live.xcom(dag, run, task) in (2, 3, 4)
    again = live.trigger(dag)
    assert live.wait(dag, again) == "success"
    assert live.task(dag, again, task)["try_number"] == 1
    assert live.xcom(dag, again, task, "selection") == live.xcom(dag, run, task, "selection")


def test_an_example_spread_over_workers(live):
    run = live.trigger("compsil_spread")
    assert live.wait("compsil_spread", run) == "success"
    assert live.xcom("compsil_spread", run, "select_k.combine") == 4


def test_an_asset_starts_its_consumer(live):
    live.ask("dags/compsil_asset_consumer", "PATCH", {"is_paused": False})
    run = live.trigger("compsil_asset_producer")
    assert live.wait("compsil_asset_producer", run) == "success"
    started = wait_for("the consumer", lambda: live.ask("dags/compsil_asset_consumer/dagRuns")["dag_runs"])
    (consumer,) = [found["dag_run_id"] for found in started]
    assert live.wait("compsil_asset_consumer", consumer) == "success"
    assert live.xcom("compsil_asset_consumer", consumer, "use") == 4


def test_openlineage_was_told(live):
    run = live.trigger("compsil_select_and_branch")
    assert live.wait("compsil_select_and_branch", run) == "success"

    def told():
        events = [json.loads(line) for line in (live.home / "lineage.jsonl").read_text().splitlines()]
        name = "compsil_select_and_branch.select_k"
        return [e for e in events if e["job"]["name"] == name and e["eventType"] == "COMPLETE"]

    (event,) = wait_for("OpenLineage", told)
    assert [place["name"] for place in event["inputs"]] == [str(live.home / "examples" / "customers.parquet")]
    assert str(live.home / "examples" / "labels.parquet") in [place["name"] for place in event["outputs"]]
