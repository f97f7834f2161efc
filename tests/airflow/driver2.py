"""Control Airflow 2: read commands as JSON lines from standard input, and write answers to standard output.

The script uses Airflow's models directly, because the REST API would need a web server with users.
"""

import json
import sys
from typing import Any

from airflow.api.common.trigger_dag import trigger_dag
from airflow.models import DagModel, DagRun
from airflow.models.xcom import XCom
from airflow.utils.session import create_session

MARK = "answer: "


def unpause(dag_id: str) -> None:
    DagModel.get_dagmodel(dag_id).set_is_paused(False)


def trigger(dag_id: str) -> str:
    unpause(dag_id)
    return str(trigger_dag(dag_id).run_id)


def runs(dag_id: str) -> list[dict[str, str]]:
    return [
        {"id": run.run_id, "type": str(run.run_type), "state": str(run.state)} for run in DagRun.find(dag_id=dag_id)
    ]


def xcom(dag_id: str, run_id: str, task_id: str) -> Any:
    with create_session() as session:
        return XCom.get_one(key="return_value", dag_id=dag_id, run_id=run_id, task_id=task_id, session=session)


def main() -> None:
    """Run commands until standard input ends."""
    commands = {command.__name__: command for command in (unpause, trigger, runs, xcom)}
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        # Airflow also prints to standard output, so answers start with a prefix.
        print(f"\n{MARK}{json.dumps(commands[name](*arguments))}", flush=True)


if __name__ == "__main__":
    main()
