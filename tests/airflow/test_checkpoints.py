"""What one attempt leaves for the next: after errors, signals, timeouts, on disks and in object stores."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from runs import run_select
from servers import PATIENCE, wait_for

from compsil_airflow.checkpoints import LogProgress, Mirror, automatic_checkpoint, delete_checkpoint
from compsil_kit import select_k

RETRY = {"retries": 1, "retry_delay": timedelta(0)}


def cut(X, k):
    """Cluster along the first column."""
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))


@pytest.fixture
def fragile():
    """A clusterer that fails once, in the third subsample of three ks; ``seeds`` lists its calls."""

    def cluster(X, k, seed):
        cluster.seeds.append(seed)
        if len(cluster.seeds) == 7:
            raise MemoryError
        return cut(X, k)

    cluster.seeds = []
    return cluster


def test_a_retry_resumes_from_the_checkpoint(csv, home, fragile, log):
    done = run_select(data=str(csv), clusterer=fragile, **RETRY)
    assert (done.state, done.task().try_number) == ("success", 2)
    assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in log()
    # Three ks each, once; the second one again, because the third is compared with it.
    assert [fragile.seeds.count(seed) for seed in list(dict.fromkeys(fragile.seeds))[:2]] == [3, 6]
    assert list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir()) == []
    whole = run_select(data=str(csv), clusterer=fragile)
    assert whole.task().try_number == 1
    assert whole.xcom("selection") == done.xcom("selection")


def test_other_data_discard_the_checkpoint(csv, frame, fragile, log):
    def change(context):
        frame.iloc[10:].to_csv(csv, index=False)

    done = run_select(data=str(csv), clusterer=fragile, on_retry_callback=change, **RETRY)
    assert done.state == "success"
    assert "changed since the last attempt" in log()
    assert done.xcom("selection")["plan"]["n_rows"] == 290


def test_every_task_instance_has_its_own_file(home):
    instance = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": 0}
    paths = []
    for change in ({}, {"dag_id": "d2"}, {"run_id": "r2"}, {"task_id": "t2"}, {"map_index": 1}):
        paths.append(automatic_checkpoint({"data": "x"}, SimpleNamespace(**instance | change), logging.getLogger()))
        paths[-1].write_text("{}")
    assert len(set(paths)) == 5
    assert all(path.exists() and path.is_relative_to(home) for path in paths)
    for path in paths:
        path.unlink()


class TestNamedFile:
    def test_is_used_and_deleted(self, csv, tmp_path):
        place = tmp_path / "new" / "own.json"
        found = []

        def look(X, k, seed):
            found.append(place.exists())
            return np.arange(len(X)) % k

        assert run_select(data=str(csv), checkpoint=str(place), clusterer=look, n_subsamples=30).state == "success"
        assert found[-1]
        assert place.parent.is_dir()
        assert not place.exists()

    def test_of_another_selection_is_refused(self, csv, tmp_path, frame, log):
        place = tmp_path / "own.json"
        select_k(frame[["x", "y"]].to_numpy() + 1.0, ks=[2, 3, 4], n_subsamples=4, checkpoint=place)
        done = run_select(data=str(csv), checkpoint=str(place), **RETRY)
        assert (done.state, done.task().try_number) == ("failed", 1)
        assert "belongs to another selection" in log()
        assert place.exists()

    def test_that_cannot_be_deleted(self, tmp_path):
        warnings = []
        logger = SimpleNamespace(warning=lambda text, error: warnings.append(text % error))
        delete_checkpoint(tmp_path, logger)
        assert warnings[0].startswith("The checkpoint could not be deleted: ")
        delete_checkpoint(tmp_path / "missing.json", logger)
        assert len(warnings) == 1

    def test_needs_seeds_that_repeat(self, csv, tmp_path, log):
        assert run_select(data=str(csv), random_state=None).state == "success"
        assert run_select(data=str(csv), random_state=None, checkpoint=str(tmp_path / "own.json")).state == "failed"
        assert "checkpoint needs the same seeds in every run" in log()


def test_a_home_that_is_not_writable_costs_only_the_checkpoint(csv, home, log):
    # A file in the place of the folder: root may write to read-only folders.
    folder = home / "compsil-checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("")
    done = run_select(data=str(csv))
    folder.unlink()
    assert (done.state, done.task().try_number) == ("success", 1)
    text = log()
    assert "No checkpoint is kept, so a retry starts from the beginning: " in text
    assert str(folder) in text


SCRIPT = """
import itertools, threading
from pathlib import Path
import numpy as np
from airflow.providers.common.compat.sdk import DAG
from compsil_airflow import SelectKOperator

calls = itertools.count()

def slow(X, k, seed):
    # Block after three subsamples of three ks, until a file appears.
    if next(calls) >= 9 and not Path({go_on!r}).exists():
        threading.Event().wait()
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

with DAG("{dag_id}", schedule=None) as dag:
    SelectKOperator(task_id="select_k", data={data!r}, columns=["x", "y"], ks=[2, 3, 4], n_subsamples=8,
                    clusterer=slow, retries=1, retry_delay=0.0)

if __name__ == "__main__":
    print("ended as", dag.test().state, flush=True)
"""


def n_trials(files):
    """The number of subsamples in the only checkpoint."""
    found = list(files)
    return len(json.loads(found[0].read_bytes())["trials"]) if found else 0


class TestStops:
    @pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_stops_and_the_next_attempt_resumes(self, sent, csv, home, tmp_path):
        dag_id = f"killed_{sent.name}"
        script, go_on = home / "dags" / f"{dag_id}.py", tmp_path / "go-on"
        script.write_text(SCRIPT.format(dag_id=dag_id, data=str(csv), go_on=str(go_on)))
        folder = home / "compsil-checkpoints" / dag_id
        try:
            with (tmp_path / "log.txt").open("w") as output:
                process = subprocess.Popen([sys.executable, str(script)], stdout=output, stderr=subprocess.STDOUT)
                try:
                    wait_for("subsamples", lambda: n_trials(folder.glob("*.json")) >= 2, 0.05, processes=[process])
                    go_on.touch()
                    process.send_signal(sent)
                    assert process.wait(PATIENCE) == 0
                finally:
                    process.kill()
        finally:
            script.unlink()
        log = (tmp_path / "log.txt").read_text()
        assert "of 8 subsamples. Finished subsamples are in the checkpoint: the next attempt resumes from it." in log
        assert 2 <= int(log.partition("Resuming: ")[2].partition(" of 8 subsamples")[0]) < 8
        assert "ended as success" in log

    # On Airflow 2 dag.test() itself ends with a timeout, and has no second attempt.
    @pytest.mark.airflow3
    def test_a_timeout_keeps_finished_subsamples(self, csv, tmp_path, log):
        calls, over, checkpoint = [], threading.Event(), tmp_path / "kept.json"

        def stuck_at_first(X, k, seed):
            calls.append(k)
            if len(calls) == 7:
                # Once two subsamples of three ks are in the checkpoint, trigger Airflow's alarm.
                wait_for("both", lambda: n_trials([checkpoint]) == 2, pause=0.05)
                os.kill(os.getpid(), signal.SIGALRM)
                assert over.wait(PATIENCE)
            return cut(X, k)

        try:
            done = run_select(
                data=str(csv), clusterer=stuck_at_first, n_subsamples=20, execution_timeout=timedelta(hours=1),
                checkpoint=str(checkpoint), **RETRY,
            )  # fmt: skip
        finally:
            over.set()
        # The first attempt; 18 subsamples of the second; the last finished one again, to compare the next one with it.
        assert len(calls) == 7 + 18 * 3 + 3
        assert (done.state, done.task().try_number) == ("success", 2)
        assert "were finished by an earlier attempt" in log()

    def test_without_a_checkpoint(self, csv, log):
        over = threading.Event()

        def stopped(X, k, seed):
            os.kill(os.getpid(), signal.SIGINT)
            assert over.wait(PATIENCE)
            return np.arange(len(X)) % k

        try:
            assert run_select(data=str(csv), clusterer=stopped, checkpoint=None).state == "failed"
        finally:
            over.set()
        assert "There is no checkpoint: the next attempt starts from the beginning." in log()


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("compsil_airflow.checkpoints.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_progress_is_logged_every_five_seconds_and_at_the_end(clock):
    lines = []
    progress = LogProgress(SimpleNamespace(info=lambda text, *values: lines.append(text % values)))
    for done, clock[0] in [(2, 1.0), (3, 4.9), (4, 5.0), (5, 9.9), (6, 10.0), (7, 10.1), (8, 10.2)]:
        progress(done, 8)
    resumed, *others = lines
    assert resumed == "Resuming: 2 of 8 subsamples were finished by an earlier attempt"
    assert others == [f"{done} of 8 subsamples finished" for done in (4, 6, 8)]
    for done, clock[0] in [(1000, 15.1), (2000, 15.3), (3000, 20.3)]:
        progress.rows(done, 10_000)
    assert lines[4:] == ["2,000 of 10,000 rows read", "3,000 of 10,000 rows read"]
    # The first subsample of a new run is not a resumption.
    LogProgress(SimpleNamespace(info=pytest.fail))(1, 8)


class TestObjectStore:
    PLACE = "s3://compsil_test_s3@data/kept/own.json"

    @staticmethod
    def kept(bucket):
        """The numbers of subsamples in the objects."""
        found = bucket.list_objects_v2(Bucket="data", Prefix="kept/").get("Contents", [])
        bodies = [bucket.get_object(Bucket="data", Key=entry["Key"])["Body"] for entry in found]
        return [len(json.loads(body.read())["trials"]) for body in bodies]

    def test_changed_copies_are_uploaded_every_five_seconds(self, tmp_path, monkeypatch, clock):
        reported, sent = [], []
        monkeypatch.setattr(
            "compsil_airflow.checkpoints.write", lambda place, content: sent.append((clock[0], content))
        )
        mirror = Mirror(tmp_path / "copy.json", "s3://bucket/c.json", None, _last=0.0)
        progress = mirror.with_uploads(lambda done, total: reported.append(done))
        # There is no file at first, and it is unchanged at 20.
        steps = [(5.0, b""), (9.9, b"a"), (10.0, b"b"), (14.9, b"c"), (20.0, b"b")]
        for done, (clock[0], content) in enumerate(steps):
            if content:
                mirror.path.write_bytes(content)
            progress(done, 5)
        assert reported == [0, 1, 2, 3, 4]
        assert sent == [(10.0, b"b")]

    @pytest.mark.airflow3
    def test_another_machine_resumes(self, csv, bucket, fragile, log):
        seen = []
        done = run_select(
            data=str(csv), clusterer=fragile, checkpoint=self.PLACE,
            on_retry_callback=lambda context: seen.extend(self.kept(bucket)), **RETRY,
        )  # fmt: skip
        assert (done.state, done.task().try_number) == ("success", 2)
        assert seen == [2]
        assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in log()
        assert self.kept(bucket) == []

    @pytest.mark.airflow3
    def test_it_is_uploaded_while_the_task_runs(self, csv, bucket, monkeypatch):
        """A killed worker does not reach the end of its attempt."""
        monkeypatch.setattr("compsil_airflow.checkpoints.UPLOAD_SECONDS", 0.0)
        # Otherwise the file is written once a second, and a quick run is over by then.
        monkeypatch.setattr("compsil_kit._run.select.PAUSE_SECONDS", 0.0)
        monkeypatch.setattr("compsil_kit._run.select.PAUSE_SHARE", 0)
        seen = [0]

        def looking(X, k, seed):
            if seen[-1] < 2:
                seen.extend(self.kept(bucket))
            return np.arange(len(X)) % k

        assert run_select(data=str(csv), clusterer=looking, n_subsamples=300, checkpoint=self.PLACE).state == "success"
        assert seen[-1] >= 2

    @pytest.mark.airflow3
    def test_a_store_that_is_unreachable_is_retried(self, csv, connection):
        extra = {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": {"retries": {"max_attempts": 0}}}
        connection("compsil_test_away_s3", conn_type="aws", login="tester", password="tester", extra=extra)
        done = run_select(data=str(csv), checkpoint="s3://compsil_test_away_s3@data/own.json", **RETRY)
        assert (done.state, done.task().try_number) == ("failed", 2)
