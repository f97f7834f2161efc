"""A complete Airflow: every DAG in it, triggered by hand and by schedule, and a killed worker."""

import json
import os
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import MAJOR
from every_dag import CONSUMERS, EXPECTED, lay_out
from live import live_airflow, live_airflow2
from runs import n_trials
from servers import make_database, postgres, wait_for

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def live(frame, tmp_path_factory):
    """One Airflow with all DAGs; on 2 its database is a PostgreSQL."""
    home = tmp_path_factory.mktemp("live")
    dags = home / "dags"
    shutil.copytree(HERE / "dags", dags)
    lay_out(dags, home, MAJOR)
    frame.to_csv(home / "slow.csv", index=False)
    transport = {"type": "file", "log_file_path": str(home / "lineage.jsonl"), "append": True}
    extra = {
        "COMPSIL_SLOW_DATA": str(home / "slow.csv"),
        "COMPSIL_EXAMPLES": str(home / "examples"),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW_CONN_COMPSIL_EXAMPLE_DB": json.dumps({"conn_type": "sqlite", "host": str(home / "example.db")}),
    }
    with ExitStack() as stack:
        if MAJOR >= 3:
            yield stack.enter_context(live_airflow(home, dags, **extra))
        else:
            port = stack.enter_context(postgres())
            make_database(port, "airflow")
            yield stack.enter_context(live_airflow2(home, dags, port, **extra))


def finished(live, found, expected):
    """Wait for runs, by DAG, and compare their return values."""
    ends = {dag: live.wait(dag, run) for dag, run in found.items()}
    assert ends == dict.fromkeys(found, "success")
    for dag, run in found.items():
        task, value = expected[dag]
        assert (dag, live.xcom(dag, run, task)) == (dag, value)


def started(live, dag, kind):
    """Wait for a run of a DAG that the scheduler starts, and return its id."""
    return wait_for(f"a run of {dag}", lambda: next((r["id"] for r in live.runs(dag) if r["type"] == kind), None))


def test_every_dag_runs_when_triggered_by_hand(live):
    """Without a logical date, which dags test always sets."""
    for dag in CONSUMERS:
        live.unpause(dag)
    finished(live, {dag: live.trigger(dag) for dag in EXPECTED}, EXPECTED)
    # The events of their producers started one run each; another one is triggered.
    kind = "asset_triggered" if MAJOR >= 3 else "dataset_triggered"
    finished(live, {dag: started(live, dag, kind) for dag in CONSUMERS}, CONSUMERS)
    finished(live, {dag: live.trigger(dag) for dag in CONSUMERS}, CONSUMERS)


def test_every_dag_runs_by_schedule(live):
    expected = {f"scheduled_{dag}": found for dag, found in EXPECTED.items()}
    for dag in expected:
        live.unpause(dag)
    finished(live, {dag: started(live, dag, "scheduled") for dag in expected}, expected)


def parent_of(pid):
    """Return the process that supervises a task: the executor's worker."""
    status = Path(f"/proc/{pid}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


@pytest.mark.airflow3
def test_a_killed_worker_loses_only_unfinished_subsamples(live):
    dag, task = "slow_selection", "select_k"
    run = live.trigger(dag)
    checkpoints = live.home / "compsil-checkpoints"
    kept = wait_for("finished subsamples", lambda: n if (n := n_trials(checkpoints.rglob("*.json"))) >= 4 else 0)
    (live.home / "go-on").touch()
    pid = live.of_task(dag, run, task)["pid"]
    # First the process that would report the death of the other.
    for victim in (parent_of(pid), pid):
        os.kill(victim, signal.SIGKILL)
    assert live.wait(dag, run) == "success"
    found = live.of_task(dag, run, task)
    assert (found["state"], found["try_number"]) == ("success", 2)
    log = json.dumps(live.of_task(dag, run, task, "/logs/2?full_content=true"))
    begun = int(log.partition("Resuming: ")[2].partition(" of 20 subsamples")[0])
    assert kept <= begun < 20
    assert n_trials(checkpoints.rglob("*.json")) == 0
    assert live.xcom(dag, run, task) in (2, 3, 4)
    again = live.trigger(dag)
    assert live.wait(dag, again) == "success"
    assert live.of_task(dag, again, task)["try_number"] == 1
    assert live.xcom(dag, again, task, "selection") == live.xcom(dag, run, task, "selection")


@pytest.mark.airflow3
def test_openlineage_gets_events(live):
    run = live.trigger("compsil_select_and_branch")
    assert live.wait("compsil_select_and_branch", run) == "success"

    def events_of(kind):
        events = [json.loads(line) for line in (live.home / "lineage.jsonl").read_text().splitlines()]
        name = "compsil_select_and_branch.select_k"
        return [e for e in events if e["job"]["name"] == name and e["eventType"] == kind]

    source = str(live.home / "examples" / "customers.parquet")
    event = wait_for("OpenLineage", lambda: events_of("COMPLETE"))[-1]
    assert [place["name"] for place in event["inputs"]] == [source]
    assert str(live.home / "examples" / "labels.parquet") in [place["name"] for place in event["outputs"]]
    assert event["run"]["facets"]["compsil_selection"]["best_k"] == 4
    assert [place["name"] for place in events_of("START")[-1]["inputs"]] == [source]
