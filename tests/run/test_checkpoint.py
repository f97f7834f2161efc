"""Interrupted runs that resume: the same bits, nothing is computed twice, and no other file is touched."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from samples import interrupting
from scipy import sparse
from sklearn.cluster import KMeans
from small_runs import Counting, X, flow, identical, kept, run, split, stop_after
from waiting import PATIENCE, join, threads, until

from compsil_kit import ClusteringError, Interrupted, SelectionError
from compsil_kit._method.subsample import make_seeds
from compsil_kit._result.records import dump_trial
from compsil_kit._run import fingerprint
from compsil_kit._run import select as running


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.json"


def test_an_interrupt_while_a_trial_is_kept_loses_nothing(path, monkeypatch):
    """The interrupt may come before or after the trial was added to the file."""
    monkeypatch.setattr("compsil_kit._run.select.dump_trial", interrupting(dump_trial, 3))
    with pytest.raises(Interrupted) as stop:
        run(checkpoint=path)
    assert len(kept(path)["trials"]) == len(stop.value.result.trials.subsamples) == 3


# --- resuming ---------------------------------------------------------------------------------------------------------


def test_memory_maps_and_other_layouts_are_the_same_data(path, tmp_path, monkeypatch):
    monkeypatch.setattr("compsil_kit._data.matrix._BLOCK_BYTES", 1000)
    np.save(tmp_path / "rows.npy", X)
    first = run(data=np.load(tmp_path / "rows.npy", mmap_mode="r"), checkpoint=path)
    for data in (X, np.asfortranarray(X)):
        assert identical(run(data=data, checkpoint=path), first)


def test_nothing_is_computed_twice(path):
    first, second, third = Counting(), Counting(), Counting()
    with pytest.raises(Interrupted):
        run(clusterer=first, checkpoint=path, progress=stop_after(2))
    result = run(clusterer=second, checkpoint=path)
    # Four subsamples, and the one before them for its labels, with which those of the next are compared.
    assert len(second.calls) == (1 + 4) * 3
    assert identical(run(clusterer=third, checkpoint=path), result)
    settings = {"transform": "step", "rule": "lcb", "z": 2.0}
    assert identical(run(clusterer=third, checkpoint=path, **settings), run(clusterer=Counting(), **settings))
    assert third.calls == []


def test_more_subsamples_continue_from_the_first_ones(path):
    counting = Counting()
    run(clusterer=counting, n_subsamples=3, n_calibration=2, checkpoint=path)
    assert len(counting.calls) == 5 * 3
    grown = run(clusterer=counting, n_subsamples=7, n_calibration=3, checkpoint=path)
    # The third is clustered once more, to be compared with the fourth.
    assert len(counting.calls) == (5 + 1 + 5) * 3
    assert identical(grown, run(clusterer=Counting(), n_subsamples=7, n_calibration=3))
    # Fewer are part of the file, which loses nothing.
    fewer = run(clusterer=counting, n_subsamples=4, checkpoint=path)
    assert identical(fewer, run(clusterer=Counting(), n_subsamples=4))
    assert len(counting.calls) == (5 + 1 + 5) * 3
    assert len(kept(path)["trials"]) == 10


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_backends_keep_and_resume(backend, path):
    """An interrupt must not make joblib warn about discarded work: warnings are errors here."""
    with joblib.parallel_config(backend=backend, n_jobs=2):
        with pytest.raises(Interrupted):
            run(checkpoint=path, n_subsamples=12, progress=stop_after(2))
        assert len(kept(path)["trials"]) == 2
        result = run(checkpoint=path, n_subsamples=12)
    assert identical(result, run(n_subsamples=12))
    assert len(kept(path)["trials"]) == 12


# --- the stream -------------------------------------------------------------------------------------------------------


def test_a_stream_begins_with_the_part_finished_by_one_that_was_left(path):
    first = flow(checkpoint=path)
    assert [next(first).n_subsamples for _ in range(2)] == [1, 2]
    first.close()
    n_kept = len(kept(path)["trials"])
    grown = list(flow(checkpoint=path))
    assert [result.n_subsamples for result in grown] == list(range(n_kept, 7))
    (whole,) = flow(checkpoint=path)
    assert n_kept >= 2
    assert identical(grown[-1], run())
    assert identical(whole, run())


def test_a_stream_raises_at_the_call_and_writes_nothing_before_it_is_started(path):
    flow(checkpoint=path)
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        flow(checkpoint=path)


# --- whatever ends a run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_other_error_keeps_the_finished_part(path, n_jobs):
    with pytest.raises(ZeroDivisionError) as ended:
        run(checkpoint=path, n_jobs=n_jobs, progress=lambda done, total: done < 3 or 1 / 0)
    assert ended.value.result.partial
    assert ended.value.result.n_subsamples == len(kept(path)["trials"]) == 3


def test_a_run_without_a_choice_leaves_a_complete_file(path):
    for _ in range(2):
        with pytest.raises(SelectionError) as caught:
            run(clusterer=lambda X, k, seed: np.zeros(X.shape[0]), on_failure="skip", checkpoint=path)
        assert len(caught.value.result.failures) == 18
    assert len(kept(path)["trials"]) == 6


def picky(X, k, seed):
    if k == 4 and seed % 2:
        raise RuntimeError("odd seed\n\N{SNOWMAN}")
    return split(X, k, seed)


def test_failures_of_calibration_subsamples_move_with_them(path):
    settings = {"clusterer": picky, "on_failure": "skip", "n_calibration": 4}
    run(**settings, checkpoint=path)
    grown = run(**settings, n_subsamples=8, checkpoint=path)
    assert grown.failures == run(**settings, n_subsamples=8).failures
    assert len(grown.failures) > 0


def test_a_failed_run_continues_when_failures_are_skipped(path):
    """This is the advice in the message of the failure."""
    with pytest.raises(ClusteringError, match="on_failure='skip'"):
        run(clusterer=picky, checkpoint=path)
    skipping = {"clusterer": picky, "on_failure": "skip"}
    assert identical(run(**skipping, checkpoint=path), run(**skipping))
    with pytest.raises(ValueError, match="on_failure was skip and is now raise"):
        run(clusterer=picky, checkpoint=path)


CHILD = """
import itertools, json, os, sys, threading
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from compsil_kit import select_k

mode, n_jobs, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
calls = itertools.count()

def cluster(X, k, seed):
    if next(calls) >= 12 and mode == "stuck":
        threading.Event().wait()
    return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

X, _ = make_blobs(400, 3, centers=4, random_state=0)
result = select_k(X, ks=[2, 3, 4], n_subsamples=40, clusterer=cluster, n_jobs=n_jobs, checkpoint=path or None)
print(json.dumps([next(calls), result.to_dict()]))
"""


def child(mode, n_jobs, path):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, mode, str(n_jobs), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize(("how", "n_jobs"), [(signal.SIGKILL, 1), (signal.SIGKILL, 2), (signal.SIGINT, 1)])
def test_another_process_continues_after_a_killed_one(how, n_jobs, path):
    # Twelve calls are at least three subsamples of three ks each, two of which follow a finished one; then the
    # clusterer does not return.
    with child("stuck", n_jobs, path) as first:
        try:
            until(lambda: path.exists() and len(kept(path)["trials"]) >= 2, "two subsamples are kept", first)
            first.send_signal(how)
            first.communicate(timeout=PATIENCE)
        finally:
            first.kill()
    assert first.returncode != 0
    finished = {trial["seed"] for trial in kept(path)["trials"]}
    assert 2 <= len(finished) <= 4
    missing = {at for at, seed in enumerate(make_seeds(42, 40, 0)) if seed not in finished}
    calls, continued = json.loads(child("free", n_jobs, path).communicate(timeout=PATIENCE)[0])
    assert calls == 3 * len(missing | {at - 1 for at in missing if at > 0})
    calls, whole = json.loads(child("free", 1, "").communicate(timeout=PATIENCE)[0])
    assert calls == 120
    assert continued == whole


# --- writing ----------------------------------------------------------------------------------------------------------


def test_quick_subsamples_are_written_together(path, monkeypatch):
    """That a subsample is written while the next one runs is tested with processes that are killed."""
    writes, write = [], running.write_atomically

    def counted(path, content):
        write(path, content)
        writes.append(len(json.loads(content)["trials"]))

    monkeypatch.setattr(running, "write_atomically", counted)
    monkeypatch.setattr(running, "PAUSE_SECONDS", 600.0)
    for _ in range(2):
        run(n_subsamples=50, checkpoint=path)
        assert writes == [0, 50]
    join(threads("compsil-checkpoint"))


def test_writing_takes_at_most_a_twentieth_of_the_time(path, monkeypatch):
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    durations, timers = iter([3.0, 0.25, 0.05, 0.001, 0.001]), []
    write = running.write_atomically

    def slow(path, content):
        clock.now += next(durations)
        write(path, content)

    def timer(seconds, end):
        timers.append(SimpleNamespace(seconds=seconds, end=end, start=lambda: None, cancel=lambda: None))
        return timers[-1]

    monkeypatch.setattr(running, "Timer", timer)
    monkeypatch.setattr(running, "time", clock)
    monkeypatch.setattr(running, "write_atomically", slow)
    run(checkpoint=path, n_subsamples=4, progress=lambda done, total: done < total and timers[-1].end())
    # The pause is at least a second.
    assert [each.seconds for each in timers] == pytest.approx([60.0, 5.0, 1.0, 1.0])
    assert len(kept(path)["trials"]) == 4
    assert next(durations, None) is None


def test_a_full_disk_is_reported_and_costs_no_result(path, monkeypatch):
    write = running.write_atomically

    def full(path, content):
        if json.loads(content)["trials"]:
            raise OSError(28, "No space left on device", str(path))
        write(path, content)

    monkeypatch.setattr(running, "write_atomically", full)
    with pytest.warns(RuntimeWarning, match=r"could not be written \(No space left on device\); the run continues"):
        result = run(checkpoint=path)
    assert identical(result, run())
    assert kept(path)["trials"] == []


def test_progress_starts_at_the_finished_part(path):
    run(n_subsamples=4, checkpoint=path)
    seen = []
    run(checkpoint=path, progress=lambda *numbers: seen.append(numbers))
    assert seen == [(4, 6), (5, 6), (6, 6)]


def test_the_path_is_that_of_the_call_and_a_link_stays_a_link(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    monkeypatch.chdir(tmp_path)
    results = []
    for result in flow(checkpoint="link.json"):
        monkeypatch.chdir(tmp_path / "there")
        results.append(result)
    assert identical(results[-1], run())
    assert (tmp_path / "link.json").is_symlink()
    assert len(kept(tmp_path / "real.json")["trials"]) == 6
    assert list((tmp_path / "there").iterdir()) == []


# --- files that are refused -------------------------------------------------------------------------------------------

MOVED = X.copy()
MOVED[-1, -1] += 1e-12
OTHER = {
    "cell": ({"data": MOVED}, "the content of X differs"),
    "order": ({"data": X[::-1]}, "the content of X differs"),
    "rows": ({"data": X[:-1]}, "the content of X differs; rows was 90 and is now 89"),
    "columns": ({"data": X[:, :1]}, "features was 2 and is now 1"),
    "type": ({"data": X.astype(np.float32)}, "dtype was float64 and is now float32"),
    "sparse": ({"data": sparse.csr_array(X)}, "the content of X differs"),
    "ks": ({"ks": (2, 3)}, r"ks was \[2, 3, 4\] and is now \[2, 3\]"),
    "size": ({"sample_size": 61}, "sample_size was 60 and is now 61"),
    "clusterer": ({"clusterer": "gmm"}, "another selection: clusterer was kmeans and is now gmm[.]"),
    "estimator": ({"clusterer": KMeans(n_init=1)}, "clusterer was kmeans and is now sklearn.cluster._kmeans.KMeans"),
    "function": ({"clusterer": split}, r"clusterer was kmeans and is now .*split \[\w+\]"),
    "starts": ({"n_starts": 2}, "n_starts was 1 and is now 2"),
    "metric": ({"metric": "manhattan"}, "metric was euclidean and is now manhattan"),
}


@pytest.mark.parametrize(("keywords", "message"), OTHER.values(), ids=OTHER)
def test_a_file_of_another_selection_is_refused(keywords, message, path):
    run(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"{message}.*Pass another path, or delete the file") as caught:
        run(**keywords, checkpoint=path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_other_parameters_of_an_estimator_are_named(path):
    run(clusterer=KMeans(n_init=3, tol=1e-3), checkpoint=path)
    message = r"selection: clusterer's n_init was 3 and is now 4; clusterer's tol was 0.001"
    with pytest.raises(ValueError, match=message):
        run(clusterer=KMeans(n_init=4, tol=1e-4), checkpoint=path)
    # The number of clusters and the seed are set for every clustering.
    run(clusterer=KMeans(17, n_init=3, tol=1e-3, random_state=5), checkpoint=path)


@pytest.mark.parametrize("library", ["numpy", "scikit-learn", "scipy", "compsil-kit", "numba", "python"])
def test_other_versions_are_refused_except_of_python(library, path, monkeypatch):
    run(checkpoint=path)
    versions = {**fingerprint.current_versions(), library: "0.0.1"}
    monkeypatch.setattr(fingerprint, "current_versions", lambda: versions)
    # The compiled kernel rounds differently.
    monkeypatch.setattr(fingerprint, "has", lambda name: library != "numba")
    if library == "python":
        run(checkpoint=path)
        return
    now = "not installed" if library == "numba" else "0.0.1"
    with pytest.raises(ValueError, match=rf"{library} was \S+ and is now {now}\. Pass another path"):
        run(checkpoint=path)


WHOLE = {"format": "compsil-kit/checkpoint", "version": 1, "fingerprint": {}, "trials": []}
DAMAGED = {
    "text": b"name,secret\n1,2\n",
    "binary": bytes(range(256)),
    "list": b"[1, 2]",
    "deep": b"[" * 200_000,
    "format": json.dumps({**WHOLE, "format": "compsil-kit/selection"}).encode(),
    "fingerprint": json.dumps({**WHOLE, "fingerprint": 3}).encode(),
    "truncated": json.dumps(WHOLE).encode()[:-1],
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_no_checkpoint_is_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a checkpoint of compsil-kit, or is damaged .*Pass another") as caught:
        run(checkpoint=path)
    assert "secret" not in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "7"},
        {"micro": [0.1, 0.2]},
        {"micro": [0.1, 0.2, float("nan")]},
        {"macro": [0.1, 0.2, None]},
        {"failures": [{"k": 2, "cause": "none"}]},
    ],
    ids=str,
)
def test_a_damaged_trial_is_refused(change, path):
    run(checkpoint=path)
    data = kept(path)
    del data["digest"]
    data["trials"][2].update(change)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="is not a checkpoint of compsil-kit, or is damaged"):
        run(checkpoint=path)


def test_fresh_seeds_and_later_formats_are_refused(path):
    with pytest.raises(ValueError, match=r"checkpoint needs the same seeds .*Pass an integer as random_state"):
        run(random_state=None, checkpoint=path)
    assert not path.exists()
    path.write_text(json.dumps({**WHOLE, "version": 2}))
    with pytest.raises(ValueError, match="has version 2 of compsil-kit/checkpoint; this release reads version 1"):
        run(checkpoint=path)


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("missing/run.json", FileNotFoundError, "no such folder for the checkpoint"),
        (".", IsADirectoryError, "checkpoint must be a file; this is a folder"),
        ("run.json", PermissionError, "Permission denied"),
    ],
)
def test_an_impossible_place_is_refused_before_the_work(place, error, message, tmp_path, monkeypatch):
    def refuse(path, content):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(running, "write_atomically", refuse)
    counting = Counting()
    with pytest.raises(error, match=message):
        run(clusterer=counting, checkpoint=tmp_path / place)
    assert counting.calls == []
