"""One command from nothing to a DAG run and its XComs."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from servers import PATIENCE

from compsil_airflow import demo

SUMMARY = {
    "best_k": 3, "score": 0.5, "probability": 0.71, "files": ["/data/labels.parquet", "/data/report.html"],
    "curve": [{"k": 2, "score": 0.25, "sem": 0.125}, {"k": 3, "score": 0.5, "sem": 0.0625}],
}  # fmt: skip
OUTCOME = {
    "state": "success", "tasks": {"extract": "success", "select_k": "failed"},
    "xcoms": [["extract", "return_value", "/a.csv"], ["select_k", "selection", SUMMARY]],
}  # fmt: skip


@pytest.mark.airflow3
def test_the_demo_prints_the_run_and_its_xcoms(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-m", "compsil_airflow.demo"],
        cwd=tmp_path, env=kept, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "DAG run: success" in done.stdout
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["select_k", "success"] in words
    assert ["ask_an_analyst", "skipped"] in words
    assert ["select_k", "return_value", "4"] in words
    assert "best_k 4, score " in done.stdout
    assert "* k = 4 " in done.stdout
    assert str(tmp_path / "demo" / "airflow" / "data" / "report.html") in done.stdout


def test_it_leaves_the_metadata_database_alone():
    text = inspect.getsource(demo)
    assert not any(word in text for word in ("sqlalchemy", "Session", "XComModel"))


def test_what_it_prints(capsys):
    demo.show(OUTCOME, {"A": "1", "B": "2"})
    assert capsys.readouterr().out.split("\n") == [
        "", "DAG run: success", "", "  extract            success", "  select_k           failed", "", "XCom", "",
        '  extract            return_value   "/a.csv"',
        f"  select_k           selection      {len(json.dumps(SUMMARY))} bytes of JSON:", "",
        "    best_k 3, score 0.5000, selection probability 71 %",
        "      k = 2   score 0.2500 ± 0.1250",
        "    * k = 3   score 0.5000 ± 0.0625", "", "Files", "", "  /data/labels.parquet", "  /data/report.html", "",
        f"To see the run in the Airflow UI: A=1 B=2 {Path(sys.executable).parent}/airflow standalone", "",
    ]  # fmt: skip


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """The commands that were run, none of them for real; ``codes`` are what they end with."""
    seen = SimpleNamespace(codes=[0, 0], arguments=[], settings=[])

    def run(command, *, env, stdout, stderr, check):
        assert (command[0], stdout, check) == (sys.executable, stderr, False)
        stdout.write("said")
        (Path(env["AIRFLOW_HOME"]) / "outcome.json").write_text(json.dumps(OUTCOME))
        seen.arguments.append(command[1:])
        seen.settings.append(
            {name: value for name, value in env.items() if name not in os.environ or "AIRFLOW" in name}
        )
        return SimpleNamespace(returncode=seen.codes[len(seen.arguments) - 1])

    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("AIRFLOW", "COMPSIL"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("subprocess.run", run)
    return seen


def test_the_commands_have_a_home_of_their_own(commands, tmp_path, capsys):
    # A second time, too: what is there stays.
    for _ in range(2):
        commands.arguments.clear()
        assert demo.main() == 0
    home = tmp_path / "demo" / "airflow"
    assert commands.arguments == [["-m", "airflow", "db", "migrate"], ["-m", "compsil_airflow.demo", "run"]]
    assert commands.settings[0] == {
        "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__DAGS_FOLDER": str(Path(demo.__file__).parent / "example_dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "COMPSIL_EXAMPLES": str(home / "data"),
    }  # fmt: skip
    assert (home / "run.log").read_text() == "saidsaid"
    assert "DAG run: success" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("codes", "said"), [([1, 0], "-m airflow db migrate"), ([0, 2], "-m compsil_airflow.demo run")]
)
def test_a_command_that_fails_is_the_last(commands, codes, said, capsys):
    commands.codes = codes
    assert demo.main() == 1
    assert len(commands.arguments) == codes.index(max(codes)) + 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"Command failed: python {said}. See ")
    assert "DAG run" not in printed.out


def test_what_a_run_leaves(tmp_path, monkeypatch):
    """States in the order in which tasks began, those that never did at the end, and what succeeded tasks pushed."""
    pushed = {("one", "return_value"): 0, ("one", "selection"): {"best_k": 3}, ("two", "selection"): None}
    tasks = [SimpleNamespace(task_id=name, state=state, start_date=began) for name, state, began in (
        ("never", "skipped", None), ("two", "success", 2), ("one", "success", 1),
    )]  # fmt: skip

    def test():
        for task in tasks[1:]:
            instance = SimpleNamespace(xcom_pull=lambda task_ids, key: pushed.get((task_ids, key)))
            (keep,) = task.on_success_callback
            keep({"task": task, "ti": instance})
        return SimpleNamespace(state="success", get_task_instances=lambda: tasks)

    bag = ModuleType("dagbag")
    bag.DagBag = lambda: SimpleNamespace(dags={"compsil_select_and_branch": SimpleNamespace(tasks=tasks, test=test)})
    monkeypatch.setitem(sys.modules, "airflow.dag_processing.dagbag", bag)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    demo.run()
    found = json.loads((tmp_path / "outcome.json").read_text())
    assert found["state"] == "success"
    assert list(found["tasks"].items()) == [("one", "success"), ("two", "success"), ("never", "skipped")]
    assert found["xcoms"] == [["one", "return_value", 0], ["one", "selection", {"best_k": 3}]]
