"""One native thread per worker, and the user's limits back afterwards."""

from __future__ import annotations

import threading

import pytest
from small_runs import flow, run, split
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import PATIENCE


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
