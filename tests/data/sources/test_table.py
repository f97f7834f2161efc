"""Tests of fetching or loading the chosen columns of an out-of-core table."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import LARGE, CutSource, columns_of, write_parquet

from compsil_kit import prepare, select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._data.sources import table as module
from compsil_kit._data.sources.table import FetchedRows, SourceTable, known_rows
from compsil_kit._data.table import open_data

ROWS = np.unique(np.random.default_rng(5).integers(0, LARGE, 500))
FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}


def tables(columns, **settings):
    """Return a prepared table in memory, and the same table out of core in different chunks and parts."""
    cuts = ({"chunk_rows": 1_234}, {"chunk_rows": 60_000}, {"parts": (1, 8_192, 30_000)})
    frame = pd.DataFrame(columns)
    return prepare(frame, **settings), [prepare(CutSource(columns, **cut), **settings) for cut in cuts]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", ["standard", "minmax", None])
def test_fetched_rows_equal_the_rows_of_the_table_in_memory(dtype, scale):
    inside, outside = tables(columns_of(dtype=dtype), scale=scale)
    for table in outside:
        assert isinstance(table, SourceTable)
        assert (table.shape, table.dtype) == (inside.shape, inside.matrix.dtype)
        data = table.fetch(ROWS)
        np.testing.assert_array_equal(data.matrix[ROWS], inside.matrix[ROWS])
        assert data.matrix.dtype == inside.matrix.dtype
        assert data.preparation == inside.preparation
        np.testing.assert_array_equal(table.load().matrix, inside.matrix)


def test_matrices_are_scaled_by_the_moments_of_the_pass():
    inside, outside = tables(columns_of(), scale="standard")
    for table in outside:
        moments = table.fetch(ROWS).moments
        np.testing.assert_array_equal(np.concatenate(list(table.matrices(moments))), inside.matrix)
    plain = prepare(CutSource(columns_of()), scale=None)
    np.testing.assert_array_equal(np.concatenate(list(plain.matrices(None))), plain.load().matrix)


@pytest.mark.parametrize("scale", ["robust", "standard"])
def test_settings_that_need_all_rows_load_them(scale):
    columns = columns_of()
    columns["x0"][7] = np.nan
    table = prepare(CutSource(columns), scale=scale, missing="drop")
    expected = prepare(pd.DataFrame(columns), scale=scale, missing="drop")
    np.testing.assert_array_equal(table.matrix, expected.matrix)
    assert table.preparation == expected.preparation


def test_the_digest_is_computed_on_request():
    table = prepare(CutSource(columns_of()))
    with pytest.raises(RuntimeError, match="the pass over the data did not compute a digest"):
        _ = table.fetch(ROWS).digest
    one = table.fetch(ROWS, digest=True).digest
    # The digest does not depend on the fetched rows or on the chunks.
    assert prepare(CutSource(columns_of(), parts=(5_000,))).fetch(ROWS[:9], digest=True).digest == one
    assert prepare(CutSource(columns_of()), scale="minmax").fetch(ROWS, digest=True).digest != one
    assert prepare(CutSource(columns_of(seed=1))).fetch(ROWS, digest=True).digest != one


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("named", [True, False])
def test_non_finite_values_raise_as_in_memory(value, named):
    columns = columns_of()
    columns["x1"][[40_000, 50_000]] = value
    X = pd.DataFrame(columns)
    with pytest.raises(ValueError, match="X must be finite, but it contains") as inside:
        select_k(X if named else X.to_numpy(), **FAST)
    for settings in ({"chunk_rows": 999}, {"parts": (39_999, 40_001)}):
        with pytest.raises(ValueError, match=r"row 40000, column '?\w+'?, and 1 more non-finite value") as outside:
            select_k(CutSource(columns, named=named, **settings), **FAST)
        message, advice = str(outside.value).split(" value(s). ")
        assert message == str(inside.value).partition(" value(s). ")[0]
        assert ("prepare(X, missing='drop') if the table fits into memory" in advice) == np.isnan(value)
    with pytest.raises(ValueError, match=r"or use missing='drop' \(--missing drop\)|Replace such values in"):
        select_k(prepare(CutSource(columns, named=named)), **FAST)


def test_missing_values_in_a_file_raise_with_row_and_column(tmp_path):
    columns = columns_of()
    mask = np.arange(LARGE) == 50_123
    holes = {"x0": columns["x0"], "n": pa.array(np.arange(LARGE), mask=mask), "f": pa.array(~mask, mask=mask)}
    place = write_parquet(tmp_path / "a.parquet", holes)
    with pytest.raises(ValueError, match=r"NaN at row 50123, column 'n', and 1 more non-finite value"):
        select_k(place, **FAST)
    with pytest.raises(ValueError, match=r"NaN at row 50123, column 'f'\."):
        select_k(prepare(place, columns=["x0", "f"]), **FAST)


def test_the_warning_for_rounded_integers_points_to_the_calling_line(tmp_path):
    columns = {**columns_of(), "key": np.arange(LARGE) + 2**60}
    place = write_parquet(tmp_path / "a.parquet", columns)
    with pytest.warns(UserWarning, match=r"X: column 'key' has integers beyond 2\*\*53, which float64 rounds") as w:
        select_k(prepare(place), **FAST)
    assert w[0].filename == __file__


@pytest.mark.parametrize("n_rows", [LARGE - 1, LARGE + 1])
def test_a_changed_number_of_rows_raises(n_rows):
    source = CutSource(columns_of())
    source.n_rows, source.chunks = n_rows, lambda at: (each for each in [[np.arange(float(LARGE))] * 3])
    with pytest.raises(
        ValueError, match=rf"X has changed: a table of the tests had {n_rows:,} rows .* and 50,500 when"
    ):
        select_k(prepare(source), **FAST)


def test_values_too_large_to_scale_raise_without_a_warning():
    columns = {**columns_of(), "big": np.full(LARGE, 1e300)}
    with pytest.raises(ValueError, match="columns: 'big' has values too large for scale='standard'"):
        select_k(prepare(CutSource(columns)), **FAST)


def test_non_numeric_columns_raise_or_are_left_out():
    columns = {**columns_of(100), "city": np.array(["Rome"] * 100, dtype=object)}
    with pytest.raises(ValueError, match=r"X has columns that are not numeric: 'city' \(object\)\. Leave them out"):
        open_data(CutSource(columns))
    assert prepare(CutSource(columns)).preparation.left_out == ("city",)


@pytest.mark.parametrize("prepared", [True, False])
def test_a_table_without_rows_raises(tmp_path, prepared):
    place = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), place)
    with pytest.raises(ValueError, match="the data have no rows" if prepared else "X must have at least 2 rows; got 0"):
        select_k(prepare(place) if prepared else place)


def test_the_preparation_is_known_before_the_pass():
    source = CutSource({**columns_of(), "word": np.full(LARGE, "x", dtype=object)})
    table = prepare(source, scale="minmax")
    assert table.preparation == Preparation(("x0", "x1", "x2"), ("word",), "minmax")
    assert table.n_bytes == LARGE * 3 * 8
    assert source.handed == []
    assert open_data(CutSource(columns_of(), named=False)).preparation is None


def test_notes_are_based_on_the_fetched_rows():
    table = prepare(CutSource({**columns_of(), "one": np.ones(LARGE), "serial": np.arange(LARGE)}))
    assert table.preparation.notes == ()
    constant, serial = table.fetch(ROWS).preparation.notes
    assert constant.startswith("column 'one' is constant")
    # The check uses the row numbers of the fetched rows.
    assert serial.startswith("column 'serial' looks like an identifier")


def test_a_table_larger_than_memory_raises_before_it_is_read(monkeypatch):
    source = CutSource(columns_of())
    table = prepare(source)
    needed = 3 * LARGE * 3 * 8
    monkeypatch.setattr(module, "available_bytes", lambda: needed - 1)
    with pytest.raises(
        MemoryError, match=r"X must be loaded completely, but 50,500 rows of 3 columns need about 0\.0 GiB"
    ):
        table.load()
    with pytest.raises(MemoryError, match="X must be loaded completely"):
        prepare(CutSource(columns_of()), scale="robust")
    assert source.handed == []
    for free in (needed, None):
        monkeypatch.setattr(module, "available_bytes", lambda free=free: free)
        assert table.load().shape == (LARGE, 3)


def test_errors_for_arrays_give_the_column_position():
    columns = {at: values.copy() for at, values in enumerate(columns_of(n_columns=4).values())}
    columns[2][50_100] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 50100, column 2\."):
        select_k(prepare(CutSource(columns, named=False), columns=[3, 2]), **FAST)


MATRIX = np.arange(40.0).reshape(20, 2)
NUMBERS = np.array([1, 4, 5, 19])
FETCHED = FetchedRows(20, NUMBERS, MATRIX[NUMBERS])


@pytest.mark.parametrize("rows", [[4], [19, 1], [5, 5, 4], []])
def test_fetched_rows_are_indexed_by_row_number_and_copied(rows):
    numbers = np.array(rows, dtype=np.int64)
    found = FETCHED[numbers]
    np.testing.assert_array_equal(found, MATRIX[numbers])
    found[:] = -1
    np.testing.assert_array_equal(FETCHED[numbers], MATRIX[numbers])


def test_fetched_rows_have_the_shape_of_the_whole_matrix():
    assert (FETCHED.shape, len(FETCHED), FETCHED.dtype) == ((20, 2), 20, np.float64)
    np.testing.assert_array_equal(known_rows(FETCHED), MATRIX[NUMBERS])
    assert known_rows(MATRIX) is MATRIX
    for missing in ([0], [1, 2], [4, 18], [20]):
        with pytest.raises(IndexError, match="some of these rows were not fetched"):
            FETCHED[np.array(missing)]
