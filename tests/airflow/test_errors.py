"""Which failures are final, and which are retried."""

import json
import re
import sqlite3
from datetime import timedelta

import numpy as np
import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run, run_select

from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowException, AirflowFailException
from compsil_airflow.errors import data_errors, interruptions, is_rejection
from compsil_kit import select_k
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError

RETRY = {"retries": 1, "retry_delay": timedelta(0)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subsamples": "three"}, "^n_subsamples must be an integer"),
        ({"ks": "two"}, "^ks must look like 2:10"),
        ({"ks": "2:1000000000"}, "^ks must contain at most 1,000 candidates"),
        ({"ks": [1]}, "^ks must be an integer of at least 2; got 1"),
        ({"rule": "best"}, "^rule must be one of 'max', 'lcb'; got 'best'"),
        ({"rule": "lcb", "n_subsamples": 1}, "^n_subsamples with rule='lcb' must be"),
        ({"clusterer": "means"}, "^clusterer must be one of"),
        ({"criterion": "best"}, "^criterion must be one of"),
        ({"n_starts": 0}, "^n_starts must be"),
        ({"z": -1}, "^z must be"),
        ({"missing": "keep"}, "^missing must be"),
        ({"scale": "log"}, "^scale must be"),
        ({"random_state": [1, 2]}, "^random_state"),
        ({"labels_path": "labels.xlsx"}, r"^labels_path must end in \.parquet or \.csv"),
        ({"report_path": "report.pdf"}, r"^report_path must end in \.html or \.htm"),
        ({"labels_keep": ["key"]}, "^labels_keep requires labels_path"),
        ({"min_probability": 1.5}, "^min_probability must be a number in"),
        ({"fallback_k": 3}, "^fallback_k requires min_probability or min_confidence"),
        ({"report_url": "javascript:alert(1)"}, "^report_url must begin with http:// or https://"),
        ({"checkpoint": "foo://bucket/file"}, "^checkpoint: Airflow has no file system for foo://"),
        ({"checkpoint": "../c.json", "base_dir": "/data"}, "^checkpoint must be inside base_dir"),
        ({"checkpoint": "c.json", "random_state": None}, "^checkpoint needs the same seeds in every run"),
        ({"checkpoint": "s3://b/c.json", "random_state": None}, "^checkpoint needs the same seeds in every run"),
        ({"data": "/d", "labels_path": "/d/l.csv"}, "^labels_path must not be among the files that data names"),
    ],
    ids=str,
)
def test_mistakes_are_final_and_found_before_data_are_loaded(settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AirflowFailException, match=message):
        SelectKOperator(task_id="t", **({"data": "a.csv"} | settings))._parse_parameters()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ["x", "word"]}, "columns: 'word' is not numeric"),
        ({"columns": ["x", "why"]}, "columns: 'why' is not a column of the data"),
        ({"labels_keep": ["kee"], "labels_path": "{folder}/l.csv"}, "labels_keep: 'kee' is not a column of the data"),
        ({"sql": "select 1"}, "pass exactly one of data, sql and python_callable; got data and sql"),
        ({"z": -1}, "z must be a number"),
        ({"labels_path": "{folder}"}, "labels_path must end in"),
    ],
    ids=str,
)
def test_mistakes_are_not_retried(settings, message, csv, tmp_path, log):
    settings = {k: v.format(folder=tmp_path) if isinstance(v, str) else v for k, v in settings.items()}
    done = run_select(**({"data": str(csv), **RETRY} | settings))
    assert (str(done.task().state), done.task().try_number) == ("failed", 1)
    assert message in log()


def test_a_missing_file_is_retried(tmp_path, frame):
    path = tmp_path / "late.csv"
    attempts = []

    def arrive(context):
        attempts.append(context["ti"].try_number)
        frame.to_csv(path, index=False)

    done = run_select(data=str(path), on_retry_callback=arrive, **RETRY)
    assert attempts == [1]
    assert (done.state, done.xcom()) == ("success", 3)


@pytest.mark.parametrize("name", ["labels_path", "report_path", "checkpoint"])
def test_a_place_that_cannot_be_written_is_retried_before_data_are_loaded(name, frame, tmp_path, log):
    calls = []

    def load():
        calls.append(1)
        return frame

    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / ("r.html" if name == "report_path" else "l.csv")
    done = run_select(python_callable=load, **{name: str(place)}, **RETRY)
    assert (done.state, done.task().try_number, calls) == ("failed", 2, [])
    assert f"{name} cannot be written: Not a directory: '{place}'" in log()


def test_damaged_files_are_not_quoted(tmp_path, log):
    path = tmp_path / "table.csv"
    path.write_text('x,y\n1,2\n3,4,5,"swordfish\n')
    done = run_select(data=str(path), **RETRY)
    assert (done.state, done.task().try_number) == ("failed", 1)
    text = log()
    assert "not a readable table" in text
    assert "swordfish" not in text


class TestFunctionsOfTheUser:
    @pytest.mark.parametrize(
        "kind", [MemoryError, ConnectionError, type("OperationalError", (Exception,), {})], ids=lambda k: k.__name__
    )
    def test_transient_errors_in_a_clusterer_are_retried(self, csv, kind, log):
        calls = []

        def remote(X, k, seed):
            calls.append(k)
            if len(calls) == 1:
                raise kind("the service is away")
            return np.arange(len(X)) % k

        done = run_select(data=str(csv), clusterer=remote, **RETRY)
        assert (done.state, done.task().try_number) == ("success", 2)
        text = log()
        assert "the service is away" in text
        assert kind is MemoryError or line_in(remote, text)

    def test_other_errors_in_a_clusterer_a_metric_and_a_transform_are_final(self, csv, log):
        def wrong(X, k, seed):
            return X.nothing

        def far(a, b):
            raise ValueError("too far")

        def odd(discrepancy):
            raise ValueError("too odd")

        given = {"clusterer": (wrong, "'nothing'"), "metric": (far, "too far"), "transform": (odd, "too odd")}
        for name, (function, message) in given.items():
            done = run_select(data=str(csv), **{name: function}, **RETRY)
            assert (done.state, done.task().try_number) == ("failed", 1)
            text = log()
            assert message in text
            assert line_in(function, text)

    def test_errors_in_a_function_that_loads_are_retried(self, frame, log):
        calls = []

        def load():
            calls.append(1)
            if len(calls) == 1:
                raise ValueError("the service answered nonsense")
            return frame

        done = run_select(python_callable=load, **RETRY)
        assert (done.state, done.task().try_number) == ("success", 2)
        text = log()
        assert __file__.rpartition("/")[2] in text
        assert "the service answered nonsense" in text


def line_in(function, log):
    """Return whether a log names a line of a function."""
    first = function.__code__.co_firstlineno
    return any(f"({__file__}, line {first + at}, in {function.__name__})" in log for at in range(1, 5))


class TestNothingFromUpstream:
    @staticmethod
    def build(kind):
        @task
        def extract():
            return None

        @task
        def partition():
            return [None]

        if kind == "xcom":
            SelectKOperator(task_id="select_k", data=extract(), **QUICK)
        elif kind == "template":
            extract() >> SelectKOperator(task_id="select_k", data="{{ ti.xcom_pull('extract') }}", **QUICK)
        else:
            SelectKOperator.partial(task_id="select_k", **QUICK).expand(data=partition())

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("xcom", "data is None: the upstream task 'extract' returned nothing. Return a path or a URI there."),
            ("template", "data is None: the template or the upstream task returned nothing."),
            ("mapped", "data is None: the upstream task 'partition' returned nothing."),
        ],
    )
    def test_is_named(self, kind, message, log):
        assert run(lambda: self.build(kind)).state == "failed"
        assert message in log()


# As libraries name them; the last ones are not OSErrors.
NAMES = ["ConnectionError", "TransportError", "TimeoutError", "TimeoutException", "OperationalError", "InterfaceError"]
TRANSIENT_KINDS = [OSError, FileNotFoundError, TimeoutError, *(type(name, (Exception,), {}) for name in NAMES)]
TRANSIENT_KINDS.append(type("GoneAway", (TRANSIENT_KINDS[-1],), {}))


class TestConversion:
    def test_the_cause_of_a_mistake_is_left_out(self):
        """Airflow logs whole chains, and messages of parsers quote cells."""

        def read():
            try:
                raise KeyError("swordfish")
            except KeyError as error:
                raise ValueError("wrong") from error

        with pytest.raises(AirflowFailException, match=r"^wrong \(.*, in read\)$") as caught, data_errors():
            read()
        assert caught.value.__suppress_context__
        assert caught.value.__cause__ is None

    @pytest.mark.parametrize("read", [lambda: json.loads("{"), lambda: select_k(np.zeros(3))], ids=["json", "engine"])
    def test_the_line_is_that_of_the_user_not_of_a_library(self, read):
        place = rf" \({re.escape(__file__)}, line {read.__code__.co_firstlineno}, in <lambda>\)$"
        with pytest.raises(AirflowFailException, match=place), data_errors():
            read()

    @pytest.mark.parametrize(
        ("stop", "message"),
        [
            (Interrupted(3, 8, "subsamples", "The rest."), r"^Stopped after 3 of 8 subsamples\. Next\.$"),
            (KeyboardInterrupt(), r"^Stopped by a signal\. Next\.$"),
        ],
    )
    def test_stops_are_retried_and_describe_the_next_attempt(self, stop, message):
        with pytest.raises(AirflowException, match=message) as caught, interruptions(lambda: "Next."):
            raise stop
        assert not isinstance(caught.value, AirflowFailException)

    @pytest.mark.parametrize("kind", [*TRANSIENT_KINDS, RuntimeError, ValueError], ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("between", [False, True], ids=["cause", "cause of the cause"])
    def test_the_cause_of_a_failed_clustering_decides(self, kind, between):
        cause = kind("away")
        if between:
            cause, cause.__context__ = RuntimeError("the service failed"), cause
        with pytest.raises(AirflowException) as caught, data_errors():
            raise ClusteringError("clustering into k=2 failed") from cause
        assert isinstance(caught.value, AirflowFailException) is (kind not in TRANSIENT_KINDS)

    @pytest.mark.parametrize("kind", [ValueError, TypeError, ImportError, SelectionError])
    def test_mistakes_are_final_whatever_caused_them(self, kind):
        with pytest.raises(AirflowFailException), data_errors():
            raise kind("wrong") from OSError("away")


def error(name, *args, **attributes):
    """Return an error of a database driver."""
    made = type(name, (type("DatabaseError", (Exception,), {}),), {})(*args)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


@pytest.mark.parametrize(
    "found",
    [
        sqlite3.OperationalError("no such column: nothing"),
        sqlite3.OperationalError('near "SELEC": syntax error'),
        error("ProgrammingError", "relation does not exist"),
        error("NotSupportedError", "no windows"),
        # MySQL, SQL Server through ODBC, Oracle, PostgreSQL.
        *(error("OperationalError", number, "MySQL's") for number in (1052, 1054, 1064, 1146, 1305)),
        error("OperationalError", "42S22", sqlstate="42S22"),
        error("OperationalError", "ORA-00942: table or view does not exist"),
        error("UndefinedTable", "no", pgcode="42P01"),
        # A class that wraps the error of a driver need not be a DatabaseError.
        type("DBAPIError", (Exception,), {})(1064, "syntax"),
        type("OperationalError", (Exception,), {})(1064, "syntax"),
    ],
)
def test_rejected_queries(found):
    assert is_rejection(found)


@pytest.mark.parametrize(
    "found",
    [
        sqlite3.OperationalError("database is locked"),
        error("OperationalError", 2006, "MySQL server has gone away"),
        error("OperationalError", "ORA-12541: no listener"),
        error("OperationalError", "connection refused", sqlstate="08001"),
        error("OperationalError", "no such column: nothing"),
        error("OperationalError"),
        error("OperationalError", {"code": 1064}),
        ConnectionError("refused"),
        # The number is that of another system.
        OSError(1146, "away"),
    ],
)
def test_other_errors_of_databases(found):
    assert not is_rejection(found)
