"""Every entry point rejects invalid data before it computes, and warns of columns of different scales."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

import compsil_pandas  # noqa: F401  (registers the accessor)
from compsil_kit import (
    CompositeSilhouette,
    compare,
    plan_batches,
    plan_selection,
    prepare,
    select_k,
    silhouettes,
    stream,
)
from compsil_kit.errors import ScaleWarning

SECRET = "s3cret-cell"
GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


def with_value(value, row=5, column=1, dtype=float):
    X = np.arange(24, dtype=dtype).reshape(8, 3)
    X[row, column] = value
    return X


def sparse_with_nan():
    return sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, np.nan], [0.0, 0.0, 3.0]]))


# X, and the message of the error.
BAD_X = {
    "none": (None, "X must have two dimensions.*type NoneType. Pass an array or a table"),
    "zero dimensions": (np.array(3.0), "X must have two dimensions.*Pass an array or a table"),
    "number": (7, "X must have two dimensions.*type int"),
    "text": (SECRET, "X as text must name Parquet data: .* Read other files first"),
    "dict": ({"a": [1, 2], "b": [SECRET, 2]}, "X must have two dimensions.*type dict"),
    "generator": (([i, i] for i in range(9)), "X must have two dimensions.*type generator"),
    "one dimension": (np.arange(9.0), r"X must have two dimensions.*got shape \(9,\). Resh.*X.reshape\(-1, 1\)"),
    "three dimensions": (np.zeros((4, 3, 2)), r"X must have two dimensions.*got shape \(4, 3, 2\).$"),
    "empty list": ([], r"X must have two dimensions.*got shape \(0,\).$"),
    "no rows": (np.empty((0, 3)), "X must have at least 2 rows; got 0"),
    "one row": (np.ones((1, 3)), "X must have at least 2 rows; got 1"),
    "no columns": (np.empty((9, 0)), "X must have at least 1 column"),
    "empty frame": (pd.DataFrame(), "X must have at least 2 rows; got 0"),
    "frame without columns": (pd.DataFrame(index=range(9)), "X must have at least 1 column"),
    "ragged": ([[1.0, 2.0], [3.0]], "X must be rectangular: its rows have different lengths"),
    "strings": ([[SECRET, "a"], ["b", "c"]], "X must be numeric or boolean.*<U.*Encode it"),
    "bytes": (np.array([[b"s3cret-cell"], [b"x"]]), "X must be numeric or boolean.*Encode it"),
    "string type": (
        np.array([[SECRET], ["x"]], dtype=np.dtypes.StringDType()),
        "X must be numeric or boolean.*StringDType.*Encode it",
    ),
    "dates": (np.zeros((9, 2), "M8[D]"), r"X must be numeric or boolean.*datetime64\[D\]"),
    "durations": (np.zeros((9, 2), "m8[s]"), r"X must be numeric or boolean.*timedelta64\[s\]"),
    "records": (np.zeros((9, 2), [("a", float)]), "X must be numeric or boolean"),
    "complex": (np.ones((9, 2), complex), "X: Complex data not supported. Pass real numbers"),
    "complex objects": (np.array([[1j, 2], [3, 4]], object), "X: Complex data not supported"),
    "objects": (np.array([[1, 2], [SECRET, 4]], object), "X: row 1, column 0 holds a value of type str"),
    "none in objects": (np.array([[1, None], [2, 4]], object), "X: row 0, column 1 holds a value of type NoneType"),
    "decimals": ([[decimal.Decimal(1)], [decimal.Decimal(2)]], "X: row 0, column 0 holds a value of type Decimal"),
    "whole number beyond floats": ([[10**400, 1], [2, 3]], "X must be finite.*an integer.*float64"),
    "long double beyond floats": (
        np.array([[1, 2], [3, "1e4000"]], np.longdouble),
        "X must be finite.*infinity.*row 1, column 1",
    ),
    "nan": (with_value(np.nan), "X must be finite; it has NaN at row 5, column 1. Drop or fill"),
    "infinity": (with_value(-np.inf, 7, 2), "X must be finite.*infinity.*row 7, column 2. Drop or fill"),
    "nan in objects": (with_value(np.nan, dtype=object), "NaN at row 5, column 1"),
    "masked dates": (
        np.ma.array(np.zeros((4, 2), "M8[D]"), mask=np.eye(4, 2)),
        "X must be numeric or boolean.*datetime64",
    ),
    "constant": (np.ones((30, 2)), "X is constant: every row is the same"),
    "constant sparse": (sparse.csr_array((30, 2)), "X is constant: every row is the same"),
    "few distinct": (
        np.repeat([[0.0, 1.0], [-0.0, 1.0], [5.0, 1.0]], 20, axis=0),
        "ks asks for up to 3 clusters, but X has only 2 distinct rows. Pass ks of at most 2",
    ),
    "few distinct sparse": (sparse.csr_array(np.repeat(np.eye(2), 20, axis=0)), "X has only 2 distinct rows"),
    "sparse nan": (sparse_with_nan(), "X must be finite; it has NaN at row 1, column 2"),
    "sparse nan by columns": (sparse_with_nan().tocsc(), "X must be finite; it has NaN at row 1, column 2"),
    "sparse complex": (sparse.csr_array(np.eye(3) * 1j), "X: Complex data not supported"),
    "sparse of one dimension": (sparse.coo_array(np.arange(9.0)), "X must have two dimensions.*got a sparse array"),
    "pandas column": (pd.Series([1.0, 2.0]), r"X must have two dimensions.*pandas. Pass X.to_frame\(\)"),
    "polars column": (pl.Series([1.0, 2.0]), r"X must have two dimensions.*polars. Pass X.to_frame\(\)"),
    "arrow column": (pa.array([1.0, 2.0]), "X must have two dimensions.*pyarrow. Pass a table"),
}
TYPE_ERRORS = ("objects", "none in objects", "decimals")

LEAVE_OUT = "Leave them out by passing only the numeric columns, or encode them"
TEXT = {
    "pandas text": (pd.DataFrame({"a": [1.0, 2.0], "city": [SECRET, "x"]}), r"'city' \(str\)"),
    "pandas objects": (pd.DataFrame({"a": np.array([1, SECRET], object)}), r"'a' \(object\)"),
    "pandas dates": (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 2)}), r"'when' \(datetime64"),
    "pandas durations": (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), r"'a' \(timedelta64"),
    "pandas periods": (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), r"'a' \(period"),
    "pandas categories": (pd.DataFrame({"a": pd.Categorical([1, 2])}), r"'a' \(category\)"),
    "pandas complex": (pd.DataFrame({"a": [1j, 2]}), r"'a' \(complex128\)"),
    "pandas arrow text": (pd.DataFrame({"a": pd.Series([SECRET, "x"], dtype="string[pyarrow]")}), r"'a' \(string\)"),
    "pandas unnamed": (pd.DataFrame([[1, SECRET], [2, "x"]]), r"numeric: 1 \(object|numeric: 1 \(str"),
    "polars text": (pl.DataFrame({"a": [1, 2], "city": [SECRET, "x"]}), r"'city' \(String\)"),
    "polars dates": (pl.DataFrame({"a": pl.Series([1, 2]).cast(pl.Date)}), r"'a' \(Date\)"),
    "polars categories": (pl.DataFrame({"a": pl.Series(["x", "y"]).cast(pl.Categorical)}), r"'a' \(Categorical\)"),
    "polars lists": (pl.DataFrame({"a": [[1], [2]]}), r"'a' \(List\(Int64\)\)"),
    "arrow text": (pa.table({"a": [1, 2], "city": [SECRET, "x"]}), r"'city' \(string\)"),
    "arrow dates": (pa.table({"a": pa.array([1, 2], pa.timestamp("s"))}), r"'a' \(timestamp\[s\]\)"),
    "arrow categories": (pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}), r"'a' \(dictionary"),
    "arrow nothing": (pa.table({"a": pa.nulls(2)}), r"'a' \(null\)"),
}

MISSING = {
    "pandas": (pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]}), "NaN at row 1, column 'b'"),
    "pandas infinite": (pd.DataFrame({"a": [np.inf, 2.0], "b": [3.0, 4.0]}), "infinity.*row 0, column 'a'"),
    "pandas nullable": (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "NaN at row 1, column 'a'"),
    "pandas nullable bool": (pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}), "NaN at row 1, column 'a'"),
    "pandas arrow": (pd.DataFrame({"a": pd.Series([1, None], dtype="int64[pyarrow]")}), "NaN at row 1, column 'a'"),
    "pandas sparse": (pd.DataFrame({"a": pd.arrays.SparseArray([0.0, np.nan])}), "NaN at row 1, column 'a'"),
    "pandas unnamed": (pd.DataFrame([[1.0, 2.0], [3.0, np.nan]]), "NaN at row 1, column 1"),
    "pandas levels": (
        pd.DataFrame([[1.0], [np.nan]], columns=pd.MultiIndex.from_tuples([("x", "y")])),
        r"NaN at row 1, column \('x', 'y'\)",
    ),
    "polars": (pl.DataFrame({"a": [1, 2], "b": [None, 3]}), "NaN at row 0, column 'b'"),
    "polars bool": (pl.DataFrame({"a": [True, None]}), "NaN at row 1, column 'a'"),
    "polars decimal": (pl.DataFrame({"a": [decimal.Decimal("1.5"), None]}), "NaN at row 1, column 'a'"),
    "arrow": (pa.table({"a": [1, 2], "b": [None, 3]}), "NaN at row 0, column 'b'"),
    "arrow chunks": (pa.table({"a": pa.chunked_array([[1, 2], [None]])}), "NaN at row 2, column 'a'"),
    "arrow bool": (pa.table({"a": [True, None]}), "NaN at row 1, column 'a'"),
    "arrow decimal": (pa.table({"a": [decimal.Decimal("1.5"), None]}), "NaN at row 1, column 'a'"),
    "arrow batch": (pa.record_batch({"a": [True, None]}), "NaN at row 1, column 'a'"),
}


NOT_NUMERIC = {
    name: (X, f"X has columns that are not numeric: .*{message}.*{LEAVE_OUT}") for name, (X, message) in TEXT.items()
}
NOT_FINITE = {name: (X, f"X must be finite; it has {message}") for name, (X, message) in MISSING.items()}
INVALID = {**BAD_X, **NOT_NUMERIC, **NOT_FINITE}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_data_raise(name):
    X, message = INVALID[name]
    # Warnings are errors in these tests, so no other one is raised before.
    with pytest.raises(TypeError if name in TYPE_ERRORS else ValueError, match=message) as raised:
        select_k(X, ks=(2, 3))
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_distinct_rows_are_sought_beyond_the_first_thousand(form):
    X = form(np.repeat([[0.0], [1.0], [2.0], [3.0]], [1497, 1, 1, 1], axis=0))
    assert plan_selection(X, ks=4).ks == (4,)
    with pytest.raises(ValueError, match=r"X has only 4 distinct rows\. Pass ks of at most 4"):
        plan_selection(X, ks=5)


def fit(X, **keywords):
    return CompositeSilhouette(**keywords).fit(X)


def score(X, **keywords):
    return silhouettes(X, [0, 1, 1])


@pytest.mark.parametrize("enter", [stream, plan_selection, fit, score])
@pytest.mark.parametrize("name", ["nan", "strings", "objects", "ragged", "one dimension", "one row", "sparse nan"])
def test_every_entry_point_checks_the_data(enter, name):
    X, message = BAD_X[name]
    with pytest.raises(TypeError if name in TYPE_ERRORS else ValueError, match=message):
        enter(X, ks=(2, 3))


def test_an_unknown_keyword_raises():
    with pytest.raises(TypeError, match="n_clusters"):
        select_k(GOOD, n_clusters=3)


@pytest.mark.parametrize("enter", [stream, plan_selection, fit])
@pytest.mark.parametrize(
    ("name", "value"), [("n_subsamples", 2.7), ("ks", "2"), ("sample_size", True), ("random_state", 1.5)]
)
def test_every_entry_point_checks_the_parameters(enter, name, value):
    with pytest.raises(TypeError, match=f"^{name} must be"):
        enter(GOOD, **{name: value})


# --- columns that differ in scale -------------------------------------------------------------------------------------

ALIKE = make_blobs(90, 2, centers=3, random_state=0)[0]
WIDE = ALIKE * [1.0, 1000.0]
FEW = {"ks": [2, 3], "n_subsamples": 2}


@pytest.mark.parametrize(
    "call",
    [
        lambda X: select_k(X, **FEW),
        lambda X: select_k(pd.DataFrame(X), **FEW),
        lambda X: list(stream(X, **FEW)),
        lambda X: compare(X, criteria="composite", **FEW),
        lambda X: plan_batches(X, n_batches=1, **FEW),
        lambda X: CompositeSilhouette(**FEW).fit(X),
    ],
)
def test_columns_of_different_scales_are_warned_of_once_at_the_line_of_the_call(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(WIDE)
    (warning,) = (w for w in caught if w.category is ScaleWarning)
    assert warning.filename == __file__
    assert "differ in scale by a factor of" in str(warning.message)
    assert "prepare(df, scale='standard')" in str(warning.message)
    assert "\n" not in str(warning.message)


@pytest.mark.parametrize(
    "call",
    [
        lambda: select_k(ALIKE, **FEW),
        lambda: select_k(prepare(pd.DataFrame(WIDE, columns=["a", "b"]), scale=None), **FEW),
        lambda: pd.DataFrame(WIDE, columns=["a", "b"]).compsil.select_k(**FEW),
        lambda: pd.DataFrame(WIDE, columns=["a", "b"]).compsil.select_k(scale=None, **FEW),
        lambda: select_k(sparse.csr_matrix(WIDE), **FEW),
        # An outlier does not make a scale.
        lambda: select_k(np.vstack([ALIKE, [[0.0, 1e6]]]), **FEW),
        # A constant column has no scale.
        lambda: select_k(np.column_stack([ALIKE, np.ones(len(ALIKE))]), **FEW),
    ],
)
def test_no_warning_if_the_scale_was_chosen_or_does_not_differ(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        call()


@pytest.mark.parametrize(("factor", "warned"), [(9.9, False), (10.1, True)])
def test_factors_above_ten_are_warned_of(factor, warned):
    column = np.linspace(0, 1, 50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan_selection(np.column_stack([column, column[::-1] * factor]), ks=2)
    assert [warning.category for warning in caught] == [ScaleWarning] * warned
    assert not warned or "differ in scale by a factor of 10, " in str(caught[0].message)
