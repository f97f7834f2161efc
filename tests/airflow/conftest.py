"""A separate Airflow for the tests: a fresh home, a fresh database, and a folder of DAGs."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest
from servers import PATIENCE, postgres, s3

HOME = Path(tempfile.mkdtemp(prefix="compsil-airflow-"))
# Before the first import of Airflow, which reads them once.
os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(HOME / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED="False",
    COMPSIL_EXAMPLES=str(HOME / "examples"),
    NO_PROXY="127.0.0.1,localhost",
)
# Background processes of a shell ignore SIGINT, and so would the tests that send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
MAJOR = int(version("apache-airflow").partition(".")[0])


def pytest_sessionstart():
    (HOME / "dags").mkdir()
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def pytest_unconfigure():
    shutil.rmtree(HOME, ignore_errors=True)


def pytest_collection_modifyitems(config, items):
    """Deselect the tests of Airflow 3 on Airflow 2."""
    left_out = [item for item in items if MAJOR < 3 and item.get_closest_marker("airflow3")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def home():
    return HOME


@pytest.fixture
def log(capfd):
    """Return everything that was logged since the last call."""

    def read():
        printed = capfd.readouterr()
        return printed.out + printed.err

    return read


@pytest.fixture
def failure(log):
    """Return a function that runs a selection, which must fail without a retry, and returns its log."""
    from runs import RETRY, run_select

    def run(**settings):
        assert run_select(**settings, **RETRY).ended == ("failed", 1)
        return log()

    return run


@pytest.fixture(scope="session")
def frame():
    """Three blobs in the columns x and y, with a key and a word, 300 rows."""
    import numpy as np
    import pandas as pd
    from sklearn.datasets import make_blobs

    X, _ = make_blobs([150, 100, 50], 2, cluster_std=0.6, random_state=3)
    return pd.DataFrame({"key": np.arange(300) % 97 + 0.5, "x": X[:, 0], "y": X[:, 1], "word": ["secret"] * 300})


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def postgres_port(frame):
    """A real PostgreSQL with the table ``points``."""
    import psycopg2

    with postgres() as port:
        database = psycopg2.connect(host="127.0.0.1", port=port, user="tester", dbname="postgres")
        with database, database.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE points (id SERIAL, key REAL, x NUMERIC(30, 20), y DOUBLE PRECISION, word TEXT)"
            )
            rows = list(frame.itertuples(index=False, name=None))
            cursor.executemany("INSERT INTO points (key, x, y, word) VALUES (%s, %s, %s, %s)", rows)
        database.close()
        yield port


@pytest.fixture
def connection(monkeypatch):
    """Return a function that defines a connection and returns its id."""

    def define(conn_id, **fields):
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))
        return conn_id

    return define


@pytest.fixture
def postgres_conn_id(postgres_port, connection):
    place = {"host": "127.0.0.1", "port": postgres_port, "login": "tester", "schema": "postgres"}
    return connection("compsil_test_pg", conn_type="postgres", **place)


@pytest.fixture
def sqlite_conn_id(frame, tmp_path, connection):
    """A SQLite database with the table ``points``."""
    with sqlite3.connect(tmp_path / "shop.db") as database:
        frame.to_sql("points", database, index=False)
    return connection("compsil_test_sqlite", conn_type="sqlite", host=str(tmp_path / "shop.db"))


@pytest.fixture(scope="session")
def s3_address(tmp_path_factory):
    with s3(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture
def bucket(s3_address, frame, connection):
    """A client of a real object store with the table in the bucket ``data``, and the connection compsil_test_s3."""
    import boto3

    keys = {"aws_access_key_id": "tester", "aws_secret_access_key": "tester", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3_address, **keys)
    client.create_bucket(Bucket="data")
    client.put_object(Bucket="data", Key="in/table.csv", Body=frame.to_csv(index=False).encode())
    extra = {"endpoint_url": s3_address, "region_name": "us-east-1"}
    connection("compsil_test_s3", conn_type="aws", login="tester", password="tester", extra=extra)
    return client
