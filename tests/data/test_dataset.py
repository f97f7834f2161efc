"""The data in the form that the engine takes, and what is known of the table they came from."""

import json

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from compsil_kit import SelectionResult, select_k
from compsil_kit._data import dataset
from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import prepare

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(120, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["age", "spend", "visits"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y])


def test_hundreds_of_names_stay_readable():
    many = Preparation(tuple(f"x{i}" for i in range(300)), left_out=("a",), n_dropped=1234)
    assert str(many) == (
        "columns x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, ... (300 in all); scale none; "
        "left out as not numeric: a; 1,234 rows with missing values dropped"
    )


@pytest.mark.filterwarnings("ignore:the columns of X differ in scale")
@pytest.mark.parametrize("convert", [lambda f: f, polars.from_pandas, pyarrow.Table.from_pandas])
def test_tables_of_other_libraries_keep_their_names(frame, convert):
    numeric = frame[["age", "spend", "visits"]].assign(flag=frame["age"] > 0)
    result = select_k(convert(numeric), **FAST)
    assert result.preparation == Preparation(("age", "spend", "visits", "flag"))
    np.testing.assert_array_equal(result.micro, select_k(numeric.to_numpy(dtype=float), **FAST).micro)
    assert "Data: columns age, spend, visits, flag; scale none." in result.explain()


def test_plain_arrays_have_no_preparation(frame):
    result = select_k(frame[["age", "spend"]].to_numpy(), **FAST)
    assert result.preparation is None
    assert "Data:" not in result.explain()
    assert result.to_dict()["preparation"] is None


def test_a_result_with_its_preparation_survives_json(frame):
    table = prepare(frame.assign(one=1), missing="drop")
    result = select_k(table, **FAST)
    again = SelectionResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.preparation == result.preparation == table.preparation
    assert again.explain() == result.explain()
    assert "Data: columns age, spend, visits, one; scale standard; left out as not numeric: city." in result.explain()
    assert "Note: column 'one' is constant, without influence on the clusters." in result.explain()
    assert select_k(table.matrix, **FAST).preparation is None


def test_a_preparation_in_one_line():
    assert str(Preparation(("a",), scale="robust")) == "columns a; scale robust"
    assert str(Preparation(("a",), n_dropped=1)) == "columns a; scale none; 1 row with missing values dropped"


def test_by_what_factor_columns_differ():
    column = np.linspace(0, 1, 101)
    assert dataset.scale_ratio(column[:, None]) == 1.0
    assert dataset.scale_ratio(np.ones((9, 2))) == 1.0
    assert dataset.scale_ratio(np.column_stack([column, 25 * column])) == pytest.approx(25)
    assert dataset.scale_ratio(np.column_stack([column, 25 * column, 5 * column])) == pytest.approx(25)
    # Neither a constant column nor a single far value is a scale, and of a sparse matrix none is known.
    far = np.where(column == 1, 1e6, column)
    assert dataset.scale_ratio(np.column_stack([column, np.ones(101), far])) == pytest.approx(1)
    assert dataset.scale_ratio(sparse.csr_array(np.column_stack([column, 25 * column]))) == 1.0
