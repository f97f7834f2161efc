"""From a frame with all kinds of columns to a matrix: which columns, which rows, on which scale."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import prepare


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(120, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["age", "spend", "visits"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y])


def test_without_scale_the_numbers_stay(frame):
    table = prepare(frame, scale=None, columns=["spend", "age"])
    np.testing.assert_array_equal(table.matrix, frame[["spend", "age"]].to_numpy())
    assert table.preparation == Preparation(("spend", "age"))
    assert str(table.preparation) == "columns spend, age; scale none"


def test_names_of_several_levels_are_joined(frame):
    levels = frame[["age", "spend"]].set_axis(pd.MultiIndex.from_tuples([("shop", 2020), ("shop", 2021)]), axis=1)
    assert prepare(levels).preparation.columns == ("shop, 2020", "shop, 2021")
    assert prepare(levels, columns=[("shop", 2021)]).preparation.columns == ("shop, 2021",)


def test_numeric_and_boolean_columns_by_default(frame):
    given = frame.assign(
        flag=frame["age"] > 0, when=pd.Timestamp("2026-01-01"), z=1j, group=frame["city"].astype("category")
    )
    done = prepare(given).preparation
    assert done.columns == ("age", "spend", "visits", "flag")
    assert done.left_out == ("city", "when", "z", "group")
    assert str(done).endswith("scale standard; left out as not numeric: city, when, z, group")


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
def test_ways_to_name_columns(frame, columns, expected):
    assert list(prepare(frame, columns=columns).preparation.columns) == expected


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["age", "city"], ValueError, r"columns: 'city' is not numeric.*get_dummies"),
        ("spent", ValueError, r"columns: 'spent' is not a column of the data.*Did you mean 'spend'\?"),
        (["zzz"], ValueError, r"columns: 'zzz' is not a column of the data, which has age, spend, visits, city\.$"),
        ([3], ValueError, "columns: 3 is not a column of the data"),
        (np.int64(3), ValueError, "columns: 3 is not a column of the data"),
        ([], ValueError, "columns must name at least one column; it is empty"),
        ([["age"]], TypeError, "got a value of type list in the list"),
        (7, TypeError, "columns must be a column's name or a list of names; got 7"),
        ({"age", "spend"}, TypeError, "got a value of type set"),
    ],
)
def test_columns_that_cannot_be_used(frame, columns, error, message):
    with pytest.raises(error, match=message):
        prepare(frame, columns=columns)


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"scale": "log"}, ValueError, "scale must be one of 'standard', 'robust', 'minmax'; got 'log'"),
        ({"scale": True}, TypeError, "scale must be one of"),
        ({"missing": "fill"}, ValueError, "missing must be one of 'raise', 'drop'; got 'fill'"),
        ({"missing": None}, TypeError, "missing must be one of 'raise', 'drop'; got None"),
    ],
)
def test_unknown_settings(frame, setting, error, message):
    with pytest.raises(error, match=message):
        prepare(frame, **setting)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame(), "no numeric column"),
        (pd.DataFrame({"a": ["x", "y"]}), "no numeric column"),
        (pd.DataFrame({"a": []}, dtype=float), "the data has no rows"),
        (pd.DataFrame({"a": [1.0, np.inf, -np.inf], "b": [1.0, 2.0, 3.0]}), r"infinite values in 'a' \(2\)"),
        (pd.DataFrame({"id": [*range(30), np.inf, np.inf]}), r"infinite values in 'id' \(2\)"),
    ],
)
def test_data_that_cannot_be_used(data, message):
    with pytest.raises(ValueError, match=message):
        prepare(data)


def test_missing_values_are_counted_by_column(frame):
    holes = frame.assign(age=frame["age"].mask(frame.index < 7), visits=frame["visits"].mask(frame.index == 50))
    with pytest.raises(ValueError, match=r"missing values in 'age' \(7\), 'visits' \(1\)\. .*missing='drop'"):
        prepare(holes)
    table = prepare(holes, missing="drop")
    whole = holes.dropna()
    expected = StandardScaler().fit_transform(whole.iloc[:, :3].to_numpy())
    np.testing.assert_allclose(table.matrix, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table.kept, holes.notna().all(axis=1))
    assert table.preparation.n_dropped == 8
    assert "8 rows with missing values dropped" in str(table.preparation)
    # Holes in columns that are not used do not matter.
    assert prepare(holes, columns="spend").kept.all()


def test_one_dropped_row_is_one_row(frame):
    assert "1 row with" in str(
        prepare(frame.assign(age=frame["age"].mask(frame.index == 3)), missing="drop").preparation
    )


def test_a_column_of_nothing(frame):
    with pytest.raises(ValueError, match="no rows are left after dropping"):
        prepare(frame.assign(empty=np.nan), missing="drop")
    assert prepare(frame.assign(empty=None).astype({"empty": object})).preparation.left_out == ("city", "empty")


def test_a_number_may_be_named_by_its_text():
    frame = pd.DataFrame({2020: [1.0, 2.0], "2021": [3.0, 5.0], 2021: [4.0, 7.0]})
    assert prepare(frame, columns=["2020"], scale=None).matrix.tolist() == [[1.0], [2.0]]
    # Of a number and a text that look the same, the text is meant.
    assert prepare(frame, columns=["2021"], scale=None).matrix.tolist() == [[3.0], [5.0]]


def test_other_tables_and_arrays(frame):
    expected = prepare(frame, columns=["age", "spend"])
    for table in (pl.from_pandas(frame[["age", "spend"]]), pa.Table.from_pandas(frame[["age", "spend"]])):
        found = prepare(table)
        np.testing.assert_array_equal(found.matrix, expected.matrix)
        assert found.preparation == expected.preparation
    array = prepare(frame[["age", "spend"]].to_numpy(dtype=float))
    np.testing.assert_array_equal(array.matrix, expected.matrix)
    assert array.preparation.columns == ("0", "1")
    for wrong in ([[1.0, 2.0]], np.zeros(3), None):
        with pytest.raises(TypeError, match=r"^frame must be a table \(pandas, Polars, pyarrow\), a two-dim.*; got "):
            prepare(wrong)
