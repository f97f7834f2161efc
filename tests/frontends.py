"""JupyterLab and Voilà on loopback, untouched by the user's own settings, and a line to their kernels."""

import ast
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import nbformat
from jupyter_client import BlockingKernelClient
from waiting import PATIENCE, until

# The last cell of every notebook says which kernel has run it.
TELL_KERNEL = """import json, os, pathlib, ipykernel
pathlib.Path({name!r}).write_text(json.dumps([os.getpid(), ipykernel.get_connection_file()]));"""
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True)
class Server:
    """A front end that is up; notebooks go into ``notebooks``."""

    kind: str
    port: int
    token: str
    notebooks: Path
    log: Path

    def url(self, name):
        """Return the address of a notebook."""
        file = f"{name}.ipynb"
        where = f"lab/tree/{file}?token={self.token}&reset" if self.kind == "lab" else f"voila/render/{file}"
        return f"http://127.0.0.1:{self.port}/{where}"

    def note(self, name):
        """Return the file that the notebook's last cell writes."""
        return self.notebooks / f"{name}.kernel"

    def write(self, name, *cells):
        """Write a notebook of these code cells."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        self.take(name, notebook)

    def take(self, name, notebook):
        """Write a notebook that is there already."""
        notebook.cells.append(nbformat.v4.new_code_cell(TELL_KERNEL.format(name=self.note(name).name)))
        nbformat.write(notebook, self.notebooks / f"{name}.ipynb")


@contextmanager
def serve(kind, folder, theme="JupyterLab Light"):
    """Start a front end, "lab" or "voila", in a folder of its own, and stop it and its kernels at the end."""
    port, token, log, notebooks = _free_port(), secrets.token_hex(16), folder / f"{kind}.log", folder / "notebooks"
    notebooks.mkdir(parents=True)
    _write_settings(folder / "settings", theme)
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
            _wait_for_kernels(notebooks)


def _command(kind, port, token, notebooks, folder):
    if kind == "voila":
        own = ["--Voila.ip=127.0.0.1", "--Voila.port_retries=0", f"--Voila.connection_dir_root={folder}"]
        return [sys.executable, "-m", "voila", str(notebooks), "--no-browser", f"--port={port}", *own]
    own = ["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={notebooks}"]
    # Servers started by root refuse to run unless told otherwise, and containers are often root.
    own += ["--allow-root", f"--IdentityProvider.token={token}"]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", *own]


def _environment(folder):
    """Return the environment with every folder that holds a user's settings led elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTEST"))}
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return kept | {name: str(folder / place) for name, place in places.items()}


def _write_settings(folder, theme):
    chosen = LAB_SETTINGS | {"@jupyterlab/apputils-extension/themes": {"theme": theme}}
    for plugin, values in chosen.items():
        file = folder / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_up(process, url, log):
    # A proxy that the machine may have is not asked for what is on loopback.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def answers():
        try:
            with direct.open(url, timeout=PATIENCE):
                return True
        except (URLError, ConnectionError, TimeoutError):
            return False

    until(answers, f"the server answers; see {log}", process)


def _stop(process):
    """End a server as a user would, which ends its kernels as well; more firmly only where that does not help."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process.send_signal(sign)
        try:
            process.wait(PATIENCE / 4)
            return
        except subprocess.TimeoutExpired:
            continue


def _wait_for_kernels(notebooks):
    """Wait until the kernels have followed their server; end those by their number that have not."""
    kernels = [json.loads(note.read_text())[0] for note in notebooks.glob("*.kernel")]
    try:
        until(lambda: not any(map(_is_alive, kernels)), "all kernels have ended")
    finally:
        for pid in filter(_is_alive, kernels):
            os.kill(pid, signal.SIGKILL)


def _is_alive(pid):
    """Tell whether a process goes on; one that has ended stays in the list until its parent asks for it."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # Ended just now, or a system without /proc.
        return not Path("/proc").exists()
    return state != "Z"


class Kernel:
    """The kernel of a notebook, to be asked what it knows."""

    def __init__(self, note):
        """Find the kernel by what the notebook's last cell has written."""
        _, file = json.loads(note.read_text())
        self._client = BlockingKernelClient(connection_file=file)
        self._client.load_connection_file()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)

    def value(self, expression):
        """Return what an expression is in the kernel; it must be something that Python can write down."""
        return ast.literal_eval(self._ask("", {"value": expression})["value"]["data"]["text/plain"])

    def run(self, code):
        """Run lines in the kernel."""
        self._ask(code, {})

    def _ask(self, code, expressions):
        message = self._client.execute(code, silent=True, user_expressions=expressions)
        reply = self._client._recv_reply(message, timeout=PATIENCE)["content"]
        failed = [reply] if reply["status"] != "ok" else list(reply["user_expressions"].values())
        for answer in failed:
            if answer["status"] != "ok":
                raise RuntimeError(f"{answer['ename']}: {answer['evalue']}")
        return reply["user_expressions"]

    def close(self):
        """Let go of the kernel, which goes on."""
        self._client.stop_channels()
        self._client.context.term()
