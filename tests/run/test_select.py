"""A run from the outside: interrupted, streamed, announced, and leaving everything as it was."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from small_runs import Fails, X, flow, no_luck, raising, run, same, split, stop_after, wait_for_workers
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import PATIENCE, join, until

from compsil_kit import ClusteringError, Interrupted, SelectionResult, select_k, stream
from compsil_kit._result.trials import NUMBERS


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_in_the_main_thread_keeps_the_finished_part(n_jobs):
    with pytest.raises(Interrupted, match=r"stopped after 3 of 6 subsamples; .*\.result") as got:
        run(progress=stop_after(3), n_jobs=n_jobs)
    result = got.value.result
    assert result.partial
    assert result.n_subsamples == 3
    assert "PARTIAL, 3 of 6 subsamples" in repr(result)
    assert "this is a partial result: 3 of 6 subsamples are finished" in result.explain()
    whole = run()
    assert np.array_equal(result.micro, whole.micro[:, list(result.trials.subsamples)])
    assert SelectionResult.from_dict(result.to_dict()).partial


def test_an_interrupt_before_the_first_scored_subsample_leaves_nothing():
    for keywords, done in (
        ({"clusterer": raising(KeyboardInterrupt())}, "0 of 6 subsamples"),
        ({"n_calibration": 2, "progress": stop_after(1)}, "1 of 8"),
    ):
        with pytest.raises(Interrupted, match=f"stopped after {done}") as got:
            run(**keywords)
        assert got.value.result is None


# --- streaming --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{"n_jobs": 2}, {"n_calibration": 3}])
def test_every_step_of_a_stream_has_trials_of_the_last(keywords):
    *results, whole = flow(**keywords)
    assert len(results) == 5
    for result in results:
        known = list(result.trials.subsamples)
        for name in NUMBERS:
            np.testing.assert_array_equal(getattr(result.trials, name), getattr(whole.trials, name)[:, known])


def test_every_step_of_a_stream_is_the_result_of_the_first_subsamples():
    for n, result in enumerate(flow(), start=1):
        assert result.trials.subsamples == tuple(range(n))
        fewer = run(n_subsamples=result.n_subsamples)
        assert same(result, fewer)
        assert np.array_equal(result.scores, fewer.scores)
        assert result.best_k == fewer.best_k


def test_a_failing_clusterer_ends_the_stream_or_is_counted():
    settings = {"clusterer": Fails(3, [1], no_luck), "n_subsamples": 3, "random_state": range(3)}
    results = flow(**settings)
    assert next(results).n_subsamples == 1
    with pytest.raises(ClusteringError, match="k=3 failed on subsample 1"):
        next(results)
    results = list(flow(**settings, on_failure="skip"))
    assert [result.n_failed.tolist() for result in results] == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert [len(result.failures) for result in results] == [0, 1, 1]


# --- long and impossible work -----------------------------------------------------------------------------------------


def test_long_work_is_announced(monkeypatch, caplog, capfd):
    monkeypatch.setattr("compsil_kit._run.select.LONG_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, logger="compsil_kit"):
        run(progress=True)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    for text in ("Estimated time:", "6 subsamples of 60 of 90 rows", "18 clusterings, 10,620 pairs of distances"):
        assert text in record.getMessage()
    assert "Estimated time:" in capfd.readouterr().err


def test_the_time_announced_is_that_of_what_is_left(tmp_path, monkeypatch, caplog):
    path = tmp_path / "run.json"
    run(n_subsamples=3, checkpoint=path)
    monkeypatch.setattr("compsil_kit.plan.Plan.estimate_seconds", lambda *_: 7200.0)
    with caplog.at_level(logging.INFO, logger="compsil_kit"):
        run(checkpoint=path)
    assert "Estimated time: 60 min (3 of 6 subsamples are finished already)." in caplog.text


def test_the_first_run_says_that_it_compiles_and_short_work_is_not_announced(monkeypatch, capfd, caplog):
    for first in (True, False):
        monkeypatch.setattr("compsil_kit._method.clusterers.Clusterer.must_compile", lambda *_, first=first: first)
        with caplog.at_level(logging.DEBUG, logger="compsil_kit"):
            run(progress=True)
        assert ("Compiling k-means, once on this machine" in capfd.readouterr().err) is first
    assert caplog.records == []


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


def end_early(**keywords):
    for clusterer, error in ((no_luck, ClusteringError), (raising(KeyboardInterrupt()), Interrupted)):
        with pytest.raises(error):
            run(**{**keywords, "clusterer": clusterer})
    results = flow(**keywords)
    next(results)
    results.close()
    wait_for_workers()


def overlap(**keywords):
    for closed in (0, 1):
        streams = [flow(**keywords), flow(**keywords)]
        assert [next(stream).n_subsamples for stream in streams] == [1, 1]
        streams[closed].close()
        assert list(streams[1 - closed])[-1].n_subsamples == 6


@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", "spectral", "birch"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("do", [run, end_early, overlap])
def test_everything_is_left_as_it_was(do, n_jobs, clusterer):
    with threadpool_limits(limits=3):
        before = surroundings()
        do(n_jobs=n_jobs, clusterer=clusterer, random_state=None)
        assert surroundings() == before


def test_two_runs_at_once_do_not_disturb_each_other():
    expected = [run(random_state=seed, n_subsamples=10) for seed in range(4)]
    results = {}

    def work(seed):
        results[seed] = run(random_state=seed, n_subsamples=10, n_jobs=2)

    with threadpool_limits(limits=3):
        before = surroundings()
        # Daemons: one that never ends must not keep the end of the tests waiting either.
        threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(4)]
        for thread in threads:
            thread.start()
        join(threads)
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


# --- whatever ends a run carries what was finished --------------------------------------------------------------------

FEW = {"ks": [2, 3], "n_subsamples": 6}


def test_a_worker_process_that_dies(blobs, tmp_path):
    fuse = tmp_path / "fuse"

    def dies(X, k, seed):
        # The first two subsamples end well; the others wait for one of them to arrive, however long that takes.
        if seed >= 2:
            until(fuse.exists, "a result has arrived")
            os._exit(1)
        return (X[:, 0].argsort().argsort() * k) // len(X)

    def progress(done, total):
        fuse.touch()

    with joblib.parallel_config("loky", n_jobs=1), pytest.raises(Exception, match=r"worker|terminated") as ended:
        select_k(blobs, clusterer=dies, progress=progress, n_jobs=2, ks=[2, 3], n_subsamples=40, random_state=range(40))
    assert 1 <= ended.value.result.n_subsamples <= 2
