"""Run a complete Airflow locally; tests control Airflow 3 by its REST API, and Airflow 2 by a driver process."""

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
# Prefix of the driver's answers.
MARK = "answer: "


class Airflow:
    """Base class for a running Airflow of either major version."""

    def __init__(self, home: Path, processes: Sequence[Any]) -> None:
        self.home, self.processes = home, processes

    def wait(self, dag_id: str, run_id: str) -> str:
        """Wait until a run ends, and return its state."""

        def state() -> str | None:
            (found,) = [run["state"] for run in self.runs(dag_id) if run["id"] == run_id]
            return found if found in FINAL else None

        return str(wait_for(f"the end of {dag_id}", state, pause=0.5, processes=self.processes))


class Live(Airflow):
    """A running Airflow 3."""

    def __init__(self, home: Path, processes: Sequence[Any], url: str) -> None:
        super().__init__(home, processes)
        self.url, self._headers = url, {"Content-Type": "application/json"}

    def log_in(self) -> None:
        token = json.load(_open(f"{self.url}/auth/token"))["access_token"]
        self._headers["Authorization"] = f"Bearer {token}"

    def request(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Call the REST API and return the response."""
        return json.load(_open(f"{self.url}/api/v2/{path}", method, body, self._headers))

    def of_task(self, dag_id: str, run_id: str, task_id: str, path: str = "") -> Any:
        """Return a task instance, or the resource at ``path`` below it, from the REST API."""
        return self.request(f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}{path}")

    def unpause(self, dag_id: str) -> None:
        self.request(f"dags/{dag_id}", "PATCH", {"is_paused": False})

    def trigger(self, dag_id: str) -> str:
        self.unpause(dag_id)
        return str(self.request(f"dags/{dag_id}/dagRuns", "POST", {"logical_date": None})["dag_run_id"])

    def runs(self, dag_id: str) -> list[dict[str, str]]:
        """Return the id, type and state of each run of a DAG."""
        found = self.request(f"dags/{dag_id}/dagRuns")["dag_runs"]
        return [{"id": run["dag_run_id"], "type": run["run_type"], "state": run["state"]} for run in found]

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        return self.of_task(dag_id, run_id, task_id, f"/xcomEntries/{key}?deserialize=true")["value"]


class Live2(Airflow):
    """A running Airflow 2, whose methods are the commands of the driver."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._ask(name, *arguments)

    def _ask(self, *command: str) -> Any:
        driver = self.processes[0]
        # Kill a driver that does not answer, which also ends the loop over its output.
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
        raise RuntimeError(f"the Airflow 2 driver exited during {command}")


def _open(url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    # Do not use a proxy, because the server is local.
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE)


def settings_for(home: Path, dags: Path, port: int) -> dict[str, str]:
    """Return the environment variables for an Airflow with the given home folder and port."""
    url = f"http://127.0.0.1:{port}"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only-for-tests-on-loopback-0123456789abcdef-0123456789abcdef-0123456789",
        # Detect a dead worker after 30 seconds instead of 5 minutes, but tolerate a slow worker.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "NO_PROXY": "127.0.0.1,localhost",
    }


@contextmanager
def started(home: Path, environment: dict[str, str], commands: dict[str, list[str]]) -> Iterator[list[Any]]:
    """Create Airflow's tables, load the DAGs, and run the processes until the block exits."""
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        done = subprocess.run(
            [*AIRFLOW, *command], env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with ExitStack() as stack:
        processes = []
        for name, command in commands.items():
            log = stack.enter_context((home / f"{name}.log").open("w"))
            # Airflow's processes forward SIGINT to their children, but not SIGTERM.
            processes.append(stack.enter_context(running([*AIRFLOW, *command], log, signal.SIGINT, env=environment)))
        yield processes


@contextmanager
def live_airflow2(home: Path, dags: Path, postgres_port: int, **extra: str) -> Iterator[Live2]:
    """Run the Airflow 2 scheduler and a driver until the block exits; the LocalExecutor does not support SQLite."""
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
    """Run Airflow 3 until the block exits."""
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
