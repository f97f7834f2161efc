"""What every table outside memory can do."""

import numpy as np
import pytest
from tables import CutSource, columns_of

from compsil_kit._data.sources.scan import Work
from compsil_kit._data.sources.source import Field, dtype_of

DOUBLE, SINGLE = Field("a", "double", True), Field("b", "float", True, single=True)


@pytest.mark.parametrize(
    ("fields", "dtype"),
    [([SINGLE], "float32"), ([SINGLE, SINGLE], "float32"), ([SINGLE, DOUBLE], "float64"), ([DOUBLE], "float64")],
)
def test_only_float32_stays_float32(fields, dtype):
    assert dtype_of(fields) == dtype


def test_a_pass_tells_how_many_rows_were_read():
    source, told = CutSource(columns_of(100), chunk_rows=30), []
    (part,) = source.scan([1], Work(np.array([7]), "float64"), told.append)
    assert told == [30, 30, 30, 10]
    assert (part.start, part.stop) == (0, 100)


def test_a_frame_of_some_columns_in_their_order():
    columns = columns_of(100)
    frame = CutSource(columns, chunk_rows=30).frame([2, 0])
    assert list(frame.columns) == ["x2", "x0"]
    np.testing.assert_array_equal(frame.to_numpy(), np.column_stack([columns["x2"], columns["x0"]]))


def test_a_frame_of_no_rows_has_its_columns():
    assert CutSource({"a": np.empty(0), "b": np.empty(0)}).frame([0, 1]).shape == (0, 2)


def test_names_may_occur_twice():
    source = CutSource({"a": np.arange(3.0), "b": np.ones(3)})
    source.fields = (DOUBLE, DOUBLE)
    frame = source.frame([0, 1])
    assert list(frame.columns) == ["a", "a"]
    assert frame.iloc[:, 1].tolist() == [1.0, 1.0, 1.0]


def test_not_all_sources_have_records():
    source = CutSource(columns_of(10))
    assert not source.has_records
    with pytest.raises(NotImplementedError, match="has no records"):
        source.records([0])
