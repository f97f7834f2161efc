"""Data for all orchestrators, and separate homes, set before they are imported."""

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
    MLFLOW_ALLOW_FILE_STORE="true",
    NO_PROXY="127.0.0.1,localhost",
)

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pytest  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402

from compsil_kit import prepare, select_k  # noqa: E402

# As few subsamples as have a selection probability.
KEYWORDS = {"ks": [2, 3, 4], "n_subsamples": 10}


def manhattan(a, b):
    return np.abs(a - b).sum()


def half(discrepancy):
    return discrepancy * 0.0 + 0.5


# Settings that decide how much is computed, that batches contain by name only, or that only choose.
SETTINGS = [
    {},
    {"criterion": "stable", "n_calibration": 2},
    {"rule": "lcb", "z": 2.0, "n_jobs": 2, "on_failure": "skip"},
    {"metric": manhattan, "transform": half},
]


@pytest.fixture(scope="session")
def table():
    """Three blobs; the names of the columns are too long for a batch, which contains at most a thousand characters."""
    X, _ = make_blobs([150, 100, 50], 2, cluster_std=0.6, random_state=3)
    return prepare(pd.DataFrame(X, columns=["x" * 600, "y" * 600]))


@pytest.fixture(scope="session")
def whole(table):
    """The selection of a single process."""
    return select_k(table, **KEYWORDS)


@pytest.fixture
def fragile():
    """A clusterer that loses its connection once, in the second of three batches."""
    calls = []

    def cluster(X, k, seed):
        calls.append(k)
        if len(calls) == 13:
            raise ConnectionError("away")
        return np.arange(len(X)) % k

    return cluster


@pytest.fixture
def mlflow_run(tmp_path):
    """An active run in a file store; returns a client and the stored run."""
    import mlflow

    mlflow.set_tracking_uri(tmp_path.as_uri() + "/mlruns")
    with mlflow.start_run() as run:
        client = mlflow.MlflowClient()
        yield lambda: (client, client.get_run(run.info.run_id))
