"""Start JupyterLab and Voilà locally, independent of the user's settings, and connect to their kernels."""

import ast
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import nbformat
import psutil
from jupyter_client import BlockingKernelClient
from waiting import PATIENCE, until

# The last cell of every notebook. The file that it writes indicates that all cells have run.
WRITE_CONNECTION_FILE = "import pathlib, ipykernel; pathlib.Path({!r}).write_text(ipykernel.get_connection_file());"
EXTENSION = "@jupyterlab/apputils-extension"
LAB_SETTINGS = {
    f"{EXTENSION}/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True)
class Server:
    """A running front end that serves the notebooks in ``notebooks``."""

    kind: str
    port: int
    token: str
    notebooks: Path
    log: Path

    def url(self, name):
        path = f"lab/tree/{name}.ipynb?token={self.token}&reset" if self.kind == "lab" else f"voila/render/{name}.ipynb"
        return f"http://127.0.0.1:{self.port}/{path}"

    def connection_file(self, name):
        """Return the file written by the last cell of a notebook."""
        return self.notebooks / f"{name}.kernel"

    def write(self, name, *cells):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        self.add(name, notebook)

    def add(self, name, notebook):
        last = WRITE_CONNECTION_FILE.format(self.connection_file(name).name)
        notebook.cells.append(nbformat.v4.new_code_cell(last))
        nbformat.write(notebook, self.notebooks / f"{name}.ipynb")


@contextmanager
def serve(kind, folder, theme="JupyterLab Light"):
    """Start a front end, "lab" or "voila", in its own folder; stop it and its kernels at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token, log, notebooks = secrets.token_hex(16), folder / f"{kind}.log", folder / "notebooks"
    notebooks.mkdir(parents=True)
    for plugin, values in {**LAB_SETTINGS, f"{EXTENSION}/themes": {"theme": theme}}.items():
        file = folder / "settings" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with log.open("w") as output:
        process = subprocess.Popen(
            _command(kind, port, token, notebooks, folder), env=_environment(folder), cwd=folder, stdout=output,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            _wait_until_up(process, f"http://127.0.0.1:{port}/{'api' if kind == 'lab' else ''}", log)
            yield Server(kind, port, token, notebooks, log)
        finally:
            _stop(process)


def _command(kind, port, token, notebooks, folder):
    if kind == "voila":
        own = ["--Voila.ip=127.0.0.1", "--Voila.port_retries=0", f"--Voila.connection_dir_root={folder}"]
        return [sys.executable, "-m", "voila", str(notebooks), "--no-browser", f"--port={port}", *own]
    own = ["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={notebooks}"]
    # Containers often run as root, which Jupyter does not allow by default.
    own += ["--allow-root", f"--IdentityProvider.token={token}"]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", *own]


def _environment(folder):
    """Return the environment variables, with all user settings redirected to the given folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTEST"))}
    names = {f"JUPYTER_{name}_DIR": name.lower() for name in ("CONFIG", "DATA", "RUNTIME")}
    names |= {f"JUPYTERLAB_{name}_DIR": name.lower() for name in ("SETTINGS", "WORKSPACES")}
    return kept | {name: str(folder / place) for name, place in (names | {"IPYTHONDIR": "ipython"}).items()}


def _wait_until_up(process, url, log):
    # Ignore any proxy in the environment, because it cannot reach the loopback interface.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_up():
        with suppress(URLError, ConnectionError, TimeoutError), direct.open(url, timeout=PATIENCE):
            return True

    until(is_up, f"the server responds; see {log}", process)


def _stop(process):
    """Interrupt a server, which stops its kernels; after a timeout, kill all processes that are still running."""
    kernels = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, alive = psutil.wait_procs([process, *kernels], timeout=PATIENCE / 2)
    for each in alive:
        each.kill()
    process.wait()
    assert not alive, f"still running after the interrupt: {alive}"


class Kernel:
    """A client for the kernel of a notebook."""

    def __init__(self, connection_file):
        self._client = BlockingKernelClient(connection_file=connection_file.read_text())
        self._client.load_connection_file()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)

    def value(self, expression):
        """Return the value of an expression in the kernel; its repr must be a literal."""
        return ast.literal_eval(self._execute("", {"value": expression})["value"]["data"]["text/plain"])

    def run(self, code):
        self._execute(code, {})

    def _execute(self, code, expressions):
        message = self._client.execute(code, silent=True, user_expressions=expressions)
        reply = self._client._recv_reply(message, timeout=PATIENCE)["content"]
        for part in [reply] if reply["status"] != "ok" else reply["user_expressions"].values():
            if part["status"] != "ok":
                raise RuntimeError(f"{part['ename']}: {part['evalue']}")
        return reply["user_expressions"]

    def close(self):
        """Disconnect; the kernel keeps running."""
        self._client.stop_channels()
        self._client.context.term()
