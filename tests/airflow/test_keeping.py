"""Columns that go with the labels, of tables in memory and outside it."""

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from compsil_airflow.keeping import check_keep, kept_frame
from compsil_kit._data.sources.arrow import ArrowSource
from compsil_kit._data.sources.columns import without
from compsil_kit._data.sources.source import Source


class Numbers(Source):
    """A source of numbers only."""

    what, n_rows, fields = "a Dask DataFrame", 10, ()

    def chunks(self, at):
        return iter(())


@pytest.fixture(params=["frame", "source", "part of a source"])
def data(request, frame):
    if request.param == "frame":
        return frame
    source = ArrowSource(ds.dataset(pa.Table.from_pandas(frame)))
    return source if request.param == "source" else without(source, ["y"])


def test_columns_to_keep(data):
    check_keep(None, data)
    check_keep([], data)
    check_keep(["key", "word"], data)
    for name in ("row", "cluster"):
        with pytest.raises(ValueError, match=rf"^labels_keep must not contain '{name}'"):
            check_keep(["key", name], data)
    with pytest.raises(ValueError, match=r"^labels_keep must name each column once; it has 'key' more than once\.$"):
        check_keep(["key", "word", "key"], data)
    with pytest.raises(ValueError, match=r"^labels_keep: 'kee' is not a column of the data, which has .*key, "):
        check_keep(["key", "kee"], data)


def test_sources_of_numbers_only():
    check_keep(None, Numbers())
    with pytest.raises(ValueError, match=r"^labels_keep is not supported for a Dask DataFrame\. Leave it out and "):
        check_keep(["key"], Numbers())


def test_all_rows_as_a_frame(data, frame):
    pd.testing.assert_frame_equal(kept_frame(data, ["word", "x"]), frame[["word", "x"]], check_dtype=False)
    assert kept_frame(data, []).columns.empty
