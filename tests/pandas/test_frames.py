"""Dtypes, column names and indexes of all kinds; these tests also run with the oldest supported pandas."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.datasets import make_blobs

import compsil_pandas  # noqa: F401  (registers the accessor)

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}


@pytest.fixture(scope="module")
def numbers():
    """Integers in three clusters that every numeric dtype can represent."""
    X, _ = make_blobs([60, 25, 15], 3, cluster_std=2, center_box=(20, 100), random_state=2)
    return pd.DataFrame(X.round(), columns=["a", "b", "c"])


DTYPES = [
    "int16", "Int64", "UInt8", "float32", "Float32", "double[pyarrow]",
    pd.SparseDtype("int64", 0), pd.ArrowDtype(pyarrow.decimal128(9, 2)),
    "bool", "boolean", "bool[pyarrow]", pd.SparseDtype("bool", False),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numeric_and_boolean_dtypes_are_used(numbers, dtype):
    plain = (numbers["a"] > 60 if "bool" in str(dtype) else numbers["a"]).astype("float64")
    given, expected = numbers.assign(a=plain.astype(dtype)), numbers.assign(a=plain)
    result = given.compsil.select_k(**FAST)
    assert result.preparation.columns == ("a", "b", "c")
    np.testing.assert_allclose(result.micro, expected.compsil.select_k(**FAST).micro, rtol=0, atol=1e-12)
    labels = given.compsil.cluster(3)
    pd.testing.assert_frame_equal(given.compsil.profile(labels), expected.compsil.profile(labels))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "double[pyarrow]", "bool[pyarrow]", "float64"])
def test_missing_values_raise_or_are_dropped(numbers, dtype):
    column = ((numbers["a"] > 60) if "bool" in dtype else numbers["a"]).astype(dtype)
    gone = numbers.index % 10 == 0
    given = numbers.assign(a=column.mask(gone).astype(dtype))
    with pytest.raises(ValueError, match=r"missing values in 'a' \(10\)"):
        given.compsil.select_k(**FAST)
    labels = given.compsil.cluster(3, missing="drop")
    np.testing.assert_array_equal(labels.isna(), gone)
    assert labels[~gone].tolist() == given[~gone].compsil.cluster(3).tolist()
    assert given.compsil.profile(labels)[("cluster", "size")].sum() == 90
    assert given.compsil.select_k(missing="drop", **FAST).preparation.n_dropped == 10


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["x"] * 100),
        pd.Series(["x"] * 100, dtype="string"),
        pd.Series([1, pd.NA] * 50, dtype=object),
        pd.Series(pd.date_range("2026-01-01", periods=100)),
        pd.Series(pd.to_timedelta(np.arange(100), unit="s")),
        pd.Series(pd.period_range("2026-01", periods=100, freq="M")),
        pd.Series([1j] * 100),
        pd.Series([1, 2] * 50, dtype="category"),
        pd.Series(pd.interval_range(0, 100)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_other_dtypes_are_excluded_or_rejected(numbers, column):
    given = numbers.assign(other=column)
    assert given.compsil.select_k(**FAST).preparation.left_out == ("other",)
    with pytest.raises(ValueError, match=r"'other' is not numeric\. Pass numeric columns, or encode"):
        given.compsil.select_k(columns=["a", "other"], **FAST)


LEVELS = [("p", "a"), ("p", "b"), ("q", "a")]


@pytest.mark.parametrize(
    ("names", "columns", "expected"),
    [
        ([0, 1, 2], [2, 0], ("2", "0")),
        ([1.5, None, ("x", 2)], [("x", 2), None], ("x, 2", "None")),
        ([pd.Timestamp("2026-01-01"), "b", True], [pd.Timestamp("2026-01-01")], ("2026-01-01 00:00:00",)),
        (["a", "a", "b"], ["a"], ("a", "a")),
        (pd.MultiIndex.from_tuples(LEVELS), ["q", ("p", "a")], ("q, a", "p, a")),
        (pd.MultiIndex.from_tuples(LEVELS[::2] + LEVELS[1:2]), "p", ("p, a", "p, b")),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_column_names_may_have_any_type(numbers, names, columns, expected):
    index = names if isinstance(names, pd.MultiIndex) else pd.Index(names, dtype=object, tupleize_cols=False)
    given = numbers.set_axis(index, axis=1)
    assert given.compsil.select_k(columns=columns, **FAST).preparation.columns == expected
    assert given.compsil.profile(np.arange(100) % 2).shape == (2, 9)
    with pytest.raises(ValueError, match=r"'z' is not a column of the data"):
        given.compsil.select_k(columns=["z"])


INDEXES = {
    "text": [f"r{i}" for i in range(100)],
    "duplicates": [0] * 100,
    "descending": range(100, 0, -1),
    "dates": pd.DatetimeIndex(["2026-01-01"] * 100, tz="UTC"),
    "levels": pd.MultiIndex.from_product([range(10), list("abcdefghij")], names=["u", "v"]),
    "categories": pd.CategoricalIndex(["u", "v"] * 50),
    "missing": [None, *range(99)],
}


@pytest.mark.parametrize("kind", INDEXES)
def test_results_keep_the_index(numbers, kind):
    given = numbers.set_axis(pd.Index(INDEXES[kind]), axis=0)
    labels = given.compsil.cluster(3)
    assert labels.index.equals(given.index)
    assert labels.index.names == given.index.names
    assert labels.tolist() == numbers.compsil.cluster(3).tolist()
    found, expected = given.compsil.profile(labels), numbers.compsil.profile(labels.to_numpy())
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))
