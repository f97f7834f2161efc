"""Which failures are final, and which are retried."""

import json
import re
from datetime import timedelta

import numpy as np
import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run, run_select

from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowException, AirflowFailException
from compsil_airflow.errors import data_errors, interruptions
from compsil_kit import select_k
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subsamples": "three"}, "n_subsamples must be a whole number; got 'three'"),
        ({"ks": "two"}, "ks must look like 2:10, 2:20:2 or 2,3,5; got 'two'"),
        ({"ks": "2:1000000000"}, "ks must hold at most 1,000 candidates"),
        ({"ks": [1]}, "ks must be an integer of at least 2; got 1"),
        ({"columns": ["x", "word"]}, "columns: 'word' is not numeric"),
        ({"rule": "best"}, "rule must be one of 'max', 'lcb'; got 'best'"),
        ({"clusterer": "means"}, "clusterer must be one of"),
        ({"labels_path": "labels.xlsx"}, "labels_path must end in .parquet or .csv"),
        ({"report_path": "report.pdf"}, "report_path must end in .html or .htm"),
        ({"labels_keep": ["key"]}, "labels_keep requires labels_path"),
        ({"labels_keep": ["kee"], "labels_path": "labels.csv"}, "labels_keep: 'kee' is not a column of the data"),
        ({"fallback_k": 3}, "fallback_k requires min_probability or min_confidence"),
        ({"min_probability": "often"}, "min_probability must be a number; got 'often'"),
        ({"min_probability": 1.5}, "min_probability must be a number in"),
        ({"min_confidence": -0.1}, "min_confidence must be a number in"),
        ({"criterion": "best"}, "criterion must be one of"),
        ({"n_starts": 0}, "n_starts must be"),
        ({"sql": "select 1"}, "pass exactly one of data, sql and python_callable; got data and sql"),
        ({"data": None}, "pass exactly one of data, sql and python_callable; got none"),
        ({"data": 5}, "data must be a path or a URI; got a value of type int"),
        ({"checkpoint": "foo://bucket/file"}, "checkpoint: Airflow has no file system for foo://"),
        ({"labels_path": "foo://bucket/l.csv"}, "labels_path: Airflow has no file system for foo://"),
        ({"data": "foo://bucket/table.csv"}, "data: Airflow has no file system for foo://"),
        ({"data": "/usr"}, "data: /usr is a folder that contains files other than Parquet. Pass a file or a glob"),
        ({"columns": ["x", "why"]}, "columns: 'why' is not a column of the data"),
        ({"report_url": "javascript:alert(1)"}, "report_url must begin with http:// or https://"),
        ({"on_unsure": "skip"}, "on_unsure requires min_probability or min_confidence"),
        ({"on_unsure": "hope", "min_probability": 0.5}, "on_unsure must be one of 'fail', 'skip', 'fallback'"),
        ({"on_unsure": "fallback", "min_probability": 0.5}, "on_unsure='fallback' and fallback_k belong together"),
        ({"on_unsure": "skip", "min_probability": 0.5, "fallback_k": 3}, "on_unsure='fallback' and fallback_k belong"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_mistakes_name_the_parameter_and_are_not_tried_again(settings, message, csv, capfd):
    done = run_select(**({"data": str(csv), "retries": 2, "retry_delay": timedelta(0)} | settings))
    assert str(done.task().state) == "failed"
    assert done.task().try_number == 1
    printed = capfd.readouterr()
    assert message in printed.out + printed.err


def test_parameters_are_checked_before_data_are_loaded(frame, capfd):
    calls = []

    def load():
        calls.append(1)
        return frame

    for wrong in ({"z": -1}, {"missing": "keep"}, {"rule": "lcb", "n_subsamples": 1}, {"random_state": [1, 2]}):
        assert run_select(python_callable=load, **wrong).state == "failed"
    assert calls == []


def test_what_may_pass_is_tried_again(tmp_path, frame):
    """A file that is not there yet is no mistake in the data."""
    path = tmp_path / "late.csv"
    attempts = []

    def arrive(context):
        attempts.append(context["ti"].try_number)
        frame.to_csv(path, index=False)

    done = run_select(data=str(path), retries=1, retry_delay=timedelta(0), on_retry_callback=arrive)
    assert attempts == [1]
    assert (done.state, done.xcom()) == ("success", 3)


def test_a_lack_of_memory_is_tried_again(csv):
    calls = []

    def hungry(X, k, seed):
        calls.append(k)
        if len(calls) == 1:
            raise MemoryError
        return np.arange(len(X)) % k

    done = run_select(data=str(csv), clusterer=hungry, retries=1, retry_delay=timedelta(0))
    assert done.state == "success"
    assert done.task().try_number == 2


def test_a_clusterer_that_fails_is_not_tried_again(csv, capfd):
    def broken(X, k, seed):
        raise RuntimeError("no luck")

    done = run_select(data=str(csv), clusterer=broken, retries=1, retry_delay=timedelta(0))
    assert (done.state, done.task().try_number) == ("failed", 1)
    printed = capfd.readouterr()
    assert "no luck" in printed.out + printed.err


def test_damaged_files_are_not_quoted(tmp_path, capfd):
    path = tmp_path / "table.csv"
    path.write_text('x,y\n1,2\n3,4,5,"swordfish\n')
    done = run_select(data=str(path), retries=1, retry_delay=timedelta(0))
    printed = capfd.readouterr()
    assert (done.state, done.task().try_number) == ("failed", 1)
    assert "not a readable table" in printed.out + printed.err
    assert "swordfish" not in printed.out + printed.err


def test_the_cause_of_a_mistake_is_left_out():
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


@pytest.mark.parametrize("read", [lambda: json.loads("{"), lambda: select_k(np.zeros(3))], ids=["Python", "engine"])
def test_a_mistake_is_placed_in_the_code_of_the_user_not_in_what_it_calls(read):
    place = rf" \({re.escape(__file__)}, line {read.__code__.co_firstlineno}, in <lambda>\)$"
    with pytest.raises(AirflowFailException, match=place), data_errors():
        read()


def test_a_stop_says_how_far_the_run_got():
    stop = Interrupted(3, 8, "subsamples", "The finished part is in .result; it is marked partial.")
    with (
        pytest.raises(AirflowException, match=r"^Stopped after 3 of 8 subsamples\. Next\.$"),
        interruptions(lambda: "Next."),
    ):
        raise stop


def test_a_stop_outside_the_selection():
    with pytest.raises(AirflowException, match=r"^Stopped by a signal\. Next\.$"), interruptions(lambda: "Next."):
        raise KeyboardInterrupt


# As libraries name their errors; none of them is an OSError.
NAMES = ["ConnectionError", "TransportError", "TimeoutError", "TimeoutException", "OperationalError", "InterfaceError"]
PASSING_KINDS = [OSError, FileNotFoundError, PermissionError, ConnectionResetError, TimeoutError] + [
    type(name, (Exception,), {}) for name in NAMES
]
PASSING_KINDS.append(type("GoneAway", (PASSING_KINDS[-1],), {}))


@pytest.mark.parametrize("kind", [*PASSING_KINDS, RuntimeError, KeyError, ValueError], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("between", [False, True], ids=["the cause", "the cause of the cause"])
def test_the_cause_of_a_failed_clustering_decides_whether_it_is_tried_again(kind, between):
    cause = kind("away")
    if between:
        cause, cause.__context__ = RuntimeError("the service failed"), cause
    with pytest.raises(AirflowException) as caught, data_errors():
        raise ClusteringError("clustering into k=2 failed") from cause
    assert isinstance(caught.value, AirflowFailException) is (kind not in PASSING_KINDS)


@pytest.mark.parametrize("kind", [ValueError, TypeError, ImportError, SelectionError])
def test_mistakes_are_final_whatever_caused_them(kind):
    with pytest.raises(AirflowFailException), data_errors():
        raise kind("wrong") from OSError("away")


class TestFunctionsOfTheUser:
    @pytest.mark.parametrize("kind", [ConnectionError, TimeoutError, type("OperationalError", (Exception,), {})])
    def test_a_connection_error_in_a_clusterer_is_tried_again(self, csv, kind, capfd):
        calls = []

        def remote(X, k, seed):
            calls.append(k)
            if len(calls) == 1:
                raise kind("the service is away")
            return np.arange(len(X)) % k

        done = run_select(data=str(csv), clusterer=remote, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("success", 2)
        assert_names_the_line(capfd, remote, "the service is away")

    def test_other_errors_are_final_and_say_where(self, csv, capfd):
        def wrong(X, k, seed):
            return X.nothing

        done = run_select(data=str(csv), clusterer=wrong, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        assert_names_the_line(capfd, wrong, "'nothing'")

    def test_a_metric_and_a_transform_say_where(self, csv, capfd):
        def far(a, b):
            raise ValueError("too far")

        def odd(discrepancy):
            raise ValueError("too odd")

        assert run_select(data=str(csv), metric=far).state == "failed"
        assert_names_the_line(capfd, far, "too far")
        assert run_select(data=str(csv), transform=odd).state == "failed"
        assert_names_the_line(capfd, odd, "too odd")

    def test_a_function_that_loads_says_where(self, capfd):
        def load():
            raise ConnectionError("the service is away")

        done = run_select(python_callable=load, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)
        printed = capfd.readouterr()
        assert __file__.rpartition("/")[2] in printed.out + printed.err
        assert "the service is away" in printed.out + printed.err


def assert_names_the_line(capfd, function, message):
    printed = capfd.readouterr()
    log = printed.out + printed.err
    assert message in log
    first = function.__code__.co_firstlineno
    lines = [f"({__file__}, line {first + at}, in {function.__name__})" for at in range(1, 5)]
    assert any(line in log for line in lines), log


class TestBeforeTheWork:
    @pytest.mark.parametrize("name", ["labels_path", "report_path"])
    def test_a_place_that_cannot_be_written(self, name, frame, tmp_path, capfd):
        calls = []

        def load():
            calls.append(1)
            return frame

        (tmp_path / "file").write_text("")
        place = tmp_path / "file" / ("l.csv" if name == "labels_path" else "r.html")
        done = run_select(python_callable=load, **{name: str(place)}, retries=1, retry_delay=timedelta(0))
        # A disk that is full or away may be back.
        assert (done.state, done.task().try_number, calls) == ("failed", 2, [])
        printed = capfd.readouterr()
        assert f"{name} cannot be written: Not a directory: '{place}'" in printed.out + printed.err

    def test_a_folder_in_its_place(self, csv, tmp_path, capfd):
        (tmp_path / "l.csv").mkdir()
        done = run_select(data=str(csv), labels_path=str(tmp_path / "l.csv"), retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert "labels_path must be a file; " in printed.out + printed.err


class TestNothingFromUpstream:
    def build(self, **how):
        @task
        def extract():
            return None

        @task
        def partition():
            return [None]

        if how["kind"] == "xcom":
            SelectKOperator(task_id="select_k", data=extract(), **QUICK)
        elif how["kind"] == "template":
            pulled = "{{ ti.xcom_pull('extract') }}"
            extract() >> SelectKOperator(task_id="select_k", data=pulled, **QUICK)
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
    def test_is_named(self, kind, message, capfd):
        assert run(lambda: self.build(kind=kind)).state == "failed"
        printed = capfd.readouterr()
        assert message in printed.out + printed.err


def test_without_xcom_nothing_is_pushed(csv):
    done = run_select(data=str(csv), do_xcom_push=False, report_url="https://reports.example/x.html")
    assert done.state == "success"
    assert [done.xcom(key) for key in ("return_value", "selection", "report_url")] == [None] * 3
