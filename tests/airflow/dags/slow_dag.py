"""A selection slow enough to be killed in the middle."""

import os
import time

import numpy as np
from airflow.sdk import DAG

from compsil_airflow import SelectKOperator


def slow(X, k, seed):
    """Cut along the first column, at leisure."""
    time.sleep(0.25)
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))


with DAG("slow_selection", schedule=None):
    SelectKOperator(
        task_id="select_k",
        data=os.environ["COMPSIL_SLOW_DATA"],
        columns=["x", "y"],
        ks=[2, 3, 4],
        n_subsamples=20,
        clusterer=slow,
        retries=1,
        retry_delay=0.0,
    )
