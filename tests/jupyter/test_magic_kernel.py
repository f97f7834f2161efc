"""%compsil in a real kernel: output, tab completion and interrupts."""

import os
import re
from types import SimpleNamespace

import pytest
from jupyter_client.manager import start_new_kernel
from waiting import PATIENCE

SETUP = """
%load_ext compsil_jupyter
%config CompsilMagics.ks = "2:4"
%config CompsilMagics.n_subsamples = 3
import threading
import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs
df = pd.DataFrame(make_blobs(200, 2, centers=3, random_state=3)[0], columns=["left", "net income"])
odd = df.assign(row_id=range(200))
"""


class Notebook:
    """A kernel and its client."""

    def __init__(self, folder):
        environment = {**os.environ, "IPYTHONDIR": str(folder)}
        self.manager, self.client = start_new_kernel(PATIENCE, cwd=str(folder), env=environment)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code, interrupt_at=None):
        """Run a cell and return the displayed output; interrupt the kernel when it prints ``interrupt_at``."""
        shown = SimpleNamespace(out="", err="", data=None, error=None, comms=0)

        def note(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                name = {"stdout": "out", "stderr": "err"}[content["name"]]
                setattr(shown, name, getattr(shown, name) + content["text"])
                if interrupt_at is not None and interrupt_at in content["text"]:
                    self.manager.interrupt_kernel()
            elif kind == "execute_result":
                shown.data = content["data"]
            elif kind == "error":
                shown.error = content
            elif kind.startswith("comm_"):
                shown.comms += 1

        reply = self.client.execute_interactive(code, output_hook=note, allow_stdin=False, timeout=PATIENCE)
        shown.status = reply["content"]["status"]
        return shown

    def complete(self, line):
        found = self.client.complete(line, len(line), reply=True, timeout=PATIENCE)["content"]
        return line[found["cursor_start"] : found["cursor_end"]], found["matches"]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    notebook = Notebook(tmp_path_factory.mktemp("notebook"))
    try:
        assert notebook.run(SETUP).status == "ok"
        yield notebook
    finally:
        notebook.close()


def test_cells_show_a_card_a_progress_bar_or_the_explorer(notebook):
    shown = notebook.run("%compsil df")
    assert "compsil-card" in shown.data["text/html"]
    assert "SelectionResult: k* = 3" in shown.data["text/plain"]
    assert (shown.out, shown.err) == ("", "")
    assert shown.comms > 3
    assert notebook.run("%compsil df --quiet").comms == 0
    assert notebook.run("%compsil report df quiet.html --compare --quiet;").comms == 0
    shown = notebook.run("import sys; sys.modules['ipywidgets'] = None\n%compsil df")
    notebook.run("del sys.modules['ipywidgets']")
    assert (shown.status, shown.comms) == ("ok", 0)
    assert "0/3 [00:00<?, ?subsample/s]" in shown.err
    shown = notebook.run("%compsil explore df --ks 2:3 -B 2")
    assert "application/vnd.jupyter.widget-view+json" in shown.data


def test_semicolons_suppress_the_result_and_errors_are_one_line(notebook):
    for silent in ("r = %compsil df", "%compsil df;", "%%compsil\ndf;  # comment"):
        shown = notebook.run(silent)
        assert (shown.data, shown.out) == (None, "")
    assert notebook.run("%compsil odd;").err.count("ColumnWarning: column 'row_id' looks like an identifier") == 1
    shown = notebook.run("%compsil df --clusterer kmean")
    assert (shown.status, shown.out) == ("error", "")
    assert shown.err == "UsageError: argument --clusterer: unknown value 'kmean'. Did you mean 'kmeans'?\n"
    # ipykernel also sends an error; a notebook shows only the line, because the traceback is empty.
    assert shown.error is None or shown.error["traceback"] == []


def test_tab_completes_options_and_columns(notebook):
    assert notebook.complete("r = %compsil df --clust") == ("--clust", ["--clusterer"])
    assert notebook.complete('%compsil df --columns "net') == ('"net', ['"net income"'])


# A clusterer that blocks at a given call, so that the interrupt arrives during the run.
BLOCKED = """
calls = 0
def blocked(X, k, seed):
    global calls
    calls += 1
    if calls == {calls}:
        print("now", flush=True)
        threading.Event().wait()
    return np.arange(len(X)) % k
"""


def interrupt(notebook, calls, command, options):
    """Run a cell with a clusterer that blocks at the given call, and interrupt it there."""
    notebook.run(BLOCKED.format(calls=calls))
    return notebook.run(f"r = %compsil {command} --clusterer blocked -j 1 {options}\nr", interrupt_at="now")


def test_an_interrupt_keeps_the_finished_subsamples(notebook):
    shown = interrupt(notebook, 10, "df", "-B 500 -o kept")
    assert shown.status == "ok"
    stopped = r"^compsil: stopped after \d+ of 500 subsamples; the result covers the finished subsamples\.$"
    assert re.search(stopped, shown.err, re.MULTILINE)
    assert "PARTIAL" in shown.data["text/plain"]
    found = notebook.run("r is kept, r.partial, r.n_subsamples >= 2, r.preparation.columns").data["text/plain"]
    assert found == "(True, True, True, ('left', 'net income'))"


# Three subsamples with three values of k take nine calls; the twelfth call belongs to the comparison.
@pytest.mark.parametrize(("calls", "options", "partial"), [(10, "-B 500", True), (12, "--compare", False)])
def test_an_interrupted_report_is_not_written(notebook, calls, options, partial):
    shown = interrupt(notebook, calls, "report df out.html", options)
    assert shown.status == "ok"
    assert shown.err.endswith("compsil: the run was interrupted, so no report was written.\n")
    found = notebook.run("import os; r.partial, os.path.exists('out.html')").data["text/plain"]
    assert found == f"({partial}, False)"


@pytest.mark.parametrize("command", ["select df", "compare df", "report df out.html"])
def test_an_interrupt_before_any_result_is_shown_on_one_line(notebook, command):
    shown = interrupt(notebook, 1, command, "-B 500 -o nothing")
    assert (shown.status, shown.error["ename"], shown.err) == ("error", "Stopped", "")
    assert shown.error["traceback"] == ["Stopped: the run was interrupted before it had a result."]
    assert notebook.run("'nothing' in dir()").data["text/plain"] == "False"
