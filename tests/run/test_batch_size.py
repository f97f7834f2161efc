"""Batches stay small whatever the number of columns, and those of an earlier release are still read."""

import json

import numpy as np
import pandas as pd
import pytest

from compsil_kit import combine_batches, plan_batches, prepare, run_batch, select_k

N_COLUMNS = 5000
KEYWORDS = {"ks": range(2, 11), "n_subsamples": 30, "sample_size": 40}


@pytest.fixture(scope="module")
def wide():
    X = np.random.default_rng(0).normal(size=(60, N_COLUMNS))
    return prepare(pd.DataFrame(X, columns=[f"a rather long name of column {at}" for at in range(N_COLUMNS)]))


def size(batch):
    return len(json.dumps(batch, allow_nan=False))


@pytest.mark.parametrize("n_batches", [8, 16])
def test_long_column_names_are_not_part_of_batches(wide, n_batches):
    planned = plan_batches(wide, n_batches=n_batches, **KEYWORDS)
    finished = [run_batch(wide, json.loads(json.dumps(batch))) for batch in planned]
    assert max(map(size, planned)) < 2048
    assert max(map(size, finished)) < 4096
    whole = select_k(wide, **KEYWORDS)
    assert combine_batches(finished, preparation=wide.preparation).to_dict() == whole.to_dict()
    with pytest.warns(RuntimeWarning, match="the names of 5,000 columns"):
        assert combine_batches(finished).preparation is None
    other = prepare(wide.raw.iloc[:, ::-1]).preparation
    with pytest.raises(ValueError, match="preparation must be that of the table"):
        combine_batches(finished, preparation=other)


def test_batches_of_an_earlier_release_contain_every_name():
    table = prepare(pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["x", "y"]))
    batches = plan_batches(table, n_batches=2, ks=[2, 3], n_subsamples=4)
    assert batches[0]["preparation"]["columns"] == ["x", "y"]
    long = [f"column {at}" for at in range(N_COLUMNS)]
    old = [{**batch, "preparation": {**batch["preparation"], "columns": long}} for batch in batches]
    assert combine_batches([run_batch(table, batch) for batch in old]).preparation.columns == tuple(long)
