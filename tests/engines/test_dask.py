"""Subsamples on a Dask cluster of two worker processes."""

import os
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import promises
import pytest
from distributed import Client, LocalCluster
from promises import (  # noqa: F401  (what holds on every engine)
    test_a_small_part_of_the_rows_is_compared_on_the_same_points,
    test_checkpoints,
    test_errors_arrive,
    test_failures_are_counted,
    test_memory_of_other_machines_is_not_that_of_this_one,
    test_results_arrive_while_others_are_computed,
    test_the_bits_of_threads,
)
from waiting import PATIENCE, join, until

from compsil_kit import select_k


@pytest.fixture(scope="module")
def client():
    before = promises.descendants()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client
        started = promises.descendants() - before
    assert len(started) >= 2
    assert promises.are_gone(started)


@pytest.fixture
def spread(client):
    def spread():
        return joblib.parallel_config(backend="dask")

    return spread


def test_the_workers_are_other_processes(client):
    ids = set(client.run(os.getpid).values())
    assert len(ids) == 2
    assert os.getpid() not in ids


def test_a_worker_that_is_killed_is_made_up_for(spread, client, tmp_path):
    clusterer, mark = promises.resting_once(tmp_path)
    found = []

    def work():
        with spread():
            found.append(select_k(promises.X, **promises.SMALL, clusterer=clusterer))

    working = threading.Thread(target=work, name="selection")
    working.start()
    victim = int(until(lambda: mark.exists() and mark.read_text(), "a worker is in the middle of a subsample"))
    assert victim in client.run(os.getpid).values()
    os.kill(victim, signal.SIGKILL)
    join([working])
    (there,) = found
    assert victim not in client.run(os.getpid).values()
    assert promises.bits(there) == promises.bits(select_k(promises.X, **promises.SMALL, clusterer=clusterer))


# --- what is missing --------------------------------------------------------------------------------------------------


def test_without_a_client():
    """joblib says it before anything of ours is asked."""
    code = "import joblib; from compsil_kit import select_k; joblib.parallel_config(backend='dask')"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "To use Joblib with Dask first create a Dask Client" in run.stderr


def test_a_client_that_is_closed(client):
    with Client(client.scheduler.address) as other:
        backend = joblib.parallel_config(backend="dask")
        with backend:
            other.close()
            with pytest.raises(RuntimeError, match=r"'dask' belongs to a Client that is closed. Create a Client"):
                select_k(promises.X, **promises.SMALL)


def test_tasks_may_be_large(spread, recwarn):
    """More than the ten megabytes from which Dask advises against it."""
    wide = np.random.default_rng(0).normal(size=(4000, 400))
    with spread():
        select_k(wide, ks=(2, 3), n_subsamples=2, sample_size=3600, clusterer=promises.failing())
    assert [str(warning.message) for warning in recwarn if "large graph" in str(warning.message)] == []
