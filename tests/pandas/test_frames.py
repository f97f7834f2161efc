"""Frames as they come: every dtype, any names, any index."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.datasets import make_blobs

import compsil_pandas  # noqa: F401  (registers the accessor)
from compsil_kit import select_k
from compsil_kit._data.table import prepare

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}


@pytest.fixture(scope="module")
def numbers():
    """Whole numbers in three clusters, which every numeric dtype can hold."""
    X, _ = make_blobs([60, 25, 15], 3, cluster_std=2, center_box=(20, 100), random_state=2)
    return pd.DataFrame(X.round(), columns=["a", "b", "c"])


WIDE = ["int64", "int16", "uint8", "float64", "Int64", "UInt8", "Float64", "int32[pyarrow]", "double[pyarrow]"]
NARROW = ["float32", "Float32", "float[pyarrow]"]


@pytest.mark.parametrize("dtype", [*WIDE, *NARROW])
def test_numeric_dtypes(numbers, dtype):
    given = numbers.astype(dtype)
    table = prepare(given, scale=None)
    assert table.matrix.dtype == (np.float32 if dtype in NARROW else np.float64)
    np.testing.assert_array_equal(table.matrix, numbers)
    result = given.compsil.select_k(**FAST)
    np.testing.assert_allclose(result.scores, numbers.compsil.select_k(**FAST).scores, rtol=0, atol=1e-5)
    labels = given.compsil.cluster(3)
    assert labels.tolist() == numbers.compsil.cluster(3).tolist()
    profile, expected = given.compsil.profile(labels), numbers.compsil.profile(labels)
    pd.testing.assert_frame_equal(profile, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_sparse_columns(numbers, dtype):
    given = numbers.where(numbers > 40, 0).astype(dtype)
    compressed = given.astype(pd.SparseDtype(dtype, 0))
    np.testing.assert_array_equal(prepare(compressed, scale=None).matrix, given)
    np.testing.assert_array_equal(compressed.compsil.select_k(**FAST).micro, given.compsil.select_k(**FAST).micro)
    labels = compressed.compsil.cluster(3)
    pd.testing.assert_frame_equal(compressed.compsil.profile(labels), given.compsil.profile(labels))


def test_decimals_of_arrow(numbers):
    given = numbers.astype(pd.ArrowDtype(pyarrow.decimal128(10, 2)))
    np.testing.assert_array_equal(prepare(given, scale=None).matrix, numbers)


@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]", pd.SparseDtype("bool", False)])
def test_booleans_count_as_numbers(numbers, dtype):
    flag = (numbers["a"] > 60).astype(dtype)
    given = numbers.assign(flag=flag)
    result = given.compsil.select_k(**FAST)
    assert result.preparation.columns == ("a", "b", "c", "flag")
    expected = numbers.assign(flag=(numbers["a"] > 60).astype(float)).compsil.select_k(**FAST)
    np.testing.assert_array_equal(result.micro, expected.micro)
    profile = given.compsil.profile(given.compsil.cluster(3))
    assert profile[("flag", "mean")].between(0, 1).all()


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "double[pyarrow]", "bool[pyarrow]", "float64"])
def test_missing_values_of_every_kind(numbers, dtype):
    column = (numbers["a"] > 60) if "bool" in dtype else numbers["a"]
    column = column.astype(dtype)
    column = column.mask(numbers.index % 10 == 0)
    given = numbers.assign(a=column.astype(dtype))
    with pytest.raises(ValueError, match=r"missing values in 'a' \(10\)"):
        given.compsil.select_k(**FAST)
    labels = given.compsil.cluster(3, missing="drop")
    np.testing.assert_array_equal(labels.isna(), numbers.index % 10 == 0)
    assert given.compsil.profile(labels)[("cluster", "size")].sum() == 90
    assert given.compsil.select_k(missing="drop", **FAST).preparation.n_dropped == 10


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["x"] * 100),
        pd.Series(["x"] * 100, dtype="category"),
        pd.Series(["x"] * 100, dtype="string"),
        pd.Series([1, pd.NA] * 50, dtype=object),
        pd.Series([None] * 100, dtype=object),
        pd.Series(pd.date_range("2026-01-01", periods=100)),
        pd.Series(pd.to_timedelta(np.arange(100), unit="s")),
        pd.Series(pd.period_range("2026-01", periods=100, freq="M")),
        pd.Series([1j] * 100),
        pd.Series([1, 2] * 50, dtype="category"),
        pd.Series(pd.interval_range(0, 100)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_other_dtypes_are_left_out_and_listed_or_refused(numbers, column):
    given = numbers.assign(other=column)
    assert given.compsil.select_k(**FAST).preparation.left_out == ("other",)
    with pytest.raises(ValueError, match=r"'other' is not numeric\. Pass numeric columns, or encode"):
        given.compsil.select_k(columns=["a", "other"], **FAST)


NAMES = [
    ([0, 1, 2], [2, 0], ("2", "0")),
    ([1.5, None, ("x", 2)], [("x", 2), None], ("x, 2", "None")),
    ([pd.Timestamp("2026-01-01"), "b", True], [pd.Timestamp("2026-01-01")], ("2026-01-01 00:00:00",)),
    (["a", "a", "b"], ["a"], ("a", "a")),
    (["a", "a", "b"], "b", ("b",)),
    ([0, 1, 2], 1, ("1",)),
    ([0, 1, 2], np.int64(1), ("1",)),
    ([("p", "a"), ("p", "b"), ("q", "a")], ("p", "b"), ("p, b",)),
    ([" ", "", "x\ny"], [""], ("",)),
]


@pytest.mark.parametrize(("names", "columns", "expected"), NAMES, ids=lambda value: repr(value)[:40])
def test_names_of_every_kind(numbers, names, columns, expected):
    index = pd.Index(names, dtype=object, tupleize_cols=False)
    given = numbers.set_axis(index, axis=1)
    assert given.compsil.select_k(columns=columns, **FAST).preparation.columns == expected
    assert len(given.compsil.select_k(**FAST).preparation.columns) == 3
    assert given.compsil.profile(np.arange(100) % 2).shape == (2, 9)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, ("p, a", "p, b", "q, a")),
        ("p", ("p, a", "p, b")),
        (["q", ("p", "a")], ("q, a", "p, a")),
        (("p", "a"), ("p, a",)),
        (pd.MultiIndex.from_tuples([("q", "a"), ("p", "b")]), ("q, a", "p, b")),
    ],
)
def test_columns_in_levels(numbers, columns, expected):
    given = numbers.set_axis(pd.MultiIndex.from_tuples([("p", "a"), ("p", "b"), ("q", "a")]), axis=1)
    result = given.compsil.select_k(columns=columns, **FAST)
    assert result.preparation.columns == expected
    with pytest.raises(ValueError, match=r"\('p', 'z'\) is not a column of the data, which has p, a, p, b, q, a"):
        given.compsil.select_k(columns=[("p", "z")])


def test_levels_out_of_order(numbers):
    given = numbers.set_axis(pd.MultiIndex.from_tuples([("q", "a"), ("p", "b"), ("q", "c")]), axis=1)
    assert given.compsil.select_k(columns="q", **FAST).preparation.columns == ("q, a", "q, c")


INDEXES = {
    "text": [f"r{i}" for i in range(100)],
    "repeated": [0] * 100,
    "backwards": range(100, 0, -1),
    "dates": pd.date_range("2026-01-01", periods=100),
    "repeated dates": pd.DatetimeIndex(["2026-01-01"] * 100, tz="UTC"),
    "levels": pd.MultiIndex.from_product([range(10), list("abcdefghij")], names=["u", "v"]),
    "categories": pd.CategoricalIndex(["u", "v"] * 50),
    "missing": [None, *range(99)],
}


@pytest.mark.parametrize("kind", INDEXES)
def test_any_index(numbers, kind):
    given = numbers.set_axis(pd.Index(INDEXES[kind]), axis=0)
    labels = given.compsil.cluster(3)
    assert labels.index.equals(given.index)
    assert labels.index.names == given.index.names
    assert labels.tolist() == numbers.compsil.cluster(3).tolist()
    profile, expected = given.compsil.profile(labels), numbers.compsil.profile(labels.to_numpy())
    assert profile.index.tolist() == expected.index.tolist() == [0, 1, 2]
    pd.testing.assert_frame_equal(profile.reset_index(drop=True), expected.reset_index(drop=True))
    holes = given.assign(a=given["a"].mask(np.arange(100) < 5))
    assert holes.compsil.cluster(3, missing="drop").isna().tolist() == [True] * 5 + [False] * 95


def test_one_column(numbers):
    result = numbers[["a"]].compsil.select_k(**FAST)
    assert result.plan.n_features == 1
    np.testing.assert_array_equal(result.micro, select_k(prepare(numbers[["a"]]).matrix, **FAST).micro)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(), "no numeric column"),
        (pd.DataFrame(index=range(5)), "no numeric column"),
        (pd.DataFrame({"a": [1.0, 2.0]}).iloc[:0], "the data has no rows"),
        (pd.DataFrame({"a": ["x", "y"]}), "no numeric column"),
        (pd.DataFrame({"a": [np.nan, np.nan]}), r"missing values in 'a' \(2\)"),
        (pd.DataFrame({"a": pd.array([pd.NA, 1], dtype="Int64")}), r"missing values in 'a' \(1\)"),
    ],
)
@pytest.mark.parametrize("method", ["select_k", "cluster", "compare"])
def test_frames_with_nothing_to_cluster(frame, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(frame.compsil, method)()


@pytest.mark.filterwarnings("ignore::compsil_pandas.ColumnWarning")
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0]}), "at least 2 rows"),
        (pd.DataFrame({"a": [1.0] * 50}), "every row is the same"),
        (pd.DataFrame({"a": [0.0, 1.0] * 50}), "only 2 distinct rows"),
    ],
)
def test_frames_with_too_little_to_cluster(frame, message):
    with pytest.raises(ValueError, match=message):
        frame.compsil.select_k(**FAST)


def test_a_subclass_and_a_slice(numbers):
    class Special(pd.DataFrame):
        @property
        def _constructor(self):
            return Special

    expected = numbers.compsil.cluster(3).tolist()
    assert Special(numbers).compsil.cluster(3).tolist() == expected
    doubled = pd.concat([numbers, numbers])
    assert doubled.iloc[:100].compsil.cluster(3).tolist() == expected
    assert doubled[::-1].iloc[::-1].head(100).compsil.cluster(3).tolist() == expected


def test_read_only_data(numbers):
    values = numbers.to_numpy(copy=True)
    values.setflags(write=False)
    assert pd.DataFrame(values, copy=False).compsil.cluster(3, scale=None).nunique() == 3
