"""Data for all orchestrators, and homes of their own, set before they are imported."""

import os
import tempfile
from pathlib import Path

HOME = Path(tempfile.mkdtemp(prefix="compsil-orchestrators-"))
os.environ.update(
    DAGSTER_HOME=str(HOME),
    DAGSTER_DISABLE_TELEMETRY="1",
    DO_NOT_TRACK="1",
    PREFECT_HOME=str(HOME / "prefect"),
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
    MLFLOW_DISABLE_TELEMETRY="true",
    NO_PROXY="127.0.0.1,localhost",
)

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pytest  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402

KEYWORDS = {"ks": [2, 3, 4], "n_subsamples": 6}


@pytest.fixture(scope="session")
def table():
    from compsil_kit import prepare

    X, _ = make_blobs([150, 100, 50], 2, cluster_std=0.6, random_state=3)
    return prepare(pd.DataFrame(X, columns=["x", "y"]))


@pytest.fixture(scope="session")
def wide():
    """A table whose names of columns are too long for a batch, which holds at most a thousand characters of them."""
    from compsil_kit import prepare

    values = np.random.default_rng(0).normal(size=(60, 80))
    return prepare(pd.DataFrame(values, columns=[f"feature number {at}" for at in range(80)]))


@pytest.fixture(scope="session")
def manhattan():
    """A metric that batches hold by name only."""
    return lambda a, b: np.abs(a - b).sum()


@pytest.fixture(scope="session")
def whole(table):
    """What one process finds."""
    from compsil_kit import select_k

    return select_k(table, **KEYWORDS)


@pytest.fixture
def fragile():
    """A clusterer that loses its connection once, in the second of three batches."""
    calls = []

    def cluster(X, k, seed):
        calls.append(k)
        if len(calls) == 8:
            raise ConnectionError("away")
        return np.arange(len(X)) % k

    return cluster


@pytest.fixture
def mlflow_run(tmp_path, monkeypatch):
    """An active run in a file store of its own; yields what is in the store."""
    import mlflow

    # Newer releases want to be told that files are meant.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri() + "/mlruns")
    with mlflow.start_run() as run:
        client = mlflow.MlflowClient()
        yield lambda: (client, client.get_run(run.info.run_id))
