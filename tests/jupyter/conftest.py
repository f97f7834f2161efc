"""Fixtures for the notebook tests: a new IPython shell with the magic loaded, sessions and data."""

import atexit
import os

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from sessions import QUICK, open_session
from sklearn.datasets import make_blobs
from traitlets.config import Config
from waiting import PATIENCE

from compsil_kit._run.workers import n_workers


@pytest.fixture(autouse=True)
def one_worker(monkeypatch):
    """Use one worker by default, because tests count and block the steps of a run."""
    one = {"auto": 1}
    monkeypatch.setattr("compsil_kit._run.planning.n_workers", lambda n_jobs: one.get(n_jobs) or n_workers(n_jobs))


@pytest.fixture(scope="session")
def frame():
    X, y = make_blobs(240, 3, centers=3, cluster_std=0.6, random_state=3)
    table = pd.DataFrame(X, columns=["a", "b", "net income, EUR"])
    return table.assign(city=np.array(["Oslo S", "Rome", "Lima"])[y])


@pytest.fixture
def points(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"])


@pytest.fixture
def session(points):
    opened = open_session(points, **QUICK)
    yield opened
    opened.close()
    opened.wait(PATIENCE)


@pytest.fixture
def shell(frame, tmp_path, monkeypatch):
    """A shell in an empty folder, with ``df``, ``X`` and defaults for short runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.CompsilMagics.n_subsamples = 3
    config.CompsilMagics.ks = "2:4"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "compsil_jupyter")
    shell.push({"df": frame, "X": frame[["a", "b"]].to_numpy()})
    yield shell
    shell.run_line_magic("unload_ext", "compsil_jupyter")
    InteractiveShell.clear_instance()
    # Otherwise every shell collects garbage when the test session exits, which takes 0.25 s per shell.
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def run(shell):
    """Run a cell as a user would and return its value; an error fails the test."""

    def run(cell):
        # IPython handles a semicolon only in cells that are stored in the history.
        done = shell.run_cell(cell, store_history=True)
        done.raise_error()
        return done.result

    return run
