"""A whole Airflow 3 on loopback: api-server, scheduler and LocalExecutor, driven through its REST API."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from servers import PATIENCE, free_port, running, wait_for

FINAL = ("success", "failed")


@dataclass
class Live:
    """A running Airflow."""

    address: str
    home: Path
    _token: str = field(default="", repr=False)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Call the REST API and return what it answers."""
        if not self._token:
            self._token = json.load(_open(f"{self.address}/auth/token"))["access_token"]
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        return json.load(_open(f"{self.address}/api/v2/{path}", method, body, headers))

    def trigger(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """Start a DAG run and return its id."""
        self.ask(f"dags/{dag_id}", "PATCH", {"is_paused": False})
        run = self.ask(f"dags/{dag_id}/dagRuns", "POST", {"logical_date": None, "conf": conf or {}})
        return str(run["dag_run_id"])

    def wait(self, dag_id: str, run_id: str) -> str:
        """Wait for the end of a run and return its state."""

        def state() -> str | None:
            found = self.ask(f"dags/{dag_id}/dagRuns/{quote(run_id)}")["state"]
            return found if found in FINAL else None

        return str(wait_for(f"the end of {dag_id}", state, pause=0.5))

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


@contextmanager
def live_airflow(home: Path, dags: Path, **extra: str) -> Iterator[Live]:
    """Run Airflow until the end of the block; every process is ended by its id."""
    port = free_port()
    environment = settings_for(home, dags, port) | extra
    airflow = [sys.executable, "-m", "airflow"]
    for step in (["db", "migrate"], ["dags", "reserialize"]):
        done = subprocess.run([*airflow, *step], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    with ExitStack() as stack:
        for name, command in {"api": ["api-server"], "scheduler": ["scheduler", "--skip-serve-logs"]}.items():
            log = stack.enter_context((home / f"{name}.log").open("w"))
            # Airflow's parents pass an interrupt on to their children, but not a termination.
            stack.enter_context(running([*airflow, *command], log, signal.SIGINT, env=environment))
        live = Live(f"http://127.0.0.1:{port}", home)

        def healthy() -> bool:
            found = json.load(_open(f"{live.address}/api/v2/monitor/health"))
            return all(found[part]["status"] == "healthy" for part in ("metadatabase", "scheduler"))

        wait_for("Airflow", healthy, pause=0.5)
        yield live
