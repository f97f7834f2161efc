"""What backends of joblib lack, and how results come back from them. Real clusters are in tests/engines."""

import pickle
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from joblib.parallel import BACKENDS, SequentialBackend
from small_runs import run, same, split

from compsil_kit import ClusteringError
from compsil_kit._run import engine, workers
from compsil_kit._run.workers import n_workers


@pytest.mark.parametrize(
    ("name", "how"),
    [("ray", "from ray.util.joblib import register_ray"), ("spark", "from joblibspark import register_spark")],
)
def test_an_unregistered_backend_says_how_it_is_registered(name, how):
    with pytest.raises(ValueError, match=rf"'{name}' is not registered. Run '{how}; register_{name}\(\)' before"):
        joblib.parallel_config(backend=name)


def test_a_registered_backend_is_left_alone(monkeypatch):
    monkeypatch.setitem(BACKENDS, "ray", "the real one")
    monkeypatch.delitem(BACKENDS, "spark")
    workers.explain_unregistered()
    assert BACKENDS["ray"] == "the real one"
    assert callable(BACKENDS["spark"])


class DaskDistributedBackend:
    def __init__(self, status):
        self.client = SimpleNamespace(status=status)


class RayBackend:
    pass


class SparkDistributedBackend(SequentialBackend):
    uses_threads = supports_return_generator = False


def test_the_cluster_must_have_been_started(monkeypatch):
    workers.check_started(DaskDistributedBackend("running"))
    with pytest.raises(RuntimeError, match=r"belongs to a Client that is closed. Create a Client"):
        workers.check_started(DaskDistributedBackend("closed"))
    started = [True, False]
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: started.pop(0)))
    workers.check_started(RayBackend())
    with pytest.raises(RuntimeError, match=r"Ray has not been started. Call ray.init\(\) before"):
        workers.check_started(RayBackend())


# --- Spark's workers --------------------------------------------------------------------------------------------------


@pytest.fixture
def spark(monkeypatch):
    """A session whose workers answer as told, without Spark."""

    def answering(answer, remote=False):
        def collect():
            if isinstance(answer, Exception):
                raise answer
            return [answer]

        rows = SimpleNamespace(map=lambda function: SimpleNamespace(collect=collect))
        context = SimpleNamespace(pythonExec="python3", parallelize=lambda values, n: rows)
        builder = SimpleNamespace(getOrCreate=lambda: SimpleNamespace(sparkContext=context))
        sql = SimpleNamespace(SparkSession=SimpleNamespace(builder=builder))
        utils = SimpleNamespace(is_remote=lambda: remote)
        for name, module in {"pyspark": SimpleNamespace(), "pyspark.sql": sql, "pyspark.sql.utils": utils}.items():
            monkeypatch.setitem(sys.modules, name, module)
        return SparkDistributedBackend()

    return answering


def test_workers_like_this_process_and_those_that_cannot_be_asked(spark):
    engine.check_workers(spark(engine.current_versions()))
    engine.check_workers(RayBackend())
    engine.check_workers(spark(ValueError("never asked"), remote=True))


def test_workers_with_another_python(spark):
    error = ValueError("Job aborted:\n  File x\nModuleNotFoundError: No module named 'compsil_kit'\n at java.base")
    with pytest.raises(RuntimeError) as refused:
        engine.check_workers(spark(error))
    assert str(refused.value) == (
        "Spark's workers run 'python3', which cannot compute subsamples for this process: ModuleNotFoundError: No "
        "module named 'compsil_kit'. Set PYSPARK_PYTHON to a Python of the workers that has compsil-kit, in the "
        "versions of this one, before the Spark session starts; on one machine: os.environ['PYSPARK_PYTHON'] = "
        "sys.executable."
    )
    assert refused.value.__cause__ is error


def test_workers_that_fail_otherwise_or_have_other_versions(spark):
    with pytest.raises(RuntimeError, match=r"for this process: OSError. Set PYSPARK_PYTHON"):
        engine.check_workers(spark(OSError("no words that could be quoted")))
    here = engine.current_versions()
    with pytest.raises(RuntimeError, match=f"it has numpy 1.0 instead of {np.__version__}. Set PYSPARK_PYTHON"):
        engine.check_workers(spark({**here, "numpy": "1.0"}))


# --- the way back -----------------------------------------------------------------------------------------------------


def divide(a, b):
    return a / b


def test_errors_are_returned_where_they_would_be_lost():
    found = pickle.loads(pickle.dumps(engine._return_error(divide, 1, 0)))
    assert isinstance(found, ZeroDivisionError)
    assert "in divide" in found.__notes__[0]
    assert engine._return_error(divide, 6, 3) == 2
    arriving = engine.in_portions([joblib.delayed(engine._return_error)(divide, 1, b) for b in (1, 0)], 1)
    assert next(arriving) == 1
    with pytest.raises(ZeroDivisionError):
        next(arriving)


def test_a_failure_on_spark_is_raised_with_its_traceback(spark, monkeypatch):
    monkeypatch.setitem(BACKENDS, "spark", SparkDistributedBackend)
    spark(engine.current_versions())
    with joblib.parallel_config(backend="spark"):
        assert same(run(clusterer=split), run(clusterer=split))
        with pytest.raises(ClusteringError, match="clustering into k=3 failed") as caught:
            run(clusterer=no_luck)
    assert "On the worker" in caught.value.__notes__[0]


def test_portions_are_taken_one_by_one():
    taken = []

    def calls():
        for at in range(7):
            taken.append(at)
            yield joblib.delayed(divide)(at, 1)

    with joblib.parallel_config(backend="threading", n_jobs=2):
        arriving = engine.in_portions(calls(), None)
        assert next(arriving) == 0
        assert taken == [0, 1, 2, 3]
        assert list(arriving) == [1, 2, 3, 4, 5, 6]


def test_a_cluster_that_is_still_starting_has_one_worker(monkeypatch):
    """Spark counts none until the first executor has registered."""
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 0)
    assert n_workers(-1) == 1
    assert list(engine.in_portions((joblib.delayed(abs)(-i) for i in range(5)), 1)) == [0, 1, 2, 3, 4]
    assert run(n_jobs=1).best_k


@pytest.mark.parametrize("message", ["'_ExceptionWithTraceback' object is not iterable", "another"])
def test_what_joblibspark_makes_of_errors(message):
    def fail():
        raise TypeError(message)

    expected = (TypeError, "another") if message == "another" else (RuntimeError, "which is in Spark's log")
    with pytest.raises(expected[0], match=expected[1]):
        list(engine.in_portions([joblib.delayed(fail)()], 1))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_that_hand_over_all_at_once(n_jobs):
    """A backend of joblib itself that has no generators; its processes are forked, and OpenMP does not outlive that."""
    seen = []
    with joblib.parallel_config(backend="multiprocessing", n_jobs=n_jobs):
        there = run(clusterer=split, progress=lambda done, total: seen.append((done, total)))
        # Its pool of two may wait for itself for ever once a task has failed; errors of others are tested with Ray.
        if n_jobs == 1:
            with pytest.raises(ClusteringError, match="clustering into k=3 failed"):
                run(clusterer=no_luck)
    assert seen == [(at, 6) for at in range(1, 7)]
    assert same(there, run(clusterer=split))


def no_luck(X, k, seed):
    if k == 3:
        raise ValueError("no luck")
    return split(X, k, seed)
