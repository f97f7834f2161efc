"""A run from the outside: interrupting, streaming, progress, and leaving everything as it was."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import termios
import threading
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import PATIENCE, join

from compsil_kit import ClusteringError, Interrupted, SelectionResult, select_k, stream

X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0))
SETTINGS = {"ks": (2, 3, 4), "n_subsamples": 6, "sample_size": 60}


def run(**keywords):
    return select_k(X, **{**SETTINGS, **keywords})


def flow(**keywords):
    return stream(X, **{**SETTINGS, **keywords})


def split(X, k, seed):
    return np.arange(X.shape[0]) % k


def same(left, right):
    return np.array_equal(left.micro, right.micro) and np.array_equal(left.macro, right.macro)


# --- interrupting -----------------------------------------------------------------------------------------------------

CHILD = """
import hashlib, itertools, json, os, sys, threading
import numpy as np
from compsil_kit import select_k

mode, n_jobs = sys.argv[1], int(sys.argv[2])
calls, arrived = itertools.count(), threading.Event()

def stuck(X, k, seed):
    if next(calls):
        arrived.wait(600)
        os.write(1, b"busy\\n")
        if mode == "asleep":
            threading.Event().wait()
        else:
            hashlib.pbkdf2_hmac("sha256", b"a", b"b", 2 * 10**9)
    return np.arange(len(X)) % k

settings = {
    "busy": dict(ks=range(2, 9), sample_size=1500, n_subsamples=5000),
    "holding": dict(ks=(2, 3), sample_size=1500, n_subsamples=5000, clusterer="agglomerative"),
    "asleep": dict(ks=2, sample_size=100, n_subsamples=10, clusterer=stuck),
    "native": dict(ks=2, sample_size=100, n_subsamples=10, clusterer=stuck),
}[mode]
X = np.random.default_rng(0).normal(size=(20000, 5))

def tell(done, total):
    arrived.set()
    if mode in ("busy", "holding") and done == 2:
        os.write(1, b"busy\\n")

try:
    select_k(X, n_jobs=n_jobs, progress=tell, **settings)
except KeyboardInterrupt as stop:
    result = stop.result
    print(json.dumps([str(stop), result.n_subsamples, result.partial, result.best_k]), flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("mode", ["busy", "holding", "asleep", "native"])
def test_ctrl_c_waits_for_no_worker_and_keeps_the_finished_part(mode, n_jobs):
    command = [sys.executable, "-c", CHILD, mode, str(n_jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "busy\n"
            child.send_signal(signal.SIGINT)
            # Workers that wait for ever, or are in native code for many minutes, hold up neither the interrupt nor the
            # end of the program.
            out, errors = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
    assert (errors, child.returncode) == ("", 0)
    message, n_subsamples, partial, best_k = json.loads(out.splitlines()[-1])
    assert message.startswith(f"stopped after {n_subsamples} of ")
    assert n_subsamples >= 1
    assert partial is True
    assert best_k >= 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_in_the_main_thread_keeps_the_finished_part(n_jobs):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"stopped after 3 of 6 subsamples; .*\.result") as got:
        run(progress=stop, n_jobs=n_jobs)
    result = got.value.result
    assert result.partial
    assert result.n_subsamples == 3
    assert "PARTIAL, 3 of 6 subsamples" in repr(result)
    assert "this is a partial result: 3 of 6 subsamples are finished" in result.explain()
    whole = run()
    assert np.array_equal(result.micro, whole.micro[:, list(result.trials.subsamples)])
    assert SelectionResult.from_dict(result.to_dict()).partial


def test_an_interrupt_before_the_first_subsample_leaves_nothing():
    def stop(X, k, seed):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped after 0 of 6 subsamples") as got:
        run(clusterer=stop)
    assert got.value.result is None


def test_an_interrupt_during_calibration_leaves_nothing_to_show():
    def stop(done, total):
        assert total == 8
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped after 1 of 8") as got:
        run(n_calibration=2, progress=stop)
    assert got.value.result is None


# --- streaming --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{}, {"n_jobs": 2}, {"n_calibration": 3}, {"rule": "lcb", "transform": "step"}])
def test_the_stream_grows_and_ends_with_the_result_of_select_k(keywords):
    results = list(flow(**keywords))
    whole = run(**keywords)
    assert [result.n_subsamples for result in results] == [1, 2, 3, 4, 5, 6]
    assert [result.partial for result in results] == [True] * 5 + [False]
    assert results[-1].to_dict() == whole.to_dict()
    for result in results:
        assert np.array_equal(result.micro, whole.micro[:, list(result.trials.subsamples)])


def test_one_worker_streams_in_the_order_of_the_subsamples():
    assert [result.trials.subsamples for result in flow()] == [tuple(range(n)) for n in range(1, 7)]


def test_every_step_of_a_stream_is_the_result_of_fewer_subsamples():
    for result in flow():
        fewer = run(n_subsamples=result.n_subsamples)
        assert same(result, fewer)
        assert np.array_equal(result.scores, fewer.scores)
        assert result.best_k == fewer.best_k


def test_a_stream_checks_its_arguments_before_it_is_started():
    with pytest.raises(ValueError, match="n_subsamples must be an integer of at least 1; got 0"):
        flow(n_subsamples=0)


def wait_for_workers():
    """Wait until the threads that a run started are gone."""
    join(thread for thread in threading.enumerate() if thread.name.startswith("compsil"))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("leave", ["close", "forget"])
def test_leaving_a_stream_stops_the_work(n_jobs, leave):
    calls, gate = [], threading.Semaphore(2 * n_jobs)

    def gated(X, k, seed):
        calls.append((k, seed))
        assert gate.acquire(timeout=PATIENCE)
        return split(X, k, seed)

    results = flow(clusterer=gated, ks=(2, 3), n_subsamples=20, n_jobs=n_jobs)
    assert next(results).n_subsamples == 1
    if leave == "close":
        results.close()
    else:
        del results
    gate.release(1000)
    wait_for_workers()
    # Each worker had one subsample finished and may have been inside a call of the next; none started another.
    assert len(calls) <= 3 * n_jobs


def test_a_failing_clusterer_ends_the_stream():
    def fail(X, k, seed):
        if k == 3 and seed == 1:
            raise ValueError("no luck")
        return split(X, k, seed)

    results = flow(clusterer=fail, n_subsamples=3, random_state=range(3))
    assert next(results).n_subsamples == 1
    with pytest.raises(ClusteringError, match="k=3 failed on subsample 1"):
        next(results)


def test_a_stream_counts_what_it_skips():
    def fail(X, k, seed):
        if k == 3 and seed == 1:
            raise ValueError("no luck")
        return split(X, k, seed)

    results = list(flow(clusterer=fail, n_subsamples=3, random_state=range(3), on_failure="skip"))
    assert [result.n_failed.tolist() for result in results] == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert [len(result.failures) for result in results] == [0, 1, 1]


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_is_told_about_every_subsample(n_jobs):
    seen = []
    run(progress=lambda done, total: seen.append((done, total, threading.current_thread())), n_jobs=n_jobs)
    assert [(done, total) for done, total, _ in seen] == [(n, 6) for n in range(1, 7)]
    assert {thread for *_, thread in seen} == {threading.current_thread()}


def test_progress_counts_calibration_too():
    seen = []
    run(progress=lambda *counts: seen.append(counts), n_calibration=2)
    assert seen == [(n, 8) for n in range(1, 9)]


def test_an_error_in_the_function_ends_the_run():
    def fail(done, total):
        raise RuntimeError("the screen is gone")

    calls = []

    def count(X, k, seed):
        calls.append(seed)
        return split(X, k, seed)

    with pytest.raises(RuntimeError, match="the screen is gone"):
        run(progress=fail, clusterer=count, n_subsamples=500, ks=2, sample_size=80)
    wait_for_workers()
    assert len(calls) < 500


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_drawn_when_nobody_watches(progress, capfd):
    run(progress=progress)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_the_bar_is_drawn_on_request(capfd):
    run(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "compsil:" in err
    assert "0/6" in err
    assert err.endswith("\r")


WATCHED = """
import sys, numpy as np
from compsil_kit import select_k

X = np.random.default_rng(0).normal(size=(200, 2))
progress = {"None": None, "False": False}[sys.argv[1]]
print(select_k(X, ks=(2, 3), n_subsamples=40, progress=progress).best_k)
"""


def on_a_terminal(code, *arguments):
    """Run Python with its standard error on a terminal; return standard output and what the terminal showed."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    shown = b""
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass  # On Linux, reading on after the other end has closed is an error.
        out = child.stdout.read()
    os.close(ours)
    assert child.returncode == 0, shown
    return out.decode(), shown.decode()


def test_a_terminal_shows_the_bar_with_the_time_left():
    out, shown = on_a_terminal(WATCHED, "None")
    assert out.strip() in ("2", "3")
    assert "compsil:" in shown
    assert "/40" in shown
    assert "subsample/s" in shown or "s/subsample" in shown


def test_a_terminal_stays_quiet_on_request():
    _, shown = on_a_terminal(WATCHED, "False")
    assert shown == ""


# --- long and impossible work -----------------------------------------------------------------------------------------


def test_long_work_is_announced(monkeypatch, caplog, capfd):
    monkeypatch.setattr("compsil_kit.run.select.LONG_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, logger="compsil_kit"):
        run(progress=True)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    text = record.getMessage()
    assert "Estimated time:" in text
    assert "6 subsamples of 60 of 90 rows" in text
    assert "18 clusterings, 10,620 pairs of distances" in text
    assert "Estimated time:" in capfd.readouterr().err


def test_short_work_is_not_announced(caplog):
    with caplog.at_level(logging.DEBUG, logger="compsil_kit"):
        run()
    assert caplog.records == []


@pytest.mark.parametrize(("free", "keywords"), [(2**20, {}), (60 * 2**20, {}), (100 * 2**20, {"n_jobs": 2})])
def test_work_that_does_not_fit_into_memory_is_refused(free, keywords, monkeypatch):
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: free)
    calls = []
    with pytest.raises(MemoryError, match=r"subsamples of 60 rows .*GiB are free\. Pass a smaller sample_size"):
        run(clusterer=lambda X, k, seed: calls.append(k), **keywords)
    assert calls == []


def test_workers_without_a_subsample_need_no_memory(monkeypatch):
    # Enough for one worker, and too little for two.
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: 100 * 2**20)
    assert run(n_subsamples=1, n_jobs=8).n_subsamples == 1
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        run(n_subsamples=1, n_calibration=1, n_jobs=8)
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        run(n_subsamples=8, n_jobs=2)


def test_clusterers_that_hold_all_pairs_need_more_memory(monkeypatch):
    wide = np.random.default_rng(0).normal(size=(4000, 2))
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: 100 * 2**20)
    with pytest.raises(
        MemoryError, match=r"subsamples of 4,000 rows with clusterer='agglomerative' need about 0\.3 GiB"
    ):
        select_k(wide, ks=2, n_subsamples=1, sample_size=4000, clusterer="agglomerative")
    assert select_k(wide, ks=2, n_subsamples=1, sample_size=500, clusterer="agglomerative").best_k == 2


@pytest.mark.parametrize("free", [None, 2**40])
def test_work_that_fits_or_cannot_be_judged_goes_on(free, monkeypatch):
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: free)
    assert run().best_k == 3


# --- everything as it was ---------------------------------------------------------------------------------------------


def surroundings():
    kind, keys, *rest = np.random.get_state()
    return {
        "random": (kind, keys.tolist(), *rest),
        "filters": list(warnings.filters),
        "threads": [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()],
        "settings": sklearn.get_config(),
        "environment": dict(os.environ),
        "floating point": np.geterr(),
        "data": X.tobytes(),
        "flags": str(X.flags),
        "signals": signal.getsignal(signal.SIGINT),
    }


def failing(X, k, seed):
    raise ValueError("no luck")


def interrupted(X, k, seed):
    raise KeyboardInterrupt


def finish(**keywords):
    run(**keywords)


def fail(**keywords):
    with pytest.raises(ClusteringError, match="no luck"):
        run(**{**keywords, "clusterer": failing})


def interrupt(**keywords):
    with pytest.raises(Interrupted, match="stopped after 0"):
        run(**{**keywords, "clusterer": interrupted})


def leave_early(**keywords):
    results = flow(**keywords)
    next(results)
    results.close()
    wait_for_workers()


def overlap(**keywords):
    first, second = flow(**keywords), flow(**keywords)
    next(first)
    next(second)
    first.close()
    assert list(second)[-1].n_subsamples == 6


def overlap_crossed(**keywords):
    first, second = flow(**keywords), flow(**keywords)
    next(first)
    next(second)
    second.close()
    assert list(first)[-1].n_subsamples == 6


@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", "spectral", "birch"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("do", [finish, fail, interrupt, leave_early, overlap, overlap_crossed])
def test_everything_is_left_as_it_was(do, n_jobs, clusterer):
    with threadpool_limits(limits=3):
        before = surroundings()
        do(n_jobs=n_jobs, clusterer=clusterer, random_state=None)
        assert surroundings() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_use_one_native_thread_each(n_jobs):
    seen = []

    def look(X, k, seed):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        run(clusterer=look, n_jobs=n_jobs)
    assert set(seen) == {1}


@pytest.mark.parametrize("leaving", ["the first", "the second"])
def test_a_run_that_ends_lets_the_other_one_keep_one_native_thread(leaving):
    left, seen = threading.Event(), []

    def look(X, k, seed):
        # The first subsample belongs to the time when both run; of the others, none begins before one run has ended.
        if seed != 0:
            assert left.wait(PATIENCE)
            seen.extend(pool["num_threads"] for pool in threadpool_info())
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        staying, ending = {"clusterer": look, "random_state": range(6)}, {"clusterer": split}
        order = [ending, staying] if leaving == "the first" else [staying, ending]
        runs = [flow(**keywords) for keywords in order]
        assert [next(results).n_subsamples for results in runs] == [1, 1]
        runs[order.index(ending)].close()
        left.set()
        *_, last = runs[order.index(staying)]
        after = {pool["num_threads"] for pool in threadpool_info()}
    assert last.n_subsamples == 6
    assert set(seen) == {1}
    assert after == {3}


def test_settings_of_scikit_learn_reach_the_workers():
    seen = []

    def look(X, k, seed):
        seen.append(sklearn.get_config()["working_memory"])
        return split(X, k, seed)

    with sklearn.config_context(working_memory=77):
        run(clusterer=look, n_jobs=2)
    assert set(seen) == {77}


def test_the_global_random_state_does_not_matter():
    np.random.seed(1)
    first = run(clusterer="gmm")
    np.random.seed(2)
    assert same(run(clusterer="gmm"), first)


def test_no_thread_outlives_a_run():
    run(n_jobs=2)
    wait_for_workers()
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("compsil")]


def test_two_runs_at_once_do_not_disturb_each_other():
    expected = [run(random_state=seed, n_subsamples=10) for seed in range(4)]
    results = {}

    def work(seed):
        results[seed] = run(random_state=seed, n_subsamples=10, n_jobs=2)

    with threadpool_limits(limits=3):
        before = surroundings()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert surroundings() == before
    assert all(same(results[seed], expected[seed]) for seed in range(4))


def test_a_run_inside_a_clusterer():
    def nested(X, k, seed):
        best = select_k(X, ks=(2, 3), n_subsamples=2, sample_size=40).best_k
        assert best in (2, 3)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

    with threadpool_limits(limits=3):
        before = surroundings()
        assert same(run(clusterer=nested), run())
        assert surroundings() == before


def test_a_stream_ends_whole_even_when_calibration_is_late():
    X = np.random.default_rng(0).normal(size=(60, 2))
    seeds, scored, begun = [1, 2], [], threading.Event()

    def late(part, k, seed):
        if seed == seeds[0]:
            scored.append(threading.current_thread())
            begun.set()
        else:
            # The worker of the other subsample has ended, and with it what it did: that one arrives first.
            assert begun.wait(PATIENCE)
            join(scored)
        return np.arange(len(part)) % k

    keywords = {"ks": [2, 3], "n_subsamples": 1, "n_calibration": 1, "random_state": seeds}
    *_, last = stream(X, n_jobs=2, clusterer=late, **keywords)
    assert not last.partial
    assert np.array_equal(last.weights, select_k(X, clusterer=split, **keywords).weights)


def test_filters_survive_clusterers_that_silence_warnings_at_the_same_time():
    turns = threading.Barrier(2)

    def silencing(part, k, seed):
        with warnings.catch_warnings():
            turns.wait(timeout=PATIENCE)
            warnings.simplefilter("ignore")
        return np.arange(len(part)) % k

    before = list(warnings.filters)
    select_k(np.random.default_rng(0).normal(size=(60, 2)), ks=[2], n_subsamples=8, clusterer=silencing, n_jobs=2)
    assert warnings.filters == before
