"""X in any of its forms: opened, loaded, or as a frame."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from tables import LARGE, CutSource, columns_of, write_parquet

from compsil_kit import PreparedTable, prepare, select_k
from compsil_kit._data import dataset
from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._data.table import load_data, open_data

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}


@pytest.fixture(scope="module")
def frame():
    X, _ = make_blobs(120, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["age", "spend", "visits"])


def test_the_digest_is_computed_once_on_first_access(frame, monkeypatch):
    calls = []
    monkeypatch.setattr(dataset, "content_digest", lambda X: calls.append(X) or "digest")
    data = load_data(frame[["age", "spend"]].to_numpy())
    assert calls == []
    assert (data.digest, data.digest) == ("digest", "digest")
    assert len(calls) == 1


def test_a_prepared_table_is_used_unchanged(frame):
    table = prepare(frame, scale="minmax")
    assert isinstance(table, PreparedTable)
    assert load_data(table) is open_data(table) is table
    assert np.array_equal(select_k(table, **FAST).micro, select_k(table.matrix, **FAST).micro)


def test_a_prepared_table_is_validated(frame):
    with pytest.raises(ValueError, match="X must have at least 2 rows"):
        load_data(prepare(frame.head(1), scale=None))


def test_data_in_memory_are_converted():
    data = load_data([[1, 2], [3, 4]])
    assert type(data) is Dataset
    assert data.matrix.dtype == np.float64
    assert data.preparation is None
    named = load_data(pd.DataFrame({"a": [1, 2], 7: [3, 4]}))
    assert named.preparation == Preparation(("a", "7"))


def test_a_large_out_of_core_table_is_not_read():
    source = CutSource(columns_of())
    given = open_data(source)
    assert isinstance(given, SourceTable)
    assert (given.shape, given.prepared, source.handed) == ((LARGE, 3), False, [])
    assert open_data(given) is given


@pytest.mark.parametrize("n_rows", [50_000, LARGE])
def test_tables_up_to_50_000_rows_are_loaded(n_rows):
    assert isinstance(open_data(CutSource(columns_of(n_rows))), SourceTable) == (n_rows > 50_000)


def test_a_small_file_is_loaded(tmp_path):
    columns = columns_of(300, dtype="float32")
    data = open_data(write_parquet(tmp_path / "a.parquet", columns))
    assert type(data) is Dataset
    assert data.preparation == Preparation(("x0", "x1", "x2"))
    np.testing.assert_array_equal(data.matrix, np.column_stack(list(columns.values())))
    assert data.matrix.dtype == np.float32


@pytest.mark.parametrize("wrap", [lambda X: X, prepare, str])
def test_large_tables_are_loaded_on_request(wrap, tmp_path):
    place = write_parquet(tmp_path / "a.parquet", columns_of())
    data = load_data(wrap(place))
    assert type(data) is Dataset
    assert data.shape == (LARGE, 3)
    assert data.preparation.scale == ("standard" if wrap is prepare else None)


def test_columns_without_names_have_no_preparation():
    assert load_data(CutSource(columns_of(), named=False)).preparation is None
    assert load_data(CutSource(columns_of(), named=True)).preparation is not None
