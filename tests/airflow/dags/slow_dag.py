"""A selection that blocks in the middle, to be stopped there, until a file appears."""

import itertools
import os
import threading
from pathlib import Path

import numpy as np
from airflow.providers.common.compat.sdk import DAG

from compsil_airflow import SelectKOperator

DATA = Path(os.environ["COMPSIL_SLOW_DATA"])
calls = itertools.count()


def slow(X, k, seed):
    """Cluster along the first column; block after five subsamples of three ks, until a file appears."""
    if next(calls) >= 15 and not DATA.with_name("go-on").exists():
        threading.Event().wait()
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))


with DAG("slow_selection", schedule=None) as dag:
    SelectKOperator(
        task_id="select_k",
        data=str(DATA),
        columns=["x", "y"],
        ks=[2, 3, 4],
        n_subsamples=20,
        clusterer=slow,
        retries=1,
        retry_delay=0.0,
    )

if __name__ == "__main__":
    print("ended as", dag.test().state, flush=True)
