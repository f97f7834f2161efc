"""Every subsample gives the same bits whoever computes it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_blobs
from small_runs import same
from waiting import PATIENCE

from compsil_kit import select_k

SETTINGS = {"ks": [2, 3, 4, 5], "n_subsamples": 6}
POINTS = make_blobs(90, centers=3, random_state=3)[0]


def bits(result):
    return hashlib.sha256(result.micro.tobytes() + result.macro.tobytes() + result.scores.tobytes()).hexdigest()


@pytest.fixture(scope="module", params=[600, 4000], ids=["plain", "compiled"])
def points(request):
    return make_blobs(request.param, 4, centers=4, random_state=0)[0]


SCRIPT = """
import hashlib, sys
import joblib
from sklearn.datasets import make_blobs
from compsil_kit import select_k

points, _ = make_blobs(int(sys.argv[1]), 4, centers=4, random_state=0)
with joblib.parallel_config(backend=sys.argv[2], n_jobs=2):
    r = select_k(points, ks=[2, 3, 4, 5], n_subsamples=6)
print(hashlib.sha256(r.micro.tobytes() + r.macro.tobytes() + r.scores.tobytes()).hexdigest())
"""


def bits_elsewhere(n_points, backend, **variables):
    """The bits of a selection in a new process."""
    command = [sys.executable, "-c", SCRIPT, str(n_points), backend]
    environment = {**os.environ, **variables}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return run.stdout.strip()


def test_forked_workers(points):
    """Forked from a new process: this one has run OpenMP, and what is forked after that may hang in k-means."""
    assert bits_elsewhere(len(points), "multiprocessing") == bits(select_k(points, **SETTINGS))


def test_a_subset_of_ks(points):
    size = 500
    whole = select_k(points, ks=range(2, 8), n_subsamples=3, sample_size=size)
    part = select_k(points, ks=[3, 6], n_subsamples=3, sample_size=size)
    np.testing.assert_allclose(part.micro, whole.micro[[1, 4]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.macro, whole.macro[[1, 4]], rtol=0, atol=1e-12)


def test_across_interpreters_and_thread_settings():
    one, other = {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "3"}
    assert bits_elsewhere(4000, "threading", **one) == bits_elsewhere(4000, "threading", **other)


def test_dask_backend(points):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        spread = select_k(points, **SETTINGS)
    assert bits(spread) == bits(select_k(points, **SETTINGS))


def test_fresh_seeds_can_be_repeated(points):
    fresh = select_k(points, ks=[2, 3], n_subsamples=3, random_state=None)
    assert fresh.plan.seeds != select_k(points, ks=[2, 3], n_subsamples=3, random_state=None).plan.seeds
    again = select_k(points, ks=[2, 3], n_subsamples=3, random_state=fresh.plan.seeds)
    assert bits(again) == bits(fresh)


def test_settings_of_scikit_learn_reach_the_workers():
    seen = set()

    def look(X, k, seed):
        seen.add(sklearn.get_config()["working_memory"])
        return np.arange(len(X)) % k

    with sklearn.config_context(working_memory=77):
        select_k(POINTS, **SETTINGS, clusterer=look, n_jobs=2)
    assert seen == {77}


def test_the_global_random_state_does_not_matter():
    results = []
    for seed in (1, 2):
        np.random.seed(seed)
        results.append(select_k(POINTS, **SETTINGS, clusterer="gmm"))
    assert same(*results)
