"""Every place that data can come from: files, functions, databases, object stores, tables larger than memory."""

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from runs import RETRY, run, run_select, select, upstream

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow.compat import AirflowFailException, BaseHook
from compsil_airflow.source import Source, as_frame, bind


def scores(done):
    assert done.state == "success"
    return [row["score"] for row in done.summary()["curve"]]


@pytest.fixture(scope="module")
def expected(frame):
    scores = frame.compsil.select_k(["x", "y"], ks=[2, 3, 4], n_subsamples=4).scores
    return pytest.approx(scores.tolist(), abs=1e-9)


@pytest.fixture
def in_parts(monkeypatch):
    """As if every Parquet file were too large for memory."""
    monkeypatch.setattr("compsil_airflow.source._fits_memory", lambda store, path: False)


class TestFiles:
    def test_paths(self, csv, expected):
        for place in ({"data": csv}, {"data": csv.as_uri()}, {"data": csv.name, "base_dir": str(csv.parent)}):
            assert scores(run_select(**place)) == expected

    def test_an_xcom_that_is_a_path(self, csv, expected):
        assert scores(run(lambda: select(data=upstream(str(csv))))) == expected

    def test_pickles_are_never_read(self, frame, tmp_path):
        frame.to_pickle(tmp_path / "table.pkl")
        with pytest.raises(AirflowFailException, match="unknown file format"):
            Source(data=tmp_path / "table.pkl").load()

    def test_standard_input_is_never_read(self):
        with pytest.raises(OSError, match="no such file"):
            Source(data="-").load()

    def test_only_columns_that_are_used_must_be_numeric(self, tmp_path):
        path = tmp_path / "table.csv"
        pd.DataFrame({"x": np.arange(30.0), "note": ["12"] * 29 + ["unknown"]}).to_csv(path, index=False)
        assert len(Source(data=path, columns=["x"]).load()) == 30
        with pytest.raises(AirflowFailException, match=r"In a DAG: read the file by pandas\.read_csv"):
            Source(data=path, columns=["x", "note"]).load()

    def test_a_folder_of_other_files(self, tmp_path):
        (tmp_path / "parts" / "year=2026").mkdir(parents=True)
        (tmp_path / "parts" / "year=2026" / "notes.csv").touch()
        with pytest.raises(AirflowFailException, match=r"is a folder that contains files other than Parquet\. Pass a"):
            Source(data=tmp_path / "parts").load()

    @pytest.mark.parametrize("place", ["", "*.parquet"])
    def test_a_folder_without_files_is_retried(self, tmp_path, place):
        """An upstream task may still write them."""
        with pytest.raises(FileNotFoundError, match="data: there is no Parquet file here"):
            Source(data=tmp_path / place).load()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"exactly one of data, sql and python_callable; got none\."),
        ({"sql": "SELECT 1", "function": list}, r"exactly one of .*; got sql and python_callable\."),
        ({"sql": "SELECT 1", "conn_id": ""}, "sql requires conn_id"),
        ({"sql": "None", "passed": {"sql": "ask"}}, "sql is None: the upstream task 'ask' returned .* a query there"),
        ({"data": [[1.0, 2.0]]}, "data must be a path or a URI; got a value of type list"),
        ({"data": "../a.csv", "base_dir": "/base"}, "^data must be inside base_dir"),
        ({"data": "moon://bucket/a.csv"}, "^data: Airflow has no file system for moon://"),
        ({"function": lambda: "moon://a.csv"}, "^the path that python_callable returned: Airflow has no file"),
        ({"function": lambda: "/a.csv", "base_dir": "/base"}, "^the path that python_callable returned must be inside"),
        *(
            ({"function": lambda found=found: found}, f"must return a table .* type {type(found).__name__}")
            for found in (None, {"x": [1]}, np.zeros(3), [[1.0]])
        ),
    ],
)
def test_sources_that_cannot_be_used_fail_without_a_retry(given, message):
    with pytest.raises(AirflowFailException, match=message):
        Source(**given).load()


class TestFunctions:
    def test_with_arguments_and_the_context(self, frame, expected):
        def load(first, *, last, ti):
            assert ti.task_id == "select_k"
            return frame.iloc[first:last]

        assert scores(run_select(python_callable=load, op_args=[0], op_kwargs={"last": 300})) == expected
        assert bind(None, [], {}, {}) is None

    def test_that_return_arrow(self, frame, expected):
        assert scores(run_select(python_callable=lambda: pa.Table.from_pandas(frame))) == expected

    def test_that_return_an_array(self):
        assert list(as_frame(np.zeros((3, 2)))) == ["column 0", "column 1"]

    def test_that_return_a_path(self, csv, expected):
        assert scores(run_select(python_callable=lambda: str(csv))) == expected


class TestQueries:
    @pytest.mark.parametrize("name", ["run", "get_records"])
    def test_connections_to_other_systems_are_refused(self, name, monkeypatch):
        hook = SimpleNamespace(**{name: print})
        monkeypatch.setattr(BaseHook, "get_connection", lambda conn_id: SimpleNamespace(get_hook=lambda: hook))
        with pytest.raises(AirflowFailException, match=r"^conn_id must be a connection to a database; the hook of "):
            Source(sql="SELECT 1", conn_id="db").load()

    def test_parameters_and_templates(self, sqlite_conn_id, expected):
        sql = "SELECT * FROM {{ params.table }} WHERE x > ? ORDER BY rowid"
        settings = {"params": {"table": "points"}, "parameters": ["-100"], "conn_id": sqlite_conn_id}
        assert scores(run_select(sql=sql, **settings)) == expected

    def test_a_query_in_a_file(self, sqlite_conn_id, expected, home):
        (home / "dags" / "query.sql").write_text("SELECT * FROM points ORDER BY rowid")
        assert scores(run_select(sql="query.sql", conn_id=sqlite_conn_id)) == expected

    @pytest.mark.parametrize(
        ("sql", "message"),
        [
            ("CREATE TABLE other (x INTEGER)", "sql must be a query that returns rows"),
            # SQLite reports these as OperationalError, like a locked file.
            ("SELECT x FROM nowhere", "sql: the database rejected the query: "),
            ("SELEC x FROM points", "sql: the database rejected the query: "),
        ],
    )
    def test_wrong_queries_are_not_retried(self, sqlite_conn_id, sql, message, failure):
        assert message in failure(sql=sql, conn_id=sqlite_conn_id)


@pytest.mark.airflow3
class TestPostgres:
    def test_exact_decimals_are_numeric(self, postgres_conn_id, expected):
        done = run_select(sql="SELECT x, y FROM points ORDER BY id", conn_id=postgres_conn_id, columns=None)
        assert scores(done) == expected
        assert done.summary()["columns"] == ["x", "y"]

    def test_values_that_cannot_be_converted_are_not_quoted(self, postgres_conn_id, failure):
        text = failure(sql="SELECT word::integer FROM points", conn_id=postgres_conn_id)
        assert "sql: the database cannot convert a value (" in text
        assert "secret" not in text

    def test_an_unreachable_server_is_retried(self, connection):
        place = {"host": "127.0.0.1", "port": 1, "login": "tester", "schema": "postgres"}
        conn_id = connection("compsil_test_away", conn_type="postgres", **place)
        assert run_select(sql="SELECT 1", conn_id=conn_id, **RETRY).ended == ("failed", 2)


@pytest.mark.airflow3
class TestObjectStore:
    STORE = "s3://compsil_test_s3@data"

    def test_files_are_read_and_written(self, bucket, expected):
        places = {"labels_path": f"{self.STORE}/out/labels.parquet", "report_path": f"{self.STORE}/out/report.html"}
        assert scores(run_select(data="s3://data/in/table.csv", conn_id="compsil_test_s3", **places)) == expected
        names = ("labels.parquet", "report.html")
        labels, report = (bucket.get_object(Bucket="data", Key=f"out/{name}")["Body"].read() for name in names)
        assert pd.read_parquet(io.BytesIO(labels))["cluster"].nunique() == 3
        assert report.startswith(b"<!doctype html>")

    def test_damaged_objects_are_named_by_their_uri(self, bucket):
        bucket.put_object(Bucket="data", Key="in/bad.parquet", Body=b"nothing")
        with pytest.raises(AirflowFailException, match=f"{self.STORE}/in/bad.parquet: not a readable table"):
            Source(data=f"{self.STORE}/in/bad.parquet").load()

    @pytest.fixture
    def lake(self, bucket, frame):
        """Three Parquet files under one prefix, with the marker that Spark writes."""
        for number in range(3):
            part = frame[number * 100 : (number + 1) * 100].to_parquet(index=False)
            bucket.put_object(Bucket="data", Key=f"lake/part-{number}.parquet", Body=part)
        bucket.put_object(Bucket="data", Key="lake/_SUCCESS", Body=b"")
        bucket.put_object(Bucket="data", Key="whole.parquet", Body=frame.to_parquet(index=False))
        return self.STORE

    @pytest.mark.parametrize("place", ["lake/", "lake/part-[0-2].parquet", "whole.parquet"])
    def test_folders_globs_and_files_too_large_for_memory(self, lake, expected, place, in_parts):
        settings = {"data": f"s3://data/{place}", "conn_id": "compsil_test_s3"}
        assert Source(**settings).load().n_rows == 300
        assert scores(run_select(**settings)) == expected

    def test_the_command_line_reads_from_it(self, lake, s3_address):
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "tester")
        env = {**os.environ, **keys, "AWS_ENDPOINT_URL": s3_address, "AWS_DEFAULT_REGION": "us-east-1"}
        command = [sys.executable, "-m", "compsil_kit", "select", "s3://data/lake/*.parquet", "--columns", "x,y"]
        assert "k* = 3 of 2..10" in subprocess.check_output(command, env=env, text=True, timeout=300)

    @pytest.mark.parametrize("place", ["late/*.parquet", "late", "late.parquet", "late.csv"])
    def test_missing_data_are_retried(self, lake, place):
        assert run_select(data=f"{lake}/{place}", **RETRY).ended == ("failed", 2)


class TestOutOfCore:
    """Parquet files that are read in parts, and out-of-core tables from functions."""

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

    @pytest.fixture(scope="class")
    def whole(self, table):
        """The selection in memory."""
        return run_select(python_callable=lambda: table, sample_size=300)

    @pytest.mark.parametrize("place", ["table", "table/*.parquet", "whole.parquet"])
    def test_files_that_are_read_in_parts(self, folder, whole, place, in_parts):
        done = run_select(data=place, base_dir=str(folder.parent), sample_size=300)
        assert done.xcom() == 3
        for name in ("columns", "n_columns", "scale", "curve"):
            assert done.summary()[name] == whole.summary()[name]

    def test_a_dataset_from_a_function(self, folder, whole):
        assert Source(function=lambda: ds.dataset(folder)).load().n_rows == 60_000
        assert scores(run_select(python_callable=lambda: ds.dataset(folder), sample_size=300)) == scores(whole)

    def test_a_small_file_is_loaded(self, folder):
        assert isinstance(Source(data=folder.parent / "whole.parquet").load(), pd.DataFrame)

    def test_a_link_that_leaves_the_base(self, folder, tmp_path):
        inside = tmp_path / "base" / "table"
        inside.mkdir(parents=True)
        (inside / "part-0.parquet").symlink_to(folder / "part-0.parquet")
        with pytest.raises(AirflowFailException, match=r"^data must be inside base_dir"):
            Source(data="table", base_dir=tmp_path / "base").load()

    def test_labels_are_written_in_parts(self, folder, table, tmp_path, log, monkeypatch):
        monkeypatch.setattr("compsil_airflow.checkpoints.PROGRESS_SECONDS", 0.0)
        path = tmp_path / "labels.parquet"
        settings = {"n_subsamples": "auto", "random_state": None, "labels_keep": ["word", "y"], "sample_size": 300}
        done = run_select(data=str(folder), labels_path=str(path), **settings)
        labels = pd.read_parquet(path)
        assert list(labels.columns) == ["row", "word", "y", "cluster"]
        assert labels["row"].tolist() == list(range(60_000))
        assert labels["y"].tolist() == pytest.approx(table["y"].tolist())
        assert set(labels["word"]) == {"secret"}
        means = table.groupby(labels["cluster"].to_numpy())[["x", "y"]].mean().round().to_numpy()
        assert sorted(map(tuple, means.tolist())) == [(0, 0), (0, 9), (9, 0)]
        assert done.summary()["files"] == [str(path)]
        # Passes to select, to fit the clusterer, and to label.
        assert log().count("60,000 of 60,000 rows read") >= 3
