"""Tests of Dask DataFrames and arrays, with and without a cluster."""

import os
import traceback

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster
from tables import LARGE, columns_of, rows, write_parquet

from compsil_kit import Interrupted, prepare, select_k
from compsil_kit._data.sources import distributed as module
from compsil_kit._data.sources.distributed import open_dask_array, open_dask_frame
from compsil_kit._data.sources.source import Work

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
COLUMNS = columns_of()
FRAME = pd.DataFrame(COLUMNS)
MATRIX = FRAME.to_numpy()


def split(low):
    """Return the partition that begins at row ``low``."""
    return pd.DataFrame({name: values[low : low + 10_000] for name, values in columns_of().items()})


def lazily(make=split):
    """Return a frame of six partitions with unknown divisions."""
    return dd.from_map(make, range(0, LARGE, 10_000), meta=FRAME.head(0))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("scale", ["standard", None])
def test_a_selection_equals_the_selection_on_the_frame_in_memory(scheduler, scale):
    expected = select_k(prepare(FRAME, scale=scale), **FAST).to_dict()
    with dask.config.set(scheduler=scheduler):
        for frame in (lazily(), dd.from_pandas(FRAME, npartitions=40), lazily().repartition(npartitions=2)):
            assert select_k(prepare(frame, scale=scale), **FAST).to_dict() == expected
        small = dd.from_pandas(FRAME.head(300), npartitions=3)
        assert select_k(small, **FAST).to_dict() == select_k(FRAME.head(300), **FAST).to_dict()


def test_the_pass_runs_on_the_workers_of_a_cluster(monkeypatch):
    """Computing or scanning a partition in this process fails the test."""
    here, make = os.getpid(), split

    def elsewhere(low):
        assert os.getpid() != here
        return make(low)

    expected = select_k(prepare(FRAME), **FAST).to_dict()
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    folders = os.pathsep.join(path for path in __import__("sys").path if path)
    monkeypatch.setenv("PYTHONPATH", folders)
    with LocalCluster(**settings) as cluster, Client(cluster):
        monkeypatch.setattr(Work, "__call__", lambda *_: pytest.fail("the pass ran here"))
        frame = lazily(elsewhere)
        assert select_k(prepare(frame), **FAST).to_dict() == expected
        assert select_k(prepare(frame.to_dask_array(), scale="standard"), **FAST).best_k == expected["best_k"]


@pytest.mark.parametrize("chunks", [(9_000, 3), (LARGE, 1), (700, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_a_selection_equals_the_selection_on_the_array_in_memory(chunks, dtype):
    matrix = (10 * MATRIX).astype(dtype)
    result = select_k(da.from_array(matrix, chunks=chunks), **FAST)
    assert result.to_dict() == select_k(matrix, **FAST).to_dict()
    assert result.preparation is None


def test_rows_are_counted_if_chunk_sizes_are_unknown():
    array = da.from_array(MATRIX, chunks=(9_000, 2))
    some = array[array[:, 0] > 0]
    assert np.isnan(some.shape[0])
    expected = MATRIX[MATRIX[:, 0] > 0]
    source = open_dask_array(some)
    assert source.n_rows == len(expected)
    np.testing.assert_array_equal(rows(source, [2, 0]), expected[:, [2, 0]].T)
    assert np.isnan(some.shape[0])


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (da.ones(5), r"X must have two dimensions, rows and columns; got a Dask array of shape \(5,\)"),
        (
            da.ones((2, 5))[:, da.ones(5) > 0],
            r"the number of columns in a Dask array must be known\. Pass X\.compute_ch",
        ),
        (da.ones((5, 0)), "X must have at least 1 column"),
    ],
)
def test_unusable_arrays_raise(array, message):
    with pytest.raises(ValueError, match=message):
        select_k(array)


def test_only_the_requested_columns_are_read():
    asked = []

    def make(low, columns=None):
        asked.append(columns)
        return split(low)[columns]

    source = open_dask_frame(lazily(make))
    assert set(map(tuple, asked)) == {("x0",)}
    asked.clear()
    ((first, _), *_) = source.chunks([2, 0])
    np.testing.assert_array_equal(first, COLUMNS["x2"][:10_000])
    assert set(map(tuple, asked)) == {("x0", "x2")}


@pytest.mark.parametrize(
    ("dtype", "values"),
    [*((dtype, "f4") for dtype in ("float32", "Float32", "float[pyarrow]")), ("Int64", "i8"), ("boolean", "f8")],
)
def test_column_types_are_mapped_to_dtypes(dtype, values):
    frame = pd.DataFrame({"a": pd.Series([1, 0, 1], dtype=dtype), "b": np.ones(3, np.float32)})
    source = open_dask_frame(dd.from_pandas(frame, npartitions=2))
    assert [field.dtype for field in source.fields] == [values, "f4"]
    np.testing.assert_array_equal(rows(source, [0])[0], [1, 0, 1])


def test_text_is_left_out_and_missing_values_raise():
    holes = FRAME.assign(city="Rome", n=pd.Series(range(LARGE), dtype="Int64").mask(FRAME.index == 41_234))
    frame = dd.from_pandas(holes, npartitions=5)
    assert prepare(frame).left_out == ("city",)
    with pytest.raises(ValueError, match="X must be finite, but it contains NaN at row 41234, column 'n'"):
        select_k(prepare(frame), **FAST)


def test_empty_partitions_are_skipped():
    frame = dd.from_pandas(FRAME, npartitions=6)
    some = frame[frame["x0"] > FRAME["x0"].quantile(0.5)]
    few = frame.map_partitions(lambda part: part.head(0) if part.index[0] == 0 else part, meta=FRAME.head(0))
    for given in (some, few):
        source = open_dask_frame(given)
        found = rows(source, [0, 1, 2])
        np.testing.assert_array_equal(np.transpose(found), given.compute().to_numpy())
        assert source.n_rows == len(found[0])


def test_partitions_that_change_raise():
    calls = []

    def grows(low):
        calls.append(low)
        return split(low).iloc[: 8_000 if calls.count(30_000) < 2 or low != 30_000 else 7_000]

    frame = dd.from_map(grows, range(0, 90_000, 10_000), meta=FRAME.head(0))
    frame = frame.map_partitions(lambda part: pd.concat([part] * 2), meta=FRAME.head(0))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match="X has changed: partition 3 of a Dask DataFrame had 16,000 rows"),
    ):
        select_k(prepare(frame), **FAST)


def test_an_interrupt_reports_the_progress_of_the_pass(monkeypatch):
    monkeypatch.setattr(module, "PARTITIONS_AT_ONCE", 2)
    calls = []

    def interrupted(low):
        calls.append(low)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return split(low)

    with dask.config.set(scheduler="synchronous"), pytest.raises(Interrupted) as caught:
        select_k(prepare(lazily(interrupted)), **FAST)
    assert (caught.value.done, caught.value.total) == (20_000, LARGE)


def test_errors_do_not_quote_cells(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n" + "1.5,2.5\n" * 60_000 + "secret,1\n")
    frame = dd.read_csv(tmp_path / "bad.csv", dtype={"a": "float64"})
    with pytest.raises(ValueError, match=r"X: a Dask collection cannot be read \(ValueError\)") as caught:
        select_k(frame, ks=[2, 3], n_subsamples=2, sample_size=200)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_rounded_integers_in_nullable_columns_emit_a_warning():
    frame = pd.DataFrame({"a": np.arange(LARGE, dtype=np.int64) + 2**53, "b": np.arange(float(LARGE))})
    for kind in ("Int64", "int64[pyarrow]"):
        table = dd.from_pandas(frame.astype({"a": kind}), npartitions=2)
        with pytest.warns(UserWarning, match=r"X: column 'a' has integers beyond 2\*\*53"):
            select_k(prepare(table), ks=[2, 3], n_subsamples=2, sample_size=200)


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index is deprecated")
def test_partitions_with_few_columns_are_not_joined(tmp_path):
    """Dask's optimiser would join the partitions, but their rows were counted separately."""
    columns = {"id": np.arange(LARGE), "flag": np.zeros(LARGE, dtype=bool), **COLUMNS}
    frame = dd.read_parquet(write_parquet(tmp_path / "table", columns, n_files=10))
    for part in (frame[["x1", "x0"]], frame.assign(w=frame.x0 * 2)[["w", "x0", "x1"]]):
        assert select_k(part, **FAST).to_dict() == select_k(part.compute(), **FAST).to_dict()


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index is deprecated")
def test_a_missing_boolean_raises(tmp_path):
    flags = pa.array([None if at == 50_123 else at % 3 == 0 for at in range(LARGE)])
    place = write_parquet(tmp_path / "a.parquet", pa.table({**COLUMNS, "flag": flags}))
    frame = dd.read_parquet(place, split_row_groups=True)
    for scale in ("standard", None):
        with pytest.raises(ValueError, match=r"X must be finite, but it contains NaN at row 50123, column 'flag'\."):
            select_k(prepare(frame, scale=scale), **FAST)
    dropped = prepare(frame, missing="drop")
    assert dropped.preparation.columns == ("x0", "x1", "x2", "flag")
    assert dropped.preparation.n_dropped == 1


def test_masked_cells_are_treated_as_missing():
    masked = da.ma.masked_less(da.from_array(np.column_stack([*COLUMNS.values()]), chunks=(9_000, 3)), -1e9)
    assert select_k(masked, **FAST).to_dict() == select_k(masked.compute().data, **FAST).to_dict()
    masked[50_200, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"NaN at row 50200, column 1\."):
        select_k(masked, **FAST)
