"""One native thread per worker, and the user's limits back afterwards."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest
from small_runs import flow, run, split
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits
from waiting import PATIENCE, join, threads

from compsil_kit._run.native_threads import one_blas_thread, one_openmp_thread, process_controller


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


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_a_stream_that_is_held_gives_the_threads_back_between_steps(n_jobs, kept, tmp_path):
    seen = []

    def look(X, k, seed):
        seen.append(limits("blas"))
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        keywords = {"checkpoint": tmp_path / "run.json"} if kept else {}
        for step, result in enumerate(flow(clusterer=look, n_jobs=n_jobs, **keywords), start=1):
            assert result.n_subsamples == step
            assert limits("blas") == {3}
            # Nobody computes meanwhile: three ks for each subsample of the rounds so far.
            join(threads("compsil"))
            assert len(seen) == 3 * -(-step // n_jobs) * n_jobs
    assert all(limit == {1} for limit in seen)


def limits(kind):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == kind}


def test_the_last_run_restores_what_the_first_one_found():
    with threadpool_limits(limits=3):
        with one_blas_thread():
            with one_blas_thread():
                assert limits("blas") == {1}
            assert limits("blas") == {1}
        assert limits("blas") == {3}


def test_an_error_restores_it_too():
    with threadpool_limits(limits=3):
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert limits("blas") == {3}


def test_openmp_is_limited_and_restored():
    with threadpool_limits(limits=3):
        with one_openmp_thread(ThreadpoolController()):
            assert limits("openmp") == {1}
        assert limits("openmp") == {3}


def test_each_limit_leaves_the_other_kind_alone():
    with threadpool_limits(limits=3):
        with one_blas_thread():
            assert limits("openmp") == {3}
        with one_openmp_thread(ThreadpoolController()):
            assert limits("blas") == {3}


def test_the_pools_that_are_known_need_not_be_looked_for():
    calls = []
    limiter = SimpleNamespace(restore_original_limits=lambda: calls.append("restored"))
    blas = SimpleNamespace(limit=lambda limits: calls.append(limits) or limiter)
    with one_blas_thread(SimpleNamespace(select=lambda user_api: calls.append(user_api) or blas)):
        assert calls == ["blas", 1]
    assert calls == ["blas", 1, "restored"]


def test_the_pools_of_a_process_are_looked_for_once():
    assert process_controller() is process_controller()


def test_they_are_looked_for_again_after_an_import(monkeypatch):
    before = process_controller()
    monkeypatch.setitem(sys.modules, "brings a library", None)
    assert process_controller() is not before
