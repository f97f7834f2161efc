"""Tests of selections on Spark DataFrames, whose rows are processed on the executors."""

import os
import traceback

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from spark_session import spark_session
from tables import LARGE, columns_of, write_parquet

from compsil_kit import prepare, select_k
from compsil_kit._data.sources.distributed import SparkSource
from compsil_kit._data.sources.source import Work

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
COLUMNS = columns_of()
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    with spark_session("local[2]", **SETTINGS, **{"spark.sql.warehouse.dir": warehouse}) as session:
        yield session


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write_parquet(tmp_path_factory.mktemp("spark") / "table", COLUMNS, n_files=5)


@pytest.mark.parametrize("scale", ["standard", None])
def test_a_selection_equals_the_selection_in_memory(spark, place, scale, monkeypatch):
    frame = spark.read.parquet(str(place))
    loaded = frame.toPandas()
    expected = select_k(prepare(loaded, scale=scale), **FAST).to_dict()
    table = prepare(frame, scale=scale)
    with monkeypatch.context() as patch:
        # Executors run in other processes, which are not patched.
        patch.setattr(Work, "__call__", lambda *_: pytest.fail("the pass ran on the driver"))
        assert select_k(table, **FAST).to_dict() == expected
    np.testing.assert_array_equal(table.load().matrix, prepare(loaded, scale=scale).matrix)


def single_precision(spark, folder):
    return spark.read.parquet(str(write_parquet(folder / "a.parquet", columns_of(dtype="float32"))))


def sorted_rows(spark, folder):
    """Return a sorted frame.

    Spark does not sort rows that it only counts, so the initial counts per partition differ from the pass.
    """
    return spark.read.parquet(str(write_parquet(folder / "b", COLUMNS, n_files=5))).orderBy("x0", "x1", "x2")


def partitions_without_rows(spark, folder):
    """Return a frame with empty partitions, which are missing from the counts and do not affect row numbers."""
    every = spark.range(0, 3 * LARGE, numPartitions=6).where((F.col("id") < LARGE) | (F.col("id") >= 2 * LARGE))
    return every.select((F.col("id") % 5).alias("a"), F.sin("id").alias("b"))


def small(spark, folder):
    """Return a frame with a column named to_spark, like the method by which pandas-on-Spark frames are recognised."""
    return spark.range(300).select((F.col("id") % 5).alias("to_spark"), F.sin("id").alias("b"))


@pytest.mark.parametrize(
    ("make", "wrap"),
    [(single_precision, lambda X: X), (small, lambda X: X), (sorted_rows, prepare), (partitions_without_rows, prepare)],
)
def test_other_frames_give_the_same_result_as_in_memory(spark, make, wrap, tmp_path):
    frame = make(spark, tmp_path)
    result = select_k(wrap(frame), **FAST)
    assert result.to_dict() == select_k(wrap(frame.toPandas()), **FAST).to_dict()
    assert result.plan.dtype == ("float32" if make is single_precision else "float64")


def test_chunks_skip_partitions_without_rows(spark, place):
    frame = spark.read.parquet(str(place)).repartition(7, "x0").where(F.spark_partition_id() % 2 == 1)
    source = SparkSource(frame)
    assert sum(len(chunk[0]) for chunk in source.chunks([0])) == source.n_rows == frame.count()


def test_columns_may_have_many_types_and_duplicate_names(spark):
    frame = spark.range(LARGE).select(
        F.col("id").alias("a.b"),
        F.col("id").cast("float").alias("f"),
        (F.col("id") % 3).cast("decimal(9,2)").alias("d"),
        (F.col("id") % 2 == 0).alias("flag"),
        F.lit("x").alias("word"),
        (F.col("id") % 9).cast("smallint").alias("f"),
    )
    source = SparkSource(frame)
    assert [field.name for field in source.fields] == ["a.b", "f", "d", "flag", "word", "f"]
    assert [field.dtype for field in source.fields] == ["i8", "f4", "f8", "b1", None, "i2"]
    first = next(source.chunks([0, 1, 2, 3, 5]))
    assert [float(column[4]) for column in first] == [4.0, 4.0, 1.0, 1.0, 4.0]
    with pytest.raises(ValueError, match=r"X has columns that are not numeric: 'word' \(string\)"):
        select_k(frame, **FAST)


def test_missing_values_raise_with_row_and_column(spark):
    frame = spark.range(LARGE).select(F.col("id"), F.when(F.col("id") != 45_678, F.col("id") % 7).alias("n"))
    with pytest.raises(ValueError, match="X must be finite, but it contains NaN at row 45678, column 'n'"):
        select_k(prepare(frame), **FAST)


def test_a_streaming_frame_raises(spark):
    frame = spark.readStream.format("rate").load()
    with pytest.raises(
        ValueError, match=r"X: the rows of a streaming Spark DataFrame cannot be counted.*Write them to"
    ):
        select_k(frame, **FAST)


def test_rows_that_change_between_passes_raise(spark, tmp_path):
    """Every count and every pass returns one more row than the previous one."""
    notes = tmp_path / "notes"
    notes.mkdir()

    def grow(batches):
        number = len(os.listdir(notes))
        (notes / str(number)).write_text("")
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"a": np.arange(60_000.0 + number)})

    frame = spark.range(1).repartition(1).mapInArrow(grow, "a double")
    with pytest.raises(
        ValueError, match=r"X has changed: a Spark DataFrame had 60,0\d\d rows when .* and 60,0\d\d when"
    ):
        select_k(prepare(frame), **FAST)


def test_errors_do_not_quote_cells(spark):
    words = spark.createDataFrame([(str(n % 7) if n != 60_000 else "secret",) for n in range(60_001)], "a string")
    source = SparkSource(words.selectExpr("cast(a as double) as a"))
    with pytest.raises(ValueError, match=r"X: a Spark DataFrame cannot be read \(\w+\)") as caught:
        select_k(source, ks=[2, 3], n_subsamples=2, sample_size=200)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
