"""A complete Airflow on loopback with the LocalExecutor; 3 is controlled by its REST API, 2 by a driver process."""

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
from pathlib import Path
from typing import Any
from urllib.parse import quote

from servers import PATIENCE, free_port, running, wait_for

FINAL = ("success", "failed")
AIRFLOW = [sys.executable, "-m", "airflow"]
SCHEDULER = ["scheduler", "--skip-serve-logs"]
# The prefix of answers of the driver.
MARK = "answer: "


class Airflow:
    """A running Airflow of either major version."""

    def __init__(self, home: Path, processes: Sequence[Any]) -> None:
        self.home, self.processes = home, processes

    def wait(self, dag_id: str, run_id: str) -> str:
        """Wait for the end of a run and return its state."""

        def state() -> str | None:
            (found,) = [run["state"] for run in self.runs(dag_id) if run["id"] == run_id]
            return found if found in FINAL else None

        return str(wait_for(f"the end of {dag_id}", state, pause=0.5, processes=self.processes))


class Live(Airflow):
    """A running Airflow 3."""

    def __init__(self, home: Path, processes: Sequence[Any], address: str) -> None:
        super().__init__(home, processes)
        self.address, self._headers = address, {"Content-Type": "application/json"}

    def log_in(self) -> None:
        token = json.load(_open(f"{self.address}/auth/token"))["access_token"]
        self._headers["Authorization"] = f"Bearer {token}"

    def request(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Call the REST API and return its answer."""
        return json.load(_open(f"{self.address}/api/v2/{path}", method, body, self._headers))

    def of_task(self, dag_id: str, run_id: str, task_id: str, path: str = "") -> Any:
        """Return what the API has about a task instance."""
        return self.request(f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}{path}")

    def unpause(self, dag_id: str) -> None:
        self.request(f"dags/{dag_id}", "PATCH", {"is_paused": False})

    def trigger(self, dag_id: str) -> str:
        self.unpause(dag_id)
        return str(self.request(f"dags/{dag_id}/dagRuns", "POST", {"logical_date": None})["dag_run_id"])

    def runs(self, dag_id: str) -> list[dict[str, str]]:
        """Return the runs of a DAG: id, type and state."""
        found = self.request(f"dags/{dag_id}/dagRuns")["dag_runs"]
        return [{"id": run["dag_run_id"], "type": run["run_type"], "state": run["state"]} for run in found]

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        return self.of_task(dag_id, run_id, task_id, f"/xcomEntries/{key}?deserialize=true")["value"]


class Live2(Airflow):
    """A running Airflow 2: the commands of the driver are its methods."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._ask(name, *arguments)

    def _ask(self, *command: str) -> Any:
        driver = self.processes[0]
        # A driver that never answers is killed, which ends its output.
        watch = threading.Timer(PATIENCE, driver.kill)
        watch.start()
        try:
            driver.stdin.write(json.dumps(command) + "\n")
            driver.stdin.flush()
            for line in driver.stdout:
                if line.startswith(MARK):
                    return json.loads(line.removeprefix(MARK))
        finally:
            watch.cancel()
        raise RuntimeError(f"the driver of Airflow 2 ended at {command}")


def _open(url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    # Without a proxy, as the address is on this machine.
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE)


def settings_for(home: Path, dags: Path, port: int) -> dict[str, str]:
    """Return the environment of an Airflow with this home and port."""
    address = f"http://127.0.0.1:{port}"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")},
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
        # A dead worker is detected after half a minute instead of five, a slow one is not.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "NO_PROXY": "127.0.0.1,localhost",
    }


@contextmanager
def started(home: Path, environment: dict[str, str], commands: dict[str, list[str]]) -> Iterator[list[Any]]:
    """Create the tables of Airflow, load its DAGs into them, and run its processes until the end of the block."""
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        done = subprocess.run(
            [*AIRFLOW, *command], env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with ExitStack() as stack:
        processes = []
        for name, command in commands.items():
            log = stack.enter_context((home / f"{name}.log").open("w"))
            # Airflow's processes forward an interrupt to their children, but not a termination.
            processes.append(stack.enter_context(running([*AIRFLOW, *command], log, signal.SIGINT, env=environment)))
        yield processes


@contextmanager
def live_airflow2(home: Path, dags: Path, postgres_port: int, **extra: str) -> Iterator[Live2]:
    """Run Airflow 2 until the end of the block: a scheduler, whose executor needs more than SQLite, and a driver."""
    environment = settings_for(home, dags, free_port()) | extra
    environment |= {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://tester@127.0.0.1:{postgres_port}/airflow",
        "AIRFLOW__SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "300",
    }
    drive = [sys.executable, str(Path(__file__).with_name("driver2.py"))]
    with started(home, environment, {"scheduler": SCHEDULER}) as processes, (home / "driver.log").open("w") as log:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log, "text": True}
        with running(drive, log, env=environment, **pipes) as driver:
            yield Live2(home, [driver, *processes])


@contextmanager
def live_airflow(home: Path, dags: Path, **extra: str) -> Iterator[Live]:
    """Run Airflow 3 until the end of the block."""
    port = free_port()
    commands = {"api": ["api-server"], "scheduler": SCHEDULER}
    with started(home, settings_for(home, dags, port) | extra, commands) as processes:
        live = Live(home, processes, f"http://127.0.0.1:{port}")

        def healthy() -> bool:
            found = live.request("monitor/health")
            return all(found[part]["status"] == "healthy" for part in ("metadatabase", "scheduler"))

        wait_for("Airflow", healthy, pause=0.5, processes=processes)
        live.log_in()
        yield live
