"""What holds on every engine: the bits of threads, failures, errors, progress, streams, checkpoints.

The test file of each engine imports these tests, and has the fixture ``spread``. Clusterers are made inside functions:
those travel as they are, while others are imported where they arrive.
"""

import json
import time

import numpy as np
import psutil
import pytest
from sklearn.datasets import make_blobs
from waiting import PATIENCE

from compsil_kit import ClusteringError, Interrupted, select_k, stream
from compsil_kit._result.trials import NUMBERS

# Enough rows for compiled k-means.
X, _ = make_blobs([900, 600, 300], 3, cluster_std=[1.5, 1.0, 0.7], random_state=3)
WHOLE = {"ks": (2, 3, 4), "n_subsamples": 5, "n_calibration": 3, "n_starts": 2, "sample_size": 1200}
# Small, for what is about the way that results take.
SMALL = {"ks": (2, 3), "n_subsamples": 10, "sample_size": 60, "random_state": range(10)}


def bits(result):
    """All numbers of all trials, of the scores, and the failures."""
    parts = [getattr(trials, name) for trials in (result.trials, result.calibration) for name in NUMBERS]
    return [part.tobytes() for part in (*parts, result.scores)], [vars(failure) for failure in result.failures]


def test_the_bits_of_threads(spread):
    with spread():
        there = select_k(X, **WHOLE)
    assert there.trials.micro.shape == (3, 5)
    assert np.isfinite(there.trials.agreement[:, 1:]).all()
    assert np.isfinite(there.trials.within).all()
    assert there.calibration.micro.shape == (3, 3)
    assert bits(there) == bits(select_k(X, **WHOLE))


def test_a_small_part_of_the_rows_is_compared_on_the_same_points(spread):
    settings = {"ks": (2, 3, 4), "n_subsamples": 3, "sample_size": 80}
    with spread():
        there = select_k(X, **settings)
    assert there.plan.n_common == 80
    assert np.isfinite(there.trials.agreement[:, 1:]).all()
    assert bits(there) == bits(select_k(X, **settings))


def test_memory_of_other_machines_is_not_that_of_this_one(spread, monkeypatch):
    """Enough for one worker, and too little for two."""
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 100 * 2**20)
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        select_k(X, **SMALL, n_jobs=2)
    with spread():
        assert select_k(X, **SMALL).n_subsamples == 10


def test_failures_are_counted(spread):
    with spread():
        there = select_k(X, **SMALL, clusterer=failing(0, 7), on_failure="skip")
    assert [(failure.k, failure.subsample) for failure in there.failures] == [(3, 0), (3, 7)]
    assert bits(there) == bits(select_k(X, **SMALL, clusterer=failing(0, 7), on_failure="skip"))


def test_errors_arrive(spread):
    with spread(), pytest.raises(ClusteringError, match=r"k=3 failed on subsample 9 \(seed 9\).*ValueError: no luck"):
        select_k(X, **SMALL, clusterer=failing(9))


def test_results_arrive_while_others_are_computed(spread, tmp_path):
    """Results arrive while subsamples are still being computed: the last of them waits until the first is here."""
    clusterer, go = waiting_at_the_last(tmp_path)
    seen = []
    with spread():
        growing = stream(X, **SMALL, clusterer=clusterer)
        seen.append(next(growing))
        go.touch()
        seen += growing
    assert [result.n_subsamples for result in seen] == list(range(1, 11))
    assert bits(seen[-1]) == bits(select_k(X, **SMALL, clusterer=clusterer))


def test_checkpoints(spread, tmp_path):
    done, path = [], tmp_path / "run.json"

    def stop_at_three(n, total):
        done.append((n, total))
        if n == 3:
            raise KeyboardInterrupt

    with spread():
        with pytest.raises(Interrupted) as stopped:
            select_k(X, **SMALL, checkpoint=path, progress=stop_at_three)
        kept = len(json.loads(path.read_text())["trials"])
        there = select_k(X, **SMALL, checkpoint=path, progress=lambda n, total: done.append((n, total)))
    assert stopped.value.result.partial
    assert 3 <= kept < 10
    # What is known already counts as done; after that they come one by one.
    assert done == [(n, 10) for n in (1, 2, 3, *range(done[3][0], 11))]
    assert bits(there) == bits(select_k(X, **SMALL))


def failing(*seeds):
    """A clusterer that cannot make three clusters of subsamples with these seeds."""

    def cluster(X, k, seed):
        if k == 3 and seed in seeds:
            raise ValueError("no luck")
        return np.arange(len(X)) % k

    return cluster


def waiting_at_the_last(folder):
    """A clusterer that waits at the last subsample for a file, and the file."""
    go, patience = folder / "go", PATIENCE

    def cluster(X, k, seed):
        deadline = time.monotonic() + patience
        while seed == 9 and not go.exists():
            assert time.monotonic() < deadline, "nobody said that the first result is here"
            time.sleep(0.02)
        return np.arange(len(X)) % k

    return cluster, go


def resting_once(folder):
    """A clusterer whose first call leaves the number of its process in a file and never returns, and the file."""
    mark = folder / "process"

    def cluster(X, k, seed):
        import os
        import threading

        draft = folder / f"{os.getpid()}-{threading.get_ident()}"
        draft.write_text(str(os.getpid()))
        try:
            # Whole at once, and for one call only.
            os.link(draft, mark)
        except FileExistsError:
            return np.arange(len(X)) % k
        return threading.Event().wait()

    return cluster, mark


def descendants():
    """The processes below this one, but for Python's and joblib's own helpers, which live as long as it."""
    return {process for process in psutil.Process().children(recursive=True) if works(process)}


def works(process):
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        # It has ended meanwhile.
        return False


def are_gone(processes):
    """Wait until processes have ended."""
    _, alive = psutil.wait_procs(processes, PATIENCE)
    return alive == []
