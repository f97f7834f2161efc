"""Numbers that float64 cannot hold, and masks: told, never rounded or dropped in silence."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from compsil_kit._data.matrix import as_matrix
from compsil_kit._data.whole_numbers import warn_of_rounding

BIG = 2**53 + 1


def rows(dtype):
    return np.array([[1, BIG], [2, 7], [3, 9]], dtype=dtype)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object])
def test_rounded_whole_numbers_are_told_with_their_column(dtype):
    with pytest.warns(UserWarning, match=r"column 1 has whole numbers beyond 2\*\*53.*rounds") as caught:
        matrix = as_matrix(rows(dtype))
    assert matrix.dtype == np.float64
    assert len(caught) == 1
    assert str(BIG) not in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, 2], "number": [BIG, 3]}),
        pd.DataFrame({"a": [1, 2], "number": pd.array([BIG, 3], dtype="Int64")}),
        pd.DataFrame({"a": [1, 2], "number": pd.array([BIG, 3], dtype="int64[pyarrow]")}),
        pd.DataFrame({"a": [1, 2], "number": np.array([BIG, 3], dtype=np.uint64)}),
        pd.DataFrame({"a": [1, 2], "number": pd.array([BIG, 3], dtype="UInt64")}),
        pd.DataFrame({"a": [1, 2], "number": pd.array([BIG, 3], dtype="uint64[pyarrow]")}),
        pl.DataFrame({"a": [1, 2], "number": [BIG, 3]}),
        pl.DataFrame({"a": [1, 2], "number": pl.Series([BIG, 3], dtype=pl.UInt64)}),
        pa.table({"a": [1, 2], "number": [BIG, 3]}),
        pa.table({"a": [1, 2], "number": pa.array([BIG, 3], pa.uint64())}),
    ],
    ids=[
        "pandas",
        "nullable",
        "arrow-backed",
        "uint64",
        "nullable uint64",
        "arrow-backed uint64",
        "polars",
        "polars uint64",
        "arrow",
        "arrow uint64",
    ],
)
def test_tables_name_the_column(table):
    with pytest.warns(UserWarning, match=r"column 'number' has whole numbers beyond 2\*\*53"):
        as_matrix(table)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["a"], "X: column 'a' has whole numbers beyond 2**53, which float64 rounds: numbers"),
        ([np.int64(3)], "X: column 3 has whole"),
        (range(5), "X: columns 0, 1, 2, 3, 4 have whole numbers beyond 2**53, which float64 rounds: numbers"),
        (range(6), "X: columns 0, 1, 2, 3, 4 have whole numbers beyond 2**53, which float64 rounds (and 1 more): "),
    ],
)
def test_five_columns_are_named_and_the_others_counted(columns, told):
    with pytest.warns(UserWarning, match=re.escape(told)):
        warn_of_rounding(columns)


def test_sparse_whole_numbers_are_told():
    with pytest.warns(UserWarning, match=r"column 1 has whole numbers beyond 2\*\*53"):
        as_matrix(sparse.csr_array(rows(np.int64)))


@pytest.mark.parametrize("values", [[[2**63, -1], [3, BIG]], [[0.5, BIG], [1, 2]], [[10**30 + 1, 1], [2, 3]]])
def test_lists_and_objects_of_python_numbers_are_told(values):
    for X in (values, np.array(values, dtype=object)):
        if isinstance(X, list) and np.asarray(X).dtype.kind == "f":
            continue
        with pytest.warns(UserWarning, match=r"beyond 2\*\*53"):
            as_matrix(X)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2**53, 1], [2**60, -(2**63)]]),
        np.array([[2**63, 1], [2**64 - 2048, 4]], dtype=np.uint64),
        np.array([[2**70, 1], [2, 3]], dtype=object),
        np.array([[1, 2], [3, 4]], dtype=np.int64),
        np.array([[True, False], [False, True]]),
    ],
)
def test_whole_numbers_that_fit_pass_in_silence(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix = as_matrix(X)
    assert [[int(value) for value in row] for row in matrix] == X.astype(object).tolist()


@pytest.mark.parametrize("dtype", [object, np.float64, np.float32, np.int64, bool])
def test_masked_cells_are_missing_whatever_the_type(dtype):
    X = np.ma.array([[1, 0], [0, 1], [1, 1]], dtype=dtype, mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(ValueError, match="NaN at row 1, column 1"):
        as_matrix(X)


def test_rows_with_masks_in_a_list_are_obeyed():
    rows_of = [np.ma.array([1.0, 2.0], mask=[0, 0]), np.ma.array([3.0, 4.0], mask=[1, 0])]
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        as_matrix(rows_of)


def test_a_mask_that_hides_nothing_changes_nothing():
    X = np.ma.array([[1, 2], [3, 4]], dtype=object, mask=False)
    np.testing.assert_array_equal(as_matrix(X), [[1.0, 2.0], [3.0, 4.0]])


def test_masked_text_is_refused_as_text():
    with pytest.raises((TypeError, ValueError), match=r"numeric|str"):
        as_matrix(np.ma.array([["a", 1], [2, 3]], dtype=object, mask=[[0, 0], [0, 1]]))
