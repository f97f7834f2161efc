"""The entry in XCom stays small, whatever the selection."""

import json

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

from compsil_airflow.xcom import MOST_BYTES, summarise
from compsil_kit import select_k
from compsil_kit.data.table import prepare


def test_thousands_of_columns():
    X = np.random.default_rng(0).normal(size=(60, 3000))
    table = prepare(pd.DataFrame(X, columns=[f"a rather long name of column {at}" for at in range(3000)]))
    result = select_k(table.matrix, ks=[2, 3], n_subsamples=2).prepared(table.preparation)
    summary = summarise(result, 2, [])
    assert len(json.dumps(summary, allow_nan=False)) <= MOST_BYTES
    assert summary["n_columns"] == 3000
    assert len(summary["columns"]) == 100


def test_of_hundreds_of_ks_the_best_stay():
    X, _ = make_blobs(700, 2, random_state=0)
    result = select_k(X, ks=range(2, 202), n_subsamples=2, sample_size=600)
    summary = summarise(result, 2, [])
    assert len(json.dumps(summary, allow_nan=False)) <= MOST_BYTES
    assert summary["left_out"] == ["curve"]
    assert result.best_k in [row["k"] for row in summary["curve"]]
    assert [row["k"] for row in summary["curve"]] == sorted(row["k"] for row in summary["curve"])


def test_nothing_is_nan_with_a_single_subsample():
    X, _ = make_blobs(100, 2, random_state=0)
    summary = summarise(select_k(X, ks=[2, 3], n_subsamples=1), 2, [])
    json.dumps(summary, allow_nan=False)
    assert summary["curve"][0]["sem"] is None


def test_failures_are_told_but_not_all():
    def fickle(X, k, seed):
        if k == 4:
            raise RuntimeError("y" * 5000)
        return np.arange(len(X)) % k

    X, _ = make_blobs(100, 2, random_state=0)
    result = select_k(X, ks=[2, 3, 4], n_subsamples=40, clusterer=fickle, on_failure="skip")
    summary = summarise(result, 2, [])
    assert summary["n_failed"] == 40
    assert len(summary["failures"]) == 10
    assert len(json.dumps(summary, allow_nan=False)) <= MOST_BYTES
