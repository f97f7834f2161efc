"""What one attempt leaves for the next: after errors, signals, timeouts, on disks and in object stores."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from runs import RETRY, cut, failing, n_trials, run_select
from servers import PATIENCE, wait_for

from compsil_airflow.checkpoints import LogProgress, Mirror, automatic_checkpoint, delete_checkpoint
from compsil_kit import select_k


@pytest.fixture
def fragile():
    """A clusterer that fails in the third subsample of three ks."""
    return failing(7, MemoryError())


def test_a_retry_resumes_from_the_checkpoint(csv, home, fragile, log):
    done = run_select(data=str(csv), clusterer=fragile, **RETRY)
    assert done.ended == ("success", 2)
    assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in log()
    # Three ks each, once; the second one again, because the third is compared with it.
    assert [fragile.seeds.count(seed) for seed in list(dict.fromkeys(fragile.seeds))[:2]] == [3, 6]
    assert list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir()) == []
    whole = run_select(data=str(csv), clusterer=fragile)
    assert whole.ended == ("success", 1)
    assert whole.summary() == done.summary()


def test_other_data_discard_the_checkpoint(csv, frame, fragile, log):
    def change(context):
        frame.iloc[10:].to_csv(csv, index=False)

    done = run_select(data=str(csv), clusterer=fragile, on_retry_callback=change, **RETRY)
    assert "changed since the last attempt" in log()
    assert done.summary()["plan"]["n_rows"] == 290


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


def test_a_named_file_is_used_and_deleted(csv, tmp_path):
    place = tmp_path / "new" / "own.json"
    found = []

    def look(X, k, seed):
        found.append(place.exists())
        return cut(X, k)

    assert run_select(data=str(csv), checkpoint=str(place), clusterer=look, n_subsamples=30).state == "success"
    assert found[-1]
    assert list(place.parent.iterdir()) == []


def test_a_file_of_another_selection_is_refused(csv, tmp_path, frame, failure):
    place = tmp_path / "own.json"
    select_k(frame[["x", "y"]].to_numpy() + 1.0, ks=[2, 3, 4], n_subsamples=4, checkpoint=place)
    assert "belongs to another selection" in failure(data=str(csv), checkpoint=str(place))
    assert place.exists()


def test_a_file_that_cannot_be_deleted(tmp_path):
    warnings = []
    logger = SimpleNamespace(warning=lambda text, error: warnings.append(text))
    delete_checkpoint(tmp_path, logger)
    delete_checkpoint(tmp_path / "missing.json", logger)
    assert warnings == ["The checkpoint could not be deleted: %s"]


def test_a_home_that_is_not_writable_costs_only_the_checkpoint(csv, home, log):
    # A file in the place of the folder: root may write to read-only folders.
    folder = home / "compsil-checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("")
    done = run_select(data=str(csv))
    folder.unlink()
    assert done.ended == ("success", 1)
    text = log()
    assert "No checkpoint is kept, so a retry starts from the beginning: " in text
    assert str(folder) in text


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_and_the_next_attempt_resumes(sent, csv, home, tmp_path):
    script = Path(shutil.copy(Path(__file__).parent / "dags" / "slow_dag.py", home / "dags"))
    folder = home / "compsil-checkpoints" / "slow_selection"
    environment = {**os.environ, "COMPSIL_SLOW_DATA": str(csv)}
    command = [sys.executable, str(script)]
    try:
        with (
            (tmp_path / "log.txt").open("w") as output,
            subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as process,
        ):
            try:
                wait_for("subsamples", lambda: n_trials(folder.glob("*.json")) >= 2, 0.05, processes=[process])
                (tmp_path / "go-on").touch()
                process.send_signal(sent)
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
    finally:
        script.unlink()
    log = (tmp_path / "log.txt").read_text()
    assert "of 20 subsamples. Finished subsamples are in the checkpoint: the next attempt resumes from it." in log
    assert 2 <= int(log.partition("Resuming: ")[2].partition(" of 20 subsamples")[0]) < 20
    assert "ended as success" in log


# On Airflow 2 dag.test() itself ends with a timeout, and has no second attempt.
@pytest.mark.airflow3
def test_a_timeout_keeps_finished_subsamples(csv, tmp_path, log):
    calls, over, checkpoint = [], threading.Event(), tmp_path / "kept.json"

    def stuck_at_first(X, k, seed):
        calls.append(k)
        if len(calls) == 7:
            # Once two subsamples of three ks are in the checkpoint, trigger Airflow's alarm.
            wait_for("both", lambda: n_trials([checkpoint]) == 2, pause=0.05)
            os.kill(os.getpid(), signal.SIGALRM)
            assert over.wait(PATIENCE)
        return cut(X, k)

    settings = {"n_subsamples": 20, "execution_timeout": timedelta(hours=1), "checkpoint": str(checkpoint)}
    try:
        done = run_select(data=str(csv), clusterer=stuck_at_first, **settings, **RETRY)
    finally:
        over.set()
    # The first attempt; 18 subsamples of the second; the last finished one again, to compare the next one with it.
    assert len(calls) == 7 + 18 * 3 + 3
    assert done.ended == ("success", 2)
    assert "were finished by an earlier attempt" in log()


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


def test_changed_copies_are_uploaded_every_five_seconds(tmp_path, monkeypatch, clock):
    reported, sent = [], []
    monkeypatch.setattr("compsil_airflow.checkpoints.write", lambda place, content: sent.append((clock[0], content)))
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
class TestObjectStore:
    PLACE = "s3://compsil_test_s3@data/kept/own.json"

    @pytest.fixture
    def kept(self, bucket, tmp_path):
        """Return the number of subsamples in the object, if there is one."""

        def read():
            found = bucket.list_objects_v2(Bucket="data", Prefix="kept/").get("Contents", [])
            for entry in found:
                bucket.download_file("data", entry["Key"], str(tmp_path / "kept.json"))
            return n_trials([tmp_path / "kept.json"] if found else [])

        return read

    def test_another_machine_resumes(self, csv, kept, fragile, log):
        seen = []
        changes = {"on_retry_callback": lambda context: seen.append(kept()), **RETRY}
        done = run_select(data=str(csv), clusterer=fragile, checkpoint=self.PLACE, **changes)
        assert done.ended == ("success", 2)
        assert seen == [2]
        assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in log()
        assert kept() == 0

    def test_it_is_uploaded_while_the_task_runs(self, csv, kept, monkeypatch):
        """A killed worker does not reach the end of its attempt."""
        monkeypatch.setattr("compsil_airflow.checkpoints.UPLOAD_SECONDS", 0.0)
        # Otherwise the file is written once a second, and a quick run is over by then.
        monkeypatch.setattr("compsil_kit._run.select.PAUSE_SECONDS", 0.0)
        monkeypatch.setattr("compsil_kit._run.select.PAUSE_SHARE", 0)
        seen = [0]

        def looking(X, k, seed):
            if seen[-1] < 2:
                seen.append(kept())
            return cut(X, k)

        assert run_select(data=str(csv), clusterer=looking, n_subsamples=300, checkpoint=self.PLACE).state == "success"
        assert seen[-1] >= 2

    def test_a_store_that_is_unreachable_is_retried(self, csv, connection):
        extra = {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": {"retries": {"max_attempts": 0}}}
        connection("compsil_test_away_s3", conn_type="aws", login="tester", password="tester", extra=extra)
        done = run_select(data=str(csv), checkpoint="s3://compsil_test_away_s3@data/own.json", **RETRY)
        assert done.ended == ("failed", 2)
