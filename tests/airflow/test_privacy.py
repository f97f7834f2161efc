"""Logs never contain cell values."""

import traceback

import numpy as np
import pandas as pd
import pytest
from runs import run_select

from compsil_airflow.source import Source, rename_values

CELL = 48151.623


class TestTracebacks:
    """Some versions of Airflow log the local variables of every exception in the chain."""

    @staticmethod
    def log_of(**settings):
        errors = []
        run_select(on_failure_callback=lambda context: errors.append(context["exception"]), **settings)
        (error,) = errors
        text = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        assert "4815" not in text
        assert "secret" not in text
        return text

    def test_errors_in_user_code_do_not_expose_cells(self, frame):
        def wrong(X, k, seed):
            value = f"cell {X[0, 0]}"
            raise MemoryError(len(value))

        cells = frame.assign(x=CELL + frame["x"])
        assert __file__ in self.log_of(python_callable=lambda: cells, clusterer=wrong, scale=None)

    def test_errors_after_a_query_do_not_expose_cells(self, sqlite_conn_id):
        # The query adds two numbers to produce the cell value, because logs show the query.
        sql = "SELECT x + 40000 + 8151.623 AS x, word FROM points"
        text = self.log_of(sql=sql, conn_id=sqlite_conn_id, columns=["x", "word"])
        assert "'word' is not numeric" in text


class TestFilesWithoutAHeader:
    @pytest.mark.parametrize("settings", [{}, {"columns": None}, {"labels_keep": ["key"]}], ids=str)
    def test_the_first_row_is_not_logged(self, frame, tmp_path, log, settings):
        bare = tmp_path / "bare.csv"
        first = pd.DataFrame([[90210.77, CELL, 31337.25, "secret"]], columns=frame.columns)
        pd.concat([first, frame]).to_csv(bare, index=False, header=False)
        done = run_select(data=str(bare), labels_path=str(tmp_path / "l.csv"), **settings)
        text = log()
        assert not any(cell in text for cell in ("48151", "secret", "90210", "31337"))
        if "columns" in settings:
            assert "48151" not in str(done.summary())

    @pytest.mark.parametrize("name", ["BARE.CSV", "bare.tsv", "Bare.Csv.GZ"])
    def test_columns_are_named_by_position(self, tmp_path, name):
        path, warnings = tmp_path / name, []
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["48151", "31337"])
        compression = "gzip" if name.endswith(".GZ") else None
        rows.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",", compression=compression)
        assert list(Source(data=str(path), warn=warnings.append).load()) == ["column 1", "column 2"]
        (warning,) = warnings
        assert warning.startswith("The names of 2 columns look like values. If the file has no header,")

    def test_columns_of_parquet_keep_their_names(self, tmp_path):
        pd.DataFrame({"48151": [1.0], "31337": [2.0]}).to_parquet(tmp_path / "bare.parquet")
        assert list(Source(data=tmp_path / "bare.parquet", warn=pytest.fail).load()) == ["48151", "31337"]

    def test_column_names_in_the_dag_are_kept(self, tmp_path):
        path = tmp_path / "years.csv"
        names = ["2015", "2018", "note"]
        pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=names).to_csv(path, index=False)
        done = run_select(data=str(path), columns=["2015"], labels_keep=["2018"], labels_path=str(tmp_path / "l.csv"))
        assert done.summary()["columns"] == ["2015"]
        assert list(pd.read_csv(tmp_path / "l.csv")) == ["row", "2018", "cluster"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["0", "1", "2"], ["0", "1", "2"]),
        (["id", "2019", "2020"], ["id", "2019", "2020"]),
        (["Ann", "5.1", "3"], ["column 1", "column 2", "column 3"]),
        (["5.1", "5.1.1"], ["column 1", "column 2"]),
        (["35", "3", "0"], ["column 1", "column 2", "column 3"]),
        (["2026-01-02", "x"], ["column 1", "column 2"]),
        (["-1e-5", "kept"], ["column 1", "kept"]),
        (["1850", "age"], ["1850", "age"]),
        (["x1", "x2.5"], ["x1", "x2.5"]),
    ],
)
def test_rename_values_replaces_names_that_look_like_values(names, shown):
    frame, n_renamed = rename_values(pd.DataFrame([[0.0] * len(names)], columns=names), {"kept", "1850"})
    assert list(frame.columns) == shown
    assert n_renamed == sum(name not in shown for name in names)
