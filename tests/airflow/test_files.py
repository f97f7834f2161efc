"""Labels and reports."""

import pandas as pd
import pytest
from runs import run_select

import compsil_pandas  # noqa: F401  (registers df.compsil)


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


def test_labels_have_the_seeds_of_the_selection(csv, tmp_path, monkeypatch):
    """Also where random_state=None drew them: then they can be repeated from the summary."""
    seen = []

    def record(X, k, seed):
        seen.append((len(X), seed))
        return [row % k for row in range(len(X))]

    done = run_select(data=str(csv), random_state=None, clusterer=record, labels_path=str(tmp_path / "l.csv"))
    (final,) = [seed for rows, seed in seen if rows == 300]
    assert final == done.xcom("selection")["plan"]["seeds"][0]


@pytest.mark.parametrize("name", ["row", "cluster"])
def test_columns_to_keep_must_not_have_the_name_of_a_label(csv, name, tmp_path, capfd):
    assert run_select(data=str(csv), labels_path=str(tmp_path / "l.csv"), labels_keep=[name]).state == "failed"
    printed = capfd.readouterr()
    assert f"labels_keep must not contain '{name}'" in printed.out + printed.err


@pytest.mark.airflow3
def test_an_active_run_of_mlflow_gets_everything(csv, tmp_path, monkeypatch):
    """In a real file store."""
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri() + "/mlruns")
    with mlflow.start_run() as run:
        assert run_select(data=str(csv), labels_path=str(tmp_path / "l.csv")).state == "success"
    client = mlflow.MlflowClient()
    assert client.get_run(run.info.run_id).data.metrics["best_k"] == 3
    labels = client.download_artifacts(run.info.run_id, "compsil/labels.csv", str(tmp_path))
    assert pd.read_csv(labels)["cluster"].nunique() == 3
