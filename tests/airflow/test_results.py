"""What a finished selection leaves: labels, reports, XComs, events of assets."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import Asset
from runs import cut, run_select

import compsil_pandas  # noqa: F401  (registers df.compsil)
from compsil_airflow.results import check_labels_keep, kept_columns, write_parts
from compsil_kit.adapters import open_source


class TestLabels:
    @pytest.mark.parametrize(("ending", "read"), [("CSV", pd.read_csv), ("Parquet", pd.read_parquet)])
    def test_are_those_of_the_accessor(self, csv, frame, tmp_path, ending, read):
        frame.assign(x=frame["x"].where(frame.index != 5)).to_csv(csv, index=False)
        path = tmp_path / f"new/labels.{ending}"
        done = run_select(data=str(csv), labels_path=str(path), labels_keep="key", missing="drop")
        labels = read(path)
        expected = pd.read_csv(csv).compsil.cluster(3, columns=["x", "y"], missing="drop")
        assert list(labels.columns) == ["row", "key", "cluster"]
        assert labels["key"].tolist() == frame["key"].tolist()
        assert labels["cluster"].isna().tolist() == [row == 5 for row in range(300)]
        assert labels["cluster"].dropna().astype(int).tolist() == expected.dropna().astype(int).tolist()
        assert done.summary()["files"] == [str(path)]

    def test_have_the_first_seed_of_the_selection(self, csv, tmp_path):
        """Also if random_state=None drew it: the labels can be reproduced from the summary."""
        seen = []

        def record(X, k, seed):
            seen.append((len(X), seed))
            return cut(X, k)

        done = run_select(data=str(csv), random_state=None, clusterer=record, labels_path=str(tmp_path / "l.csv"))
        (final,) = [seed for rows, seed in seen if rows == 300]
        assert final == done.summary()["plan"]["seeds"][0]

    @pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
    def test_in_parts_keep_the_types_of_columns(self, name, tmp_path):
        place = tmp_path / "new" / name
        kept = pa.table({"key": pa.array([7, None, 9]), "word": pa.array(["a", "b,c", None]).dictionary_encode()})
        parts = iter([kept.slice(0, 2), kept.slice(2)])
        written = write_parts(place, [np.array([1, 0]), np.array([1])], lambda: next(parts))
        assert written == (3, place.stat().st_size)
        if name.endswith("csv"):
            assert place.read_text() == 'row,key,word,cluster\n0,7,a,1\n1,,"b,c",0\n2,9,,1\n'
            return
        labels = pq.read_table(place)
        columns = {"row": [0, 1, 2], "key": [7, None, 9], "word": ["a", "b,c", None], "cluster": [1, 0, 1]}
        assert labels.to_pydict() == columns
        assert {str(labels.schema.field(at).type) for at in ("row", "key", "cluster")} == {"int64"}

    def test_of_a_broken_pass_are_not_written(self, tmp_path):
        def broken():
            yield np.array([1, 0])
            raise ValueError("the file has changed")

        with pytest.raises(ValueError, match="has changed"):
            write_parts(tmp_path / "l.parquet", broken())
        assert list(tmp_path.iterdir()) == []


class TestColumnsToKeep:
    @pytest.fixture(params=["frame", "source"])
    def data(self, request, frame):
        return frame if request.param == "frame" else open_source(ds.dataset(pa.Table.from_pandas(frame)))

    @pytest.mark.parametrize(
        ("keep", "message"),
        [
            (["key", "row"], r"^labels_keep must not contain 'row'"),
            (["cluster"], r"^labels_keep must not contain 'cluster'"),
            (["key", "word", "key"], r"^labels_keep must name each column once; it has 'key' more than once\.$"),
            (["key", "kee"], r"^labels_keep: 'kee' is not a column of the data, which has .*key, "),
        ],
    )
    def test_are_validated(self, data, keep, message):
        for valid in (None, [], ["key", "word"]):
            check_labels_keep(valid, data)
        with pytest.raises(ValueError, match=message):
            check_labels_keep(keep, data)

    def test_need_a_source_with_records(self):
        numbers = SimpleNamespace(has_records=False, what="a Dask DataFrame")
        check_labels_keep(None, numbers)
        with pytest.raises(ValueError, match=r"^labels_keep is not supported for a Dask DataFrame\. Leave it out and "):
            check_labels_keep(["key"], numbers)

    def test_are_returned_as_a_frame(self, data, frame):
        pd.testing.assert_frame_equal(kept_columns(data, ["word", "x"]), frame[["word", "x"]], check_dtype=False)
        assert kept_columns(data, []).columns.empty


def test_two_runs_leave_the_same(csv, tmp_path):
    left = []
    for _ in range(2):
        done = run_select(data=str(csv), labels_path=str(tmp_path / "l.parquet"), report_path=str(tmp_path / "r.html"))
        files = [(tmp_path / name).read_bytes() for name in ("l.parquet", "r.html")]
        left.append((done.xcom(), done.summary(), files))
    assert left[0] == left[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.parquet", "r.html", "table.csv"]
    assert files[1].startswith(b"<!doctype html>")
    assert b"secret" not in files[1]


def test_events_of_assets_carry_k(csv):
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
    for name in ("best_k", "selected_k", "fell_back", "score", "probability", "confidence"):
        assert extra[name] == done.summary()[name]
    assert extra["best_k"] == done.xcom() == 3


def test_without_xcom_nothing_is_pushed(csv):
    done = run_select(data=str(csv), do_xcom_push=False, report_url="https://reports.example/x.html")
    assert done.state == "success"
    assert [done.xcom(key) for key in ("return_value", "selection", "report_url")] == [None] * 3


@pytest.mark.airflow3
def test_an_active_mlflow_run_gets_the_selection_and_the_labels(csv, tmp_path, monkeypatch):
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
