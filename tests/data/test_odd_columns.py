"""Columns that look as if they should not be clustered."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from compsil_kit._data.odd_columns import odd_columns
from compsil_kit._data.table import prepare


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(120, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["age", "spend", "visits"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y])


def note(frame, **settings):
    return " ".join(prepare(frame, **settings).preparation.notes)


def test_constant_columns_are_noted(frame):
    text = note(frame.assign(one=1, none=0.0))
    assert text.startswith("column 'one', 'none' are constant, without influence on the clusters. To exclude columns,")


def test_repeated_columns_are_noted(frame):
    text = note(frame.assign(copy=frame["age"], again=frame["age"]))
    assert "column 'copy' repeats 'age', whose values then count twice." in text
    assert "column 'again' repeats 'age'" in text
    # The same content under the same name, as a careless merge or concat leaves behind.
    assert "'age' repeats 'age'" in note(frame[["age", "spend", "age"]])
    assert note(frame[["age", "spend"]].set_axis(["x", "x"], axis=1)) == ""


@pytest.mark.parametrize("sign", [1, -1])
def test_zeros_of_either_sign_are_the_same(sign):
    given = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [sign * 0.0, 1.0, 2.0]})
    assert "'b' repeats 'a'" in note(given)


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "user.id", "CustomerID", "userId", "Unnamed: 0", "key"])
def test_distinct_whole_numbers_with_a_telling_name_are_noted(frame, name):
    shuffled = np.random.default_rng(0).permutation(10 * np.arange(len(frame)))
    assert note(frame.assign(**{name: shuffled})).startswith(f"column {name!r} looks like an identifier")


@pytest.mark.parametrize("name", ["humid", "paid", "PAID", "grid", "width", "monkey", "index_price"])
def test_other_names_are_not(frame, name):
    shuffled = np.random.default_rng(0).permutation(10 * np.arange(len(frame)))
    assert note(frame.assign(**{name: shuffled})) == ""


def test_row_numbers_are_noted_under_any_name(frame):
    assert "'serial' looks like an identifier" in note(frame.assign(serial=np.arange(1000, 1000 + len(frame))))
    assert note(frame.assign(serial=np.arange(len(frame))[::-1])) == ""
    assert note(frame.assign(store_id=np.arange(len(frame)) // 2)) == ""
    assert note(frame.head(19).assign(serial=np.arange(19))) == ""
    assert note(frame.assign(rate_id=np.arange(len(frame)) + 0.5)) == ""


def test_nothing_odd():
    assert odd_columns(["a", "b"], np.array([[1.0, 2.0], [3.0, 5.0]])) == []


@pytest.mark.parametrize("first", [0, 1, 1000])
def test_of_some_rows_of_a_table_the_numbers_are_known(first):
    numbers = np.arange(0, 300, 7)
    rows = np.column_stack([first + numbers, np.arange(len(numbers)), 2 * numbers]).astype(float)
    (note,) = odd_columns(["serial", "b", "c"], rows, numbers)
    assert note.startswith("column 'serial' looks like an identifier")
