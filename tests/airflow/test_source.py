"""Every place that data can come from, for real."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run, run_select

from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowFailException
from compsil_airflow.source import Source, as_frame, bind

WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


def scores(done):
    assert done.state == "success"
    return [row["score"] for row in done.xcom("selection")["curve"]]


@pytest.fixture(scope="module")
def expected(frame):
    import compsil_pandas  # noqa: F401

    return frame.compsil.select_k(["x", "y"], ks=[2, 3, 4], n_subsamples=4).scores.tolist()


@pytest.mark.parametrize("ending", WRITERS)
def test_files(frame, expected, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](frame, path)
    assert scores(run_select(data=str(path))) == pytest.approx(expected, abs=1e-9)


def test_a_column_of_numbers_with_a_word_matters_only_if_it_is_used(frame, expected, tmp_path, capfd):
    path = tmp_path / "table.csv"
    notes = ["12"] * (len(frame) - 1) + ["unknown"]
    frame.assign(note=notes).to_csv(path, index=False)
    assert scores(run_select(data=str(path), columns=["x", "y"])) == pytest.approx(expected, abs=1e-9)
    assert run_select(data=str(path), columns=["x", "note"]).state == "failed"
    log = capfd.readouterr()
    assert "In a DAG: read the file by pandas.read_csv in python_callable." in log.out + log.err


def test_a_path_object_and_a_uri(csv, expected):
    assert scores(run_select(data=csv)) == pytest.approx(expected)
    assert scores(run_select(data=csv.as_uri())) == pytest.approx(expected)


def test_a_path_relative_to_the_base(csv, expected):
    assert scores(run_select(data="table.csv", base_dir=str(csv.parent))) == pytest.approx(expected)


def test_a_path_that_leaves_the_base(csv, tmp_path, capfd):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "table.csv").symlink_to(csv)
    done = run_select(data="table.csv", base_dir=str(tmp_path / "base"), retries=1, retry_delay=timedelta(0))
    assert (done.state, done.task().try_number) == ("failed", 1)
    printed = capfd.readouterr()
    assert "data must be inside base_dir" in printed.out + printed.err


@pytest.mark.parametrize("name", ["table.pkl", "table.pickle"])
def test_never_a_pickle(frame, tmp_path, name, capfd):
    frame.to_pickle(tmp_path / name)
    done = run_select(data=str(tmp_path / name))
    assert done.state == "failed"
    printed = capfd.readouterr()
    assert "unknown file format" in printed.out + printed.err


def test_never_standard_input(csv, capfd, monkeypatch):
    with csv.open() as given:
        monkeypatch.setattr("sys.stdin", given)
        done = run_select(data="-")
        assert given.tell() == 0
    assert done.state == "failed"
    printed = capfd.readouterr()
    assert "no such file" in printed.out + printed.err


def test_an_upstream_xcom_that_carries_a_path(csv, expected):
    def build():
        @task
        def extract():
            return str(csv)

        SelectKOperator(task_id="select_k", data=extract(), **QUICK)

    assert scores(run(build)) == pytest.approx(expected)


def test_an_upstream_xcom_that_carries_something_else(capfd):
    def build():
        @task
        def extract():
            return [[1.0, 2.0], [3.0, 4.0]]

        SelectKOperator(task_id="select_k", data=extract(), **QUICK)

    assert run(build).state == "failed"
    printed = capfd.readouterr()
    assert "data must be a path or a URI; got a value of type list" in printed.out + printed.err


def test_a_function(frame, expected):
    def load(first, *, last, ti):
        assert ti.task_id == "select_k"
        return frame.iloc[first:last]

    assert scores(run_select(python_callable=load, op_args=[0], op_kwargs={"last": 300})) == expected


def test_functions_that_return_other_tables(frame, expected):
    import pyarrow as pa

    assert scores(run_select(python_callable=lambda: pa.Table.from_pandas(frame))) == expected
    array = frame[["x", "y"]].to_numpy()
    assert scores(run_select(python_callable=lambda: array, columns=None)) == expected


@pytest.mark.airflow3
def test_a_function_that_returns_polars(frame, expected):
    import polars as pl

    assert scores(run_select(python_callable=lambda: pl.DataFrame(frame.to_dict("list")))) == expected


def test_a_function_that_returns_a_path(csv, expected):
    assert scores(run_select(python_callable=lambda: str(csv))) == pytest.approx(expected)


@pytest.mark.parametrize("found", [None, 5, {"x": [1]}, np.zeros(3)])
def test_a_function_that_returns_no_table(found, capfd):
    assert run_select(python_callable=lambda: found).state == "failed"
    printed = capfd.readouterr()
    assert "python_callable must return a table" in printed.out + printed.err


def test_errors_inside_a_function_are_tried_again(frame):
    calls = []

    def load():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("the service answered nonsense")
        return frame

    done = run_select(python_callable=load, retries=1, retry_delay=timedelta(0))
    assert (done.state, done.task().try_number) == ("success", 2)


class TestBySource:
    """The same without a DAG."""

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({}, "exactly one of data, sql and python_callable; got none."),
            ({"data": "a.csv", "sql": "SELECT 1"}, "exactly one of .*; got data and sql."),
            ({"sql": "SELECT 1", "function": list}, "exactly one of .*; got sql and python_callable."),
            ({"sql": "SELECT 1"}, "sql requires conn_id"),
            ({"sql": "SELECT 1", "conn_id": ""}, "sql requires conn_id"),
            (
                {"passed": {"data": None}},
                "data is None: the template or the upstream task returned .*a path",
            ),
            (
                {"passed": {"data": "extract"}},
                "data is None: the upstream task 'extract' returned .*a path",
            ),
            (
                {"sql": "None", "passed": {"sql": "ask"}},
                "sql is None: the upstream task 'ask' .* Return a query there.",
            ),
            ({"data": 5}, "data must be a path or a URI"),
            ({"data": "moon://bucket/a.csv"}, "^data: Airflow has no file system for moon://"),
            ({"function": lambda: "moon://a.csv"}, "^the path that python_callable returned: Airflow has no file"),
        ],
    )
    def test_what_cannot_be_used_fails_for_good(self, given, said):
        with pytest.raises(AirflowFailException, match=said):
            Source(**given).load()

    def test_names_that_the_dag_mentions_and_those_of_other_kinds_stay(self, tmp_path):
        told = []
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["48151", "31337"])
        rows.to_csv(tmp_path / "bare.csv", index=False)
        rows.to_parquet(tmp_path / "bare.parquet")
        assert list(Source(data=tmp_path / "bare.parquet", warn=told.append).load()) == ["48151", "31337"]
        assert told == []
        some = Source(data=tmp_path / "bare.csv", known={"48151"}, warn=told.append).load()
        assert list(some) == ["48151", "column 2"]
        assert told[0].startswith("The names of 1 columns look like values, as if the file had no header;")

    def test_cells_that_are_no_numbers_matter_only_in_columns_that_are_used(self, tmp_path):
        path = tmp_path / "table.csv"
        pd.DataFrame({"x": np.arange(30.0), "note": ["12"] * 29 + ["unknown"]}).to_csv(path, index=False)
        assert len(Source(data=path, columns=["x"]).load()) == 30
        with pytest.raises(AirflowFailException, match=r"In a DAG: read the file by pandas\.read_csv"):
            Source(data=path, columns=["x", "note"]).load()

    def test_objects_are_read_from_a_copy(self, csv, monkeypatch):
        place, asked = "s3://bucket/table.csv", []

        @contextmanager
        def fetched(*given):
            asked.append(given)
            yield csv

        monkeypatch.setattr("compsil_airflow.source.resolve_place", lambda *given: place)
        monkeypatch.setattr("compsil_airflow.source.check_scheme", lambda *given: asked.append(given))
        monkeypatch.setattr("compsil_airflow.source.downloaded", fetched)
        assert len(Source(data=place, conn_id="store").load()) == 300
        assert asked == [("data", place, "store"), (place, "store")]
        csv.write_bytes(b"")
        with pytest.raises(AirflowFailException, match=place):
            Source(data=place, conn_id="store").load()

    def test_a_folder_of_other_files_is_no_table(self, tmp_path):
        (tmp_path / "parts" / "year=2026").mkdir(parents=True)
        (tmp_path / "parts" / "year=2026" / "notes.csv").touch()
        with pytest.raises(AirflowFailException, match=r"is a folder that contains files other than Parquet\. Pass a"):
            Source(data=tmp_path / "parts").load()

    def test_a_folder_without_files_may_get_some(self, tmp_path):
        """An upstream task may still write them, so this is worth another attempt."""
        (tmp_path / "parts").mkdir()
        for place in (tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
            with pytest.raises(FileNotFoundError, match="data: there is no Parquet file here"):
                Source(data=place).load()

    def test_a_path_that_a_function_returned_is_called_so(self, tmp_path):
        for found, name in ((tmp_path, "the path that python_callable returned"), (str(tmp_path), "the path that")):
            with pytest.raises(AirflowFailException, match=f"^{name}"):
                Source(function=lambda found=found: found, base_dir=tmp_path / "base").load()

    def test_tables_of_a_function(self, frame):
        assert as_frame(frame) is frame
        assert as_frame(SimpleNamespace(to_pandas=lambda: frame)) is frame
        assert list(as_frame(np.zeros((3, 2)))) == ["column 0", "column 1"]
        for found in (np.zeros(3), np.zeros((2, 2, 2)), None, [[1.0]]):
            with pytest.raises(TypeError, match=rf"it returned a value of type {type(found).__name__}\.$"):
                as_frame(found)

    def test_functions_are_bound_to_what_they_ask_for(self):
        def load(first, *, last, ti):
            return first, last, ti

        assert bind(None, [], {}, {}) is None
        assert bind(load, [1], {"last": 2}, {"ti": 3, "dag": 4})() == (1, 2, 3)


class TestSqlite:
    @pytest.fixture
    def conn_id(self, frame, tmp_path, monkeypatch):
        with sqlite3.connect(tmp_path / "shop.db") as database:
            frame.to_sql("points", database, index=False)
        connection = {"conn_type": "sqlite", "host": str(tmp_path / "shop.db")}
        monkeypatch.setenv("AIRFLOW_CONN_COMPSIL_TEST_SQLITE", json.dumps(connection))
        return "compsil_test_sqlite"

    def test_query(self, conn_id, expected):
        done = run_select(sql="SELECT * FROM points ORDER BY rowid", conn_id=conn_id)
        assert scores(done) == pytest.approx(expected)

    def test_parameters_and_templates(self, conn_id):
        done = run_select(
            sql="SELECT x, y FROM {{ params.table }} WHERE x > ? ORDER BY rowid",
            params={"table": "points"},
            parameters=["-100"],
            conn_id=conn_id,
        )
        assert done.xcom("selection")["plan"]["n_rows"] == 300

    def test_a_query_in_a_file(self, conn_id, expected, home):
        (home / "dags" / "query.sql").write_text("SELECT * FROM points ORDER BY rowid")
        assert scores(run_select(sql="query.sql", conn_id=conn_id)) == pytest.approx(expected)

    def test_no_rows(self, conn_id, capfd):
        done = run_select(sql="SELECT x, y FROM points WHERE 1 = 0", conn_id=conn_id, columns=None)
        assert done.state == "failed"
        printed = capfd.readouterr()
        assert "the data has no" in printed.out + printed.err

    def test_not_a_query(self, conn_id, capfd):
        done = run_select(sql="CREATE TABLE other (x INTEGER)", conn_id=conn_id)
        assert done.state == "failed"
        printed = capfd.readouterr()
        assert "sql must be a query that returns rows" in printed.out + printed.err

    @pytest.mark.parametrize("sql", ["SELECT x FROM nowhere", "SELECT nothing FROM points", "SELEC x FROM points"])
    def test_wrong_queries_are_not_tried_again(self, conn_id, sql, capfd):
        """SQLite calls these errors of operation, like a file that is locked."""
        done = run_select(sql=sql, conn_id=conn_id, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert "sql: the database rejected the query: " in printed.out + printed.err

    def test_no_connection_named(self, capfd):
        assert run_select(sql="SELECT 1").state == "failed"
        printed = capfd.readouterr()
        assert "sql requires conn_id" in printed.out + printed.err


@pytest.mark.airflow3
class TestPostgres:
    def test_query_with_exact_decimals(self, postgres_conn_id, expected):
        """NUMERIC columns arrive as decimals, which are objects to pandas; they must not be left out."""
        done = run_select(sql="SELECT x, y FROM points ORDER BY id", conn_id=postgres_conn_id, columns=None)
        assert scores(done) == pytest.approx(expected, abs=1e-9)
        assert done.xcom("selection")["columns"] == ["x", "y"]

    def test_wrong_queries_are_not_tried_again(self, postgres_conn_id, capfd):
        done = run_select(sql="SELECT x FROM nowhere", conn_id=postgres_conn_id, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert "the database rejected the query" in printed.out + printed.err
        assert "nowhere" in printed.out + printed.err

    def test_values_the_database_cannot_convert_are_not_quoted(self, postgres_conn_id, capfd):
        done = run_select(sql="SELECT word::integer FROM points", conn_id=postgres_conn_id, retries=1)
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert "the database cannot convert a value" in printed.out + printed.err
        assert "secret" not in printed.out + printed.err

    def test_a_server_that_is_away_is_tried_again(self, monkeypatch):
        place = {"host": "127.0.0.1", "port": 1, "login": "tester", "schema": "postgres"}
        monkeypatch.setenv("AIRFLOW_CONN_COMPSIL_TEST_AWAY", json.dumps({"conn_type": "postgres", **place}))
        done = run_select(sql="SELECT 1", conn_id="compsil_test_away", retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)


@pytest.mark.airflow3
class TestObjectStore:
    @pytest.mark.parametrize(
        "place",
        [
            {"data": "s3://data/in/table.csv", "conn_id": "compsil_test_s3"},
            {"data": "s3://compsil_test_s3@data/in/table.csv"},
        ],
        ids=["conn_id", "in the URI"],
    )
    def test_read(self, bucket, expected, place):
        assert scores(run_select(**place)) == pytest.approx(expected)

    def test_write(self, bucket):
        import io

        done = run_select(
            data="s3://compsil_test_s3@data/in/table.csv",
            labels_path="s3://compsil_test_s3@data/out/labels.parquet",
            report_path="s3://compsil_test_s3@data/out/report.html",
        )
        assert done.state == "success"
        labels = bucket.get_object(Bucket="data", Key="out/labels.parquet")["Body"].read()
        assert pd.read_parquet(io.BytesIO(labels))["cluster"].nunique() == 3
        assert bucket.get_object(Bucket="data", Key="out/report.html")["Body"].read().startswith(b"<!doctype html>")

    def test_an_object_that_is_not_there_is_tried_again(self, bucket):
        done = run_select(data="s3://compsil_test_s3@data/in/late.csv", retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)

    def test_damaged_objects_are_named_by_their_address(self, bucket, capfd):
        bucket.put_object(Bucket="data", Key="in/bad.parquet", Body=b"nothing")
        done = run_select(data="s3://compsil_test_s3@data/in/bad.parquet", retries=1)
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert "s3://compsil_test_s3@data/in/bad.parquet: not a readable table" in printed.out + printed.err

    @pytest.fixture
    def lake(self, bucket, frame):
        """Three Parquet files under one prefix, with what Spark leaves beside them."""
        for number in range(3):
            part = frame[number * 100 : (number + 1) * 100].to_parquet(index=False)
            bucket.put_object(Bucket="data", Key=f"lake/part-{number}.parquet", Body=part)
        bucket.put_object(Bucket="data", Key="lake/_SUCCESS", Body=b"")
        bucket.put_object(Bucket="data", Key="whole.parquet", Body=frame.to_parquet(index=False))
        return "s3://compsil_test_s3@data"

    @pytest.mark.parametrize("place", ["lake", "lake/", "lake/*.parquet", "lake/part-[0-2].parquet", "whole.parquet"])
    def test_folders_globs_and_files_too_large_for_memory(self, lake, expected, place, monkeypatch):
        monkeypatch.setattr("compsil_kit._data.sources.parquet.fits_memory", lambda file: False)
        assert Source(data=f"{lake}/{place}").load().n_rows == 300
        assert scores(run_select(data=f"{lake}/{place}", columns=["x", "y"])) == pytest.approx(expected)

    def test_a_folder_by_conn_id_with_labels(self, lake, bucket, frame):
        import io

        places = {"data": "s3://data/lake", "labels_path": f"{lake}/out/labels.parquet"}
        assert run_select(conn_id="compsil_test_s3", labels_keep=["key"], **places).state == "success"
        labels = bucket.get_object(Bucket="data", Key="out/labels.parquet")["Body"].read()
        assert pd.read_parquet(io.BytesIO(labels))["key"].tolist() == frame["key"].tolist()

    def test_a_large_file_that_fits_is_loaded(self, lake):
        assert isinstance(Source(data=f"{lake}/whole.parquet").load(), pd.DataFrame)

    def test_folders_of_other_files(self, lake, bucket):
        bucket.put_object(Bucket="data", Key="lake/notes.txt", Body=b"x")
        with pytest.raises(
            AirflowFailException, match=r"^data: s3://.*/lake is a folder that contains files other than Parquet\."
        ):
            Source(data=f"{lake}/lake").load()
        bucket.delete_object(Bucket="data", Key="lake/notes.txt")

    def test_the_command_line_reads_from_it_too(self, lake, s3_address):
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "tester")
        env = {**os.environ, **keys, "AWS_ENDPOINT_URL": s3_address, "AWS_DEFAULT_REGION": "us-east-1"}
        command = [sys.executable, "-m", "compsil_kit", "select", "s3://data/lake/*.parquet", "--columns", "x,y"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        assert "k* = 3 of 2..10" in done.stdout

    @pytest.mark.parametrize("place", ["late/*.parquet", "late", "late.parquet"])
    def test_data_that_may_still_come_are_tried_again(self, lake, place):
        done = run_select(data=f"{lake}/{place}", retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)


SMALL = {"sample_size": 300, "columns": ["x", "y"]}


class TestOutsideMemory:
    """Parquet files that are read in parts, and what functions return of that kind."""

    @pytest.fixture(scope="class")
    def table(self):
        random = np.random.default_rng(0)
        centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[random.integers(3, size=60_000)]
        x, y = (centres + random.normal(size=(60_000, 2))).T
        return pd.DataFrame({"x": x, "word": "secret", "y": y})

    @pytest.fixture(scope="class")
    def folder(self, table, tmp_path_factory):
        place = tmp_path_factory.mktemp("lake") / "table"
        place.mkdir()
        for number in range(3):
            table[number * 20_000 : (number + 1) * 20_000].to_parquet(place / f"part-{number}.parquet", index=False)
        table.to_parquet(place.parent / "whole.parquet", index=False)
        return place

    @pytest.mark.parametrize("place", ["table", "table/*.parquet", "whole.parquet"])
    def test_files_that_are_read_in_parts(self, folder, table, place, monkeypatch):
        monkeypatch.setattr("compsil_kit._data.sources.parquet.fits_memory", lambda file: False)
        done = run_select(data=place, base_dir=str(folder.parent), **SMALL)
        whole = run_select(python_callable=lambda: table, **SMALL)
        assert done.xcom() == 3
        assert scores(done) == scores(whole)
        for name in ("columns", "n_columns", "scale", "curve"):
            assert done.xcom("selection")[name] == whole.xcom("selection")[name]

    def test_a_table_outside_memory_from_a_function(self, folder, table):
        import pyarrow.dataset as ds

        found = Source(function=lambda: ds.dataset(folder)).load()
        assert found.n_rows == 60_000
        done = run_select(python_callable=lambda: ds.dataset(folder), **SMALL)
        assert scores(done) == scores(run_select(python_callable=lambda: table, **SMALL))

    def test_a_single_file_is_loaded_if_it_fits(self, folder):
        assert isinstance(Source(data=folder.parent / "whole.parquet").load(), pd.DataFrame)

    def test_small_files_are_loaded(self, frame, tmp_path):
        (tmp_path / "parts").mkdir()
        frame.to_parquet(tmp_path / "parts" / "0.parquet")
        frame.to_parquet(tmp_path / "one.parquet")
        labels = tmp_path / "labels.csv"
        assert run_select(data=str(tmp_path / "parts"), labels_path=str(labels)).state == "success"
        assert len(pd.read_csv(labels)) == 300
        assert isinstance(Source(data=tmp_path / "one.parquet").load(), pd.DataFrame)

    def test_a_link_that_leaves_the_base(self, folder, tmp_path, capfd):
        inside = tmp_path / "base" / "table"
        inside.mkdir(parents=True)
        (inside / "part-0.parquet").symlink_to(folder / "part-0.parquet")
        done = run_select(data="table", base_dir=str(tmp_path / "base"), retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        log = capfd.readouterr()
        assert "data must be inside base_dir" in log.out + log.err

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_labels_are_written_in_parts(self, folder, table, tmp_path, ending):
        path = tmp_path / f"labels.{ending}"
        done = run_select(data=str(folder), labels_path=str(path), n_subsamples="auto", random_state=None, **SMALL)
        assert done.state == "success"
        labels = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
        assert list(labels.columns) == ["row", "cluster"]
        assert labels["row"].tolist() == list(range(60_000))
        assert sorted(labels["cluster"].unique()) == [0, 1, 2]
        middles = table.groupby(labels["cluster"].to_numpy())[["x", "y"]].mean().round().to_numpy()
        assert sorted(map(tuple, middles.tolist())) == [(0, 0), (0, 9), (9, 0)]
        assert done.xcom("selection")["files"] == [str(path)]

    def test_columns_to_keep(self, folder, table, tmp_path):
        path = tmp_path / "l.parquet"
        done = run_select(data=str(folder), labels_path=str(path), labels_keep=["word", "y"], **SMALL)
        assert done.state == "success"
        labels = pd.read_parquet(path)
        assert list(labels) == ["row", "word", "y", "cluster"]
        assert labels["y"].tolist() == table["y"].tolist()
        assert set(labels["word"]) == {"secret"}

    def test_columns_to_keep_of_a_small_table(self, frame, tmp_path):
        (tmp_path / "parts").mkdir()
        frame.to_parquet(tmp_path / "parts" / "0.parquet")
        path = tmp_path / "l.csv"
        done = run_select(data=str(tmp_path / "parts"), labels_path=str(path), labels_keep=["key"])
        assert done.state == "success"
        assert pd.read_csv(path)["key"].tolist() == frame["key"].tolist()

    def test_passes_over_rows_are_logged(self, folder, tmp_path, capfd, monkeypatch):
        monkeypatch.setattr("compsil_airflow.checkpoints.PROGRESS_SECONDS", 0.0)
        assert run_select(data=str(folder), labels_path=str(tmp_path / "l.csv"), **SMALL).state == "success"
        log = capfd.readouterr()
        # To select, to fit the clusterer, and to label.
        assert (log.out + log.err).count("60,000 of 60,000 rows read") >= 3

    def test_holes_are_told_by_row_and_column(self, folder, tmp_path, capfd):
        bad = pd.read_parquet(folder / "part-0.parquet").assign(x=lambda found: found["x"].where(found.index != 77))
        for number in range(3):
            bad.to_parquet(tmp_path / f"{number}.parquet", index=False)
        assert run_select(data=str(tmp_path), **SMALL).state == "failed"
        log = capfd.readouterr()
        assert "NaN at row 77, column 'x'" in log.out + log.err
        assert "secret" not in log.out + log.err
