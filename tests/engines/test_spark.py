"""Subsamples on a Spark cluster of two worker processes, each with an executor."""

import os
import subprocess
import sys
import venv

import joblib
import promises
import pytest
from joblibspark import register_spark
from promises import (  # noqa: F401  (what holds on every engine)
    test_a_small_part_of_the_rows_is_compared_on_the_same_points,
    test_checkpoints,
    test_errors_arrive,
    test_failures_are_counted,
    test_memory_of_other_machines_is_not_that_of_this_one,
    test_results_arrive_while_others_are_computed,
    test_the_bits_of_threads,
)
from pyspark import SparkContext
from pyspark.sql import SparkSession
from waiting import PATIENCE

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}


@pytest.fixture(scope="module")
def session():
    before = promises.descendants()
    register_spark()
    session = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=QUIET).getOrCreate()
    yield session
    started = promises.descendants() - before
    gateway = session.sparkContext._gateway
    session.stop()
    # Java stays for the next session of this process, until its input ends.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(PATIENCE)
    SparkContext._gateway = SparkContext._jvm = None
    assert len(started) >= 2
    assert promises.are_gone(started)


@pytest.fixture
def spread(session):
    def spread():
        return joblib.parallel_config(backend="spark", n_jobs=-1)

    return spread


def test_the_workers_are_other_processes(session):
    ids = set(session.sparkContext.parallelize(range(8), 8).map(lambda _: os.getpid()).collect())
    assert os.getpid() not in ids


# --- what is missing --------------------------------------------------------------------------------------------------


def test_without_its_registration():
    code = "import joblib; from compsil_kit import select_k; joblib.parallel_config(backend='spark')"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "joblib's backend 'spark' is not registered. Run 'from joblibspark import register_spark;" in run.stderr


WITHOUT = """
import joblib
from joblibspark import register_spark
from pyspark.sql import SparkSession
from compsil_kit import select_k

register_spark()
quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF"}
SparkSession.builder.master("local[1]").config(map=quiet).getOrCreate()
with joblib.parallel_config(backend="spark", n_jobs=2):
    select_k([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.0]], ks=[2])
"""


def test_without_pyspark_python(tmp_path):
    """Workers then run the first python3 there is: here one that has nothing installed."""
    venv.create(tmp_path / "bare", with_pip=False)
    variables = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    variables["PATH"] = f"{tmp_path}/bare/bin:{variables['PATH']}"
    command = [sys.executable, "-c", WITHOUT]
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=PATIENCE)
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: Spark's workers run 'python3', which cannot compute subsamples")
    assert "ModuleNotFoundError: No module named" in last
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in last
