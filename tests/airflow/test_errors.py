"""Which failures are final, and which are retried."""

import json
import re
import sqlite3
from unittest.mock import Mock

import numpy as np
import pytest
from runs import RETRY, failing, run, run_select, select, upstream

from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowException, AirflowFailException
from compsil_airflow.errors import data_errors, interruptions, is_rejection
from compsil_kit import select_k
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "best"}, "^rule must be one of 'max', 'lcb'; got 'best'"),
        ({"scale": "log"}, "^scale must be"),
        ({"labels_keep": ["key"]}, "^labels_keep requires labels_path"),
        ({"labels_path": "labels.xlsx"}, r"^labels_path must end in \.parquet or \.csv"),
        ({"report_path": "report.pdf"}, r"^report_path must end in \.html or \.htm"),
        ({"min_probability": 1.5}, "^min_probability must be a number in"),
        ({"report_url": "javascript:alert(1)"}, "^report_url must begin with http:// or https://"),
        ({"checkpoint": "foo://bucket/file"}, "^checkpoint: Airflow has no file system for foo://"),
        ({"checkpoint": "../c.json", "base_dir": "/data"}, "^checkpoint must be inside base_dir"),
        ({"checkpoint": "s3://b/c.json", "random_state": None}, "^checkpoint needs the same seeds in every run"),
        ({"data": "/d", "labels_path": "/d/l.csv"}, "^labels_path must not be among the files that data names"),
    ],
    ids=str,
)
def test_mistakes_are_final_and_found_before_data_are_loaded(settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AirflowFailException, match=message):
        SelectKOperator(task_id="t", **({"data": "a.csv"} | settings))._parse_parameters()


def test_mistakes_are_not_retried(csv, tmp_path, failure):
    assert "z must be a number" in failure(data=str(csv), z=-1)
    labels = {"labels_keep": ["kee"], "labels_path": str(tmp_path / "l.csv")}
    assert "labels_keep: 'kee' is not a column of the data" in failure(data=str(csv), **labels)


def test_a_missing_file_is_retried(tmp_path, frame):
    path = tmp_path / "late.csv"
    done = run_select(data=str(path), on_retry_callback=lambda context: frame.to_csv(path, index=False), **RETRY)
    assert (done.ended, done.xcom()) == (("success", 2), 3)


@pytest.mark.parametrize("name", ["labels_path", "report_path", "checkpoint"])
def test_a_place_that_cannot_be_written_is_retried_before_data_are_loaded(name, tmp_path, log):
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / ("r.html" if name == "report_path" else "l.csv")
    done = run_select(python_callable=pytest.fail, **{name: str(place)}, **RETRY)
    assert done.ended == ("failed", 2)
    assert f"{name} cannot be written: Not a directory: '{place}'" in log()


def test_damaged_files_are_not_quoted(csv, failure):
    csv.write_text('x,y\n1,2\n3,4,5,"swordfish\n')
    text = failure(data=str(csv))
    assert "not a readable table" in text
    assert "swordfish" not in text


class TestFunctionsOfTheUser:
    @pytest.mark.parametrize(
        "kind", [MemoryError, ConnectionError, type("OperationalError", (Exception,), {})], ids=lambda k: k.__name__
    )
    def test_transient_errors_in_a_clusterer_are_retried(self, csv, kind, log):
        remote = failing(1, kind("the service is away"))
        assert run_select(data=str(csv), clusterer=remote, **RETRY).ended == ("success", 2)
        text = log()
        assert "the service is away" in text
        assert kind is MemoryError or line_in(remote, text)

    @pytest.mark.parametrize("name", ["clusterer", "metric", "transform"])
    def test_other_errors_are_final(self, name, csv, failure):
        def wrong(*given):
            raise ValueError("too odd")

        text = failure(data=str(csv), **{name: wrong})
        assert "too odd" in text
        assert line_in(wrong, text)

    def test_errors_in_a_function_that_loads_are_retried(self, frame, log):
        load = Mock(side_effect=[ValueError("the service answered nonsense"), frame])
        assert run_select(python_callable=lambda: load(), **RETRY).ended == ("success", 2)
        assert "the service answered nonsense" in log()


def line_in(function, log):
    """Return whether a log names a line of a function."""
    code = function.__code__
    return any(f"({code.co_filename}, line {at}, in {code.co_name})" in log for _, _, at in code.co_lines())


@pytest.mark.parametrize(
    ("build", "cause"),
    [
        (lambda: select(data=upstream(None)), "upstream task 'extract'"),
        (lambda: upstream(None) >> select(data="{{ ti.xcom_pull('extract') }}"), "template or the upstream task"),
        (lambda: SelectKOperator.partial(task_id="select_k").expand(data=upstream([None])), "upstream task 'extract'"),
    ],
    ids=["xcom", "template", "mapped"],
)
def test_nothing_from_upstream_is_named(build, cause, log):
    assert run(build).state == "failed"
    assert f"data is None: the {cause} returned nothing. Return a path or a URI there." in log()


# As libraries name them; the last ones are not OSErrors.
NAMES = ["ConnectionError", "TransportError", "TimeoutError", "TimeoutException", "OperationalError", "InterfaceError"]
TRANSIENT_KINDS = [FileNotFoundError, *(type(name, (Exception,), {}) for name in NAMES)]
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
        assert (caught.value.__suppress_context__, caught.value.__cause__) == (True, None)

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
    vars(made).update(attributes)
    return made


@pytest.mark.parametrize(
    ("found", "rejected"),
    [
        (sqlite3.OperationalError("no such column: nothing"), True),
        (sqlite3.OperationalError("database is locked"), False),
        (error("ProgrammingError", "relation does not exist"), True),
        (error("NotSupportedError", "no windows"), True),
        # MySQL, SQL Server through ODBC, Oracle, PostgreSQL.
        *((error("OperationalError", number, "MySQL's"), True) for number in (1052, 1054, 1064, 1146, 1305)),
        (error("OperationalError", 2006, "MySQL server has gone away"), False),
        (error("OperationalError", {"code": 1064}), False),
        (error("OperationalError", "42S22", sqlstate="42S22"), True),
        (error("OperationalError", "connection refused", sqlstate="08001"), False),
        (error("OperationalError", "ORA-00942: table or view does not exist"), True),
        (error("OperationalError", "ORA-12541: no listener"), False),
        (error("UndefinedTable", "no", pgcode="42P01"), True),
        # A class that wraps the error of a driver need not be a DatabaseError.
        (type("DBAPIError", (Exception,), {})(1064, "syntax"), True),
        (type("OperationalError", (Exception,), {})(1064, "syntax"), True),
        # The text and the number are those of another system.
        (error("OperationalError", "no such column: nothing"), False),
        (OSError(1146, "away"), False),
        (error("OperationalError"), False),
    ],
)
def test_rejected_queries(found, rejected):
    assert is_rejection(found) is rejected
