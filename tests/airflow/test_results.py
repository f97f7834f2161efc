"""What a finished selection leaves, with a stand-in for the operator: XComs, files, events of assets, the log."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import Asset

from compsil_airflow.compat import AirflowFailException, AirflowSkipException
from compsil_airflow.results import publish
from compsil_kit import prepare, select_k
from compsil_kit._settings.keywords import SelectKeywords, TableKeywords, defaults_of

FACTS = {"best_k", "selected_k", "fell_back", "score", "probability", "confidence"}


@pytest.fixture(scope="module")
def data(frame):
    return frame, prepare(frame, columns=["x", "y"])


@pytest.fixture(scope="module")
def result(data):
    return select_k(data[1], ks=[2, 3], n_subsamples=3)


@pytest.fixture
def logged(monkeypatch):
    """What an active run of MLflow would get."""
    given = []
    monkeypatch.setattr("compsil_airflow.results.log_if_active", lambda result, labels: given.append((result, labels)))
    return given


def keywords_of(settings):
    """The operator's method of that name: the engine's defaults, and as many subsamples as the tests take."""
    few = {"n_subsamples": 1 if settings.get("least") else 3}

    def keywords(*groups):
        known = {name: value for group in groups for name, value in defaults_of(group).items()}
        return {name: few.get(name, value) for name, value in known.items() if name not in ("checkpoint", "progress")}

    return keywords


class Left:
    """What one call leaves behind."""

    def __init__(self, **settings):
        self.said, self.pushed, self.extra = [], {}, {}
        say = {name: self._say(name) for name in ("info", "warning")}
        usual = {
            "log": SimpleNamespace(**say), "_keywords": keywords_of(settings),
            "_thresholds": lambda: {"min_probability": settings.get("least"), "min_confidence": None},
            "fallback_k": None, "on_unsure": None, "_labels_place": None, "_report_place": None, "labels_keep": None,
            "do_xcom_push": True, "report_url": None, "outlets": [],
        }  # fmt: skip
        self.operator = SimpleNamespace(**(usual | settings))
        assets = [outlet for outlet in self.operator.outlets if isinstance(outlet, Asset)]
        events = {asset: SimpleNamespace(extra=self.extra) for asset in assets}
        push = SimpleNamespace(xcom_push=lambda key, value: self.pushed.update({key: value}))
        self.context = {"ti": push, "outlet_events": events}

    def _say(self, level):
        return lambda text, *values: self.said.append((level, text % values))


def test_an_accepted_k(result, logged):
    asset = Asset("test://left")
    left = Left(outlets=["no asset", asset])
    assert publish(left.operator, result, None, left.context) == result.best_k
    summary = left.pushed["selection"]
    assert (summary["best_k"], summary["outcome"], summary["files"]) == (result.best_k, "accepted", [])
    assert summary["settings"].keys() == (defaults_of(TableKeywords) | defaults_of(SelectKeywords)).keys() - {
        "checkpoint", "progress",
    }  # fmt: skip
    assert list(left.pushed) == ["selection"]
    assert left.extra == {name: summary[name] for name in FACTS}
    assert left.operator._facts == {name: summary[name] for name in FACTS | {"outcome"}}
    assert left.operator._written == {}
    assert left.said == [("info", result.explain())]
    assert logged == [(result, None)]


def test_the_address_of_the_report_is_pushed_and_nothing_without_xcoms(result, logged):
    left = Left(report_url="https://reports/1")
    publish(left.operator, result, None, left.context)
    assert left.pushed["report_url"] == "https://reports/1"
    left = Left(report_url="https://reports/1", do_xcom_push=False)
    assert publish(left.operator, result, None, left.context) == result.best_k
    assert left.pushed == {}


def test_files_are_written_and_counted(data, result, logged, tmp_path):
    places = {"_labels_place": tmp_path / "l.csv", "_report_place": tmp_path / "r.html"}
    left = Left(labels_keep=["key"], **places)
    publish(left.operator, result, data, left.context)
    labels, report = (str(path) for path in places.values())
    assert left.pushed["selection"]["files"] == [labels, report]
    sizes = {str(path): path.stat().st_size for path in places.values()}
    assert left.operator._written == {
        labels: {"rowCount": 300, "size": sizes[labels]}, report: {"size": sizes[report]},
    }  # fmt: skip
    assert left.said[1:] == [("info", f"Labels of 300 rows: {labels}"), ("info", f"Report: {report}")]
    written = pd.read_csv(labels)
    assert list(written) == ["row", "key", "cluster"]
    pd.testing.assert_frame_equal(logged[0][1], written, check_dtype=False)


def test_labels_are_those_of_the_first_seed_of_the_selection(data, result, logged, monkeypatch, tmp_path):
    given = []

    def label_rows(table, k, **keywords):
        given.append((table, k, keywords))
        return [np.zeros(len(table.kept), dtype=int)]

    monkeypatch.setattr("compsil_kit._run.refit.label_rows", label_rows)
    left = Left(_labels_place=tmp_path / "l.csv")
    publish(left.operator, result, data, left.context)
    ((table, k, keywords),) = given
    assert (table is data[1], k) == (True, result.best_k)
    assert keywords["random_state"] == result.plan.seeds


@pytest.mark.parametrize(
    ("settings", "error", "outcome"),
    [
        ({}, AirflowFailException, "failed"),
        ({"on_unsure": "skip"}, AirflowSkipException, "skipped"),
        ({"fallback_k": 2}, None, "fallback"),
    ],
)
def test_a_k_that_is_not_accepted(data, logged, tmp_path, settings, error, outcome):
    """Its summary and its report are there, its labels and its event only if there is another k."""
    unsure = select_k(data[1], ks=[2, 3], n_subsamples=1)
    asset = Asset("test://left")
    places = {"_labels_place": tmp_path / "l.csv", "_report_place": tmp_path / "r.html"}
    left = Left(least=0.5, outlets=[asset], **places, **settings)
    if error:
        with pytest.raises(error):
            publish(left.operator, unsure, data, left.context)
    else:
        assert publish(left.operator, unsure, data, left.context) == 2
    assert left.pushed["selection"]["outcome"] == outcome
    assert (tmp_path / "r.html").exists()
    assert (tmp_path / "l.csv").exists() is bool(left.extra) is (error is None)
    assert [level for level, _ in left.said][:2] == ["info", "warning"]
    assert len(logged) == 1


def test_batches_that_are_put_together_have_no_rows_to_label(result, logged, tmp_path):
    left = Left(_labels_place=tmp_path / "l.csv")
    publish(left.operator, result, None, left.context)
    assert left.pushed["selection"]["files"] == []
