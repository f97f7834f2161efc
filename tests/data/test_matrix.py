"""Tests of converting arrays, sparse matrices and tables to a matrix without modifying the input."""

from __future__ import annotations

import copy
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from compsil_kit import select_k
from compsil_kit._data.matrix import validate_matrix


def as_matrix(X, **settings):
    return validate_matrix(X, **settings)[1]


RNG = np.random.default_rng(7)
# Integers up to 200, which every numeric type from uint8 and float16 to decimal represents exactly.
WHOLE = np.clip(RNG.normal(np.repeat([[30, 40, 50], [100, 150, 20], [180, 30, 180]], 25, axis=0), 6), 0, 200).round()
YES_NO = RNG.random((75, 6)) < np.repeat([0.1, 0.5, 0.9], 25)[:, None]
NAMES = ["a", "b", "c"]


def run(X, **keywords):
    return select_k(X, **{"ks": (2, 3, 4), "n_subsamples": 3, "sample_size": 50, **keywords})


def same(left, right):
    return np.array_equal(left.micro, right.micro) and np.array_equal(left.macro, right.macro)


class OwnFrame(pd.DataFrame):
    """A subclass of DataFrame, as in GeoPandas."""


def read_only(X):
    X = X.copy()
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        array.setflags(write=False)
    return X


def frame(X, dtype=None, names=NAMES):
    table = pd.DataFrame(X, columns=names)
    return table if dtype is None else table.astype(dtype)


def chunked(X):
    return pa.table({name: pa.chunked_array([X[:10, i], X[10:40, i], X[40:, i]]) for i, name in enumerate(NAMES)})


def decimals(X):
    return [[decimal.Decimal(int(value)) for value in column] for column in X.T]


ARRAYS = {
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "int64": lambda X: X.astype(np.int64),
    "int16": lambda X: X.astype(np.int16),
    "uint8": lambda X: X.astype(np.uint8),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "other byte order": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "matrix": lambda X: sparse.csr_matrix(X).todense(),
    "no cell masked": lambda X: np.ma.array(X),
    "fortran order": np.asfortranarray,
    "read-only": read_only,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "transposed": lambda X: X.T.copy().T,
    "pandas": frame,
    "pandas int": lambda X: frame(X, "int32"),
    "pandas nullable int": lambda X: frame(X, "Int64"),
    "pandas nullable float": lambda X: frame(X, "Float64"),
    "pandas arrow int": lambda X: frame(X, "int16[pyarrow]"),
    "pandas arrow float": lambda X: frame(X, "double[pyarrow]"),
    "pandas arrow decimal": lambda X: frame(X, "int64").astype(pd.ArrowDtype(pa.decimal128(20, 0))),
    "pandas sparse": lambda X: frame(X, pd.SparseDtype(float, 0.0)),
    "pandas sparse int": lambda X: frame(X, pd.SparseDtype(int, 0)),
    "pandas mixed": lambda X: frame(X).astype({"a": "uint8", "b": "Int32", "c": "float64"}),
    "pandas twice the same name": lambda X: frame(X, names=["a", "a", "b"]),
    "pandas numbered": lambda X: frame(X, names=[0, 1, 2]),
    "pandas odd names": lambda X: frame(X, names=[None, 1.5, ("x", "y")]),
    "pandas levels": lambda X: frame(X, names=pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])),
    "pandas other index": lambda X: frame(X).set_axis(pd.date_range("2020", periods=len(X))[::-1]),
    "pandas subclass": lambda X: OwnFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars int": lambda X: pl.DataFrame(X.astype(np.int64), schema=NAMES),
    "polars wide int": lambda X: pl.DataFrame(X.astype(np.int64), schema=NAMES).cast(pl.Int128),
    "polars decimal": lambda X: pl.DataFrame(dict(zip(NAMES, decimals(X), strict=True))),
    "polars chunks": lambda X: pl.concat(
        [pl.DataFrame(X[:20], schema=NAMES), pl.DataFrame(X[20:], schema=NAMES)], rechunk=False
    ),
    "arrow": lambda X: pa.table({name: X[:, i] for i, name in enumerate(NAMES)}),
    "arrow chunks": chunked,
    "arrow uint8": lambda X: pa.table({name: X[:, i].astype(np.uint8) for i, name in enumerate(NAMES)}),
    "arrow decimal": lambda X: pa.table(dict(zip(NAMES, decimals(X), strict=True))),
    "arrow twice the same name": lambda X: pa.table([pa.array(column) for column in X.T], names=["a", "a", "b"]),
    "arrow batch": lambda X: pa.record_batch({name: X[:, i] for i, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_kind_of_input_gives_the_same_result_as_the_plain_array(name):
    given = ARRAYS[name](WHOLE)
    before = copy.deepcopy(given)
    result = run(given)
    assert same(result, run(WHOLE))
    assert result.plan.dtype == "float64"
    assert given.equals(before) if hasattr(given, "equals") else np.array_equal(given, before)


BOOLEANS = {
    "array": lambda X: X,
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda X: pd.DataFrame(X).astype("boolean"),
    "pandas arrow": lambda X: pd.DataFrame(X).astype("bool[pyarrow]"),
    "pandas sparse": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(bool, False)),
    "polars": pl.DataFrame,
    "arrow": lambda X: pa.table([pa.array(column) for column in X.T], names=list("abcdef")),
    "arrow batch": lambda X: pa.record_batch([pa.array(column) for column in X.T], names=list("abcdef")),
    "sparse": sparse.csr_array,
}


@pytest.mark.parametrize("name", BOOLEANS)
def test_booleans_become_zeros_and_ones(name):
    matrix = as_matrix(BOOLEANS[name](YES_NO))
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix.toarray() if sparse.issparse(matrix) else matrix, YES_NO)


SMALL = {
    "array": lambda X: X,
    "pandas": lambda X: pd.DataFrame(X),
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float32"),
    "pandas arrow": lambda X: pd.DataFrame(X).astype("float[pyarrow]"),
    "pandas sparse": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(np.float32, 0)),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table({name: X[:, i] for i, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("name", SMALL)
def test_float32_is_kept(name):
    X = WHOLE.astype(np.float32)
    result = run(SMALL[name](X))
    assert result.plan.dtype == "float32"
    assert same(result, run(X))
    assert result.scores == pytest.approx(run(WHOLE).scores, abs=1e-5)


def test_one_float64_column_makes_the_matrix_float64():
    assert run(frame(WHOLE.astype(np.float32)).astype({"b": "float64"})).plan.dtype == "float64"


SPARSE = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "dok": sparse.dok_array,
    "csr matrix": sparse.csr_matrix,
    "csc matrix": sparse.csc_matrix,
    "coo matrix": sparse.coo_matrix,
    "read-only": lambda X: read_only(sparse.csr_array(X)),
    "integers": lambda X: sparse.csr_array(X.astype(np.int32)),
    "bytes": lambda X: sparse.csc_matrix(X.astype(np.uint8)),
}
FEW = np.where(WHOLE > 45, WHOLE, 0.0)


def parts(X):
    return [array.copy() for array in (X.data, X.indices, X.indptr)]


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("clusterer", ["kmeans", "minibatch-kmeans", "bisecting-kmeans", "birch"])
def test_sparse_data_give_the_same_result_as_dense_data(name, clusterer):
    dense, given = run(FEW, clusterer=clusterer), run(SPARSE[name](FEW), clusterer=clusterer)
    assert given.scores == pytest.approx(dense.scores, abs=1e-10)
    assert given.best_k == dense.best_k


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan"])
def test_non_canonical_sparse_data_are_not_modified(metric):
    # Row 0 has unsorted columns, row 1 has a duplicate entry and an explicit zero.
    data, indices = np.array([3.0, 1.0, 2.0, 2.0, 0.0, 5.0]), np.array([2, 0, 1, 1, 0, 2])
    untidy = sparse.csr_array((data, indices, np.array([0, 2, 5, 6])), shape=(3, 3))
    X = sparse.csr_array(sparse.vstack([untidy, sparse.csr_array(FEW)]))
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    X.has_sorted_indices = X.has_canonical_format = False
    before = parts(X)
    result = run(X, metric=metric, ks=(2, 3))
    assert result.scores == pytest.approx(run(X.toarray(), metric=metric, ks=(2, 3)).scores, abs=1e-10)
    assert all(np.array_equal(a, b) for a, b in zip(before, parts(X), strict=True))


def test_sparse_data_with_64_bit_indices_give_the_same_result():
    X = sparse.csr_array(FEW)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert same(run(wide), run(X))
    assert wide.indices.dtype == np.int64


def test_data_are_copied_only_to_convert_them(tmp_path):
    assert as_matrix(WHOLE) is WHOLE
    assert np.shares_memory(as_matrix(WHOLE[::2]), WHOLE)
    assert not np.shares_memory(as_matrix(WHOLE.astype(int)), WHOLE)
    np.save(tmp_path / "x.npy", WHOLE)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(as_matrix(mapped), mapped)
    for dtype in (np.float32, np.float64):
        X = sparse.csr_array(np.eye(3, dtype=dtype))
        assert np.shares_memory(as_matrix(X).data, X.data)


def test_too_few_rows_raise():
    assert as_matrix(np.ones((2, 1))).shape == (2, 1)
    assert as_matrix(np.ones((1, 1)), min_rows=1).shape == (1, 1)
    with pytest.raises(ValueError, match=r"^X must have at least 1 row; got 0 sample"):
        as_matrix(np.ones((0, 2)), min_rows=1)


@pytest.mark.parametrize("block", [1, 48, 10**6])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_non_finite_values_are_counted_across_all_blocks(form, block, monkeypatch):
    monkeypatch.setattr("compsil_kit._data.matrix._BLOCK_BYTES", block)
    X = np.ones((10, 2))
    X[7, 0] = np.nan
    with pytest.raises(ValueError, match=r"it contains NaN at row 7, column 0\. Drop"):
        as_matrix(form(X))
    X[3, 1], X[9, 1] = -np.inf, np.nan
    with pytest.raises(
        ValueError, match=r"it contains infinity \(inf\) at row 3, column 1, and 2 more non-finite value\(s\)"
    ):
        as_matrix(form(X))


@pytest.mark.parametrize("dtype", [object, np.float64, np.float32, np.int64, bool])
def test_masked_cells_are_treated_as_missing(dtype):
    X = np.ma.array([[1, 0], [0, 1], [1, 1]], dtype=dtype, mask=[[0, 0], [0, 1], [0, 0]])
    for masked in (X, list(X)):
        with pytest.raises(ValueError, match="NaN at row 1, column 1"):
            as_matrix(masked)


def test_a_mask_without_masked_cells_is_ignored():
    X = np.ma.array([[1, 2], [3, 4]], dtype=object, mask=False)
    np.testing.assert_array_equal(as_matrix(X), [[1.0, 2.0], [3.0, 4.0]])


def test_masked_text_is_not_numeric():
    with pytest.raises(TypeError, match="contains a value of type str"):
        as_matrix(np.ma.array([["a", 1], [2, 3]], dtype=object, mask=[[0, 0], [0, 1]]))
