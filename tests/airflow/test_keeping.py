"""Columns that go with the labels, of tables in memory and outside it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from compsil_airflow.keeping import check_keep, kept_frame, kept_rows
from compsil_kit.data.sources.arrow import ArrowSource
from compsil_kit.data.sources.columns import without
from compsil_kit.data.sources.opening import open_source
from compsil_kit.data.sources.source import Source

TABLE = pa.table({"x": np.arange(10.0), "key": pa.array([*range(9), None]), "word": list("abcdefghij")})


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
    with pytest.raises(ValueError, match=r"^labels_keep must name each column once\.$"):
        check_keep(["key", "word", "key"], data)
    with pytest.raises(ValueError, match=r"^labels_keep: 'kee' is not a column of the data\.$"):
        check_keep(["key", "kee"], data)


def test_sources_of_numbers_only():
    check_keep(None, Numbers())
    with pytest.raises(ValueError, match=r"^labels_keep cannot be used with a Dask DataFrame\. Leave it out: "):
        check_keep(["key"], Numbers())


@pytest.mark.parametrize("group_rows", [2, 3, 100])
def test_rows_come_in_order_however_they_are_asked_for(tmp_path, group_rows):
    import pyarrow.parquet as pq

    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=group_rows)
    source = without(open_source(tmp_path / "a.parquet"), ["x"])
    take = kept_rows(source, ["word", "key"])
    parts = [take(n) for n in (1, 4, 0, 3, 2)]
    assert [len(part) for part in parts] == [1, 4, 0, 3, 2]
    assert pa.concat_tables(parts).combine_chunks() == TABLE.select(["word", "key"])


def test_all_rows_as_a_frame(data, frame):
    pd.testing.assert_frame_equal(kept_frame(data, ["word", "x"]), frame[["word", "x"]], check_dtype=False)
    assert kept_frame(data, []).columns.empty
