"""A whole Airflow on loopback with the LocalExecutor: 3 driven through its REST API, 2 through a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from servers import PATIENCE, free_port, running, wait_for

FINAL = ("success", "failed")
AIRFLOW = [sys.executable, "-m", "airflow"]
# How the driver of Airflow 2 begins an answer.
MARK = "answer: "


@dataclass
class Live:
    """A running Airflow."""

    address: str
    home: Path
    processes: Sequence[Any]
    _token: str = field(default="", repr=False)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Call the REST API and return what it answers."""
        if not self._token:
            self._token = json.load(_open(f"{self.address}/auth/token"))["access_token"]
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        return json.load(_open(f"{self.address}/api/v2/{path}", method, body, headers))

    def trigger(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """Start a DAG run and return its id."""
        self.unpause(dag_id)
        run = self.ask(f"dags/{dag_id}/dagRuns", "POST", {"logical_date": None, "conf": conf or {}})
        return str(run["dag_run_id"])

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler run a DAG."""
        self.ask(f"dags/{dag_id}", "PATCH", {"is_paused": False})

    def runs(self, dag_id: str) -> list[dict[str, str]]:
        """Return the runs of a DAG: id, type and state."""
        found = self.ask(f"dags/{dag_id}/dagRuns")["dag_runs"]
        return [{"id": run["dag_run_id"], "type": run["run_type"], "state": run["state"]} for run in found]

    def wait(self, dag_id: str, run_id: str) -> str:
        """Wait for the end of a run and return its state."""

        def state() -> str | None:
            found = self.ask(f"dags/{dag_id}/dagRuns/{quote(run_id)}")["state"]
            return found if found in FINAL else None

        return str(wait_for(f"the end of {dag_id}", state, pause=0.5, processes=self.processes))

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """Return what the API says of a task instance."""
        return dict(self.ask(f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}"))

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        """Return a value that a task pushed."""
        place = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/xcomEntries/{key}?deserialize=true"
        return self.ask(place)["value"]

    def log(self, dag_id: str, run_id: str, task_id: str, attempt: int) -> str:
        """Return the log of one attempt."""
        place = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/logs/{attempt}?full_content=true"
        return json.dumps(self.ask(place))


@dataclass
class Live2:
    """A running Airflow 2, with the methods that both majors have."""

    driver: Any
    home: Path
    processes: Sequence[Any]

    def _ask(self, *command: str) -> Any:
        # One that never answers is killed, which ends its output.
        watch = threading.Timer(PATIENCE, self.driver.kill)
        watch.start()
        try:
            self.driver.stdin.write(json.dumps(command) + "\n")
            self.driver.stdin.flush()
            for line in self.driver.stdout:
                if line.startswith(MARK):
                    return json.loads(line.removeprefix(MARK))
        finally:
            watch.cancel()
        raise RuntimeError(f"the driver of Airflow 2 ended at {command}")

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler run a DAG."""
        self._ask("unpause", dag_id)

    def trigger(self, dag_id: str) -> str:
        """Start a DAG run and return its id."""
        return str(self._ask("trigger", dag_id))

    def runs(self, dag_id: str) -> list[dict[str, str]]:
        """Return the runs of a DAG: id, type and state."""
        return list(self._ask("runs", dag_id))

    def wait(self, dag_id: str, run_id: str) -> str:
        """Wait for the end of a run and return its state."""

        def state() -> str | None:
            (found,) = [run["state"] for run in self.runs(dag_id) if run["id"] == run_id]
            return found if found in FINAL else None

        return str(wait_for(f"the end of {dag_id}", state, pause=0.5, processes=self.processes))

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return what a task returned."""
        return self._ask("xcom", dag_id, run_id, task_id)


def _open(url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    # No proxy is asked for an address on this machine.
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE)


def settings_for(home: Path, dags: Path, port: int) -> dict[str, str]:
    """Return the environment of an Airflow that lives in a folder and on a port of its own."""
    address = f"http://127.0.0.1:{port}"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")},
        **{name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_CONN_")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": address,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only-for-tests-on-loopback-0123456789abcdef-0123456789abcdef-0123456789",
        # A worker that is gone is noticed in half a minute instead of five; one that is only slow is not.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def prepare_database(environment: dict[str, str]) -> None:
    """Make the tables of Airflow, and read its DAGs into them."""
    for step in (["db", "migrate"], ["dags", "reserialize"]):
        command = [*AIRFLOW, *step]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def live_airflow2(home: Path, dags: Path, postgres_port: int, **extra: str) -> Iterator[Live2]:
    """Run Airflow 2 until the end of the block: a scheduler, for whose executor SQLite is not enough, and a driver."""
    environment = settings_for(home, dags, free_port()) | extra
    environment |= {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://tester@127.0.0.1:{postgres_port}/airflow",
        "AIRFLOW__SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "300",
    }
    prepare_database(environment)
    drive = [sys.executable, str(Path(__file__).with_name("driver2.py"))]
    with ExitStack() as stack:
        logs = [stack.enter_context((home / f"{name}.log").open("w")) for name in ("scheduler", "driver")]
        schedule = [*AIRFLOW, "scheduler", "--skip-serve-logs"]
        scheduler = stack.enter_context(running(schedule, logs[0], signal.SIGINT, env=environment))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": logs[1], "text": True}
        driver = stack.enter_context(running(drive, logs[1], env=environment, **pipes))
        yield Live2(driver, home, [driver, scheduler])


@contextmanager
def live_airflow(home: Path, dags: Path, **extra: str) -> Iterator[Live]:
    """Run Airflow until the end of the block; every process is ended by its id."""
    port = free_port()
    environment = settings_for(home, dags, port) | extra
    prepare_database(environment)
    processes = []
    with ExitStack() as stack:
        for name, command in {"api": ["api-server"], "scheduler": ["scheduler", "--skip-serve-logs"]}.items():
            log = stack.enter_context((home / f"{name}.log").open("w"))
            # Airflow's parents pass an interrupt on to their children, but not a termination.
            processes.append(stack.enter_context(running([*AIRFLOW, *command], log, signal.SIGINT, env=environment)))
        live = Live(f"http://127.0.0.1:{port}", home, processes)

        def healthy() -> bool:
            found = json.load(_open(f"{live.address}/api/v2/monitor/health"))
            return all(found[part]["status"] == "healthy" for part in ("metadatabase", "scheduler"))

        wait_for("Airflow", healthy, pause=0.5, processes=processes)
        yield live
