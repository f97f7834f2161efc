"""Nothing that is in a cell gets into a log."""

import traceback

import numpy as np
import pandas as pd
import pytest
from runs import QUICK, run_select

from compsil_airflow.source import Source, rename_values

CELL = 48151.623


def everything(error):
    """A traceback as some versions of Airflow log it: with the values of local variables, for the whole chain."""
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


class TestTracebacks:
    @pytest.fixture
    def told(self):
        return []

    def run(self, told, **settings):
        done = run_select(on_failure_callback=lambda context: told.append(context["exception"]), **settings)
        assert done.state == "failed"
        (error,) = told
        return everything(error)

    @pytest.fixture
    def cells(self, frame):
        return frame.assign(x=CELL + frame["x"], y=frame["y"])

    def test_a_mistake(self, told, cells):
        text = self.run(told, python_callable=lambda: cells, columns=["x", "word"])
        assert "'word' is not numeric" in text
        assert "4815" not in text
        assert "secret" not in text

    def test_an_error_of_a_user(self, told, cells):
        def wrong(X, k, seed):
            value = f"secret {X[0, 0]}"
            raise MemoryError(len(value))

        text = self.run(told, python_callable=lambda: cells, clusterer=wrong, scale=None)
        assert __file__ in text
        assert "4815" not in text
        assert "secret 4" not in text

    def test_a_query(self, told, cells, tmp_path, monkeypatch):
        import json
        import sqlite3

        with sqlite3.connect(tmp_path / "shop.db") as database:
            cells.to_sql("points", database, index=False)
        connection = {"conn_type": "sqlite", "host": str(tmp_path / "shop.db")}
        monkeypatch.setenv("AIRFLOW_CONN_COMPSIL_TEST_PRIVATE", json.dumps(connection))
        text = self.run(told, sql="SELECT x, word FROM points", conn_id="compsil_test_private", columns=["x", "word"])
        assert "'word' is not numeric" in text
        assert "4815" not in text
        assert "secret" not in text


class TestNoHeader:
    @pytest.fixture
    def bare(self, frame, tmp_path):
        path = tmp_path / "bare.csv"
        first = pd.DataFrame([[90210.77, CELL, 31337.25, "secret"]], columns=frame.columns)
        pd.concat([first, frame]).to_csv(path, index=False, header=False)
        return str(path)

    @pytest.mark.parametrize(
        "settings",
        [{}, {"columns": None}, {"columns": None, "labels_path": "{{ params.place }}"}, {"labels_keep": ["key"]}],
        ids=["not there", "all", "labels", "keep"],
    )
    def test_the_first_row_is_not_logged(self, bare, tmp_path, capfd, settings):
        place = str(tmp_path / "l.csv")
        if "labels_keep" in settings:
            settings = {**settings, "labels_path": place}
        done = run_select(data=bare, params={"place": place}, **settings)
        printed = capfd.readouterr()
        log = printed.out + printed.err
        assert not any(cell in log for cell in ("48151", "secret", "90210", "31337"))
        if "columns" in settings:
            assert done.state == "success"
            assert "48151" not in str(done.xcom("selection"))

    @pytest.mark.parametrize("name", ["bare.csv", "BARE.CSV", "bare.tsv", "Bare.Csv.GZ"])
    def test_every_spelling_of_the_ending_counts(self, tmp_path, name):
        """Whole numbers above nothing but decimals are taken for names, which the first row of a bare file is not."""
        path, told = tmp_path / name, []
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["48151", "31337"])
        compression = "gzip" if name.lower().endswith(".gz") else None
        rows.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",", compression=compression)
        assert list(Source(data=str(path), warn=told.append).load().columns) == ["column 1", "column 2"]
        assert len(told) == 1
        assert "The names of 2 columns look like values" in told[0]

    def test_a_name_in_the_dag_may_be_shown(self, tmp_path):
        path = tmp_path / "years.csv"
        rng = np.random.default_rng(0)
        pd.DataFrame(rng.normal(size=(50, 3)), columns=["2015", "2018", "note"]).to_csv(path, index=False)
        done = run_select(data=str(path), **(QUICK | {"columns": ["2015", "2018"]}))
        assert done.xcom("selection")["columns"] == ["2015", "2018"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["x", "y"], ["x", "y"]),
        (["0", "1", "2"], ["0", "1", "2"]),
        (["id", "2019", "2020"], ["id", "2019", "2020"]),
        (["Ann", "5.1", "3"], ["column 1", "column 2", "column 3"]),
        (["5.1", "5.1.1"], ["column 1", "column 2"]),
        (["35", "3", "0"], ["column 1", "column 2", "column 3"]),
        (["2026-01-02", "x"], ["column 1", "column 2"]),
        (["-1e-5", "kept"], ["column 1", "kept"]),
        (["x1", "x2.5"], ["x1", "x2.5"]),
    ],
)
def test_names_that_are_values(names, shown):
    frame, hidden = rename_values(pd.DataFrame([[0.0] * len(names)], columns=names), {"kept"})
    assert list(frame.columns) == shown
    assert hidden == sum(name not in shown for name in names)
