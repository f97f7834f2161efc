"""Run subsamples on Dask, Ray and Spark clusters with two worker processes each.

The clusterers are nested functions, which are sent to the workers by value; module-level functions would be imported.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import venv
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import joblib
import numpy as np
import psutil
import pytest
import ray
from distributed import Client, LocalCluster
from joblibspark import register_spark
from ray.util.joblib import register_ray
from sklearn.datasets import make_blobs
from spark_session import spark_session
from waiting import PATIENCE, join, until

from compsil_kit import ClusteringError, Interrupted, select_k, stream
from compsil_kit._result.trials import NUMBERS

# Enough rows to use compiled k-means.
X, _ = make_blobs([900, 600, 300], 3, cluster_std=[1.5, 1.0, 0.7], random_state=3)
WHOLE = {"ks": (2, 3, 4), "n_subsamples": 5, "n_calibration": 3, "n_starts": 2, "sample_size": 1200}
# Few rows, for tests of how results are transferred.
SMALL = {"ks": (2, 3), "n_subsamples": 10, "sample_size": 60, "random_state": range(10)}


def failing(*seeds):
    """Return a clusterer that raises for k=3 on subsamples with these seeds."""

    def cluster(X, k, seed):
        if k == 3 and seed in seeds:
            raise ValueError("no luck")
        return np.arange(len(X)) % k

    return cluster


def waiting_at_the_last(folder):
    """Return a clusterer that waits for a file before the last subsample, and the path of the file."""
    go, patience = folder / "go", PATIENCE

    def cluster(X, k, seed):
        deadline = time.monotonic() + patience
        while seed == 9 and not go.exists():
            assert time.monotonic() < deadline, "the first result did not arrive"
            time.sleep(0.02)
        return np.arange(len(X)) % k

    return cluster, go


def blocking_once(folder):
    """Return a clusterer whose first call writes its process ID to a file and never returns, and the path."""
    mark = folder / "process"

    def cluster(X, k, seed):
        import os
        import threading

        draft = folder / f"{os.getpid()}-{threading.get_ident()}"
        draft.write_text(str(os.getpid()))
        try:
            # This call is atomic and succeeds only once.
            os.link(draft, mark)
        except FileExistsError:
            return np.arange(len(X)) % k
        return threading.Event().wait()

    return cluster, mark


def descendants():
    """Return all child processes except resource trackers, which end with this process."""
    return {process for process in psutil.Process().children(recursive=True) if is_worker(process)}


def is_worker(process):
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        # The process has ended in the meantime.
        return False


def are_gone(processes):
    """Wait for the processes to end; return whether all have ended."""
    _, alive = psutil.wait_procs(processes, PATIENCE)
    return alive == []


def bits(result):
    """Return all numbers in the trials, the scores and the failures."""
    parts = [getattr(trials, name) for trials in (result.trials, result.calibration) for name in NUMBERS]
    return [part.tobytes() for part in (*parts, result.scores)], [vars(failure) for failure in result.failures]


@contextmanager
def dask_cluster():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        spread = partial(joblib.parallel_config, backend="dask")
        yield SimpleNamespace(spread=spread, ids=lambda: client.run(os.getpid).values(), client=client)


@contextmanager
def ray_cluster():
    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    spread = partial(joblib.parallel_config, backend="ray", n_jobs=-1)

    def ids():
        with spread():
            return joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(20))

    yield SimpleNamespace(spread=spread, ids=ids)
    ray.shutdown()


@contextmanager
def spark_cluster():
    register_spark()
    with spark_session("local-cluster[2,1,1024]") as session:

        def ids():
            return session.sparkContext.parallelize(range(8), 8).map(lambda _: os.getpid()).collect()

        yield SimpleNamespace(spread=partial(joblib.parallel_config, backend="spark", n_jobs=-1), ids=ids)


@pytest.fixture(scope="module", params=[dask_cluster, ray_cluster, spark_cluster], ids=lambda start: start.__name__)
def engine(request):
    before = descendants()
    with request.param() as cluster:
        yield cluster
        started = descendants() - before
    assert len(started) >= 2
    assert are_gone(started)


dask_only = pytest.mark.parametrize("engine", [dask_cluster], indirect=True)


def test_workers_run_in_other_processes(engine):
    assert os.getpid() not in engine.ids()


def test_results_are_bitwise_equal_to_threads(engine):
    with engine.spread():
        there = select_k(X, **WHOLE)
    assert there.trials.micro.shape == (3, 5)
    assert np.isfinite(there.trials.agreement[:, 1:]).all()
    assert np.isfinite(there.trials.within).all()
    assert there.calibration.micro.shape == (3, 3)
    assert bits(there) == bits(select_k(X, **WHOLE))


def test_small_subsamples_are_compared_on_the_same_rows(engine):
    settings = {"ks": (2, 3, 4), "n_subsamples": 3, "sample_size": 80}
    with engine.spread():
        there = select_k(X, **settings)
    assert there.plan.n_common == 80
    assert np.isfinite(there.trials.agreement[:, 1:]).all()
    assert bits(there) == bits(select_k(X, **settings))


def test_the_memory_check_ignores_workers_on_other_machines(engine, monkeypatch):
    """The available memory is enough for one worker, but not for two."""
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 100 * 2**20)
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        select_k(X, **SMALL, n_jobs=2)
    with engine.spread():
        assert select_k(X, **SMALL).n_subsamples == 10


def test_failures_on_workers_are_counted(engine):
    with engine.spread():
        there = select_k(X, **SMALL, clusterer=failing(0, 7), on_failure="skip")
    assert [(failure.k, failure.subsample) for failure in there.failures] == [(3, 0), (3, 7)]
    assert bits(there) == bits(select_k(X, **SMALL, clusterer=failing(0, 7), on_failure="skip"))


def test_errors_on_workers_are_raised(engine):
    with (
        engine.spread(),
        pytest.raises(ClusteringError, match=r"k=3 failed on subsample 9 \(seed 9\).*ValueError: no luck"),
    ):
        select_k(X, **SMALL, clusterer=failing(9))


def test_stream_yields_results_before_all_subsamples_have_finished(engine, tmp_path):
    """The last subsample waits until the first result has arrived."""
    clusterer, go = waiting_at_the_last(tmp_path)
    seen = []
    with engine.spread():
        growing = stream(X, **SMALL, clusterer=clusterer)
        seen.append(next(growing))
        go.touch()
        seen += growing
    assert [result.n_subsamples for result in seen] == list(range(1, 11))
    assert bits(seen[-1]) == bits(select_k(X, **SMALL, clusterer=clusterer))


def test_an_interrupted_selection_resumes_from_its_checkpoint(engine, tmp_path):
    done, path = [], tmp_path / "run.json"

    def stop_at_three(n, total):
        done.append((n, total))
        if n == 3:
            raise KeyboardInterrupt

    with engine.spread():
        with pytest.raises(Interrupted) as stopped:
            select_k(X, **SMALL, checkpoint=path, progress=stop_at_three)
        kept = len(json.loads(path.read_text())["trials"])
        there = select_k(X, **SMALL, checkpoint=path, progress=lambda n, total: done.append((n, total)))
    assert stopped.value.result.partial
    assert 3 <= kept < 10
    # Subsamples in the checkpoint count as done; the remaining subsamples follow one by one.
    assert done == [(n, 10) for n in (1, 2, 3, *range(done[3][0], 11))]
    assert bits(there) == bits(select_k(X, **SMALL))


@dask_only
def test_a_killed_worker_is_replaced(engine, tmp_path):
    clusterer, mark = blocking_once(tmp_path)
    found = []
    assert len(set(engine.ids())) == 2

    def work():
        with engine.spread():
            found.append(select_k(X, **SMALL, clusterer=clusterer))

    working = threading.Thread(target=work, name="selection")
    working.start()
    victim = int(until(lambda: mark.exists() and mark.read_text(), "a worker computes a subsample"))
    assert victim in engine.ids()
    os.kill(victim, signal.SIGKILL)
    join([working])
    (there,) = found
    assert victim not in engine.ids()
    assert bits(there) == bits(select_k(X, **SMALL, clusterer=clusterer))


@dask_only
def test_a_closed_client_raises(engine):
    with Client(engine.client.scheduler.address) as other, engine.spread():
        other.close()
        with pytest.raises(RuntimeError, match=r"'dask' uses a Client that is closed. Create a Client"):
            select_k(X, **SMALL)


@dask_only
def test_large_tasks_emit_no_warning(engine, recwarn):
    """Dask warns about task graphs of more than 10 MB."""
    wide = np.random.default_rng(0).normal(size=(4000, 400))
    with engine.spread():
        select_k(wide, ks=(2, 3), n_subsamples=2, sample_size=3600, clusterer=failing())
    assert [str(warning.message) for warning in recwarn if "large graph" in str(warning.message)] == []


# --- missing setup ----------------------------------------------------------------------------------------------------

RUN = "select_k([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.0]], ks=[2])"
SPARK_RUN = f"""
from joblibspark import register_spark
from pyspark.sql import SparkSession
register_spark()
quiet = {{"spark.ui.enabled": "false", "spark.log.level": "OFF"}}
SparkSession.builder.master("local[1]").config(map=quiet).getOrCreate()
with joblib.parallel_config(backend="spark", n_jobs=2):
    {RUN}
"""


def errors_of(code, env=None):
    """Return the standard error output of a new process."""
    command = [sys.executable, "-c", f"import joblib; from compsil_kit import select_k\n{code}"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE).stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # joblib raises before our code runs.
        ("joblib.parallel_config(backend='dask')", "To use Joblib with Dask first create a Dask Client"),
        (
            "joblib.parallel_config(backend='ray')",
            "ValueError: joblib's backend 'ray' is not registered. Run 'from ray.util.joblib import register_ray; "
            "register_ray()' before joblib.parallel_config(backend='ray').",
        ),
        (
            "from ray.util.joblib import register_ray; register_ray(); "
            f"joblib.parallel_config('ray', n_jobs=-1); {RUN}",
            "RuntimeError: joblib's backend is 'ray', but Ray has not been started. Call ray.init()",
        ),
        (
            "joblib.parallel_config(backend='spark')",
            "joblib's backend 'spark' is not registered. Run 'from joblibspark import register_spark;",
        ),
    ],
    ids=["no client", "ray not registered", "ray not started", "spark not registered"],
)
def test_missing_setup_raises(code, message):
    assert message in errors_of(code)


def test_workers_without_packages_raise(tmp_path):
    """Without PYSPARK_PYTHON, workers run the first python3 on PATH, which has no packages here."""
    venv.create(tmp_path / "bare", with_pip=False)
    variables = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    errors = errors_of(SPARK_RUN, variables | {"PATH": f"{tmp_path}/bare/bin:{variables['PATH']}"})
    last = errors.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: Spark's workers run 'python3', which cannot compute subsamples")
    assert "ModuleNotFoundError: No module named" in last
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in last
