"""Queries of Polars: read once, in batches, in order."""

import traceback
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from tables import LARGE, columns_of

from compsil_kit import prepare, select_k
from compsil_kit._data.matrix import to_matrix
from compsil_kit._data.sources import lazy
from compsil_kit._data.sources.lazy import LazySource

FAST = {"ks": [2, 3, 4], "n_subsamples": 3, "sample_size": 300}
KINDS = {
    "Float64": pl.Series([1.5, None, 3.0]),
    "Float32": pl.Series([1.5, None, 3.0], dtype=pl.Float32),
    "Int64": pl.Series([1, None, 3]),
    "UInt8": pl.Series([1, 2, 3], dtype=pl.UInt8),
    "Int128": pl.Series([1, None, 3], dtype=pl.Int128),
    "Boolean": pl.Series([True, None, False]),
    "Decimal": pl.Series([Decimal("1.25"), None, Decimal("3.50")]),
}
WIDTHS = {"Float64": 8, "Float32": 4, "Int64": 8, "UInt8": 1, "Int128": 16, "Boolean": 1, "Decimal": 8}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_frame_in_memory(kind):
    frame = pl.DataFrame({"a": KINDS[kind], "b": [1.0, 2.0, 3.0]})
    source = LazySource(frame.lazy())
    found, _ = (np.concatenate(parts) for parts in zip(*source.chunks([0, 1]), strict=True))
    np.testing.assert_array_equal(found.astype(float), to_matrix(frame)[1][:, 0])
    assert source.fields[0].kind.startswith(kind)
    assert (source.fields[0].numeric, source.fields[0].single) == (True, kind == "Float32")
    assert source.fields[0].width == WIDTHS[kind]


@pytest.mark.parametrize("value", ["x", None, [1.0], date(2026, 1, 1), timedelta(1)])
def test_what_is_not_a_number(value):
    assert not LazySource(pl.LazyFrame({"a": [value]})).fields[0].numeric


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_selection_is_that_of_the_frame_in_memory(dtype):
    frame = pl.DataFrame(columns_of(dtype=dtype))
    assert select_k(frame.lazy(), **FAST).to_dict() == select_k(frame, **FAST).to_dict()


def test_a_query_over_a_file_is_streamed_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(lazy, "CHUNK_ROWS", 4_000)
    columns = columns_of(60_000, 2)
    pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet", row_group_size=3_000)
    query = pl.scan_parquet(tmp_path / "a.parquet").with_columns(sum=pl.col("x0") + pl.col("x1"), word=pl.lit("x"))
    source = LazySource(query.filter(pl.col("x0") > 0))
    wanted = columns["x0"] > 0
    assert source.n_rows == wanted.sum()
    chunks = list(source.chunks([2, 0]))
    assert len(chunks) > 4
    found = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    np.testing.assert_array_equal(found, [(columns["x0"] + columns["x1"])[wanted], columns["x0"][wanted]])


def test_what_was_done_to_a_query_is_told():
    table = prepare(pl.DataFrame(columns_of()).lazy().with_columns(city=pl.lit("Rome")))
    assert table.shape == (LARGE, 3)
    assert str(table.preparation) == "columns x0, x1, x2; scale standard; left out as not numeric: city"


def test_a_small_query_is_collected():
    frame = pl.DataFrame(columns_of(200))
    assert select_k(frame.lazy(), **FAST | {"sample_size": 100}).best_k in (2, 3, 4)


def test_a_source_that_gives_its_rows_once_is_refused():
    """As the rows were counted, they are gone when they are to be read."""
    batches = iter([pl.DataFrame(columns_of(n_columns=2))])

    def give(with_columns, predicate, n_rows, batch_size):
        for batch in batches:
            yield batch if with_columns is None else batch.select(with_columns)

    frame = pl.io.plugins.register_io_source(give, schema={"x0": pl.Float64, "x1": pl.Float64})
    with pytest.raises(ValueError, match=r"X has changed: a Polars LazyFrame had 50,500 rows when .* and 0 when they"):
        select_k(frame, **FAST)


def test_an_old_polars_is_told_what_it_lacks():
    class Old:
        pass

    with pytest.raises(
        ImportError, match=r"X: a LazyFrame is read in batches, which Polars .* pip install --upgrade pol"
    ):
        LazySource(Old())


def test_records_of_columns_of_any_type():
    query = pl.LazyFrame({"word": ["a", None, "c"], "x": [1.0, 2.0, 3.0], "key": [7, 8, None]})
    source = LazySource(query)
    (batch,) = source.records([2, 0])
    assert source.has_records
    assert batch.to_pydict() == {"key": [7, 8, None], "word": ["a", None, "c"]}


def test_cells_are_not_quoted(tmp_path):
    """Polars says which values it cannot convert."""
    (tmp_path / "bad.csv").write_text("a\n" + "1.5\n" * 60_000 + "secret\n")
    text = pl.LazyFrame({"a": ["1", "secret"] * 40_000})
    for query in (pl.scan_csv(tmp_path / "bad.csv"), text.select(pl.col("a").cast(pl.Float64))):
        with pytest.raises(ValueError, match=r"X: a Polars LazyFrame cannot be read \(\w+Error\)") as caught:
            select_k(query, **FAST)
        assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_names_are_no_patterns():
    columns = columns_of()
    query = pl.DataFrame({"^x1$": columns["x0"], "*": columns["x2"], "x1": columns["x1"]}).lazy()
    values = list(LazySource(query).chunks([0, 1]))
    np.testing.assert_array_equal(np.concatenate([first for first, _ in values]), columns["x0"])
    np.testing.assert_array_equal(np.concatenate([second for _, second in values]), columns["x2"])
