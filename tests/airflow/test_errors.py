"""Which failures are final, and which are retried."""

from datetime import timedelta

import numpy as np
import pytest
from runs import run_select

from compsil_airflow.compat import AirflowException, AirflowFailException
from compsil_airflow.errors import data_errors, interruptions
from compsil_kit.errors import Interrupted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subsamples": "three"}, "n_subsamples must be a whole number; got 'three'"),
        ({"ks": "two"}, "ks must look like 2:10, 2:20:2 or 2,3,5; got 'two'"),
        ({"ks": "2:1000000000"}, "ks must hold at most 1,000,000 candidates"),
        ({"ks": [1]}, "ks must be an integer of at least 2; got 1"),
        ({"columns": ["x", "word"]}, "columns: 'word' is not numeric"),
        ({"rule": "best"}, "rule must be one of 'max', 'lcb'; got 'best'"),
        ({"clusterer": "means"}, "clusterer must be one of"),
        ({"labels_path": "labels.xlsx"}, "labels_path must end in .parquet or .csv"),
        ({"report_path": "report.pdf"}, "report_path must end in .html or .htm"),
        ({"labels_keep": ["key"]}, "labels_keep requires labels_path"),
        ({"labels_keep": ["kee"], "labels_path": "labels.csv"}, "labels_keep: 'kee' is not a column of the data"),
        ({"fallback_k": 3}, "fallback_k requires min_probability"),
        ({"min_probability": "often"}, "min_probability must be a number; got 'often'"),
        ({"min_probability": 1.5}, "min_probability must be a number in"),
        ({"sql": "select 1"}, "pass exactly one of data, sql and python_callable; got data and sql"),
        ({"data": None}, "pass exactly one of data, sql and python_callable; got none"),
        ({"data": 5}, "data must be a path or a URI; got a value of type int"),
        ({"checkpoint": "s3://bucket/file"}, "checkpoint must be 'auto', a local path, or None"),
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

    with pytest.raises(AirflowFailException, match=r"^wrong$") as caught, data_errors():
        read()
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


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
