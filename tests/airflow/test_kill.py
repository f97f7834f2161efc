"""Stopped from outside: at once, and nothing that was finished is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta

import numpy as np
import pytest
from runs import run_select
from servers import PATIENCE, wait_for

SCRIPT = """
import itertools, threading
from pathlib import Path
import numpy as np
from airflow.providers.common.compat.sdk import DAG
from compsil_airflow import SelectKOperator

calls = itertools.count()

def slow(X, k, seed):
    # Three subsamples of three ks; then it waits for ever, unless told to go on.
    if next(calls) >= 9 and not Path({go_on!r}).exists():
        threading.Event().wait()
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

with DAG("{dag_id}", schedule=None) as dag:
    SelectKOperator(task_id="select_k", data={data!r}, columns=["x", "y"], ks=[2, 3, 4], n_subsamples=8,
                    clusterer=slow, retries=1, retry_delay=0.0)

if __name__ == "__main__":
    print("ended as", dag.test().state, flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_and_the_next_attempt_continues(sent, csv, home, tmp_path):
    dag_id = f"killed_{sent.name}"
    script = home / "dags" / f"{dag_id}.py"
    go_on = tmp_path / "go-on"
    script.write_text(SCRIPT.format(dag_id=dag_id, data=str(csv), go_on=str(go_on)))
    folder = home / "compsil-checkpoints" / dag_id

    def kept():
        files = list(folder.glob("*.json"))
        return len(json.loads(files[0].read_bytes())["trials"]) if files else 0

    try:
        with (tmp_path / "log.txt").open("w") as log:
            process = subprocess.Popen([sys.executable, str(script)], stdout=log, stderr=subprocess.STDOUT)
            try:
                wait_for("finished subsamples", lambda: kept() >= 2, pause=0.05, processes=[process])
                go_on.touch()
                process.send_signal(sent)
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
    finally:
        script.unlink()
    log = (tmp_path / "log.txt").read_text()
    assert "of 8 subsamples. Finished subsamples are in the checkpoint: the next attempt resumes from it." in log
    begun = int(log.partition("Resuming: ")[2].partition(" of 8 subsamples")[0])
    assert 2 <= begun < 8
    assert "ended as success" in log


# On Airflow 2 dag.test() itself ends with a timeout, and knows no second attempt.
@pytest.mark.airflow3
def test_a_timeout_keeps_what_was_finished(csv, tmp_path, capfd):
    calls, over, checkpoint = [], threading.Event(), tmp_path / "kept.json"

    def stuck_at_first(X, k, seed):
        calls.append(k)
        if len(calls) == 7:
            # Two subsamples of three ks are finished; once both are kept, let Airflow's alarm clock ring.
            wait_for("both in the file", lambda: len(json.loads(checkpoint.read_bytes())["trials"]) == 2, pause=0.05)
            os.kill(os.getpid(), signal.SIGALRM)
            assert over.wait(PATIENCE)
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

    try:
        done = run_select(
            data=str(csv), clusterer=stuck_at_first, n_subsamples=20, execution_timeout=timedelta(hours=1), retries=1,
            retry_delay=timedelta(0), checkpoint=str(checkpoint),
        )  # fmt: skip
    finally:
        over.set()
    # Seven calls of the first attempt, then three for each of the 18 subsamples left, and three for the last one that
    # was kept: its labels are made once more, for the next one to agree with.
    assert len(calls) == 7 + 18 * 3 + 3
    assert (done.state, done.task().try_number) == ("success", 2)
    printed = capfd.readouterr()
    assert "were finished by an earlier attempt" in printed.out + printed.err


def test_on_kill_after_the_work_does_nothing():
    from compsil_airflow import SelectKOperator

    assert SelectKOperator(task_id="t").on_kill() is None


def test_without_a_checkpoint_it_says_so(csv, capfd):
    over = threading.Event()

    def stopped(X, k, seed):
        os.kill(os.getpid(), signal.SIGINT)
        assert over.wait(PATIENCE)
        return np.arange(len(X)) % k

    try:
        done = run_select(data=str(csv), clusterer=stopped, checkpoint=None)
    finally:
        over.set()
    assert done.state == "failed"
    printed = capfd.readouterr()
    assert "There is no checkpoint: the next attempt starts from the beginning." in printed.out + printed.err
