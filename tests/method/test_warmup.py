"""After a warmup with an empty cache, runs in new processes do not compile anything."""

import os
import subprocess
import sys

# Runs every kind of loop that a selection or a silhouette may need, and prints how many loops were compiled.
RUNS = """
import numpy as np
from compsil_kit import select_k, silhouettes
from compsil_kit._method import warmup
from sklearn.cluster import KMeans

rng = np.random.default_rng(0)
for dtype in (np.float64, np.float32):
    X = rng.normal(size=(2500, 4)).astype(dtype)
    select_k(X, ks=[2, 3], n_subsamples=1, clusterer=KMeans(n_init=3))
    select_k(X, ks=[2], n_subsamples=1, clusterer=KMeans(init=X[:2].astype(dtype), n_init=1))
    wide = rng.normal(size=(1600, 70)).astype(dtype)
    silhouettes(wide, np.arange(1600) % 3)
    # Two tight clusters far from the origin, whose distances lose precision.
    tight = (1e6 + np.arange(1600)[:, None] % 2 + 1e-9 * rng.normal(size=(1600, 2))).astype(dtype)
    silhouettes(tight, np.arange(1600) % 2)
print(warmup._n_compiled())
"""


def run(cache, *words):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True).stdout


def test_warmup_compiles_everything_that_later_runs_need(tmp_path):
    first = run(tmp_path, "-m", "compsil_kit", "warmup")
    for part in ("k-means, float64", "silhouettes, float64", "k-means, float32", "silhouettes, float32"):
        assert f"  {part}: " in first
    assert "Done in " in first
    assert str(tmp_path) in first
    again = run(tmp_path, "-m", "compsil_kit", "warmup")
    assert again.count("already compiled") == 4
    assert "Nothing to compile." in again
    assert str(tmp_path) in again
    assert run(tmp_path, "-W", "ignore", "-c", RUNS).strip() == "0"


def test_compilation_is_counted(tmp_path):
    """Without a correct count, the test above could not fail."""
    code = "from compsil_kit._method import warmup; warmup._use_silhouettes('float64'); print(warmup._n_compiled())"
    assert int(run(tmp_path, "-c", code)) > 0


def test_warmup_names_the_missing_package_without_numba(monkeypatch, capsys):
    from compsil_kit.cli.main import main

    monkeypatch.setitem(sys.modules, "numba", None)
    assert main(["warmup"]) == 2
    assert "compsil-kit warmup needs the package 'numba'" in capsys.readouterr().err
