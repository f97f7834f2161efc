"""Selections on out-of-core tables read the table once and give the same result as data in memory."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from small_runs import stop_after
from tables import LARGE, CutSource, columns_of, write_parquet

from compsil_kit import (
    Interrupted,
    combine_batches,
    compare,
    plan_batches,
    plan_selection,
    prepare,
    run_batch,
    select_k,
)
from compsil_kit._method.subsample import common_rows, subsample_rows
from compsil_kit._run.planning import needed_rows
from compsil_kit.errors import ScaleWarning

FAST = {"ks": [2, 3, 4], "n_subsamples": 4, "sample_size": 300}
COLUMNS = columns_of()
FRAME = pd.DataFrame(COLUMNS)


def source(**settings):
    return CutSource(COLUMNS, **settings)


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"n_calibration": 3},
        {"structure": True, "n_subsamples": 2},
        {"n_starts": 2, "criterion": "stable"},
        {"clusterer": "gmm"},
        {"metric": "cosine", "n_jobs": 2},
        {"random_state": [5, 6, 7, 8]},
        {"sample_size": "auto", "n_subsamples": 1, "ks": [3]},
    ],
    ids=lambda keywords: next(iter(keywords), "plain"),
)
def test_out_of_core_results_match_results_in_memory(keywords):
    settings = FAST | keywords
    expected = select_k(prepare(FRAME), **settings).to_dict()
    assert select_k(prepare(source(parts=(8_000, 20_000))), **settings).to_dict() == expected
    assert select_k(FRAME, **settings).to_dict() == select_k(source(), **settings).to_dict()


@pytest.mark.parametrize("dtypes", [["float32"] * 3, ["int32"] * 3, ["bool"] * 3, ["float32", "int64", "bool"]])
def test_columns_of_all_types_match_results_in_memory(dtypes, tmp_path):
    """One case includes a constant column and a serial number, which are recorded in the preparation."""
    columns = {
        name: (values > 0 if dtype == "bool" else 10 * values).astype(dtype)
        for (name, values), dtype in zip(COLUMNS.items(), dtypes, strict=True)
    }
    columns |= {"serial": np.arange(LARGE), "one": np.ones(LARGE)} if "int32" in dtypes else {}
    settings = FAST | {"ks": [2, 3]}
    result = select_k(prepare(write_parquet(tmp_path / "a.parquet", columns)), **settings)
    assert result.to_dict() == select_k(prepare(pd.DataFrame(columns)), **settings).to_dict()


def test_the_table_is_read_once():
    table = source(chunk_rows=LARGE)
    select_k(prepare(table), **FAST)
    assert table.handed == [(0, LARGE)]


def test_a_plan_reads_nothing():
    table = source()
    planned, expected = plan_selection(prepare(table), **FAST), plan_selection(FRAME, **FAST)
    assert (planned.seeds, planned.sample_size, planned.n_rows) == (expected.seeds, expected.sample_size, LARGE)
    assert table.handed == []


def test_needed_rows_are_the_union_of_all_subsamples():
    plan = plan_selection(FRAME, **FAST)
    drawn = [subsample_rows(seed, LARGE, 300) for seed in plan.seeds]
    # Subsamples overlap so little that clusterings are compared on a separate, common set of rows.
    common = common_rows(LARGE, 300)
    np.testing.assert_array_equal(needed_rows(plan), np.unique(np.concatenate([*drawn, common])))
    # A subsample is compared with the previous subsample.
    np.testing.assert_array_equal(needed_rows(plan, [2]), np.unique(np.concatenate([*drawn[1:3], common])))
    shared = plan_selection(FRAME, **FAST | {"sample_size": 0.1})
    drawn = [subsample_rows(seed, LARGE, shared.sample_size) for seed in shared.seeds]
    np.testing.assert_array_equal(needed_rows(shared), np.unique(np.concatenate(drawn)))
    tested = plan_selection(FRAME, **FAST, structure=True)
    assert len(needed_rows(tested)) > len(needed_rows(plan))
    assert len(needed_rows(tested, [2])) == len(needed_rows(plan, [2]))


def test_out_of_core_batches_match_a_selection_in_memory():
    settings = FAST | {"structure": True, "n_calibration": 2}
    batches = json.loads(json.dumps(plan_batches(prepare(source()), **settings, n_batches=3)))
    done = [run_batch(prepare(source(parts=(5_000 + at,))), batch) for at, batch in enumerate(batches)]
    assert combine_batches(done).to_dict() == select_k(prepare(FRAME), **settings).to_dict()
    with pytest.raises(ValueError, match="batch was planned for another selection: the contents of X differ"):
        run_batch(prepare(CutSource(columns_of(seed=1))), batches[0])


def test_a_checkpoint_of_an_out_of_core_table_depends_on_its_rows(tmp_path):
    settings = FAST | {"checkpoint": tmp_path / "run.json"}
    first = select_k(prepare(source()), **settings)
    assert select_k(prepare(source(parts=(777,))), **settings).to_dict() == first.to_dict()
    with pytest.raises(ValueError, match="belongs to another selection: the contents of X differ"):
        select_k(prepare(CutSource(columns_of(seed=1))), **settings)
    with pytest.raises(ValueError, match="another selection: X was out of core and is now in memory"):
        select_k(prepare(FRAME), **settings)


def test_row_counts_go_to_the_rows_attribute_of_a_progress_function():
    calls, rows = [], []

    def progress(*counts):
        calls.append(counts)

    progress.rows = lambda *counts: rows.append(counts)
    select_k(prepare(source(chunk_rows=20_000)), **FAST, progress=progress)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert rows == [(20_000, LARGE), (40_000, LARGE), (LARGE, LARGE)]


def test_the_row_progress_bar_is_removed_after_an_error(capfd):
    table = source(chunk_rows=20_000)
    chunks = table.chunks

    def broken(at):
        yield next(chunks(at))
        raise RuntimeError("broken")

    table.chunks = broken
    with pytest.raises(RuntimeError, match="broken"):
        select_k(prepare(table), **FAST, progress=True)
    shown = capfd.readouterr().err
    assert "reading:   0%" in shown
    assert "/50.5k" in shown
    assert "row/s" in shown
    assert shown.endswith("\r")


def test_an_interrupted_pass_reports_its_progress_and_closes_the_reader():
    """sys.last_value may keep the error and its frames alive, so the reader must be closed explicitly."""
    closed = []

    class Reader(CutSource):
        def chunks(self, at):
            try:
                yield from super().chunks(at)
            finally:
                closed.append(at)

    def progress(done, total):
        pytest.fail("no subsample is computed")

    progress.rows = stop_after(40_000)
    message = "stopped after 40,000 of 50,500 rows read; nothing has been computed yet"
    with pytest.raises(Interrupted, match=message) as caught:
        select_k(prepare(Reader(COLUMNS, chunk_rows=20_000)), **FAST, progress=progress)
    assert (caught.value.done, caught.value.total, caught.value.result) == (40_000, LARGE, None)
    assert len(closed) == 1


def test_columns_of_different_scales_give_a_warning_unless_prepared():
    unscaled = CutSource({**COLUMNS, "large": 1000 * COLUMNS["x0"]})
    with pytest.warns(ScaleWarning, match="the columns of X differ in scale by a factor of") as caught:
        select_k(unscaled, **FAST)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select_k(prepare(unscaled, scale=None), **FAST)


def test_few_distinct_rows_and_precomputed_distances_raise():
    for n in (1, 2):
        # Only fetched rows are checked; other rows may differ.
        with pytest.raises(ValueError, match=rf"ks contains 4, .*all subsamples together have only {n} distinct row"):
            select_k(CutSource({"a": np.arange(LARGE) % n}), **FAST)
    with pytest.raises(ValueError, match="metric='precomputed' needs the distance matrix in memory"):
        select_k(source(), **FAST, metric="precomputed", clusterer="agglomerative")


def test_rows_that_do_not_fit_into_memory_raise_before_they_are_read(monkeypatch):
    table = source()
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"4 subsamples of 300 rows need about .* Reduce sample_size"):
        select_k(prepare(table), **FAST)
    assert table.handed == []


def test_a_comparison_loads_the_table(monkeypatch):
    settings = FAST | {"criteria": ["composite", "elbow"], "n_subsamples": 1, "ks": [2, 3]}
    assert compare(prepare(source()), **settings).choices == compare(prepare(FRAME), **settings).choices
    monkeypatch.setattr("compsil_kit._data.sources.table.available_bytes", lambda: 1_000)
    with pytest.raises(MemoryError, match="X must be loaded completely, but"):
        compare(prepare(source()), **settings)
