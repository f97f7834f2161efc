"""Subsamples on a Ray cluster with two worker processes."""

import os
import subprocess
import sys

import joblib
import promises
import pytest
import ray
from promises import (  # noqa: F401  (what holds on every engine)
    test_a_small_part_of_the_rows_is_compared_on_the_same_points,
    test_checkpoints,
    test_errors_arrive,
    test_failures_are_counted,
    test_memory_of_other_machines_is_not_that_of_this_one,
    test_results_arrive_while_others_are_computed,
    test_the_bits_of_threads,
)
from ray.util.joblib import register_ray
from waiting import PATIENCE


@pytest.fixture(scope="module")
def cluster():
    before = promises.descendants()
    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    started = promises.descendants() - before
    ray.shutdown()
    assert len(started) >= 2
    assert promises.are_gone(started)


@pytest.fixture
def spread(cluster):
    def spread():
        return joblib.parallel_config(backend="ray", n_jobs=-1)

    return spread


def test_the_workers_are_other_processes(spread):
    with spread():
        ids = set(joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(20)))
    assert os.getpid() not in ids


# --- what is missing --------------------------------------------------------------------------------------------------


def fails(code):
    """The last line of what a new process has to say."""
    code = f"import joblib; from compsil_kit import select_k; {code}"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    return run.stderr.strip().splitlines()[-1]


def test_without_its_registration():
    assert fails("joblib.parallel_config(backend='ray')") == (
        "ValueError: joblib's backend 'ray' is not registered. Run 'from ray.util.joblib import register_ray; "
        "register_ray()' before joblib.parallel_config(backend='ray')."
    )


def test_before_it_is_started():
    code = "from ray.util.joblib import register_ray; register_ray(); joblib.parallel_config('ray', n_jobs=-1); "
    last = fails(code + "select_k([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.0]], ks=[2])")
    assert last.startswith("RuntimeError: joblib's backend 'ray' is set, but Ray has not been started. Call ray.init()")
