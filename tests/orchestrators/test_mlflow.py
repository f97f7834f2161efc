"""A selection in a real file store of MLflow."""

import json
import subprocess
import sys
from unittest.mock import Mock

import mlflow
import pandas as pd
import pytest
from conftest import KEYWORDS

from compsil_kit import SelectionResult, select_k
from compsil_mlflow import _finite, _log_artifacts, log_if_active, log_mlflow


def test_everything_is_logged(whole, mlflow_run, tmp_path):
    labels = pd.DataFrame({"row": [0, 1], "cluster": [1, 0]})
    run_id = log_mlflow(whole, labels)
    client, run = mlflow_run()
    assert run.info.run_id == run_id
    assert run.data.params == {
        "compsil_n_rows": "300", "compsil_n_features": "2", "compsil_ks": "2..4", "compsil_n_subsamples": "6",
        "compsil_n_calibration": "0", "compsil_sample_size": "240", "compsil_clusterer": "kmeans",
        "compsil_metric": "euclidean", "compsil_n_starts": "1", "compsil_structure": "False",
        "compsil_first_seed": str(whole.plan.seeds[0]), "compsil_rule": "max", "compsil_scale": "standard",
    }  # fmt: skip
    assert run.data.metrics["best_k"] == 3
    assert run.data.metrics["best_score"] == pytest.approx(whole.best_score)
    assert run.data.metrics["probability"] == pytest.approx(whole.selection_probability[whole._best_index])
    curve = client.get_metric_history(run_id, "curve_score")
    assert {point.step: point.value for point in curve} == pytest.approx(dict(zip(whole.ks, whole.scores, strict=True)))
    names = {file.path for file in client.list_artifacts(run_id, "compsil")}
    assert names == {f"compsil/{name}" for name in ("curve.png", "labels.csv", "report.html", "selection.json")}
    folder = client.download_artifacts(run_id, "compsil", str(tmp_path))
    with open(f"{folder}/curve.png", "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    with open(f"{folder}/selection.json") as file:
        assert SelectionResult.from_dict(json.load(file)).best_k == 3
    pd.testing.assert_frame_equal(pd.read_csv(f"{folder}/labels.csv"), labels)


def test_what_is_unknown_is_left_out(table, mlflow_run):
    """With a single subsample there is neither a standard error nor a probability; an array has no preparation."""
    log_mlflow(select_k(table.matrix, **(KEYWORDS | {"n_subsamples": 1})))
    client, run = mlflow_run()
    assert "best_k" in run.data.metrics
    assert "labels.csv" not in {
        file.path.rpartition("/")[2] for file in client.list_artifacts(run.info.run_id, "compsil")
    }
    assert not {"curve_sem", "probability"} & set(run.data.metrics)
    assert run.data.params["compsil_scale"] == "None"


def test_without_a_run_nothing_happens(whole):
    assert mlflow.active_run() is None
    assert log_if_active(whole) is None
    assert mlflow.active_run() is None


def test_without_a_run_mlflow_is_not_imported():
    code = (
        "import sys, numpy as np; from compsil_kit import select_k; from compsil_mlflow import log_if_active\n"
        "log_if_active(select_k(np.random.default_rng(0).normal(size=(50, 2)), ks=[2, 3], n_subsamples=2))\n"
        "assert 'mlflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_active_run_gets_the_labels_too(whole, mlflow_run):
    labels = pd.DataFrame({"row": [0, 1], "cluster": [1, 0]})
    run_id = log_if_active(whole, labels)
    client, run = mlflow_run()
    assert run.info.run_id == run_id
    assert "compsil/labels.csv" in {file.path for file in client.list_artifacts(run_id, "compsil")}


def test_only_numbers_that_are_known():
    given = {"a": 2, "b": 0.5, "c": float("nan"), "d": float("inf"), "e": -float("inf")}
    assert _finite(given) == {"a": 2.0, "b": 0.5}
    assert all(type(value) is float for value in _finite(given).values())


@pytest.mark.parametrize("labels", [None, pd.DataFrame({"cluster": [1, 0]}, index=[5, 6])])
def test_what_becomes_a_file(whole, labels):
    store = Mock()
    _log_artifacts(store, whole, labels)
    ((figure, name),) = (call.args for call in store.log_figure.call_args_list)
    assert (tuple(figure.get_size_inches()), name) == ((7, 4), "compsil/curve.png")
    assert figure.get_layout_engine() is not None
    assert [axes.get_xlabel() for axes in figure.axes] == ["number of clusters k"]
    texts = {call.args[1]: call.args[0] for call in store.log_text.call_args_list}
    assert texts.pop("compsil/report.html").startswith("<!doctype html>")
    assert texts == ({} if labels is None else {"compsil/labels.csv": "cluster\n1\n0\n"})
    store.log_dict.assert_called_once_with(whole.to_dict(), "compsil/selection.json")
