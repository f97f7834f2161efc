"""``python -m compsil_airflow.demo``: run an example DAG in a separate Airflow home and print its XComs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from compsil_kit.adapters import percent

EXAMPLE = "compsil_select_and_branch"
FOLDER = Path("demo") / "airflow"
OUTCOME = "outcome.json"


def main() -> int:
    """Set up Airflow, run the DAG in a separate process, and print the outcome."""
    home = FOLDER.resolve()
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parent / "example_dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "COMPSIL_EXAMPLES": str(home / "data"),
    }
    log = home / "run.log"
    print(f"Running the DAG {EXAMPLE} (log: {log}) ...", flush=True)
    with log.open("w") as out:
        for arguments in (["-m", "airflow", "db", "migrate"], ["-m", "compsil_airflow.demo", "run"]):
            done = subprocess.run(
                [sys.executable, *arguments], env={**os.environ, **settings}, stdout=out, stderr=out, check=False
            )
            if done.returncode:
                print(f"Command failed: python {' '.join(arguments)}. See {log}", file=sys.stderr)
                return 1
    show(json.loads((home / OUTCOME).read_text()), settings)
    return 0


def run() -> None:
    """Run the DAG with ``dag.test()`` and save the states and XComs of its tasks."""
    from airflow.dag_processing.dagbag import DagBag

    dag = DagBag().dags[EXAMPLE]
    xcoms: list[list[Any]] = []

    def keep(context: Any) -> None:
        """Record the XComs of a successful task."""
        task, instance = context["task"], context["ti"]
        for key in ("return_value", "selection"):
            value = instance.xcom_pull(task_ids=task.task_id, key=key)
            if value is not None:
                xcoms.append([task.task_id, key, value])

    for task in dag.tasks:
        task.on_success_callback = [keep]
    done = dag.test()
    # Tasks that never started come last.
    order = sorted(done.get_task_instances(), key=lambda task: (task.start_date is None, str(task.start_date)))
    tasks = {task.task_id: str(task.state) for task in order}
    outcome = {"state": str(done.state), "tasks": tasks, "xcoms": xcoms}
    (Path(os.environ["AIRFLOW_HOME"]) / OUTCOME).write_text(json.dumps(outcome))


def show(outcome: dict[str, Any], settings: dict[str, str]) -> None:
    """Print the states of the tasks, the XComs and the files."""
    print(f"\nDAG run: {outcome['state']}\n")
    for task, state in outcome["tasks"].items():
        print(f"  {task:<18} {state}")
    print("\nXCom\n")
    for task, key, value in outcome["xcoms"]:
        if key == "selection":
            summary = value
        else:
            print(f"  {task:<18} {key:<14} {json.dumps(value)}")
    print(f"  {'select_k':<18} {'selection':<14} {len(json.dumps(summary)):,} bytes of JSON:\n")
    probability = percent(summary["probability"])
    print(f"    best_k {summary['best_k']}, score {summary['score']:.4f}, selection probability {probability}")
    for row in summary["curve"]:
        mark = "*" if row["k"] == summary["best_k"] else " "
        print(f"    {mark} k = {row['k']:<3} score {row['score']:.4f} ± {row['sem']:.4f}")
    print("\nFiles\n")
    for path in summary["files"]:
        print(f"  {path}")
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    print(f"\nTo see the run in the Airflow UI: {words} {Path(sys.executable).parent / 'airflow'} standalone")


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        run()
    else:
        raise SystemExit(main())
