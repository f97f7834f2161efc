"""A selection in a real file store of MLflow."""

import json
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import KEYWORDS, half

from compsil_kit import SelectionResult, select_k
from compsil_kit.config import SelectionConfig, settings_of
from compsil_mlflow import log_if_active, log_mlflow

LABELS = pd.DataFrame({"row": [0, 1], "cluster": [1, 0]}, index=[5, 6])


def test_every_setting_is_a_parameter(table, mlflow_run):
    """A new setting of the engine cannot be forgotten."""
    settings = {
        "criterion": "micro", "transform": half, "rule": "lcb", "z": 0.5, "n_calibration": 2, "on_failure": "skip",
        "n_jobs": 2, "random_state": 7,
    }  # fmt: skip
    result = select_k(table, **KEYWORDS, **settings)
    log_mlflow(result)
    params = mlflow_run()[1].data.params
    expected = {
        **result.settings, **settings, "ks": "2..4", "transform": "half", "n_rows": 300, "n_features": 2,
        "first_seed": result.plan.seeds[0], "scale": "standard",
    }  # fmt: skip
    assert params == {f"compsil_{name}": str(value) for name, value in expected.items()}
    assert expected.keys() >= settings_of(SelectionConfig).keys()


def test_metrics_and_artifacts(whole, mlflow_run, tmp_path):
    run_id = log_if_active(whole, LABELS)
    client, run = mlflow_run()
    assert run.info.run_id == run_id
    assert run.data.metrics["best_k"] == 3
    assert run.data.metrics["best_score"] == pytest.approx(whole.best_score)
    assert run.data.metrics["probability"] == pytest.approx(whole.curve["probability"][3])
    curve = client.get_metric_history(run_id, "curve_score")
    assert {point.step: point.value for point in curve} == pytest.approx(dict(zip(whole.ks, whole.scores, strict=True)))
    folder = Path(client.download_artifacts(run_id, "compsil", str(tmp_path)))
    assert {file.name for file in folder.iterdir()} == {"curve.png", "labels.csv", "report.html", "selection.json"}
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    assert SelectionResult.from_dict(json.loads((folder / "selection.json").read_text())).best_k == 3
    assert (folder / "labels.csv").read_text() == "row,cluster\n0,1\n1,0\n"


def test_unknown_numbers_are_left_out(table, mlflow_run):
    """With a single subsample there is neither a standard error nor a probability; an array has no preparation."""
    assert log_if_active(select_k(table.matrix, **(KEYWORDS | {"n_subsamples": 1}))) is not None
    client, run = mlflow_run()
    assert "best_k" in run.data.metrics
    assert not {"curve_sem", "probability"} & set(run.data.metrics)
    assert run.data.params["compsil_scale"] == "None"
    assert "compsil/labels.csv" not in {file.path for file in client.list_artifacts(run.info.run_id, "compsil")}


def test_without_an_active_run_nothing_is_logged(whole):
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
