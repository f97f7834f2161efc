"""One native thread per worker, and the user's limits back afterwards."""

from __future__ import annotations

import threading

import pytest
from small_runs import flow, run, split
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits
from waiting import PATIENCE, join, threads

from compsil_kit.run.native_threads import one_blas_thread, one_openmp_thread, process_controller


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


def test_a_stream_has_one_native_thread_until_it_is_closed():
    """Workers go on while nobody asks for the next result, and with more threads they might round in another way."""
    go = threading.Event()

    def waits(X, k, seed):
        assert seed == 0 or go.wait(PATIENCE)
        return split(X, k, seed)

    with threadpool_limits(limits=3):
        held = flow(clusterer=waits, random_state=range(6))
        assert next(held).n_subsamples == 1
        assert limits("blas") == {1}
        held.close()
        assert limits("blas") == {3}
        go.set()


def test_a_stream_that_is_held_has_its_threads_back_once_all_is_computed():
    with threadpool_limits(limits=3):
        held = flow()
        assert next(held).n_subsamples == 1
        join(threads("compsil"))
        assert next(held).n_subsamples == 2
        assert limits("blas") == {3}
        assert [result.n_subsamples for result in held] == [3, 4, 5, 6]
        assert limits("blas") == {3}


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


def test_the_pools_of_a_process_are_looked_for_once():
    assert process_controller() is process_controller()
