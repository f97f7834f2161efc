"""What is a table outside memory, and what is not."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy import sparse
from tables import CutSource, columns_of, write_parquet

from compsil_kit import select_k
from compsil_kit._data.sources.arrow import ArrowSource
from compsil_kit._data.sources.lazy import LazySource
from compsil_kit._data.sources.opening import open_source

FRAME = pd.DataFrame({"a": [1.0, 2.0]})


def test_paths_and_datasets(tmp_path):
    place = write_parquet(tmp_path / "a.parquet", columns_of(10))
    dataset = ds.dataset(place)
    for X in (place, str(place), dataset, ds.dataset([dataset]), ds.dataset(pa.table({"a": [1]}))):
        assert type(open_source(X)) is ArrowSource


def test_queries():
    assert type(open_source(pl.LazyFrame({"a": [1]}))) is LazySource


def test_a_source_is_one_already():
    source = CutSource(columns_of(10))
    assert open_source(source) is source


@pytest.mark.parametrize(
    "X",
    [
        FRAME, FRAME.to_numpy(), FRAME["a"], pl.DataFrame({"a": [1]}), pa.table({"a": [1]}), [[1.0]], None, 7,
        sparse.csr_array(np.eye(3)), {"a": [1]}, (row for row in [[1.0]]),
    ],
    ids=lambda X: type(X).__name__,
)  # fmt: skip
def test_what_is_in_memory_is_no_source(X):
    assert open_source(X) is None


def test_a_memory_map_is_an_array(tmp_path):
    mapped = np.memmap(tmp_path / "a", dtype="float32", mode="w+", shape=(10, 2))
    assert open_source(mapped) is None


def test_nothing_is_imported_for_what_is_in_memory():
    code = """
import sys, numpy as np
from compsil_kit._data.sources.opening import open_source
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyarrow", "polars", "duckdb", "zarr", "dask", "pyspark", "fsspec"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
assert open_source(np.ones((3, 2))) is None
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_several_paths_are_not_one():
    for X in (["a.parquet", "b.parquet"], (Path("a.parquet"),)):
        with pytest.raises(ValueError, match=r"X as text must be one path\. Pass a folder, a glob such as"):
            select_k(X)


def test_what_gives_its_rows_only_once_is_refused():
    table = pa.table({"a": [1.0, 2.0]})
    for X in (table.to_reader(), ds.dataset(table).scanner()):
        with pytest.raises(
            TypeError, match=rf"X must be readable more than once, .*got a {type(X).__name__}\. Pass the dataset"
        ):
            select_k(X)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", ">f8", ">f4", "longdouble"])
def test_a_memory_map_of_other_numbers_is_read_in_parts(tmp_path, dtype):
    X = (np.column_stack([*columns_of().values()]) * 3).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    source = open_source(mapped)
    assert (source.what, source.n_rows, source.named) == ("a memory map", len(X), False)
    fast = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
    assert select_k(mapped, **fast).to_dict() == select_k(X, **fast).to_dict()
