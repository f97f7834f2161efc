"""Tests of PyArrow datasets and Polars queries: column types, missing values, row order and errors."""

import traceback
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tables import columns_of, rows, write_parquet

from compsil_kit import select_k
from compsil_kit._data.matrix import to_matrix
from compsil_kit._data.sources import arrow
from compsil_kit._data.sources.arrow import ArrowSource, PolarsSource, arrow_field

FAST = {"ks": [2, 3, 4], "n_subsamples": 3, "sample_size": 300}
ARROW = {
    "double": pa.array([1.5, None, 3.0]),
    "float": pa.array([1.5, None, 3.0], pa.float32()),
    "halffloat": pa.array(np.array([1.5, 2.0, 3.0], np.float16)),
    "int64": pa.array([1, None, 3]),
    "uint8": pa.array([1, 2, 3], pa.uint8()),
    "bool": pa.array([True, None, False]),
    "decimal128(5, 2)": pa.array([Decimal("1.25"), None, Decimal("3.50")], pa.decimal128(5, 2)),
}
POLARS = {
    "Float64": pl.Series([1.5, None, 3.0]),
    "Float32": pl.Series([1.5, None, 3.0], dtype=pl.Float32),
    "Int64": pl.Series([1, None, 3]),
    "UInt8": pl.Series([1, 2, 3], dtype=pl.UInt8),
    "Int128": pl.Series([1, None, 3], dtype=pl.Int128),
    "Boolean": pl.Series([True, None, False]),
    "Decimal": pl.Series([Decimal("1.25"), None, Decimal("3.50")]),
}


@pytest.mark.parametrize(("library", "kind"), [*((pa, kind) for kind in ARROW), *((pl, kind) for kind in POLARS)])
def test_values_equal_the_table_in_memory(library, kind):
    if library is pa:
        table = pa.table({"a": ARROW[kind], "b": [1.0, 2.0, 3.0]})
        source = ArrowSource(ds.dataset(table))
    else:
        table = pl.DataFrame({"a": POLARS[kind], "b": [1.0, 2.0, 3.0]})
        source = PolarsSource(table.lazy())
    np.testing.assert_array_equal(rows(source, [0, 1])[0].astype(float), to_matrix(table)[1][:, 0])
    assert source.fields[0].kind.startswith(kind)
    assert (source.fields[0].dtype == np.float32) == (kind in ("float", "Float32"))


WIDTHS = [(pa.float64(), 8), (pa.float32(), 4), (pa.int8(), 1), (pa.bool_(), 1), (pa.decimal128(9, 2), 8)]
OTHER = [pa.string(), pa.timestamp("s"), pa.date32(), pa.dictionary(pa.int8(), pa.float64()), pa.list_(pa.int8())]


@pytest.mark.parametrize(("kind", "width"), [*WIDTHS, *((kind, None) for kind in OTHER)])
def test_arrow_field_recognises_numeric_types(kind, width):
    field = arrow_field(pa.field("a", kind))
    assert (field.dtype.itemsize if field.numeric else None) == width


@pytest.mark.parametrize("value", ["x", None, [1.0], date(2026, 1, 1), timedelta(1)])
def test_other_polars_types_are_not_numeric(value):
    assert not PolarsSource(pl.LazyFrame({"a": [value]})).fields[0].numeric


@pytest.mark.parametrize("n_files", [0, 3])
def test_dataset_filters_are_applied(tmp_path, n_files):
    columns = {"a": np.arange(3_000)}
    dataset = ds.dataset(write_parquet(tmp_path / "a", columns, n_files, 100) if n_files else pa.table(columns))
    source = ArrowSource(dataset.filter(ds.field("a") >= 1_500))
    assert source.n_rows == 1_500
    np.testing.assert_array_equal(rows(source, [0])[0], np.arange(1_500, 3_000))


def test_duplicate_column_names_raise():
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"])
    with pytest.raises(
        ValueError, match=r"X: a PyArrow dataset has more than one column named 'a'\. Rename these columns\."
    ):
        ArrowSource(ds.dataset(table))


def test_column_types_that_differ_between_files_raise_without_quoting_data(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"a": [1, 2]})
    write_parquet(tmp_path / "b.parquet", {"a": [4711.5]})
    source = ArrowSource(ds.dataset(tmp_path))
    with pytest.raises(ValueError, match=r"a PyArrow dataset, file .*b\.parquet., cannot be read \(ArrowInvalid") as e:
        list(source.chunks([0]))
    assert "4711" not in str(e.value)


def test_a_deleted_file_raises_file_not_found(tmp_path):
    source = ArrowSource(ds.dataset(write_parquet(tmp_path / "a.parquet", {"a": [1, 2]})))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(FileNotFoundError):
        list(source.chunks([0]))


def test_storage_and_memory_errors_are_not_replaced():
    """Some of these errors have no errno."""
    for kind in (FileNotFoundError, PermissionError, ConnectionResetError, TimeoutError):
        with pytest.raises(kind, match="gone"), arrow.hide_arrow_content("data"):
            raise kind("gone")
    with pytest.raises(ValueError, match=r"^X: data cannot be read \(OSError\)"), arrow.hide_arrow_content("data"):
        raise OSError("secret")
    # ArrowMemoryError is also an ArrowException.
    with pytest.raises(MemoryError, match="enough"), arrow.hide_arrow_content("data"):
        raise pa.ArrowMemoryError("not enough")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_selection_on_a_query_equals_the_selection_in_memory(dtype):
    frame = pl.DataFrame(columns_of(dtype=dtype))
    assert select_k(frame.lazy(), **FAST).to_dict() == select_k(frame, **FAST).to_dict()
    small = frame.head(400)
    assert select_k(small.lazy(), **FAST).to_dict() == select_k(small, **FAST).to_dict()


def test_a_query_is_streamed_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "CHUNK_ROWS", 4_000)
    columns = columns_of(60_000, 2)
    place = write_parquet(tmp_path / "a.parquet", columns, row_group_size=3_000)
    query = pl.scan_parquet(place).with_columns(sum=pl.col("x0") + pl.col("x1"), word=pl.lit("x"))
    source = PolarsSource(query.filter(pl.col("x0") > 0))
    wanted = columns["x0"] > 0
    assert source.n_rows == wanted.sum()
    assert len(list(source.chunks([0]))) > 4
    expected = [(columns["x0"] + columns["x1"])[wanted], columns["x0"][wanted]]
    np.testing.assert_array_equal(rows(source, [2, 0]), expected)


def test_a_query_that_can_be_read_only_once_raises():
    frames = [pl.DataFrame(columns_of(n_columns=2))]

    def give(with_columns, predicate, n_rows, batch_size):
        yield from frames
        frames.clear()

    frame = pl.io.plugins.register_io_source(give, schema={"x0": pl.Float64, "x1": pl.Float64})
    with pytest.raises(ValueError, match=r"X has changed: a Polars LazyFrame had 50,500 rows when .* and 0 when they"):
        select_k(frame, **FAST)


def test_an_old_polars_version_raises():
    with pytest.raises(ImportError, match=r"X: a LazyFrame is read in batches, which Polars .* pip install --upgrade"):
        PolarsSource(object())


def test_records_of_a_query_have_the_columns_in_order():
    query = pl.LazyFrame({"word": ["a", None, "c"], "x": [1.0, 2.0, 3.0], "key": [7, 8, None]})
    (batch,) = PolarsSource(query).records([2, 0])
    assert batch.to_pydict() == {"key": [7, 8, None], "word": ["a", None, "c"]}
    # A batch of Polars may have several chunks.
    parts = pl.concat([query, query.head(2)]).collect(engine="in-memory").lazy()
    assert pa.Table.from_batches(PolarsSource(parts).records([1]))["x"].to_pylist() == [1.0, 2.0, 3.0, 1.0, 2.0]


def test_query_errors_do_not_quote_cells(tmp_path):
    (tmp_path / "bad.csv").write_text("a\n" + "1.5\n" * 60_000 + "secret\n")
    text = pl.LazyFrame({"a": ["1", "secret"] * 40_000})
    for query in (pl.scan_csv(tmp_path / "bad.csv"), text.select(pl.col("a").cast(pl.Float64))):
        with pytest.raises(ValueError, match=r"X: a Polars LazyFrame cannot be read \(\w+Error\)") as caught:
            select_k(query, **FAST)
        assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_column_names_are_not_interpreted_as_patterns():
    columns = columns_of(100)
    query = pl.LazyFrame({"^x1$": columns["x0"], "*": columns["x2"], "x1": columns["x1"]})
    np.testing.assert_array_equal(rows(PolarsSource(query), [0, 1]), [columns["x0"], columns["x2"]])
