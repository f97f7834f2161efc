"""Data and parameters that cannot be used: refused before computing, with the parameter, the rule and the fix."""

from __future__ import annotations

import decimal
import fractions
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances

from compsil_kit import (
    ClusteringError,
    CompositeSilhouette,
    SelectionError,
    plan_selection,
    select_k,
    silhouettes,
    stream,
)
from compsil_kit.util.checks import check_real, describe

SECRET = "s3cret-cell"
GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


def with_value(value, row=5, column=1, dtype=float):
    X = np.arange(24, dtype=dtype).reshape(8, 3)
    X[row, column] = value
    return X


def sparse_with_nan():
    return sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, np.nan], [0.0, 0.0, 3.0]]))


# What X is, what is raised, and what the message must say.
BAD_X = {
    "none": (None, ValueError, "X must have two dimensions.*type NoneType.*Pass an array or a table"),
    "zero dimensions": (np.array(3.0), ValueError, "X must have two dimensions.*Pass an array or a table"),
    "number": (7, ValueError, "X must have two dimensions.*type int"),
    "text": (SECRET, ValueError, "X must have two dimensions.*type str"),
    "dict": ({"a": [1, 2], "b": [SECRET, 2]}, ValueError, "X must have two dimensions.*type dict"),
    "set": ({1, 2}, ValueError, "X must have two dimensions.*type set"),
    "generator": (([i, i] for i in range(9)), ValueError, "X must have two dimensions.*type generator"),
    "one dimension": (np.arange(9.0), ValueError, r"X must have two dimensions.*\(9,\).*X.reshape\(-1, 1\)"),
    "three dimensions": (np.zeros((4, 3, 2)), ValueError, r"X must have two dimensions.*\(4, 3, 2\)"),
    "empty list": ([], ValueError, r"X must have two dimensions.*\(0,\)"),
    "no rows": (np.empty((0, 3)), ValueError, "X must have at least 2 rows; got 0"),
    "one row": (np.ones((1, 3)), ValueError, "X must have at least 2 rows; got 1"),
    "no columns": (np.empty((9, 0)), ValueError, "X must have at least 1 column"),
    "empty frame": (pd.DataFrame(), ValueError, "X must have at least 2 rows; got 0"),
    "frame without columns": (pd.DataFrame(index=range(9)), ValueError, "X must have at least 1 column"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "X must be rectangular: its rows have different lengths"),
    "strings": ([[SECRET, "a"], ["b", "c"]], ValueError, "X must be numeric or boolean.*<U.*Encode it"),
    "numeric strings": ([["1", "2"], ["3", "4"]], ValueError, "X must be numeric or boolean.*<U.*Encode it"),
    "bytes": (np.array([[b"s3cret-cell"], [b"x"]]), ValueError, "X must be numeric or boolean.*Encode it"),
    "string type": (
        np.array([[SECRET], ["x"]], dtype=np.dtypes.StringDType()),
        ValueError,
        "X must be numeric or boolean.*StringDType.*Encode it",
    ),
    "dates": (np.zeros((9, 2), "M8[D]"), ValueError, r"X must be numeric or boolean.*datetime64\[D\]"),
    "durations": (np.zeros((9, 2), "m8[s]"), ValueError, r"X must be numeric or boolean.*timedelta64\[s\]"),
    "records": (np.zeros((9, 2), [("a", float)]), ValueError, "X must be numeric or boolean"),
    "complex": (np.ones((9, 2), complex), ValueError, "X: Complex data not supported. Pass real numbers"),
    "complex objects": (np.array([[1j, 2], [3, 4]], object), ValueError, "X: Complex data not supported"),
    "objects": (np.array([[1, 2], [SECRET, 4]], object), TypeError, "X: row 1, column 0 holds a value of type str"),
    "none in objects": (
        np.array([[1, None], [2, 4]], object),
        TypeError,
        "X: row 0, column 1 holds a value of type NoneType",
    ),
    "decimals": (
        [[decimal.Decimal(1)], [decimal.Decimal(2)]],
        TypeError,
        "X: row 0, column 0 holds a value of type Decimal",
    ),
    "whole number beyond floats": ([[10**400, 1], [2, 3]], ValueError, "X must be finite.*whole number.*float64"),
    "long double beyond floats": (
        np.array([[1, 2], [3, "1e4000"]], np.longdouble),
        ValueError,
        "X must be finite.*infinity.*row 1, column 1",
    ),
    "nan": (with_value(np.nan), ValueError, "X must be finite; it has NaN at row 5, column 1. Drop or fill"),
    "infinity": (with_value(-np.inf, 7, 2), ValueError, "X must be finite.*infinity.*row 7, column 2. Drop or fill"),
    "nan in float32": (with_value(np.nan, dtype=np.float32), ValueError, "NaN at row 5, column 1"),
    "nan in float16": (with_value(np.nan, dtype=np.float16), ValueError, "NaN at row 5, column 1"),
    "nan in objects": (with_value(np.nan, dtype=object), ValueError, "NaN at row 5, column 1"),
    "several": (np.full((3, 2), np.nan), ValueError, "NaN at row 0, column 0, and 5 more cell"),
    "masked": (
        np.ma.array(np.arange(8.0).reshape(4, 2), mask=np.arange(8).reshape(4, 2) == 5),
        ValueError,
        "X must be finite; it has NaN at row 2, column 1",
    ),
    "masked integers": (
        np.ma.array(np.arange(8).reshape(4, 2), mask=np.arange(8).reshape(4, 2) == 2),
        ValueError,
        "X must be finite; it has NaN at row 1, column 0",
    ),
    "masked dates": (
        np.ma.array(np.zeros((4, 2), "M8[D]"), mask=np.eye(4, 2)),
        ValueError,
        "X must be numeric or boolean.*datetime64",
    ),
    "constant": (np.ones((30, 2)), ValueError, "X is constant: every row is the same"),
    "constant sparse": (sparse.csr_array((30, 2)), ValueError, "X is constant: every row is the same"),
    "few distinct": (
        np.repeat(np.eye(2), 20, axis=0),
        ValueError,
        "ks asks for up to 3 clusters, but X has only 2 distinct rows. Pass ks of at most 2",
    ),
    "distinct but for the sign of zero": (
        np.repeat([[0.0, 1.0], [-0.0, 1.0], [5.0, 1.0]], 20, axis=0),
        ValueError,
        "X has only 2 distinct rows",
    ),
    "few distinct sparse": (
        sparse.csr_array(np.repeat(np.eye(2), 20, axis=0)),
        ValueError,
        "X has only 2 distinct rows",
    ),
    "sparse nan": (sparse_with_nan(), ValueError, "X must be finite; it has NaN at row 1, column 2"),
    "sparse nan by columns": (sparse_with_nan().tocsc(), ValueError, "X must be finite; it has NaN at row 1, column 2"),
    "sparse complex": (sparse.csr_array(np.eye(3) * 1j), ValueError, "X: Complex data not supported"),
    "sparse of one dimension": (sparse.coo_array(np.arange(9.0)), ValueError, "X must have two dimensions.*sparse"),
    "pandas column": (pd.Series([1.0, 2.0]), ValueError, r"X must have two dimensions.*pandas. Pass X.to_frame\(\)"),
    "polars column": (pl.Series([1.0, 2.0]), ValueError, r"X must have two dimensions.*polars. Pass X.to_frame\(\)"),
    "arrow column": (pa.array([1.0, 2.0]), ValueError, "X must have two dimensions.*pyarrow. Pass a table"),
    "lazy frame": (pl.LazyFrame({"a": [1.0, 2.0]}), TypeError, r"X must be a table in memory.*Pass X.collect\(\)"),
}

LEAVE_OUT = "Leave them out by passing only the numeric columns, or encode them"
BAD_TABLES = {
    "pandas text": (pd.DataFrame({"a": [1.0, 2.0], "city": [SECRET, "x"]}), r"'city' \(str\)"),
    "pandas objects": (pd.DataFrame({"a": np.array([1, SECRET], object)}), r"'a' \(object\)"),
    "pandas dates": (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 2)}), r"'when' \(datetime64"),
    "pandas durations": (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), r"'a' \(timedelta64"),
    "pandas periods": (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), r"'a' \(period"),
    "pandas categories": (pd.DataFrame({"a": pd.Categorical([1, 2])}), r"'a' \(category\)"),
    "pandas true-false categories": (pd.DataFrame({"a": pd.Categorical([True, False])}), r"'a' \(category\)"),
    "pandas complex": (pd.DataFrame({"a": [1j, 2]}), r"'a' \(complex128\)"),
    "pandas arrow text": (pd.DataFrame({"a": pd.Series([SECRET, "x"], dtype="string[pyarrow]")}), r"'a' \(string\)"),
    "pandas unnamed": (pd.DataFrame([[1, SECRET], [2, "x"]]), r"numeric: 1 \(object|numeric: 1 \(str"),
    "pandas two": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": ["x", "y"]}), r"'a' \(str\), 'c' \(str\)"),
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


@pytest.mark.parametrize("name", BAD_X)
def test_bad_data_is_refused(name):
    X, error, message = BAD_X[name]
    with pytest.raises(error, match=message) as raised:
        select_k(X, ks=(2, 3), n_subsamples=2)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("name", BAD_TABLES)
def test_columns_that_are_not_numeric_are_named(name):
    X, message = BAD_TABLES[name]
    with pytest.raises(ValueError, match=f"X has columns that are not numeric: .*{message}.*{LEAVE_OUT}") as raised:
        select_k(X, ks=2, n_subsamples=2)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("name", MISSING)
def test_missing_cells_of_tables_are_located(name):
    X, message = MISSING[name]
    with pytest.raises(ValueError, match=f"X must be finite; it has {message}"):
        select_k(X, ks=2, n_subsamples=2)


def test_nan_in_a_later_block_is_located(monkeypatch):
    monkeypatch.setattr("compsil_kit.data.matrix._BLOCK_BYTES", 64)
    X = np.arange(90.0).reshape(30, 3)
    X[17, 2] = X[29, 0] = np.nan
    with pytest.raises(ValueError, match="NaN at row 17, column 2, and 1 more cell"):
        select_k(X)


def test_distinct_rows_are_sought_beyond_the_first_thousand():
    X = np.zeros((1500, 1))
    X[-3:, 0] = [1.0, 2.0, 3.0]
    assert plan_selection(X, ks=4).ks == (4,)
    with pytest.raises(ValueError, match=r"X has only 4 distinct rows\. Pass ks of at most 4"):
        plan_selection(X, ks=5)


def fit(X, **keywords):
    return CompositeSilhouette(**keywords).fit(X)


@pytest.mark.parametrize("enter", [select_k, stream, plan_selection, fit])
@pytest.mark.parametrize("name", ["nan", "strings", "objects", "ragged", "one dimension", "one row", "constant"])
def test_every_way_in_checks_the_data(enter, name):
    X, error, message = BAD_X[name]
    with pytest.raises(error, match=message):
        enter(X, ks=(2, 3))


@pytest.mark.parametrize("name", ["nan", "strings", "objects", "ragged", "one dimension", "one row", "sparse nan"])
def test_silhouettes_checks_the_data(name):
    X, error, message = BAD_X[name]
    with pytest.raises(error, match=message):
        silhouettes(X, [0, 1, 1])


INTEGERS = (True, np.True_, "3", 2.7, 3.0, np.float64(3), None, math.nan, math.inf, [3], (), {}, b"3", 3j, object())
WORDS = (True, 0, 1.5, None, [], ["max"], {}, b"max", object())
TYPES = {
    "ks": (
        "ks must be integers of at least 2",
        (True, np.True_, "2", "23", b"23", 2.7, math.nan, None, {2: 3}, object(), 2j, fractions.Fraction(5, 2)),
    ),
    "n_subsamples": ("n_subsamples must be an integer of at least 1", INTEGERS),
    "n_calibration": ("n_calibration must be an integer of at least 0", INTEGERS),
    "sample_size": (
        r"sample_size must be 'auto', an integer number of rows, or a fraction of the rows in \(0, 1\]",
        (True, np.True_, None, [3], (), {}, b"3", 3j, object(), decimal.Decimal(1)),
    ),
    "metric": ("metric must be a name or a function", (True, 2, 1.5, None, ["euclidean"], b"euclidean", object())),
    "clusterer": ("clusterer must be a name .*a scikit-learn estimator, or a function", WORDS),
    "transform": ("transform must be one of 'tanh', .*or a function", WORDS),
    "rule": ("rule must be one of 'max', 'lcb'", WORDS),
    "on_failure": ("on_failure must be one of 'raise', 'skip'", WORDS),
    "z": ("z must be a number in", (True, np.True_, "1", None, [1.0], (), {}, 1j, decimal.Decimal(1), object())),
    "n_jobs": (
        "n_jobs must be None, a number of workers, or -1",
        (True, np.True_, "2", 2.7, 2.0, math.nan, [2], (), {}, object()),
    ),
    "random_state": (
        "random_state must be an integer, None, or a sequence",
        (True, "42", b"42", 4.2, 42.0, math.nan, {1, 2}, {}, object(), np.random.RandomState(0)),
    ),
    "progress": ("progress must be True, False, None", ("yes", 1, 0, 1.5, [], object())),
}


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(name, value) for name, (_, values) in TYPES.items() for value in values]
)
def test_parameters_of_the_wrong_type_are_refused(name, value):
    with pytest.raises(TypeError, match=f"^{TYPES[name][0]}.*; got .+"):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


VALUES = [
    ("ks", [], "ks must hold at least one integer of at least 2; it is empty"),
    ("ks", range(5, 5), "ks must hold at least one integer"),
    ("ks", 1, "ks must be .*at least 2; got 1"),
    ("ks", -3, "ks must be .*at least 2; got -3"),
    ("ks", [2, 0], "ks must be .*at least 2; got 0"),
    ("ks", -(10**5000), "ks must be .*at least 2; got an integer of 16610 bits"),
    ("ks", 40, "ks must be smaller than the number of rows, 40; got k=40"),
    ("n_subsamples", 0, "n_subsamples must be an integer of at least 1; got 0"),
    ("n_subsamples", -5, "n_subsamples must be an integer of at least 1; got -5"),
    ("n_calibration", -1, "n_calibration must be an integer of at least 0; got -1"),
    ("sample_size", 0, "sample_size must be an integer of at least 3; got 0"),
    ("sample_size", -4, "sample_size must be an integer of at least 3; got -4"),
    ("sample_size", 41, "sample_size must be at most the number of rows, 40; got 41"),
    ("sample_size", 0.0, "sample_size .*at least 3; got 0"),
    ("sample_size", 0.01, "sample_size .*at least 3; got 0"),
    ("sample_size", -0.5, r"sample_size as a fraction must be a number in .0, 1\]; got -0.5"),
    ("sample_size", 1.5, r"sample_size as a fraction must be a number in .0, 1\]; got 1.5"),
    ("sample_size", 30.0, r"sample_size as a fraction must be a number in .0, 1\]; got 30.0"),
    ("sample_size", math.nan, "sample_size as a fraction.*; got nan"),
    ("sample_size", "all", "sample_size must be .*'auto'.*; got 'all'"),
    ("sample_size", "30", "sample_size must be .*'auto'.*; got '30'"),
    ("metric", "Euclidean", "metric must be a function or one of .*cosine, .*euclidean, .*; got 'Euclidean'"),
    ("metric", "nan_euclidean", "metric must be a function or one of"),
    ("metric", "", "metric must be a function or one of .*; got ''"),
    ("clusterer", "k-means", "clusterer must be one of 'kmeans', .*'clara'; got 'k-means'"),
    ("clusterer", "", "clusterer must be one of 'kmeans'"),
    ("transform", "TANH", "transform must be one of 'tanh', .*; got 'TANH'"),
    ("rule", "LCB", "rule must be one of 'max', 'lcb'; got 'LCB'"),
    ("on_failure", "ignore", "on_failure must be one of 'raise', 'skip'; got 'ignore'"),
    ("z", -0.1, r"z must be a number in \[0, .*; got -0.1"),
    ("z", math.nan, "z must be a number in .*; got nan"),
    ("z", math.inf, "z must be a number in .*; got inf"),
    ("z", 10**400, "z must be a number in .*; got an integer of 1329 bits"),
    ("n_jobs", 0, "n_jobs must be None, a number of workers, or -1 for all cores; got 0"),
    ("random_state", -1, "random_state must be made of integers from 0 to 4294967295; got -1"),
    ("random_state", 2**32, "random_state must be made of integers from 0 to 4294967295; got 4294967296"),
    ("random_state", [1], "random_state as a sequence must hold one seed per subsample: 2 are needed, got 1"),
    ("random_state", range(3), "2 are needed, got 3. Pass as many seeds as subsamples, or a single integer"),
    ("random_state", [1, -1], "random_state must be made of integers from 0 to 4294967295; got -1"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(VALUES)]
)
def test_parameters_out_of_range_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


ELEMENTS = [
    ("ks", [2, 2.5], "2.5"),
    ("ks", ["2"], "'2'"),
    ("ks", [True, 3], "True"),
    ("ks", [None], "None"),
    ("ks", np.array([[2, 3]]), "ndarray"),
    ("ks", np.array([2.0, 3.0]), "2.0"),
    ("random_state", [1.0, 2.0], "1.0"),
    ("random_state", ["1", "2"], "'1'"),
    ("random_state", [True, False], "True"),
]


@pytest.mark.parametrize(("name", "value", "got"), ELEMENTS)
def test_elements_of_the_wrong_type_are_refused(name, value, got):
    with pytest.raises(TypeError, match=f"^{name} must be .*integer.*; got .*{got}"):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


FINE = [
    ("ks", np.int64(3)),
    ("ks", {3, 2}),
    ("ks", [3, 2, 3]),
    ("ks", np.array([3, 2, 3], np.uint8)),
    ("n_subsamples", np.int32(2)),
    ("sample_size", np.float32(0.5)),
    ("sample_size", np.int16(20)),
    ("z", np.float32(2)),
    ("random_state", np.array([5, 6])),
    ("random_state", (5, 6)),
    ("random_state", np.uint32(7)),
    ("n_jobs", np.int64(1)),
]


@pytest.mark.parametrize(("name", "value"), FINE)
def test_numpy_numbers_and_other_collections_are_fine(name, value):
    result = select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})
    assert result.best_k in (2, 3)
    assert list(result.ks) == sorted(set(result.ks))


def test_an_unknown_keyword_is_refused():
    with pytest.raises(TypeError, match="n_clusters"):
        select_k(GOOD, n_clusters=3)


@pytest.mark.parametrize("enter", [stream, plan_selection, fit])
@pytest.mark.parametrize(
    ("name", "value"), [("n_subsamples", 2.7), ("ks", "2"), ("sample_size", True), ("random_state", 1.5)]
)
def test_every_way_in_checks_the_parameters(enter, name, value):
    with pytest.raises(TypeError, match=f"^{name} must be"):
        enter(GOOD, **{name: value})


def test_one_subsample_has_no_standard_error_to_maximise():
    with pytest.raises(ValueError, match="n_subsamples with rule='lcb' must be an integer of at least 2; got 1"):
        select_k(GOOD, rule="lcb", n_subsamples=1)


@pytest.mark.parametrize("k", [20, 25])
def test_as_many_clusters_as_rows_are_refused(k):
    with pytest.raises(ValueError, match=f"ks must be smaller.*got k={k} .*Pass smaller ks, or a larger sample_size"):
        select_k(GOOD, ks=(2, k), sample_size=20)


CLUSTERERS = [
    (KMeans, TypeError, r"clusterer must be an instance, not a class; pass KMeans\(\)"),
    (DBSCAN(), ValueError, "clusterer=DBSCAN must have fit_predict and a parameter n_clusters or n_components"),
    (PCA(), ValueError, "clusterer=PCA must have fit_predict.*Wrap it in a function"),
]


@pytest.mark.parametrize(("clusterer", "error", "message"), CLUSTERERS)
def test_what_cannot_cluster_into_k_is_refused(clusterer, error, message):
    with pytest.raises(error, match=message):
        select_k(GOOD, clusterer=clusterer)


DISTANCES = pairwise_distances(GOOD)


def spoiled(row, column, value):
    D = DISTANCES.copy()
    D[row, column] = value
    return D


BAD_DISTANCES = {
    "not square": (DISTANCES[:, :30], r"it is not square, its shape is \(40, 30\)"),
    "not symmetric": (spoiled(3, 7, 99.0), "it is not symmetric"),
    "diagonal": (spoiled(3, 3, 0.5), "its diagonal is not 0"),
    "negative": (-DISTANCES, "it has negative entries"),
    "one negative": (spoiled(3, 7, -1.0), "it has negative entries"),
    "sparse": (sparse.csr_array(DISTANCES), "it is sparse, where a missing entry would count as distance 0"),
}


@pytest.mark.parametrize("name", BAD_DISTANCES)
def test_a_matrix_that_holds_no_distances_is_refused(name):
    D, message = BAD_DISTANCES[name]
    with pytest.raises(ValueError, match=f"metric='precomputed' needs X to be a symmetric matrix.*: {message}. Pass"):
        silhouettes(D, np.arange(D.shape[0]) % 2, metric="precomputed")


def test_distances_within_rounding_are_taken():
    # As far off as |x|^2 - 2 x.y + |y|^2 leaves the distances of near points.
    noise = 1e-9 * DISTANCES.max() * np.random.default_rng(0).normal(size=DISTANCES.shape)
    labels = np.arange(40) // 20
    got = silhouettes(DISTANCES + noise, labels, metric="precomputed").per_point
    assert got == pytest.approx(silhouettes(DISTANCES, labels, metric="precomputed").per_point, abs=1e-7)


@pytest.mark.parametrize("name", ["kmeans", "gmm", "spectral", "clara", "birch"])
def test_clusterers_that_need_points_refuse_distances(name):
    with pytest.raises(ValueError, match=f"clusterer='{name}' needs points.*Pass clusterer='agglomerative'"):
        select_k(DISTANCES, clusterer=name, metric="precomputed")


@pytest.mark.parametrize("clusterer", [KMeans(), AgglomerativeClustering(), SpectralClustering(affinity="precomputed")])
def test_estimators_that_do_not_read_distances_are_refused(clusterer):
    with pytest.raises(
        ValueError, match=r"metric='precomputed' gives distances, but clusterer=.* not set to read them"
    ):
        select_k(DISTANCES, clusterer=clusterer, metric="precomputed")


METRICS = [
    ("haversine", GOOD, "metric='haversine' does not work on this X"),
    ("jaccard", GOOD, "metric='jaccard' compares yes/no features; X has values other than 0 and 1. Pass boolean data"),
    ("chebyshev", sparse.csr_array(GOOD), r"metric='chebyshev' does not take sparse data. Pass X.toarray\(\)"),
    ("seuclidean", sparse.csr_array(GOOD), "metric='seuclidean' does not take sparse data"),
    (lambda x, y: math.nan, GOOD, "metric='<lambda>' must give finite distances of at least 0"),
    (lambda x, y: -1.0, GOOD, "metric='<lambda>' must give finite distances of at least 0"),
    (lambda x: 1.0, GOOD, "metric='<lambda>' does not work on this X"),
    (lambda x, y: "far", GOOD, "metric='<lambda>' does not work on this X"),
]


@pytest.mark.parametrize(("metric", "X", "message"), METRICS)
def test_a_metric_that_does_not_fit_the_data_is_refused(metric, X, message):
    with pytest.raises(ValueError, match=message):
        select_k(X, metric=metric, ks=2, n_subsamples=2)


def test_mahalanobis_needs_independent_features():
    X = np.random.default_rng(0).integers(0, 9, size=(40, 2)).astype(float)
    X = np.column_stack([X, np.zeros(40)])
    with pytest.raises(ValueError, match="metric='mahalanobis' does not work on this X: Singular matrix"):
        select_k(X, metric="mahalanobis", ks=2, n_subsamples=2)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_a_metric_that_goes_wrong_later_is_refused(wrong):
    def distance(x, y):
        return wrong if x[0] == GOOD[30, 0] and y[0] != x[0] else math.dist(x, y)

    with pytest.raises(ValueError, match="metric='distance' must give finite distances of at least 0"):
        silhouettes(GOOD, np.arange(40) // 20, metric=distance)
    with pytest.raises(
        ClusteringError, match=r"measuring distances failed on subsample .* finite distances of at least 0"
    ):
        select_k(GOOD, ks=2, n_subsamples=2, metric=distance)
    with pytest.raises(SelectionError, match=r"Most frequent cause: .* must give finite distances of at least 0"):
        select_k(GOOD, ks=2, n_subsamples=2, metric=distance, on_failure="skip")


def test_a_named_metric_without_an_answer_is_refused():
    nothing = np.zeros((4, 3), dtype=bool)
    nothing[0, 0] = nothing[1, 1] = True
    with pytest.raises(ValueError, match="metric='dice' must give finite distances"):
        silhouettes(nothing, [0, 1, 0, 1], metric="dice")


@pytest.mark.parametrize("ks", [range(2, 10**9), itertools.count(2)])
def test_endless_candidates_are_refused_at_once(ks):
    with pytest.raises(ValueError, match="ks must hold at most 1,000,000 candidates"):
        select_k(GOOD, ks=ks)


def test_a_transformation_that_does_not_fit_is_found_before_the_work():
    def forbidden(X, k, seed):
        raise AssertionError("work was done")

    with pytest.raises(ValueError, match="transform 'int' must take an array"):
        select_k(GOOD, ks=2, n_subsamples=2, transform=int, clusterer=forbidden)


LABELS = [
    (np.zeros(40), ValueError, "labels must name at least 2 clusters.*got 1 clusters for 40 points"),
    (np.arange(40), ValueError, "fewer clusters than points; got 40 clusters for 40 points"),
    (np.zeros(39), ValueError, r"labels must hold one label for each of the 40 points; got shape \(39,\)"),
    ([], ValueError, r"labels must hold one label for each of the 40 points; got shape \(0,\)"),
    (np.zeros((2, 2, 2)), ValueError, r"labels must be one label per point.*got an array of shape \(2, 2, 2\)"),
    (np.where(np.arange(40) == 3, np.nan, np.arange(40) % 2), ValueError, "labels must not hold NaN"),
    (np.arange(40) % 2 * 1j, ValueError, "labels must not hold NaN, infinity or complex"),
    (np.array([None, *"ab" * 19, "a"], object), ValueError, "labels must not hold missing values"),
    (pd.Series([pd.NA, *[1, 2] * 19, 1], dtype="object"), ValueError, "labels must not hold missing values"),
    (pd.Series([(0, 1), (1, 2)] * 20), TypeError, "labels must be integers or strings; got values of type tuple"),
    ([np.arange(40) % 2, np.arange(39) % 2], ValueError, r"one label for each of the 40 points; got shape \(39,\)"),
]


@pytest.mark.parametrize(("labels", "error", "message"), [pytest.param(*case) for case in LABELS])
def test_labels_that_cannot_be_scored_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        silhouettes(GOOD, labels)


@pytest.mark.parametrize("value", [2**300, -(2**300), 10**5000], ids=["large", "small", "unprintable"])
def test_huge_integers_are_described_not_printed(value):
    assert describe(value) == f"an integer of {value.bit_length()} bits"
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\); got"):
        check_real("share", value, low=0.0, high=1.0, open_ends=True)


@pytest.mark.parametrize(
    ("value", "text"), [(np.float64(2.5), "2.5"), (np.str_("a"), "'a'"), ("x" * 99, "'" + "x" * 56 + "...")]
)
def test_values_are_described_in_plain_words(value, text):
    assert describe(value) == text


def test_refusals_warn_of_nothing():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for X, error, message in BAD_X.values():
            with pytest.raises(error, match=message):
                select_k(X, ks=(2, 3))
    assert seen == []
