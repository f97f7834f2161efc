"""Datasets of pyarrow: types of columns, holes, order, and files that cannot be read."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tables import columns_of, write_parquet

from compsil_kit._data.matrix import to_matrix
from compsil_kit._data.sources.arrow import ArrowSource, arrow_field

KINDS = {
    "double": pa.array([1.5, None, 3.0]),
    "float": pa.array([1.5, None, 3.0], pa.float32()),
    "halffloat": pa.array(np.array([1.5, 2.0, 3.0], np.float16)),
    "int64": pa.array([1, None, 3]),
    "uint8": pa.array([1, 2, 3], pa.uint8()),
    "bool": pa.array([True, None, False]),
    "decimal128(5, 2)": pa.array([Decimal("1.25"), None, Decimal("3.50")], pa.decimal128(5, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_table_in_memory(kind):
    table = pa.table({"a": KINDS[kind], "b": [1.0, 2.0, 3.0]})
    source = ArrowSource(ds.dataset(table))
    ((found, _),) = source.chunks([0, 1])
    np.testing.assert_array_equal(found.astype(float), to_matrix(table)[1][:, 0])
    assert source.fields[0].numeric
    assert source.fields[0].kind == kind
    assert source.fields[0].single == (kind == "float")


@pytest.mark.parametrize(
    ("kind", "width"),
    [(pa.float64(), 8), (pa.float32(), 4), (pa.int8(), 1), (pa.bool_(), 1), (pa.decimal128(9, 2), 16)],
)
def test_bytes_of_a_value(kind, width):
    assert arrow_field(pa.field("a", kind)).width == width


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.timestamp("s"), pa.date32(), pa.dictionary(pa.int8(), pa.float64()), pa.list_(pa.int8())]
)
def test_what_is_not_a_number(kind):
    assert not arrow_field(pa.field("a", kind)).numeric


def test_only_the_wanted_columns_in_the_wanted_order():
    source = ArrowSource(ds.dataset(pa.table({"a": [1.0], "word": ["x"], "b": [2.0]})))
    assert [[column.tolist() for column in chunk] for chunk in source.chunks([2, 0])] == [[[2.0], [1.0]]]


def test_rows_come_in_the_order_of_the_files(tmp_path):
    columns = columns_of(60_000, 2)
    folder = write_parquet(tmp_path / "table", columns, n_files=7, row_group_size=1_000)
    source = ArrowSource(ds.dataset(folder))
    assert source.n_rows == 60_000
    found = [np.concatenate(parts) for parts in zip(*source.chunks([0, 1]), strict=True)]
    np.testing.assert_array_equal(found, [columns["x0"], columns["x1"]])


def test_a_filter_counts():
    dataset = ds.dataset(pa.table({"a": np.arange(10)})).filter(ds.field("a") > 6)
    source = ArrowSource(dataset)
    assert source.n_rows == 3
    assert [chunk[0].tolist() for chunk in source.chunks([0])] == [[7, 8, 9]]


def test_a_filter_over_files_counts(tmp_path):
    folder = write_parquet(tmp_path / "table", {"a": np.arange(3_000)}, n_files=3, row_group_size=100)
    source = ArrowSource(ds.dataset(folder).filter(ds.field("a") >= 1_500))
    assert source.n_rows == 1_500
    np.testing.assert_array_equal(np.concatenate([chunk[0] for chunk in source.chunks([0])]), np.arange(1_500, 3_000))


def test_files_that_differ_in_types_are_told_without_their_content(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [4711.5]}), tmp_path / "b.parquet")
    source = ArrowSource(ds.dataset(tmp_path))
    with pytest.raises(
        ValueError, match=r"a pyarrow dataset, file .*b\.parquet., cannot be read \(ArrowInvalid"
    ) as caught:
        list(source.chunks([0]))
    assert "4711" not in str(caught.value)


def test_a_file_that_is_gone_is_an_error_of_the_file(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    source = ArrowSource(ds.dataset(tmp_path))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(FileNotFoundError):
        list(source.chunks([0]))
