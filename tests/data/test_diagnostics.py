"""Data that cannot be clustered or would distort the clusters."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from compsil_kit._data.columns import check_enough_distinct, column_notes, warn_of_rounding
from compsil_kit._data.matrix import validate_matrix

RNG = np.random.default_rng(3)
N = 120
ROUNDED = 2**53 + 1


def test_explicit_zeros_do_not_make_rows_distinct():
    stored = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="X is constant"):
        check_enough_distinct(stored, 2)
    assert stored.nnz == 3


def notes_of(**columns):
    columns = {"age": RNG.normal(size=N), **columns}
    return column_notes(list(columns), np.column_stack(list(columns.values())))


def test_constant_columns_are_noted():
    end = "To exclude columns, pass columns=[...]."
    assert notes_of(one=np.ones(N)) == (f"column 'one' is constant and has no effect. {end}",)
    # They are not noted as copies as well.
    expected = f"column 'one', 'zero', 'again' are constant and have no effect. {end}"
    assert notes_of(one=np.ones(N), zero=np.zeros(N), again=np.ones(N)) == (expected,)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_copies_are_noted(zero):
    x = np.where(np.arange(N) % 2, zero, RNG.normal(size=N))
    (again, third) = notes_of(x=x + 0.0, again=x, third=x)
    assert again.startswith("column 'again' is a copy of 'x', which doubles the weight of its values.")
    assert third.startswith("column 'third' is a copy of 'x'")


SHUFFLED = np.random.default_rng(0).permutation(10.0 * np.arange(N))


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "user.id", "CustomerID", "userId", "Unnamed: 0", "key"])
def test_distinct_integers_with_the_name_of_an_identifier_are_noted(name):
    assert notes_of(**{name: SHUFFLED})[0].startswith(f"column {name!r} looks like an identifier, which would distort")


@pytest.mark.parametrize("name", ["humid", "paid", "PAID", "grid", "width", "monkey", "index_price"])
def test_similar_names_are_not_noted(name):
    assert notes_of(**{name: SHUFFLED}) == ()


@pytest.mark.parametrize(
    ("name", "values", "noted"),
    [
        ("serial", np.arange(1000.0, 1000 + N), True),
        ("serial", np.arange(float(N))[::-1], False),
        ("store_id", np.arange(N) // 2, False),
        ("rate_id", np.arange(N) + 0.5, False),
    ],
)
def test_row_numbers_are_noted_under_any_name(name, values, noted):
    assert bool(notes_of(**{name: values})) == noted


@pytest.mark.parametrize(("n_rows", "noted"), [(19, False), (20, True)])
def test_few_distinct_integers_are_no_identifier(n_rows, noted):
    assert bool(column_notes(["n"], np.arange(float(n_rows))[:, None])) == noted


@pytest.mark.parametrize("first", [0, 1, 1000])
def test_fetched_rows_are_compared_with_their_numbers(first):
    numbers = np.arange(0, 300, 7)
    rows = np.column_stack([first + numbers, np.arange(len(numbers)), 2 * numbers]).astype(float)
    (note,) = column_notes(["serial", "b", "c"], rows, numbers)
    assert note.startswith("column 'serial' looks like an identifier")


# How to make a table, how to make its column, and the types of columns.
TABLES = [
    (pd.DataFrame, pd.Series, ["Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]"]),
    (pl.DataFrame, pl.Series, [pl.Int64, pl.UInt64]),
    (pa.table, pa.array, [pa.int64(), pa.uint64()]),
]


@pytest.mark.parametrize(("make", "column", "dtype"), [(a, b, dtype) for a, b, dtypes in TABLES for dtype in dtypes])
def test_rounded_integers_of_tables_are_warned_of(make, column, dtype):
    keyword = {"type" if column is pa.array else "dtype": dtype}
    with pytest.warns(UserWarning, match=r"column 'number' has integers beyond 2\*\*53"):
        validate_matrix(make({"a": [1, 2], "number": column([ROUNDED, 3], **keyword)}))
    with pytest.warns(UserWarning, match="column 'number'"), pytest.raises(ValueError, match="NaN at row 1"):
        validate_matrix(make({"number": column([ROUNDED, None], **keyword)}))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_rounded_integers_of_plain_pandas_columns_are_warned_of(dtype):
    with pytest.warns(UserWarning, match="column 'number'"):
        validate_matrix(pd.DataFrame({"a": [1, 2], "number": np.array([ROUNDED, 3], dtype)}))


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, ROUNDED], [2, 7]]),
        np.array([[1, -ROUNDED], [2, 7]]),
        np.array([[1, ROUNDED], [2, 7]], dtype=np.uint64),
        np.array([[1, ROUNDED], [2, 7]], dtype=object),
        np.array([[0.5, 10**30 + 1], [2, 3]], dtype=object),
        sparse.csr_array(np.array([[1, ROUNDED], [2, 7]])),
        [[1, ROUNDED], [2, 7]],
    ],
    ids=["int64", "negative", "uint64", "object", "mixed objects", "sparse", "lists"],
)
def test_rounded_integers_are_warned_of_with_their_column(X):
    with pytest.warns(UserWarning, match=r"column 1 has integers beyond 2\*\*53.*rounds") as caught:
        assert validate_matrix(X)[1].dtype == np.float64
    assert caught[0].filename == __file__
    assert str(ROUNDED) not in str(caught[0].message)


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
def test_exact_integers_are_not_warned_of(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, matrix = validate_matrix(X)
    assert [[int(value) for value in row] for row in matrix] == X.astype(object).tolist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a"], "X: column 'a' has integers beyond 2**53, which float64 rounds: different"),
        ([0, 3], "X: columns 0, 3 have integers"),
        (range(9), "X: columns 0, 1, 2, 3, 4, 5, 6, 7, ... (9 in all) have integers"),
    ],
)
def test_many_columns_with_rounded_integers_are_counted(columns, message):
    with pytest.warns(UserWarning, match=re.escape(message)):
        warn_of_rounding(columns)
