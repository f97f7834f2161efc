"""A shell of its own for every test, with the magic loaded and data to try it on."""

import atexit
import os

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from sklearn.datasets import make_blobs
from traitlets.config import Config

from compsil_kit._run.engine import n_workers


@pytest.fixture(autouse=True)
def one_worker(monkeypatch):
    """Unless a test says otherwise there is one worker: the steps of a run are counted and held up here."""
    one = {"auto": 1}
    monkeypatch.setattr("compsil_kit._run.request.n_workers", lambda n_jobs: one.get(n_jobs) or n_workers(n_jobs))


@pytest.fixture(scope="session")
def frame():
    X, y = make_blobs(240, 3, centers=3, cluster_std=0.6, random_state=3)
    table = pd.DataFrame(X, columns=["a", "b", "net income, EUR"])
    return table.assign(city=np.array(["Oslo S", "Rome", "Lima"])[y])


@pytest.fixture
def shell(frame, tmp_path, monkeypatch):
    """An IPython of its own, in an empty folder; ``df`` and ``X`` are there, and runs are short by default."""
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
    # Otherwise every shell of the session collects garbage when Python ends, a quarter of a second each.
    atexit.unregister(shell.atexit_operations)
