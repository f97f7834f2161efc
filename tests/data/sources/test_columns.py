"""A source without some of its columns."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tables import LARGE, CutSource, columns_of

from compsil_kit import prepare, select_k
from compsil_kit._data.sources.arrow import ArrowSource
from compsil_kit._data.sources.columns import without

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}


@pytest.mark.parametrize("settings", [{}, {"parts": (9_000,)}])
def test_it_is_the_table_of_the_other_columns(settings):
    columns = columns_of(n_columns=4)
    source = without(CutSource(columns, **settings), ["x1"])
    others = {name: values for name, values in columns.items() if name != "x1"}
    assert ([field.name for field in source.fields], source.n_rows) == (["x0", "x2", "x3"], LARGE)
    assert select_k(prepare(source), **FAST).to_dict() == select_k(prepare(CutSource(others)), **FAST).to_dict()
    np.testing.assert_array_equal(source.frame([2])["x3"], columns["x3"])


def test_nothing_left_out_is_the_source_itself():
    source = CutSource(columns_of(10))
    assert without(source, ()) is source


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"--exclude: 'y' is not a column of the data, which has x0, x1, x2\."):
        without(CutSource(columns_of(10)), ["x0", "y"])


def test_numbers_are_named_by_their_text():
    assert [field.name for field in without(CutSource({7: np.ones(3), 8: np.ones(3)}), ["7"]).fields] == [8]


def test_records_are_those_of_the_other_columns():
    whole = ArrowSource(ds.dataset(pa.table({"a": [1, 2], "word": ["x", "y"], "b": [3, 4]})))
    source = without(whole, ["a"])
    assert source.has_records
    assert not without(CutSource(columns_of(10)), ["x1"]).has_records
    (batch,) = source.records([1, 0])
    assert batch.to_pydict() == {"b": [3, 4], "word": ["x", "y"]}
