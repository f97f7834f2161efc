"""What one attempt leaves for the next."""

import errno
import json
import logging
import os
import shutil
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from runs import run_select

from compsil_airflow.checkpoints import Mirror, automatic_checkpoint, delete_checkpoint
from compsil_kit import select_k


def test_a_copy_is_sent_every_five_seconds_if_it_has_changed(tmp_path, monkeypatch):
    now, told, sent = [0.0], [], []
    monkeypatch.setattr("compsil_airflow.checkpoints.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("compsil_airflow.checkpoints.write", lambda place, content: sent.append((now[0], content)))
    mirror = Mirror(tmp_path / "copy.json", "s3://bucket/c.json", None, _last=0.0)
    tell = mirror.with_uploads(lambda done, total: told.append(done))
    # There is no file at first, and it is the same at 20.
    for done, (now[0], content) in enumerate([(5.0, b""), (9.9, b"a"), (10.0, b"b"), (14.9, b"c"), (20.0, b"b")]):
        if content:
            mirror.path.write_bytes(content)
        tell(done, 5)
    assert told == [0, 1, 2, 3, 4]
    assert sent == [(10.0, b"b")]


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
    assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in printed.out + printed.err
    # Three ks each, once; the second one's labels once more, for the third to agree with; what that had begun is lost.
    assert [seen.count(seed) for seed in list(dict.fromkeys(seen))[:2]] == [3, 6]
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


def test_every_task_instance_has_a_file_of_its_own(home):
    """What differs in its DAG, its run, its task or its place among mapped tasks leaves the others' files alone."""
    instance = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": 0}
    request, log = SimpleNamespace(fingerprint={"data": "x"}), logging.getLogger()
    paths = []
    for change in ({}, {"dag_id": "d2"}, {"run_id": "r2"}, {"task_id": "t2"}, {"map_index": 1}):
        paths.append(automatic_checkpoint(request.fingerprint, SimpleNamespace(**{**instance, **change}), log))
        paths[-1].write_text("{}")
    assert len(set(paths)) == 5
    assert all(path.exists() and path.is_relative_to(home) for path in paths)
    for path in paths:
        path.unlink()


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


def test_fresh_seeds_and_a_checkpoint_of_ones_own_are_refused(csv, tmp_path, capfd):
    done = run_select(data=str(csv), random_state=None, checkpoint=str(tmp_path / "own.json"))
    assert done.state == "failed"
    printed = capfd.readouterr()
    assert "checkpoint needs the same seeds in every run" in printed.out + printed.err


def test_a_checkpoint_of_ones_own_is_used_and_removed(csv, tmp_path):
    place = tmp_path / "new" / "own.json"
    kept = []

    def look(X, k, seed):
        kept.append(place.exists())
        return np.arange(len(X)) % k

    assert run_select(data=str(csv), checkpoint=str(place), clusterer=look, n_subsamples=30).state == "success"
    assert place.parent.is_dir()
    assert not place.exists()


class TestNoPlaceForIt:
    @pytest.fixture
    def blocked(self, home):
        """A file where the folder of the checkpoints should be; root may write to a folder that is read-only."""
        folder = home / "compsil-checkpoints"
        shutil.rmtree(folder, ignore_errors=True)
        folder.write_text("")
        yield folder
        folder.unlink()

    def test_nobody_asked_for_one(self, csv, blocked, capfd):
        done = run_select(data=str(csv))
        assert (done.state, done.task().try_number) == ("success", 1)
        printed = capfd.readouterr()
        log = printed.out + printed.err
        assert "No checkpoint is kept, so a retry starts from the beginning: " in log
        assert str(blocked) in log

    def test_a_full_disk(self, csv, monkeypatch, capfd):
        def full(*args, **kwargs):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("compsil_airflow.storage.tempfile.TemporaryFile", full)
        assert run_select(data=str(csv)).state == "success"
        printed = capfd.readouterr()
        assert "checkpoint cannot be written: No space left on device: " in printed.out + printed.err

    def test_one_of_ones_own_is_named_and_tried_again(self, csv, tmp_path, capfd):
        (tmp_path / "file").write_text("")
        place = tmp_path / "file" / "own.json"
        done = run_select(data=str(csv), checkpoint=str(place), retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)
        printed = capfd.readouterr()
        assert f"checkpoint cannot be written: Not a directory: '{place}'" in printed.out + printed.err

    def test_one_that_cannot_be_deleted(self, tmp_path):
        log = []
        (tmp_path / "own.json").mkdir()
        delete_checkpoint(tmp_path / "own.json", SimpleNamespace(warning=lambda text, error: log.append(text % error)))
        assert log[0].startswith("The checkpoint could not be deleted: ")


@pytest.mark.airflow3
class TestObjectStore:
    PLACE = "s3://compsil_test_s3@data/kept/own.json"

    def kept(self, bucket):
        found = bucket.list_objects_v2(Bucket="data", Prefix="kept/").get("Contents", [])
        return [json.loads(bucket.get_object(Bucket="data", Key=entry["Key"])["Body"].read()) for entry in found]

    def test_another_machine_continues(self, csv, bucket, capfd):
        """Nothing but the object is left of the first attempt."""
        seen = []

        def fragile(X, k, seed):
            seen.append(seed)
            if len(seen) == 7:
                raise MemoryError
            return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

        def look(context):
            seen.append([len(data["trials"]) for data in self.kept(bucket)])

        done = run_select(
            data=str(csv), clusterer=fragile, checkpoint=self.PLACE, retries=1, retry_delay=timedelta(0),
            on_retry_callback=look,
        )  # fmt: skip
        assert (done.state, done.task().try_number) == ("success", 2)
        assert [2] in seen
        printed = capfd.readouterr()
        assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in printed.out + printed.err
        assert self.kept(bucket) == []

    def test_it_is_sent_while_the_task_runs(self, csv, bucket, monkeypatch):
        """A worker that is killed has no end of an attempt."""
        monkeypatch.setattr("compsil_airflow.checkpoints.UPLOAD_SECONDS", 0.0)
        # Otherwise the file waits for a second, and a quick run is over by then.
        monkeypatch.setattr("compsil_kit._run.checkpoint.PAUSE_SECONDS", 0.0)
        monkeypatch.setattr("compsil_kit._run.checkpoint.PAUSE_SHARE", 0)
        seen = [0]

        def looking(X, k, seed):
            if seen[-1] < 2:
                # More subsamples than are finished before the next one is sent.
                seen.extend(len(data["trials"]) for data in self.kept(bucket))
            return np.arange(len(X)) % k

        assert run_select(data=str(csv), clusterer=looking, n_subsamples=300, checkpoint=self.PLACE).state == "success"
        assert seen[-1] >= 2

    def test_a_store_that_is_away_is_tried_again(self, csv, monkeypatch):
        extra = {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": {"retries": {"max_attempts": 0}}}
        connection = {"conn_type": "aws", "login": "tester", "password": "tester", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_COMPSIL_TEST_AWAY_S3", json.dumps(connection))
        place = "s3://compsil_test_away_s3@data/own.json"
        done = run_select(data=str(csv), checkpoint=place, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 2)
