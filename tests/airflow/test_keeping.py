"""Columns that go with the labels, of tables in memory and outside it."""

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from compsil_airflow.results import check_labels_keep, kept_columns
from compsil_kit._data.sources.arrow import ArrowSource
from compsil_kit._data.sources.source import Source


class Numbers(Source):
    """A source of numbers only."""

    what, n_rows, fields = "a Dask DataFrame", 10, ()

    def chunks(self, at):
        return iter(())


@pytest.fixture(params=["frame", "source"])
def data(request, frame):
    if request.param == "frame":
        return frame
    return ArrowSource(ds.dataset(pa.Table.from_pandas(frame)))


def test_columns_to_keep(data):
    check_labels_keep(None, data)
    check_labels_keep([], data)
    check_labels_keep(["key", "word"], data)
    for name in ("row", "cluster"):
        with pytest.raises(ValueError, match=rf"^labels_keep must not contain '{name}'"):
            check_labels_keep(["key", name], data)
    with pytest.raises(ValueError, match=r"^labels_keep must name each column once; it has 'key' more than once\.$"):
        check_labels_keep(["key", "word", "key"], data)
    with pytest.raises(ValueError, match=r"^labels_keep: 'kee' is not a column of the data, which has .*key, "):
        check_labels_keep(["key", "kee"], data)


def test_sources_of_numbers_only():
    check_labels_keep(None, Numbers())
    with pytest.raises(ValueError, match=r"^labels_keep is not supported for a Dask DataFrame\. Leave it out and "):
        check_labels_keep(["key"], Numbers())


def test_all_rows_as_a_frame(data, frame):
    pd.testing.assert_frame_equal(kept_columns(data, ["word", "x"]), frame[["word", "x"]], check_dtype=False)
    assert kept_columns(data, []).columns.empty
