"""Tests of prepare: choosing columns, handling missing values and scaling."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler

from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import prepare

NUMERIC = ["age", "spend", "visits"]


@pytest.fixture(scope="module")
def frame():
    rows = np.random.default_rng(3).normal(size=(60, 3))
    return pd.DataFrame(rows, columns=NUMERIC).assign(city=["Rome", "Oslo", "Lima"] * 20)


def test_values_are_unchanged_without_a_scale(frame):
    table = prepare(frame, scale=None, columns=["spend", "age"])
    np.testing.assert_array_equal(table.matrix, frame[["spend", "age"]].to_numpy())
    np.testing.assert_array_equal(table.raw, frame[["spend", "age"]])
    assert table.preparation == Preparation(("spend", "age"))


def test_numeric_and_boolean_columns_are_the_default(frame):
    given = frame.assign(
        flag=frame["age"] > 0, when=pd.Timestamp("2026-01-01"), z=1j, group=frame["city"].astype("category")
    )
    table = prepare(given)
    assert table.preparation == Preparation((*NUMERIC, "flag"), ("city", "when", "z", "group"), "standard")
    expected = StandardScaler().fit_transform(given[[*NUMERIC, "flag"]].to_numpy(dtype=float))
    np.testing.assert_allclose(table.matrix, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("age", ["age"]),
        (["spend", "age"], ["spend", "age"]),
        (("spend", "age"), ["spend", "age"]),
        (pd.Index(["visits"]), ["visits"]),
        (np.array(["visits", "age"]), ["visits", "age"]),
        (pd.Series(["visits"]), ["visits"]),
        (["age", "age"], ["age"]),
    ],
)
def test_columns_may_be_a_name_or_any_sequence_of_names(frame, columns, expected):
    assert list(prepare(frame, columns=columns).preparation.columns) == expected


def test_multiindex_levels_are_joined_in_column_names(frame):
    levels = frame[["age", "spend"]].set_axis(pd.MultiIndex.from_tuples([("shop", 2020), ("shop", 2021)]), axis=1)
    assert prepare(levels, columns="shop").preparation.columns == ("shop, 2020", "shop, 2021")
    assert prepare(levels, columns=[("shop", 2021)]).preparation.columns == ("shop, 2021",)


def test_numeric_column_names_may_be_passed_as_strings():
    frame = pd.DataFrame({2020: [1.0, 2.0], "2021": [3.0, 5.0], 2021: [4.0, 7.0]})
    assert prepare(frame, columns=["2020"], scale=None).matrix.tolist() == [[1.0], [2.0]]
    # An exact match takes precedence.
    assert prepare(frame, columns=["2021"], scale=None).matrix.tolist() == [[3.0], [5.0]]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"columns": ["age", "city"]}, ValueError, r"columns: 'city' is not numeric.*get_dummies"),
        (
            {"columns": "spent"},
            ValueError,
            r"columns: 'spent' is not a column of the data.*Did you mean 'spend'\?",
        ),
        (
            {"columns": ["zzz"]},
            ValueError,
            r"'zzz' is not a column.*columns: age, spend, visits, city\.$",
        ),
        ({"columns": [3]}, ValueError, "columns: 3 is not a column of the data"),
        ({"columns": np.int64(3)}, ValueError, "columns: 3 is not a column of the data"),
        ({"columns": []}, ValueError, "columns must name at least one column, but it is empty"),
        ({"columns": [["age"]]}, TypeError, "got a value of type list in the list"),
        ({"columns": 7}, TypeError, "columns must be a column name or a list of names; got 7"),
        ({"columns": {"age", "spend"}}, TypeError, "got a value of type set"),
        ({"scale": "log"}, ValueError, "scale must be one of 'standard', 'robust', 'minmax'; got 'log'"),
        ({"scale": True}, TypeError, "scale must be one of"),
        ({"missing": "fill"}, ValueError, "missing must be one of 'raise', 'drop'; got 'fill'"),
        ({"missing": None}, TypeError, "missing must be one of 'raise', 'drop'; got None"),
    ],
)
def test_invalid_settings_raise(frame, settings, error, message):
    with pytest.raises(error, match=message):
        prepare(frame, **settings)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame(), "no numeric column"),
        (pd.DataFrame({"a": ["x", "y"]}), "no numeric column"),
        (pd.DataFrame({"a": []}, dtype=float), "the data have no rows"),
        (pd.DataFrame({"a": [1.0, np.inf, -np.inf], "b": [1.0, 2.0, 3.0]}), r"infinite values in 'a' \(2\)"),
    ],
)
def test_unusable_data_raise(data, message):
    with pytest.raises(ValueError, match=message):
        prepare(data)


def test_rows_with_missing_values_raise_or_are_dropped(frame):
    holes = frame.assign(age=frame["age"].mask(frame.index < 7), visits=frame["visits"].mask(frame.index == 50))
    with pytest.raises(ValueError, match=r"missing values in 'age' \(7\), 'visits' \(1\)\. .*missing='drop'"):
        prepare(holes)
    table = prepare(holes, missing="drop")
    expected = StandardScaler().fit_transform(holes.dropna()[NUMERIC].to_numpy())
    np.testing.assert_allclose(table.matrix, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table.kept, holes.notna().all(axis=1))
    assert table.preparation.n_dropped == 8
    # Unused columns are not checked for missing values.
    assert prepare(holes, columns="spend").kept.all()
    with pytest.raises(ValueError, match="no rows are left after dropping"):
        prepare(frame.assign(empty=np.nan), missing="drop")


def test_polars_arrow_and_array_input_match_pandas(frame):
    numeric = frame[["age", "spend"]]
    expected = prepare(numeric)
    for table in (pl.from_pandas(numeric), pa.Table.from_pandas(numeric), numeric.to_numpy()):
        found = prepare(table)
        np.testing.assert_array_equal(found.matrix, expected.matrix)
        assert found.preparation.columns == (("0", "1") if isinstance(table, np.ndarray) else ("age", "spend"))
    for wrong in ([[1.0, 2.0]], np.zeros(3), None):
        with pytest.raises(TypeError, match=r"^frame must be a table \(pandas, Polars, PyArrow\), a two-dim.*; got "):
            prepare(wrong)
