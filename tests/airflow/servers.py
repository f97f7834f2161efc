"""Local servers for the tests; each server is stopped by its process id."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

# Timeout in seconds, long enough for a busy machine.
PATIENCE = 600.0
# These ports are outside the system's ephemeral range; another program could take an ephemeral port before the server
# binds it.
PORTS = range(20_000, 30_000)


def free_port() -> int:
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no free port among 100 random ports between {PORTS.start} and {PORTS.stop}")


def answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True


def wait_for(what: str, ready: Callable[[], Any], pause: float = 0.2, processes: Sequence[Any] = ()) -> Any:
    """Call ``ready`` until it returns a true value; raise if a process exits, or after a timeout.

    OSErrors are ignored, because a server that is still starting refuses connections.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        # Check the processes first, because another program may use the port of a failed server.
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"{what}: {process.args} exited with {process.returncode}")
        try:
            if found := ready():
                return found
        except OSError:
            pass
        time.sleep(pause)
    raise TimeoutError(f"{what}: not ready after {PATIENCE:.0f} seconds")


@contextmanager
def running(command: Sequence[str], log: IO[str], stop: int = signal.SIGTERM, **settings: Any) -> Iterator[Any]:
    """Run a program until the block exits, then stop its process group."""
    settings = {"stdout": log, "stderr": subprocess.STDOUT, **settings}
    with subprocess.Popen(command, start_new_session=True, **settings) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(stop)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE / 10)
            # Always kill the group, because a program that has exited may have left child processes.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


# PostgreSQL cannot run as root; Debian's packages create a user for it.
_NOT_ROOT = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's server programs, which Debian does not add to PATH."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@contextmanager
def postgres() -> Iterator[int]:
    """Run a new PostgreSQL server on localhost and yield its port."""
    programs = postgres_programs()
    if programs is None:
        pytest.fail("PostgreSQL is not installed. Run `make postgres` to install Debian's packages.")
    # Do not use pytest's temporary folder, because the postgres user cannot access it.
    with tempfile.TemporaryDirectory(prefix="compsil-pg-", ignore_cleanup_errors=True) as name:
        folder, port = Path(name), free_port()
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        data = folder / "data"
        make = [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, timeout=PATIENCE, **_NOT_ROOT)
        serve = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", name, "-F"]
        log_file = folder / "log.txt"
        with log_file.open("w") as log, running(serve, log, signal.SIGINT, cwd=folder, **_NOT_ROOT) as process:
            wait_for("PostgreSQL", lambda: "ready to accept connections" in log_file.read_text(), processes=[process])
            yield port


def make_database(port: int, name: str) -> None:
    """Create a database."""
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="tester", dbname="postgres")
    connection.autocommit = True
    connection.cursor().execute(f"CREATE DATABASE {name}")
    connection.close()


@contextmanager
def s3(folder: Path) -> Iterator[str]:
    """Run an S3 server on localhost and yield its URL."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "s3.txt").open("w") as log, running(command, log, signal.SIGINT) as process:
        wait_for("the S3 store", lambda: answers(port), processes=[process])
        yield f"http://127.0.0.1:{port}"
