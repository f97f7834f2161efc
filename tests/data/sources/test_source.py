"""Tests of opening out-of-core tables, reading arrays in ranges and keeping sidecar columns."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tables import LARGE, CutSource, columns_of, write_parquet

from compsil_kit import select_k
from compsil_kit._data.sources import open_source
from compsil_kit._data.sources import source as module
from compsil_kit._data.sources.arrow import ArrowSource, PolarsSource, SidecarColumns
from compsil_kit._data.sources.source import ArraySource, Field, Source, Work
from compsil_kit._data.sources.table import SourceTable

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
FRAME = pd.DataFrame({"a": [1.0, 2.0]})
TABLE = pa.table({"x": np.arange(10.0), "key": pa.array([*range(9), None]), "word": list("abcdefghij")})
MATRIX = np.column_stack(list(columns_of().values()))


def test_out_of_core_tables_are_opened(tmp_path):
    place = write_parquet(tmp_path / "a.parquet", columns_of(10))
    dataset = ds.dataset(place)
    for X in (place, str(place), dataset, ds.dataset([dataset]), ds.dataset(pa.table({"a": [1]}))):
        assert type(open_source(X)) is ArrowSource
    assert type(open_source(pl.LazyFrame({"a": [1]}))) is PolarsSource
    source = CutSource(columns_of(10))
    assert open_source(source) is source


def test_opening_an_array_imports_no_library():
    code = """
import sys, numpy as np
from compsil_kit._data.sources import open_source
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyarrow", "polars", "duckdb", "zarr", "dask", "pyspark", "fsspec"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
assert open_source(np.ones((3, 2))) is None
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("X", [["a.parquet", "b.parquet"], (Path("a.parquet"),)])
def test_a_list_of_paths_raises(X):
    with pytest.raises(
        ValueError, match=r"X must be a single path, not a list of paths\. Pass a folder, a glob pattern such as"
    ):
        select_k(X)


@pytest.mark.parametrize("X", [TABLE.to_reader(), ds.dataset(TABLE).scanner()], ids=lambda X: type(X).__name__)
def test_readers_that_can_be_read_only_once_raise(X):
    with pytest.raises(TypeError, match=rf"X must be readable more than once, .*got a {type(X).__name__}\. Pass"):
        select_k(X)


class Dataset:
    """A minimal h5py dataset that supports ranges of rows and records which ranges were read."""

    __module__ = "h5py._hl.dataset"

    def __init__(self, values, chunks):
        self._values, self.chunks, self.ranges = values, chunks, []
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, rows):
        self.ranges.append((rows.start, min(rows.stop, len(self._values))))
        return self._values[rows]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", ">f4"])
@pytest.mark.parametrize("chunks", [(1_000, 3), (700, 1), None])
def test_a_selection_on_an_array_equals_the_selection_in_memory(dtype, chunks, monkeypatch):
    monkeypatch.setattr(module, "STEP_BYTES", 100_000)
    matrix = (10 * MATRIX).astype(dtype)
    array = Dataset(matrix, chunks)
    result = select_k(array, **FAST)
    assert result.to_dict() == select_k(matrix, **FAST).to_dict()
    assert result.preparation is None
    # Each row is read exactly once, in whole chunks.
    starts = [start for start, _ in array.ranges]
    assert array.ranges == list(zip(starts, [*starts[1:], LARGE], strict=True))
    assert len(starts) > 3
    assert all(start % (chunks or (1,))[0] == 0 for start in starts)


def test_large_chunks_are_read_one_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "STEP_BYTES", 1)
    array = Dataset(MATRIX[:100], (40, 3))
    parts = list(ArraySource(array).chunks([2, 0]))
    assert array.ranges == [(0, 40), (40, 80), (80, 100)]
    np.testing.assert_array_equal(np.concatenate([np.column_stack(part) for part in parts]), MATRIX[:100, [2, 0]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(5), "X must have two dimensions, rows and columns; got an array from h5py of shape"),
        (np.ones((5, 2, 2)), "X must have two dimensions"),
        (np.ones(()), "X must have two dimensions"),
        (np.array([["a", "b"]]), "X has columns that are not numeric: 0 "),
    ],
)
def test_unusable_arrays_raise(values, message):
    with pytest.raises(ValueError, match=message):
        select_k(Dataset(values, None))


@pytest.mark.parametrize("dtype", ["int8", "float16", ">f8", "longdouble", "float32", "float64"])
def test_memory_maps_are_used_in_place_or_read_in_ranges(tmp_path, dtype):
    X = (MATRIX * 3).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    source = open_source(mapped)
    if dtype in ("float32", "float64"):
        assert source is None
    else:
        assert (source.what, source.n_rows, source.named) == ("a memory map", len(X), False)
    assert select_k(mapped, **FAST).to_dict() == select_k(X, **FAST).to_dict()


def test_a_pass_reports_the_number_of_rows_read():
    source, ticks = CutSource(columns_of(100), chunk_rows=30), []
    (part,) = source.scan([1], Work(np.array([7]), "float64"), ticks.append)
    assert ticks == [30, 30, 30, 10]
    assert (part.start, part.stop) == (0, 100)


def test_frame_keeps_the_requested_column_order():
    columns = columns_of(100)
    frame = SourceTable(CutSource(columns, chunk_rows=30), (2, 0)).frame()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(columns)[["x2", "x0"]])
    assert SourceTable(CutSource({"a": np.empty(0), "b": np.empty(0)}), (0, 1)).frame().shape == (0, 2)
    # Column names may be duplicated.
    source = CutSource({"a": np.arange(3.0), "b": np.ones(3)})
    source.fields = (Field("a", "double", np.dtype(float)),) * 2
    expected = pd.DataFrame([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], columns=["a", "a"])
    pd.testing.assert_frame_equal(SourceTable(source, (0, 1)).frame(), expected)


@pytest.mark.parametrize("group_rows", [2, 3, 100])
def test_take_returns_the_sidecar_columns_of_each_chunk(tmp_path, group_rows):
    place = write_parquet(tmp_path / "a.parquet", TABLE, row_group_size=group_rows)
    source = SidecarColumns(open_source(place), ["word", "x"])
    assert [field.name for field in source.fields] == ["x", "key", "word"]
    taken = []
    for (values,) in source.chunks([0]):
        taken.append(source.take())
        assert taken[-1]["x"].to_pylist() == values.tolist()
    assert pa.concat_tables(taken).combine_chunks() == TABLE.select(["word", "x"])


def test_a_pass_keeps_no_sidecar_columns():
    source = SidecarColumns(ArrowSource(ds.dataset(TABLE)), ["word"])
    work = Work(np.array([1, 8]), "float64")
    assert np.concatenate(work.merge(source.scan([0], work, lambda _: None)).found).tolist() == [[1.0], [8.0]]
    with pytest.raises(IndexError):
        source.take()


class OneReader(Source):
    """A connection that fails if a second reader is opened before the first is finished."""

    what, n_rows, fields = "a query", 10, ArrowSource(ds.dataset(TABLE)).fields
    reading = False

    def records(self, positions):
        assert not self.reading
        self.reading = True
        yield from TABLE.select(positions).to_batches(max_chunksize=4)
        self.reading = False


def test_sidecar_columns_are_read_with_the_rows():
    source = SidecarColumns(OneReader(), ["key"])
    n_chunks = len(list(source.chunks([0])))
    # The oldest chunk comes first.
    taken = [source.take()["key"].to_pylist() for _ in range(n_chunks)]
    assert taken == [[0, 1, 2, 3], [4, 5, 6, 7], [8, None]]


def test_has_records_is_false_without_a_records_method():
    source = CutSource(columns_of(10))
    assert OneReader().has_records
    assert not source.has_records
    with pytest.raises(NotImplementedError, match="has no records"):
        source.records([0])
