"""Columns of any type beside the rows of a table outside memory."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from compsil_kit._data.sources.arrow import ArrowSource, RecordSource
from compsil_kit._data.sources.beside import Beside
from compsil_kit._data.sources.columns import without
from compsil_kit._data.sources.opening import open_source
from compsil_kit._data.sources.scan import Work, gathered

TABLE = pa.table(
    {"x": np.arange(10.0), "key": pa.array([*range(9), None]), "word": list("abcdefghij"), "y": [1.5] * 10}
)


@pytest.mark.parametrize("group_rows", [2, 3, 100])
def test_they_come_with_the_rows(tmp_path, group_rows):
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=group_rows)
    source = Beside(without(open_source(tmp_path / "a.parquet"), ["y"]), ["word", "x"])
    assert [field.name for field in source.fields] == ["x", "key", "word"]
    kept = []
    for (values,) in source.chunks([0]):
        part = source.take()
        assert part["x"].to_pylist() == values.tolist()
        kept.append(part)
    assert pa.concat_tables(kept).combine_chunks() == TABLE.select(["word", "x"])


def test_a_pass_keeps_nothing():
    source = Beside(ArrowSource(ds.dataset(TABLE)), ["word"])
    work = Work(np.array([1, 8]), "float64")
    assert gathered(source.scan([0], work, lambda _: None), work).found.tolist() == [[1.0], [8.0]]
    with pytest.raises(IndexError):
        source.take()


def test_there_is_one_reader_at_a_time():
    """A connection to a database may refuse a second one while the first is not at its end."""

    class OneReader(RecordSource):
        what, n_rows, fields = "a query", 10, ArrowSource(ds.dataset(TABLE)).fields
        reading = False

        def records(self, at):
            assert not self.reading
            self.reading = True
            yield from TABLE.select(at).to_batches(max_chunksize=4)
            self.reading = False

    source = Beside(OneReader(), ["key"])
    kept = [source.take()["key"].to_pylist() for _ in source.chunks([0, 3])]
    assert kept == [[0, 1, 2, 3], [4, 5, 6, 7], [8, None]]
