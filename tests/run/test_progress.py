"""Progress: which steps are reported, and when a bar is shown."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient
from small_runs import run, split, wait_for_workers
from waiting import PATIENCE

from compsil_kit._run.progress import Meter, make_row_meter


@pytest.mark.parametrize("keywords", [{"n_jobs": 1}, {"n_jobs": 2}, {"n_calibration": 2}], ids=str)
def test_a_function_receives_every_subsample_in_the_calling_thread(keywords):
    seen = []
    run(progress=lambda done, total: seen.append((done, total, threading.current_thread())), **keywords)
    n_all = 6 + keywords.get("n_calibration", 0)
    assert seen == [(n, n_all, threading.current_thread()) for n in range(1, n_all + 1)]


def test_an_error_in_the_function_ends_the_run():
    calls = []

    def count(X, k, seed):
        calls.append(seed)
        return split(X, k, seed)

    with pytest.raises(ZeroDivisionError):
        run(progress=lambda done, total: 1 / 0, clusterer=count, n_subsamples=500, ks=2, sample_size=80)
    wait_for_workers()
    assert len(calls) < 500


def test_outside_terminals_and_notebooks_a_bar_is_shown_on_request_only(capfd):
    for progress in (None, False):
        run(progress=progress)
        assert capfd.readouterr() == ("", "")
    run(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "compsil:" in err
    assert "0/6" in err
    assert err.endswith("\r")


# --- the meters themselves --------------------------------------------------------------------------------------------


def shows_bar(progress, make=Meter):
    meter = make(progress, 5)
    meter.close()
    return meter._bar is not None


class Screen:
    def __init__(self, watched):
        self.isatty = lambda: watched
        self.write = self.flush = lambda *_: None


@pytest.mark.parametrize("make", [Meter, make_row_meter])
def test_a_bar_is_shown_by_default_on_a_terminal_only(make, monkeypatch):
    for screen in (None, Screen(watched=False), Screen(watched=True)):
        monkeypatch.setattr(sys, "stderr", screen)
        assert shows_bar(None, make) is (screen is not None and screen.isatty())
        assert not shows_bar(False, make)
    assert not shows_bar(lambda done, total: None, make_row_meter)


@pytest.mark.parametrize(
    ("ipython", "shown"),
    [
        (SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None)), True),
        (SimpleNamespace(get_ipython=lambda: SimpleNamespace()), False),
        (SimpleNamespace(get_ipython=lambda: None), False),
        (SimpleNamespace(), False),
    ],
    ids=["kernel", "shell", "no shell", "another module"],
)
def test_a_bar_is_shown_by_default_in_a_kernel_only(ipython, shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr("compsil_kit._run.progress.has", lambda name: False)
    monkeypatch.setattr(sys, "stderr", Screen(watched=False))
    assert shows_bar(None) is shown


def test_the_bar_resumes_and_announces_above_itself(capfd):
    meter = Meter(True, 5)
    meter.resume(2)
    meter.announce("a long way")
    meter.advance()
    bar = meter._bar.format_dict
    meter.close()
    # Only one of the three steps took time, which the estimate of the remaining time must consider.
    assert (bar["n"], bar["initial"], bar["total"]) == (3, 2, 5)
    out, err = capfd.readouterr()
    assert out == ""
    assert "a long way\n" in err
    assert "2/5" in err


def test_a_saved_notebook_contains_no_bar():
    """In a real kernel: a front end that opens the notebook again would find no model for the bar's view."""
    code = "import numpy as np\nfrom compsil_kit import select_k\nX = np.random.default_rng(0).normal(size=(90, 2))\n"
    cell = nbformat.v4.new_code_cell(code + "select_k(X, ks=[2, 3], n_subsamples=4).best_k")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    bar, answer = notebook.cells[0].outputs
    assert bar.data == {"text/plain": "", "text/html": ""}
    assert answer.data["text/plain"] in ("2", "3")
