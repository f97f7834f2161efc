"""Who is told about the finished subsamples, and when a bar is drawn."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import termios
import threading
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient
from small_runs import run, split, wait_for_workers
from waiting import PATIENCE

from compsil_kit import ClusteringError
from compsil_kit._run.progress import make_meter, make_row_meter


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_is_told_about_every_subsample(n_jobs):
    seen = []
    run(progress=lambda done, total: seen.append((done, total, threading.current_thread())), n_jobs=n_jobs)
    assert [(done, total) for done, total, _ in seen] == [(n, 6) for n in range(1, 7)]
    assert {thread for *_, thread in seen} == {threading.current_thread()}


def test_progress_counts_calibration_too():
    seen = []
    run(progress=lambda *counts: seen.append(counts), n_calibration=2)
    assert seen == [(n, 8) for n in range(1, 9)]


def test_an_error_in_the_function_ends_the_run():
    def fail(done, total):
        raise RuntimeError("the screen is gone")

    calls = []

    def count(X, k, seed):
        calls.append(seed)
        return split(X, k, seed)

    with pytest.raises(RuntimeError, match="the screen is gone"):
        run(progress=fail, clusterer=count, n_subsamples=500, ks=2, sample_size=80)
    wait_for_workers()
    assert len(calls) < 500


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_drawn_when_nobody_watches(progress, capfd):
    run(progress=progress)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_the_bar_is_drawn_on_request(capfd):
    run(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "compsil:" in err
    assert "0/6" in err
    assert err.endswith("\r")


WATCHED = """
import sys, numpy as np
from compsil_kit import select_k

X = np.random.default_rng(0).normal(size=(200, 2))
progress = {"None": None, "False": False}[sys.argv[1]]
print(select_k(X, ks=(2, 3), n_subsamples=40, progress=progress).best_k)
"""


def on_a_terminal(code, *arguments):
    """Run Python with its standard error on a terminal; return standard output and what the terminal showed."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    shown = b""
    command = [sys.executable, "-c", code, *arguments]
    # tqdm draws no more than ten times a second by itself, and a quick run would be over before the second time.
    environment = {**os.environ, "TQDM_MININTERVAL": "0"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass  # On Linux, reading on after the other end has closed is an error.
        out = child.stdout.read()
    os.close(ours)
    assert child.returncode == 0, shown
    return out.decode(), shown.decode()


def test_a_terminal_shows_the_bar_with_the_time_left():
    out, shown = on_a_terminal(WATCHED, "None")
    assert out.strip() in ("2", "3")
    assert "compsil:" in shown
    assert "/40" in shown
    # Not the first line, which knows neither: "[00:00<?, ?subsample/s]".
    assert re.search(r"<\d\d:\d\d, +[\d.]+ ?(subsample/s|s/subsample)", shown)


def test_a_terminal_stays_quiet_on_request():
    _, shown = on_a_terminal(WATCHED, "False")
    assert shown == ""


def failing(X, k, seed):
    raise ValueError("no luck")


def fail(**keywords):
    with pytest.raises(ClusteringError, match="no luck"):
        run(**{**keywords, "clusterer": failing})


# --- the meters themselves --------------------------------------------------------------------------------------------


def test_a_function_counts_on_from_what_is_known():
    seen = []
    meter = make_meter(lambda *counts: seen.append(counts), 5)
    meter.resume(2)
    meter.advance()
    meter.advance(2)
    meter.announce("nothing to see")
    meter.close()
    assert seen == [(2, 5), (3, 5), (5, 5)]


def silent(progress, make=make_meter):
    return type(make(progress, 5)).__name__ == "_Silent"


class Screen:
    def __init__(self, watched):
        self.isatty = lambda: watched
        self.write = self.flush = lambda *_: None


def test_a_bar_is_for_those_who_watch(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen(watched=False))
    assert silent(None)
    assert silent(False)
    monkeypatch.setattr(sys, "stderr", None)
    assert silent(None)
    monkeypatch.setattr(sys, "stderr", Screen(watched=True))
    assert silent(False)
    assert not silent(None)


def test_a_pass_over_rows_is_for_those_who_watch_and_not_for_functions(monkeypatch):
    for watched in (False, True):
        monkeypatch.setattr(sys, "stderr", Screen(watched=watched))
        assert silent(None, make_row_meter) is not watched
        assert silent(False, make_row_meter)
        assert silent(lambda done, total: None, make_row_meter)


def test_a_function_may_hear_of_rows():
    heard = []

    class Listener:
        def __call__(self, done, total):
            pytest.fail("rows are no subsamples")

        def rows(self, done, total):
            heard.append((done, total))

    meter = make_row_meter(Listener(), 50)
    meter.advance(20)
    meter.advance(30)
    meter.close()
    assert heard == [(20, 50), (50, 50)]


def test_rows_are_counted_many_at_a_time(capfd):
    meter = make_row_meter(True, 5000)
    meter.advance(1500)
    bar = meter._bar.format_dict
    meter.close()
    assert (bar["n"], bar["total"], bar["unit"], bar["unit_scale"]) == (1500, 5000, "row", True)
    err = capfd.readouterr().err
    assert "reading:" in err
    # The line is wiped out at the end.
    assert err.endswith("\r")


@pytest.mark.parametrize(("kernel", "watched"), [(True, True), (False, False)])
def test_a_notebook_watches_and_a_shell_in_a_terminal_does_not(kernel, watched, monkeypatch):
    shell = SimpleNamespace(kernel=None) if kernel else SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("compsil_kit._run.progress.has", lambda name: False)
    monkeypatch.setattr(sys, "stderr", Screen(watched=False))
    assert silent(None) is not watched


def test_a_module_that_is_only_called_ipython_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setattr(sys, "stderr", Screen(watched=False))
    assert silent(None)


def test_the_bar_announces_above_itself(capfd):
    meter = make_meter(True, 5)
    meter.resume(2)
    meter.announce("a long way")
    meter.advance()
    meter.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert "a long way\n" in err
    assert "2/5" in err


def test_what_was_finished_before_does_not_spoil_the_guess_of_the_time_left(capfd):
    meter = make_meter(True, 5)
    meter.resume(2)
    meter.advance()
    bar = meter._bar.format_dict
    meter.close()
    # Of the three that tqdm shows, one took time.
    assert (bar["n"], bar["initial"], bar["total"]) == (3, 2, 5)


def test_a_saved_notebook_does_not_look_for_a_bar_that_is_gone():
    """In a real kernel: a front end that reads the notebook again would find no model for the bar's view."""
    code = "import numpy as np\nfrom compsil_kit import select_k\nX = np.random.default_rng(0).normal(size=(90, 2))\n"
    cell = nbformat.v4.new_code_cell(code + "select_k(X, ks=[2, 3], n_subsamples=4).best_k")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    bar, answer = notebook.cells[0].outputs
    assert bar.data == {"text/plain": "", "text/html": ""}
    assert answer.data["text/plain"] in ("2", "3")
