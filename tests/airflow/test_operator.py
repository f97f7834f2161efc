"""The operator as Airflow runs it: what it takes, what it pushes, what it logs."""

import importlib
import inspect
import json
import math
import re
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import Asset, task
from runs import QUICK, run, run_select

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow import SelectKOperator
from compsil_airflow.checkpoints import LogProgress
from compsil_airflow.compat import AirflowFailException, AirflowSkipException
from compsil_airflow.parameters import parse_parameter
from compsil_kit import prepare
from compsil_kit._settings.keywords import SelectKeywords, TableKeywords, defaults_of

# Names and defaults of the parameters.
OURS = {name: entry.default for name, entry in inspect.signature(SelectKOperator.__init__).parameters.items()}
# A worker is shared, so one job; ks is text, for Airflow to show; and the checkpoint has a place of its own.
OTHER_DEFAULTS = {"n_jobs": 1, "ks": "2:10", "checkpoint": "auto"}


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
    assert [row["probability"] for row in summary["curve"]] == expected.selection_probability.tolist()
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


def test_prepared_checked_and_digested_once(csv, tmp_path, monkeypatch):
    calls = []

    def count(target, name):
        module = importlib.import_module(target)
        original = getattr(module, name)

        def counted(*args, **kwargs):
            calls.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    count("compsil_kit._data.table", "to_matrix")
    count("compsil_kit._data.dataset", "content_digest")
    count("compsil_kit._run.request", "check_enough_distinct")
    assert run_select(data=str(csv), labels_path=str(tmp_path / "l.csv")).state == "success"
    # The labels are a second clustering request, for one k.
    assert sorted(calls) == ["check_enough_distinct", "check_enough_distinct", "content_digest", "to_matrix"]


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


def test_progress_is_told_every_five_seconds_and_at_the_end(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr("compsil_airflow.checkpoints.time", SimpleNamespace(monotonic=lambda: now[0]))
    tell = LogProgress(SimpleNamespace(info=lambda text, *values: said.append(text % values)))
    for done, now[0] in [(2, 1.0), (3, 4.9), (4, 5.0), (5, 9.9), (6, 10.0), (7, 10.1), (8, 10.2)]:
        tell(done, 8)
    resumed, *others = said
    assert resumed == "Resuming: 2 of 8 subsamples were finished by an earlier attempt"
    assert others == [f"{done} of 8 subsamples finished" for done in (4, 6, 8)]
    tell = LogProgress(SimpleNamespace(info=pytest.fail))
    tell(1, 8)


def test_progress_comes_every_few_seconds(csv, capfd, monkeypatch):
    monkeypatch.setattr("compsil_airflow.checkpoints.PROGRESS_SECONDS", 0.0)
    run_select(data=str(csv))
    printed = capfd.readouterr()
    assert all(f"{done} of 4 subsamples finished" in printed.out + printed.err for done in (1, 2, 3, 4))


def test_one_worker_by_default():
    assert SelectKOperator(task_id="t").n_jobs == 1


class TestByItself:
    """Parts of the operator, without a DAG."""

    def test_a_kill_interrupts_only_while_it_works(self):
        operator = SelectKOperator(task_id="t")
        operator.on_kill()
        operator._running = True
        with pytest.raises(KeyboardInterrupt):
            operator.on_kill()
        # Once is enough.
        operator.on_kill()

    def test_it_works_until_it_ends(self, monkeypatch):
        operator = SelectKOperator(task_id="t")
        seen = []
        monkeypatch.setattr(SelectKOperator, "_run", lambda self, context: seen.append(self._running) or context)
        assert operator.execute({"a": 1}) == {"a": 1}
        assert (seen, operator._running) == ([True], False)

    def test_what_the_next_attempt_starts_from(self):
        operator = SelectKOperator(task_id="t")
        assert operator._resume_note() == "There is no checkpoint: the next attempt starts from the beginning."
        operator._checkpoint = "c.json"
        assert operator._resume_note().endswith("in the checkpoint: the next attempt resumes from it.")

    @pytest.mark.parametrize("ended", ["done", "skipped", "failed"])
    def test_a_checkpoint_is_forgotten_when_nothing_is_left_to_do(self, monkeypatch, ended):
        error = {"done": None, "skipped": AirflowSkipException(), "failed": OSError("full")}[ended]
        forgotten = []

        def publish(operator, result, data, context):
            if error:
                raise error
            return 3

        monkeypatch.setattr("compsil_airflow.operator.publish", publish)
        monkeypatch.setattr("compsil_airflow.operator.delete_checkpoint", lambda place, log: forgotten.append(place))
        for name, found in (("_parse_parameters", None), ("_load", ("frame", "table")), ("_select", "result")):
            monkeypatch.setattr(SelectKOperator, name, lambda *given, found=found: found)
        operator = SelectKOperator(task_id="t")
        for kept in (None, "c.json"):
            operator._checkpoint = kept
            with pytest.raises(type(error)) if error else nullcontext():
                assert operator._run({}) == 3
        assert forgotten == ([] if ended == "failed" else ["c.json"])

    def test_how_it_looks_and_is_copied(self):
        assert SelectKOperator.template_ext == (".sql",)
        assert SelectKOperator.template_fields_renderers == {"sql": "sql", "op_args": "py", "op_kwargs": "py"}
        assert SelectKOperator.shallow_copy_attrs == ("python_callable", "clusterer", "metric", "transform")
        assert SelectKOperator.ui_color == "#e8f1f8"
        assert [type(link).__name__ for link in SelectKOperator.operator_extra_links] == ["ReportLink"]
        operator = SelectKOperator(task_id="t", data="a.csv")
        assert (operator.op_args, operator.op_kwargs, operator._passed) == ([], {}, {"data": None})
        assert (operator._running, operator._checkpoint, operator._used, operator._written) == (False, None, [], {})
        given = SelectKOperator(task_id="t", op_args=[1], op_kwargs={"a": 2}, sql="SELECT 1")
        assert (given.op_args, given.op_kwargs, given._passed) == ([1], {"a": 2}, {"sql": None})

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"scale": "log"}, "scale must be one of"),
            ({"n_subsamples": "0"}, "n_subsamples must be"),
            ({"min_probability": "2"}, "min_probability must be"),
            ({"fallback_k": 3}, "fallback_k requires min_probability or min_confidence"),
            ({"report_url": "ftp://reports"}, "report_url must"),
            ({"labels_path": "labels.txt"}, "labels_path must end in"),
            ({"labels_keep": ["key"]}, "labels_keep requires labels_path"),
            ({"report_path": "report.txt"}, "report_path must end in"),
            ({"checkpoint": "../c.json", "base_dir": "/data"}, "checkpoint must be inside base_dir"),
            ({"checkpoint": "c.json", "random_state": None}, "checkpoint"),
        ],
    )
    def test_mistakes_are_told_before_anything_is_loaded(self, given, said):
        with pytest.raises(AirflowFailException, match=said):
            SelectKOperator(task_id="t", data="a.csv", **given)._parse_parameters()

    def test_parameters_become_values(self, tmp_path):
        operator = SelectKOperator(
            task_id="t", data="a.csv", ks="2:4", checkpoint=str(tmp_path / "c.json"), min_confidence="0.5",
            labels_path=str(tmp_path / "l.csv"), report_path=str(tmp_path / "r.html"),
        )  # fmt: skip
        operator._parse_parameters()
        assert (tuple(operator.ks), operator._checkpoint) == ((2, 3, 4), tmp_path / "c.json")
        assert (operator._labels_place, operator._report_place) == (tmp_path / "l.csv", tmp_path / "r.html")
        assert operator._thresholds() == {"min_probability": None, "min_confidence": 0.5}

    def test_a_checkpoint_in_a_store_is_not_checked_as_a_file(self, monkeypatch):
        place = object()
        monkeypatch.setattr("compsil_airflow.operator.resolve_checkpoint", lambda checkpoint, base_dir: place)
        operator = SelectKOperator(task_id="t", data="a.csv")
        operator._parse_parameters()
        assert operator._checkpoint is place
        with pytest.raises(AirflowFailException, match="checkpoint needs the same seeds in every run"):
            SelectKOperator(task_id="t", data="a.csv", random_state=None)._parse_parameters()

    @pytest.mark.parametrize(
        ("checkpoint", "seed", "used"),
        [("auto", 42, "own"), ("auto", None, None), (None, 42, None), ("/c.json", 42, Path("/c.json")),
         ("s3://c.json", 42, "mirror")],
    )  # fmt: skip
    def test_where_a_retry_begins(self, frame, monkeypatch, checkpoint, seed, used):
        @contextmanager
        def mirrored(place, log):
            assert place == "s3://c.json"
            yield SimpleNamespace(path="mirror", with_uploads=lambda tell: "told twice")

        asked = []
        own = Path("own")
        monkeypatch.setattr(
            "compsil_airflow.operator.automatic_checkpoint", lambda fingerprint, ti, log: asked.append(ti) or own
        )
        monkeypatch.setattr("compsil_airflow.operator.mirrored", mirrored)
        monkeypatch.setattr("compsil_kit._run.select.run_selection", lambda request, tell: (request.checkpoint, tell))
        operator = SelectKOperator(task_id="t", checkpoint=checkpoint, random_state=seed, ks=[2, 3])
        given = None if checkpoint in (None, "auto") else checkpoint
        operator._checkpoint = given if given is None or "://" in given else Path(given)
        found, tell = operator._select(prepare(frame, columns=["x"]), {"ti": "this one"})
        assert found == (own if used == "own" else used)
        assert (tell == "told twice") == (used == "mirror")
        assert asked == (["this one"] if used == "own" else [])

    def test_keywords_of_the_engine(self):
        found = SelectKOperator(task_id="t", clusterer=len)._keywords(TableKeywords, SelectKeywords)
        assert found.keys() == (defaults_of(TableKeywords) | defaults_of(SelectKeywords)).keys() - {
            "checkpoint", "progress",
        }  # fmt: skip
        assert found["clusterer"] is len

    def test_a_column_to_keep_must_be_there(self, frame):
        operator = SelectKOperator(task_id="t", python_callable=lambda: frame, columns=["x"], labels_keep=["kee"])
        with pytest.raises(AirflowFailException, match="labels_keep: 'kee' is not a column of the data"):
            operator._load({})

    @pytest.mark.parametrize(("columns", "known"), [(["x", 1], {"x", "1", "key"}), ("x", {"key"}), (None, {"key"})])
    def test_names_of_columns_that_the_dag_mentions(self, frame, monkeypatch, columns, known):
        given = []
        monkeypatch.setattr(
            "compsil_airflow.operator.Source", lambda *place: given.append(place) or SimpleNamespace(load=lambda: frame)
        )
        monkeypatch.setattr("compsil_kit.prepare", lambda frame, **keywords: prepare(frame, columns=["x"]))
        operator = SelectKOperator(task_id="t", data="a.csv", columns=columns, labels_keep=["key"])
        loaded, table = operator._load({})
        assert (table.preparation.columns, loaded is frame, operator._used) == (("x",), True, ["x"])
        ((data, *_, passed, mentioned, warn, used),) = given
        assert callable(warn)
        assert (data, passed, mentioned, used) == (
            "a.csv", {"data": None}, known, columns if isinstance(columns, list) else None,
        )  # fmt: skip


class TestSignature:
    def test_keywords_and_defaults_are_those_of_the_engine(self):
        defaults = defaults_of(TableKeywords) | defaults_of(SelectKeywords)
        del defaults["progress"]
        assert {name: OURS[name] for name in defaults} == defaults | OTHER_DEFAULTS
        assert parse_parameter("ks", OURS["ks"]) == defaults["ks"]

    def test_all_but_the_function_are_templates(self):
        assert set(SelectKOperator.template_fields) == set(OURS) - {"self", "python_callable", "kwargs"}

    def test_all_are_documented(self):
        entries = re.findall(r"^    (\*{0,2}\w[\w, \\\n]*?)(?: :.*)?\n        ", SelectKOperator.__doc__, re.MULTILINE)
        documented = [name for entry in entries for name in re.findall(r"\w+", entry)]
        assert set(documented) >= set(OURS) - {"self"}

    def test_every_parameter_is_an_attribute(self):
        given = {
            name: f"text of {name}" for name in SelectKOperator.template_fields if name not in ("op_args", "op_kwargs")
        }
        operator = SelectKOperator(task_id="t", **given)
        assert {name: getattr(operator, name) for name in given} == given
