"""The operator as Airflow runs it: its signature, what it computes, pushes and logs."""

import importlib
import inspect
import re
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from runs import run_select, select

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowSkipException
from compsil_kit.config import SelectionConfig, TableConfig, settings_of

PARAMETERS = inspect.signature(SelectKOperator.__init__).parameters
# A worker is shared, so one job; ks is text, which Airflow can show.
OTHER_DEFAULTS = {"n_jobs": 1, "ks": "2:10"}


class TestSignature:
    def test_defaults_are_those_of_the_engine(self):
        defaults = {name: each.default for name, each in settings_of(TableConfig, SelectionConfig).items()}
        assert {name: PARAMETERS[name].default for name in defaults} == defaults | OTHER_DEFAULTS
        operator = SelectKOperator(task_id="t", data="a.csv")
        operator._parse_parameters()
        assert (operator._selection, operator._table) == (SelectionConfig(n_jobs=1), TableConfig())

    def test_all_are_documented_templates(self):
        assert set(SelectKOperator.template_fields) == set(PARAMETERS) - {"self", "python_callable", "kwargs"}
        entries = re.findall(r"^    (\*{0,2}\w[\w, \\\n]*?)(?: :.*)?\n        ", SelectKOperator.__doc__, re.MULTILINE)
        documented = [name for entry in entries for name in re.findall(r"\w+", entry)]
        assert set(documented) >= set(PARAMETERS) - {"self"}


def test_the_result_equals_that_of_the_accessor(csv, frame):
    settings = {"criterion": "stable", "scale": "robust", "n_calibration": 2, "z": 0.5, "rule": "lcb"}
    done = run_select(data=str(csv), **settings)
    expected = frame.compsil.select_k(["x", "y"], ks=[2, 3, 4], n_subsamples=4, **settings)
    summary = done.summary()
    assert done.xcom() == expected.best_k == 3
    assert type(done.xcom()) is int
    for name in ("score", "sem", "lcb"):
        assert [row[name] for row in summary["curve"]] == expected.curve[name].tolist()
    assert (summary["columns"], summary["scale"], summary["plan"]["n_starts"]) == (["x", "y"], "robust", 5)


def test_templates_and_text(csv):
    text = {
        "data": "{{ params.folder }}/table.csv", "ks": "{{ params.ks }}", "clusterer": "{{ params.method }}",
        "columns": "x, y", "n_subsamples": "3", "sample_size": "0.5", "z": "2", "n_jobs": "", "random_state": "7",
        "scale": "None", "min_probability": "0",
    }  # fmt: skip
    params = {"folder": str(csv.parent), "ks": [2, 3], "method": "bisecting-kmeans"}
    summary = run_select(params=params, **text).summary()
    assert [row["k"] for row in summary["curve"]] == [2, 3]
    assert summary["scale"] is None
    plan = {"n_subsamples": 3, "sample_size": 150, "z": 2.0, "clusterer": "bisecting-kmeans"}
    assert {name: summary["plan"][name] for name in plan} == plan
    assert (summary["settings"]["n_jobs"], summary["settings"]["random_state"]) == (None, 7)


def test_data_are_prepared_and_digested_once(csv, tmp_path, monkeypatch):
    calls = []
    for target, name in (("compsil_kit._data.table", "to_matrix"), ("compsil_kit._data.dataset", "content_digest")):
        counted = Mock(wraps=getattr(importlib.import_module(target), name))
        monkeypatch.setattr(f"{target}.{name}", counted)
        calls.append(counted)
    assert run_select(data=str(csv), labels_path=str(tmp_path / "l.csv")).state == "success"
    assert [counted.call_count for counted in calls] == [1, 1]


def test_the_log_describes_the_run_without_cells(csv, log, monkeypatch):
    monkeypatch.setattr("compsil_airflow.checkpoints.PROGRESS_SECONDS", 0.0)
    run_select(data=str(csv))
    text = log()
    assert "Data: 300 rows; columns x, y; scale standard" in text
    assert "4 subsamples of 240 of 300 rows" in text
    assert all(f"{done} of 4 subsamples finished" in text for done in (1, 2, 3, 4))
    assert "has the best composite silhouette" in text
    assert "secret" not in text


def test_a_kill_interrupts_only_while_the_task_works(monkeypatch):
    operator = SelectKOperator(task_id="t")

    def work(self, context):
        with pytest.raises(KeyboardInterrupt):
            self.on_kill()
        # Once is enough.
        self.on_kill()
        return context

    operator.on_kill()
    assert operator._resume_note() == "There is no checkpoint: the next attempt starts from the beginning."
    monkeypatch.setattr(SelectKOperator, "_run", work)
    assert operator.execute({"a": 1}) == {"a": 1}
    operator.on_kill()


@pytest.mark.parametrize("error", [None, AirflowSkipException(), OSError("full")], ids=str)
def test_a_checkpoint_is_deleted_when_nothing_is_left_to_do(csv, tmp_path, monkeypatch, error):
    monkeypatch.setattr("compsil_airflow.operator.publish", Mock(side_effect=error, return_value=3))
    checkpoint = tmp_path / "c.json"
    operator = select(data=str(csv), checkpoint=str(checkpoint))
    with pytest.raises(type(error)) if error else nullcontext():
        assert operator._run({}) == 3
    assert checkpoint.exists() is isinstance(error, OSError)
    assert operator._resume_note().endswith("in the checkpoint: the next attempt resumes from it.")
