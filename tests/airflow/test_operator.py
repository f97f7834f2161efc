"""The operator as Airflow runs it: what it pushes, what it writes, when it fails and when it tries again."""

import json
import math
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import Asset, task
from runs import QUICK, run, run_select

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow import SelectKOperator
from compsil_kit import select_k


def walk(value):
    """Everything inside nested lists and dicts."""
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(part)


def test_return_value_is_the_k_of_the_other_surfaces(csv, frame):
    done = run_select(data=str(csv))
    expected = frame.compsil.select_k(["x", "y"], ks=[2, 3, 4], n_subsamples=4)
    assert done.state == "success"
    assert done.xcom() == expected.best_k == 3
    assert type(done.xcom()) is int


def test_summary_is_strict_small_and_complete(csv, frame):
    done = run_select(data=str(csv), ks=range(2, 21), n_subsamples=30, scale="robust")
    summary = done.xcom("selection")
    expected = frame.compsil.select_k(["x", "y"], ks=range(2, 21), scale="robust")
    text = json.dumps(summary, allow_nan=False)
    assert len(text) <= 16 * 1024
    assert all(isinstance(part, dict | list | str | int | float | bool | None) for part in walk(summary))
    assert all(math.isfinite(part) for part in walk(summary) if isinstance(part, float))
    assert [row["k"] for row in summary["curve"]] == list(range(2, 21))
    assert [row["score"] for row in summary["curve"]] == expected.scores.tolist()
    assert [row["sem"] for row in summary["curve"]] == expected.sem.tolist()
    assert [row["probability"] for row in summary["curve"]] == expected.probability.tolist()
    assert summary["best_k"] == summary["selected_k"] == expected.best_k
    assert summary["columns"] == ["x", "y"]
    assert summary["scale"] == "robust"
    assert summary["plan"]["n_rows"] == 300
    assert summary["warnings"] == expected.warnings
    assert summary["versions"] == dict(expected.versions)
    assert summary["left_out"] == []


def test_the_next_task_gets_k(csv):
    def build():
        select = SelectKOperator(task_id="select_k", data=str(csv), **QUICK)

        @task
        def double(k):
            return 2 * k

        double(select.output)

    assert run(build).xcom(task_id="double") == 6


def test_templates_and_text(csv):
    done = run_select(
        data="{{ params.folder }}/table.csv",
        params={"folder": str(csv.parent), "ks": [2, 3], "method": "bisecting-kmeans"},
        ks="{{ params.ks }}",
        columns="x, y",
        n_subsamples="3",
        sample_size="0.5",
        z="2",
        n_jobs="",
        random_state="7",
        scale="None",
        clusterer="{{ params.method }}",
        min_probability="0",
    )
    summary = done.xcom("selection")
    assert done.state == "success"
    assert [row["k"] for row in summary["curve"]] == [2, 3]
    assert summary["scale"] is None
    assert (summary["plan"]["n_subsamples"], summary["plan"]["sample_size"], summary["plan"]["z"]) == (3, 150, 2.0)
    assert summary["plan"]["clusterer"] == "bisecting-kmeans"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subsamples": "three"}, "n_subsamples must be a whole number; got 'three'"),
        ({"ks": "two"}, "ks must be a whole number; got 'two'"),
        ({"ks": [1]}, "ks must be an integer of at least 2; got 1"),
        ({"columns": ["x", "word"]}, "columns: 'word' not numeric"),
        ({"rule": "best"}, "rule must be one of 'max', 'lcb'; got 'best'"),
        ({"clusterer": "means"}, "clusterer must be one of"),
        ({"labels_path": "labels.xlsx"}, "labels_path must end in .parquet or .csv"),
        ({"report_path": "report.pdf"}, "report_path must end in .html or .htm"),
        ({"labels_keep": ["key"]}, "labels_keep needs labels_path"),
        ({"labels_keep": ["kee"], "labels_path": "labels.csv"}, "labels_keep: 'kee' is not a column of the data"),
        ({"fallback_k": 3}, "fallback_k needs min_probability"),
        ({"min_probability": "often"}, "min_probability must be a number; got 'often'"),
        ({"min_probability": 1.5}, "min_probability must be a number in"),
        ({"sql": "select 1"}, "pass exactly one of data, sql and python_callable; got data and sql"),
        ({"data": None}, "pass exactly one of data, sql and python_callable; got none"),
        ({"data": 5}, "data must be a path or the URI of one; got a value of type int"),
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


def test_a_retry_continues_from_the_checkpoint(csv, home, capfd):
    """The first attempt dies in its third subsample; the second computes only what is missing, to the same result."""
    seen = []

    def fragile(X, k, seed):
        seen.append(seed)
        if len(seen) == 7:
            raise MemoryError
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

    settings = {"data": str(csv), "clusterer": fragile, "retries": 1, "retry_delay": timedelta(0)}
    done = run_select(**settings)
    printed = capfd.readouterr()
    assert (done.state, done.task().try_number) == ("success", 2)
    assert "Continuing: 2 of 4 subsamples were finished by an earlier attempt" in printed.out + printed.err
    # Three ks each, once; what the third one had begun is lost.
    assert [seen.count(seed) for seed in list(dict.fromkeys(seen))[:2]] == [3, 3]
    # What was kept is removed when the task is done.
    assert list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir()) == []
    whole = run_select(**settings)
    assert whole.task().try_number == 1
    assert whole.xcom("selection") == done.xcom("selection")


def test_other_data_make_an_old_checkpoint_useless_not_fatal(csv, frame, capfd):
    calls = []

    def fragile(X, k, seed):
        calls.append(k)
        if len(calls) == 4:
            raise MemoryError
        return np.arange(len(X)) % k

    def correct(context):
        frame.iloc[10:].to_csv(csv, index=False)

    done = run_select(data=str(csv), clusterer=fragile, retries=1, retry_delay=timedelta(0), on_retry_callback=correct)
    printed = capfd.readouterr()
    assert done.state == "success"
    assert "changed since the last attempt" in printed.out + printed.err
    assert done.xcom("selection")["plan"]["n_rows"] == 290


def test_a_checkpoint_of_ones_own_is_refused_if_it_belongs_elsewhere(csv, tmp_path, frame, capfd):
    place = tmp_path / "own.json"
    select_k(frame[["x", "y"]].to_numpy() + 1.0, ks=[2, 3, 4], n_subsamples=4, checkpoint=place)
    done = run_select(data=str(csv), checkpoint=str(place), retries=1, retry_delay=timedelta(0))
    assert (done.state, done.task().try_number) == ("failed", 1)
    printed = capfd.readouterr()
    assert "belongs to another selection" in printed.out + printed.err
    assert place.exists()


def test_fresh_seeds_go_without_a_checkpoint(csv):
    assert run_select(data=str(csv), random_state=None).state == "success"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_are_those_of_the_frame(csv, frame, tmp_path, ending):
    frame.assign(x=frame["x"].where(frame.index != 5)).to_csv(csv, index=False)
    path = tmp_path / f"new/labels.{ending}"
    done = run_select(data=str(csv), labels_path=str(path), labels_keep="key", missing="drop")
    assert done.state == "success"
    labels = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    expected = pd.read_csv(csv).compsil.cluster(3, columns=["x", "y"], missing="drop", ks=[2, 3, 4], n_subsamples=4)
    assert list(labels.columns) == ["row", "key", "cluster"]
    assert labels["key"].tolist() == frame["key"].tolist()
    assert labels["cluster"].isna().tolist() == [row == 5 for row in range(300)]
    assert labels["cluster"].dropna().astype(int).tolist() == expected.dropna().astype(int).tolist()
    assert done.xcom("selection")["files"] == [str(path)]


def test_two_runs_leave_the_same(csv, tmp_path):
    left = []
    for _ in range(2):
        done = run_select(data=str(csv), labels_path=str(tmp_path / "l.parquet"), report_path=str(tmp_path / "r.html"))
        report = (tmp_path / "r.html").read_bytes()
        left.append((done.xcom(), done.xcom("selection"), (tmp_path / "l.parquet").read_bytes(), report))
    assert left[0] == left[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.parquet", "r.html", "table.csv"]


def test_report_is_one_html_file(csv, tmp_path):
    run_select(data=str(csv), report_path=str(tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "data:image/png" in text
    assert "secret" not in text


class TestNotSure:
    # On points without structure no k stands out.
    @pytest.fixture
    def flat(self, tmp_path):
        path = tmp_path / "flat.csv"
        pd.DataFrame(np.random.default_rng(0).uniform(size=(200, 2)), columns=["x", "y"]).to_csv(path, index=False)
        return str(path)

    def test_fails_for_good(self, flat, capfd):
        done = run_select(data=flat, ks="3:9", min_probability=0.999, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        assert (
            "less than min_probability=0.999. Take more subsamples, or name a fallback_k." in printed.out + printed.err
        )

    def test_falls_back_and_says_so(self, flat, tmp_path):
        labels = tmp_path / "l.csv"
        done = run_select(
            data=flat, ks="3:9", min_probability=0.999, fallback_k="2", labels_path=str(labels), outlets=[Asset("flat")]
        )
        summary = done.xcom("selection")
        assert done.xcom() == summary["best_k"] == 2
        assert summary["fell_back"]
        assert summary["selected_k"] in range(3, 10)
        assert "fallback_k=2 is handed on instead" in summary["warnings"][0]
        assert pd.read_csv(labels)["cluster"].nunique() == 2


def test_outlets_carry_best_k(csv):
    from airflow import settings

    name = f"test://segments/{csv.parent.name}"
    done = run_select(data=str(csv), outlets=[Asset(name)])
    try:
        from airflow.models.asset import AssetEvent as Event
    except ImportError:
        from airflow.models.dataset import DatasetEvent as Event
    with settings.Session() as session:
        events = session.query(Event).filter_by(source_run_id=done.dag_run.run_id).all()
        (extra,) = [event.extra for event in events if event.source_dag_id == done.dag_run.dag_id]
    assert extra["best_k"] == done.xcom() == 3
    assert extra["fell_back"] is False


def test_logs_tell_the_story_without_cells(csv, capfd):
    run_select(data=str(csv))
    printed = capfd.readouterr()
    log = printed.out + printed.err
    assert "Data: 300 rows; columns x, y; scale standard" in log
    assert "4 subsamples of 240 of 300 rows" in log
    assert "4 of 4 subsamples finished" in log
    assert "has the best composite silhouette" in log
    assert "secret" not in log


def test_progress_comes_every_few_seconds(csv, capfd, monkeypatch):
    monkeypatch.setattr("compsil_airflow.operator.PROGRESS_SECONDS", 0.0)
    run_select(data=str(csv))
    printed = capfd.readouterr()
    assert all(f"{done} of 4 subsamples finished" in printed.out + printed.err for done in (1, 2, 3, 4))


def test_damaged_files_are_not_quoted(tmp_path, capfd):
    path = tmp_path / "table.csv"
    path.write_text('x,y\n1,2\n3,4,5,"swordfish\n')
    done = run_select(data=str(path), retries=1, retry_delay=timedelta(0))
    printed = capfd.readouterr()
    assert (done.state, done.task().try_number) == ("failed", 1)
    assert "not a readable table" in printed.out + printed.err
    assert "swordfish" not in printed.out + printed.err


def test_one_worker_by_default():
    assert SelectKOperator(task_id="t").n_jobs == 1


def test_every_parameter_of_the_engine_is_there():
    import inspect

    ours = inspect.signature(SelectKOperator.__init__).parameters
    theirs = inspect.signature(select_k).parameters
    assert set(theirs) - {"X", "progress"} <= set(ours)
    same = set(theirs) - {"X", "progress", "ks", "n_jobs", "checkpoint"}
    assert {name: ours[name].default for name in same} == {name: theirs[name].default for name in same}
