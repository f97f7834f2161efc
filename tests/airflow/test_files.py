"""Labels and reports."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import run_select

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow import SelectKOperator
from compsil_airflow.compat import AirflowFailException
from compsil_airflow.results import write_frame, write_parts
from compsil_airflow.storage import LABELS_ENDINGS, REPORT_ENDINGS, check_apart, resolve_output


@pytest.mark.parametrize("name", ["l.csv", "L.CSV", "l.parquet", "L.Parquet"])
def test_the_ending_tells_the_format(name, tmp_path):
    place = resolve_output("labels_path", name, LABELS_ENDINGS, tmp_path)
    labels = pd.DataFrame({"row": [0, 1], "cluster": [1, 0]}, index=[7, 8])
    assert write_frame(place, labels) == (tmp_path / name).stat().st_size
    read = pd.read_csv if name.lower().endswith("csv") else pd.read_parquet
    pd.testing.assert_frame_equal(read(place), labels.reset_index(drop=True))


def test_places_of_files(tmp_path):
    assert resolve_output("labels_path", None, LABELS_ENDINGS, tmp_path) is None
    assert resolve_output("labels_path", "l.csv", LABELS_ENDINGS, tmp_path) == tmp_path / "l.csv"
    for name in ("r.html", "r.HTM"):
        assert resolve_output("report_path", name, REPORT_ENDINGS, tmp_path).name == name
    with pytest.raises(ValueError, match=r"^report_path must end in \.html or \.htm; got 'r\.csv'\.$"):
        resolve_output("report_path", "r.csv", REPORT_ENDINGS, tmp_path)


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


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_labels_in_parts(name, tmp_path):
    place = tmp_path / "new" / name
    parts = [np.array([2, 0]), np.array([1]), np.array([0, 0, 2])]
    n_rows, size = write_parts(place, parts)
    assert (n_rows, size) == (6, place.stat().st_size)
    labels = pd.read_csv(place) if name.endswith("csv") else pd.read_parquet(place)
    expected = pd.DataFrame({"row": range(6), "cluster": [2, 0, 1, 0, 0, 2]})
    pd.testing.assert_frame_equal(labels, expected)


def test_a_pass_that_breaks_off_leaves_no_labels(tmp_path):
    def broken():
        yield np.array([1, 0])
        raise ValueError("the file has changed")

    with pytest.raises(ValueError, match="has changed"):
        write_parts(tmp_path / "l.parquet", broken())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_columns_keep_their_types_in_parts(name, tmp_path):
    kept = pa.table({"key": pa.array([7, None, 9]), "word": pa.array(["a", "b,c", None]).dictionary_encode()})
    parts = iter([kept.slice(0, 2), kept.slice(2)])
    write_parts(tmp_path / name, [np.array([1, 0]), np.array([1])], lambda: next(parts))
    if name.endswith("csv"):
        assert (tmp_path / name).read_text() == 'row,key,word,cluster\n0,7,a,1\n1,,"b,c",0\n2,9,,1\n'
        return
    labels = pq.read_table(tmp_path / name)
    assert labels.column_names == ["row", "key", "word", "cluster"]
    assert labels["key"].to_pylist() == [7, None, 9]
    assert labels["word"].to_pylist() == ["a", "b,c", None]
    assert {str(labels.schema.field(at).type) for at in ("row", "key", "cluster")} == {"int64"}


@pytest.mark.parametrize(
    ("data", "written", "apart"),
    [
        ("/d/t", "/d/t/labels.parquet", False),
        ("/d/t/", "/d/t/deep/labels.csv", False),
        ("/d/t", "/d/tables/labels.csv", True),
        ("/", "/d/labels.csv", True),
        ("/d/t.csv", "/d/t.csv", False),
        ("/d/*.parquet", "/d/labels.parquet", False),
        ("/d/*.parquet", "/d/labels.csv", True),
        ("/d/*.parquet", "/d/out/labels.parquet", True),
        ("/d/**/*.parquet", "/d/out/labels.parquet", False),
        ("s3://conn@bucket/t", "s3://bucket/t/labels.parquet", False),
        ("s3://bucket/t/*.parquet", "s3://other@bucket/t/l.parquet", False),
        ("s3://bucket/t", "s3://elsewhere/t/l.parquet", True),
        ("s3://bucket/t", "/bucket/t/l.parquet", True),
        (None, "/d/labels.csv", True),
    ],
)
def test_nothing_is_written_among_the_data(data, written, apart):
    place = written if "://" in written else Path(written)
    check_apart(data, {"report_path": None}, None)
    if apart:
        check_apart(data, {"labels_path": place}, None)
        return
    with pytest.raises(ValueError, match=rf"^labels_path must not be among the files that data names.*{written}"):
        check_apart(data, {"labels_path": place}, None)


def test_a_task_that_would_write_among_its_data_is_refused(tmp_path):
    operator = SelectKOperator(task_id="t", data=str(tmp_path), labels_path=str(tmp_path / "l.parquet"))
    with pytest.raises(AirflowFailException, match="labels_path must not be among the files that data names"):
        operator._parse_parameters()
