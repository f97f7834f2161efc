"""Tests of opening and loading data in every form, of preparation records and of content digests."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tables import LARGE, CutSource, columns_of, write_parquet

from compsil_kit import PreparedTable, SelectionResult, prepare, select_k
from compsil_kit._data import dataset, matrix
from compsil_kit._data.dataset import Dataset, Preparation
from compsil_kit._data.matrix import content_digest
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._data.table import load_data, open_data
from compsil_kit.datasets import imbalanced_blobs

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}
X = np.arange(60.0).reshape(20, 3)


@pytest.fixture(scope="module")
def frame():
    rows, clusters = imbalanced_blobs()
    return pd.DataFrame(rows, columns=["age", "spend"]).assign(city=np.array(["Rome", "Oslo"])[clusters % 2])


@pytest.mark.parametrize(
    ("preparation", "summary"),
    [
        (Preparation(("a",), scale="robust"), "columns a; scale robust"),
        (Preparation(("a",), n_dropped=1), "columns a; scale none; 1 row with missing values dropped"),
        (
            Preparation(tuple(f"x{i}" for i in range(300)), left_out=("a",), n_dropped=1234),
            "columns x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, ... (300 in all); scale none; "
            "left out as not numeric: a; 1,234 rows with missing values dropped",
        ),
    ],
)
def test_a_preparation_is_summarised_in_one_line(preparation, summary):
    assert str(preparation) == summary


@pytest.mark.filterwarnings("ignore:the columns of X differ in scale")
@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_results_record_the_columns_of_tables(frame, convert):
    numeric = frame[["age", "spend"]].assign(flag=frame["age"] > 0)
    result = select_k(convert(numeric), **FAST)
    assert result.preparation == Preparation(("age", "spend", "flag"))
    np.testing.assert_array_equal(result.micro, select_k(numeric.to_numpy(dtype=float), **FAST).micro)


def test_results_of_arrays_have_no_preparation(frame):
    result = select_k(frame[["age", "spend"]].to_numpy(), **FAST)
    assert result.preparation is None
    assert "Data:" not in result.explain()
    assert result.to_dict()["preparation"] is None


def test_a_preparation_survives_the_json_round_trip(frame):
    table = prepare(frame.assign(one=1), missing="drop")
    result = select_k(table, **FAST)
    again = SelectionResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.preparation == result.preparation == table.preparation
    assert "Data: columns age, spend, one; scale standard; left out as not numeric: city." in again.explain()
    assert "Note: column 'one' is constant and has no effect." in again.explain()


def test_the_digest_is_independent_of_the_memory_layout():
    for layout in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        # Checkpoints written by earlier releases contain this digest.
        assert content_digest(layout) == "a496cafa22da0644b5818cbc735b761c"


@pytest.mark.parametrize(
    "other",
    [X + 1e-13, X[::-1], X.astype(np.float32), X.view(np.int64), X.reshape(30, 2), X[:-1], sparse.csr_array(X)],
)
def test_different_content_has_a_different_digest(other):
    assert content_digest(other) != content_digest(X)


def test_the_digest_of_sparse_data_depends_on_values_rows_and_columns():
    matrices = [[[1, 0], [0, 2]], [[0, 1], [0, 2]], [[1, 0], [0, 3]], [[1, 2], [0, 0]]]
    digests = [content_digest(sparse.csr_array(np.array(matrix, dtype=float))) for matrix in matrices]
    assert len(set(digests)) == 4
    assert content_digest(sparse.csr_array(np.array(matrices[0], dtype=float))) == digests[0]


@pytest.mark.parametrize("size", [1, 24, 25, 120, 10**9])
def test_digests_are_computed_in_blocks(size, tmp_path, monkeypatch):
    whole = content_digest(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(matrix, "_BLOCK_BYTES", size)
    assert max(len(block) for _, block in matrix.row_blocks(mapped)) == min(20, max(1, size // 24))
    assert content_digest(mapped) == whole


def test_digests_of_scalars_and_empty_arrays_depend_on_value_and_shape():
    assert content_digest(np.array(3.0)) != content_digest(np.array(4.0))
    assert content_digest(np.empty((0, 3))) != content_digest(np.empty((0, 2)))


def test_the_digest_is_computed_once_on_first_access(monkeypatch):
    calls = []
    monkeypatch.setattr(dataset, "content_digest", lambda X: calls.append(X) or "digest")
    data = load_data(X)
    assert calls == []
    assert (data.digest, data.digest) == ("digest", "digest")
    assert len(calls) == 1


def test_a_prepared_table_is_used_unchanged_and_validated(frame):
    table = prepare(frame, scale="minmax")
    assert isinstance(table, PreparedTable)
    assert load_data(table) is open_data(table) is table
    assert np.array_equal(select_k(table, **FAST).micro, select_k(table.matrix, **FAST).micro)
    with pytest.raises(ValueError, match="X must have at least 2 rows"):
        load_data(prepare(frame.head(1), scale=None))


def test_data_in_memory_are_converted():
    data = load_data([[1, 2], [3, 4]])
    assert (type(data), data.matrix.dtype, data.preparation) == (Dataset, np.float64, None)
    assert load_data(pd.DataFrame({"a": [1, 2], 7: [3, 4]})).preparation == Preparation(("a", "7"))


@pytest.mark.parametrize("n_rows", [50_000, LARGE])
def test_only_out_of_core_tables_up_to_50_000_rows_are_read(n_rows):
    source = CutSource(columns_of(n_rows, dtype="float32"))
    data = open_data(source)
    assert (data.shape, data.dtype, data.prepared) == ((n_rows, 3), np.float32, False)
    assert data.preparation == Preparation(("x0", "x1", "x2"))
    if n_rows == LARGE:
        assert isinstance(data, SourceTable)
        assert source.handed == []
        assert open_data(data) is data
    else:
        assert type(data) is Dataset
        np.testing.assert_array_equal(data.matrix, np.column_stack(list(columns_of(n_rows, dtype="float32").values())))


@pytest.mark.parametrize("wrap", [lambda X: X, prepare, str])
def test_large_tables_are_loaded_on_request(wrap, tmp_path):
    data = load_data(wrap(write_parquet(tmp_path / "a.parquet", columns_of())))
    assert type(data) is Dataset
    assert data.shape == (LARGE, 3)
    assert data.preparation.scale == ("standard" if wrap is prepare else None)
    assert load_data(CutSource(columns_of(), named=False)).preparation is None
