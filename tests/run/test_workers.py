"""Workers return results as they finish, stop when the iterator is closed, and use one native thread each."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import traceback
from functools import partial

import pytest
from small_runs import flow, run, split, wait_for_workers
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import PATIENCE, join, threads

from compsil_kit._run.workers import in_threads, one_blas_thread, one_openmp_thread, process_controller

CHILD = """
import hashlib, itertools, json, os, sys, threading
import numpy as np
from compsil_kit import select_k

mode, n_jobs = sys.argv[1], int(sys.argv[2])
calls, arrived = itertools.count(), threading.Event()

def stuck(X, k, seed):
    if next(calls):
        arrived.wait(180)
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
    line = json.dumps([str(stop), result.n_subsamples, result.partial, result.best_k])
    # One write: print makes two of it if Python is unbuffered, and a worker may write between them.
    os.write(1, line.encode() + b"\\n")
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
    # A second worker may say that it is busy after that.
    (line,) = (line for line in out.splitlines() if line != "busy")
    message, n_subsamples, partial, best_k = json.loads(line)
    assert message.startswith(f"stopped after {n_subsamples} of ")
    assert n_subsamples >= 1
    assert partial is True
    assert best_k >= 2


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


# --- the pool itself --------------------------------------------------------------------------------------------------


def test_no_more_workers_than_items():
    gate, seen = threading.Barrier(2), set()

    def work(item, tick):
        seen.add(threading.current_thread())
        gate.wait(PATIENCE)
        return item

    assert sorted(in_threads(work, [1, 2], 8)) == [1, 2]
    assert len(seen) == 2
    assert all(thread.daemon and thread.name == "compsil" for thread in seen)


def test_what_a_worker_raises_is_raised_here_and_ends_the_others():
    def work(item, tick):
        if item == 1:
            raise ZeroDivisionError("one")
        return item

    results = in_threads(work, range(100), 1)
    assert next(results) == 0
    with pytest.raises(ZeroDivisionError, match="one"):
        next(results)
    join(threads("compsil"))


@pytest.mark.parametrize("how", ["stop", "close"])
def test_endless_work_ends_at_its_next_step(how):
    stop, begun = threading.Event(), threading.Event()

    def work(item, tick):
        if item == 1:
            begun.set()
            while True:
                tick()
        return item

    results = in_threads(work, range(5), 1, stop)
    assert next(results) == 0
    assert begun.wait(PATIENCE)
    if how == "stop":
        stop.set()
        assert list(results) == []
    else:
        # The event is not set: another pool may use it next.
        results.close()
        assert not stop.is_set()
    join(threads("compsil"))


# --- native threads ---------------------------------------------------------------------------------------------------


def limits(*kinds):
    """Return the limits of the native thread pools of these kinds; of all if none is given."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] in (kinds or ("blas", "openmp"))}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_use_one_native_thread_each(n_jobs):
    seen = set()

    def look(X, k, seed):
        seen.update(limits())
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        run(clusterer=look, n_jobs=n_jobs)
    assert seen == {1}


@pytest.mark.parametrize("leaving", ["the first", "the second"])
def test_the_end_of_a_run_keeps_the_limit_of_another(leaving):
    left, seen = threading.Event(), set()

    def look(X, k, seed):
        # Both runs are active during the first subsample; the others start after one run has ended.
        if seed != 0:
            assert left.wait(PATIENCE)
            seen.update(limits())
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        staying, ending = {"clusterer": look, "random_state": range(6)}, {"clusterer": split}
        order = [ending, staying] if leaving == "the first" else [staying, ending]
        runs = [flow(**keywords) for keywords in order]
        assert [next(results).n_subsamples for results in runs] == [1, 1]
        runs[order.index(ending)].close()
        left.set()
        *_, last = runs[order.index(staying)]
        assert limits() == {3}
    assert last.n_subsamples == 6
    assert seen == {1}


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_a_stream_restores_the_limit_between_results(n_jobs, kept, tmp_path):
    seen = []

    def look(X, k, seed):
        seen.append(limits("blas"))
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        keywords = {"checkpoint": tmp_path / "run.json"} if kept else {}
        for step, result in enumerate(flow(clusterer=look, n_jobs=n_jobs, **keywords), start=1):
            assert result.n_subsamples == step
            assert limits("blas") == {3}
            # No worker computes meanwhile: there were three ks for each subsample of the portions so far.
            join(threads("compsil"))
            assert len(seen) == 3 * -(-step // n_jobs) * n_jobs
    assert all(limit == {1} for limit in seen)


def test_each_limit_leaves_the_other_kind_alone():
    with threadpool_limits(limits=3), contextlib.ExitStack() as blas:
        with one_openmp_thread(process_controller()):
            assert (limits("blas"), limits("openmp")) == ({3}, {1})
            blas.enter_context(one_blas_thread())
        # A worker that ends restores its own limit only.
        assert (limits("blas"), limits("openmp")) == ({1}, {3})


def test_the_pools_of_a_process_are_looked_up_again_only_after_imports(monkeypatch):
    before = process_controller()
    assert process_controller() is before
    monkeypatch.setitem(sys.modules, "brings a library", None)
    assert process_controller() is not before


def test_the_traceback_of_an_error_shows_no_data_while_its_worker_still_runs():
    class Slow(threading.Event):
        """A request to stop that keeps the failed worker in its loop until the traceback has been rendered."""

        failed, rendered = False, threading.Event()

        def is_set(self):
            if self.failed and threading.current_thread() is not threading.main_thread():
                self.rendered.wait(PATIENCE)
            return super().is_set()

    def work(data, item, tick):
        stop.failed = True
        raise MemoryError

    stop = Slow()
    with pytest.raises(MemoryError) as caught:
        list(in_threads(partial(work, "cell 48151"), [0, 1], 1, stop=stop))
    traceback.clear_frames(caught.value.__traceback__)
    report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    stop.rendered.set()
    inside = "".join(report.format()).partition("in in_threads")[2]
    assert "_run_items" in inside
    assert "48151" not in inside
