"""A small selection for execution tests: three clusters, six subsamples, three candidates."""

import json
import threading

import numpy as np
from sklearn.cluster import KMeans
from waiting import join

from compsil_kit import select_k, stream
from compsil_kit._result.trials import NUMBERS

X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0))
SETTINGS = {"ks": (2, 3, 4), "n_subsamples": 6, "sample_size": 60}


def run(data=X, **keywords):
    return select_k(data, **{**SETTINGS, **keywords})


def flow(**keywords):
    return stream(X, **{**SETTINGS, **keywords})


def split(X, k, seed):
    """Cluster by position, which is fast and always gives k labels."""
    return np.arange(X.shape[0]) % k


def no_luck(X, k, seed):
    raise ValueError("no luck")


def raising(error):
    """Return a clusterer that raises this error."""

    def fail(X, k, seed):
        raise error

    return fail


class Counting:
    """A clusterer that records the seeds of its calls."""

    def __init__(self, cluster=split):
        self.calls, self._cluster = [], cluster

    def __call__(self, X, k, seed):
        self.calls.append(seed)
        return self._cluster(X, k, seed)


class Fails:
    """A clusterer that fails for the given seeds at one value of k."""

    def __init__(self, k, seeds, how):
        self.k, self.seeds, self.how = k, set(seeds), how

    def __call__(self, X, k, seed):
        if k == self.k and seed in self.seeds:
            return self.how(X, k, seed)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


def same(left, right):
    """Return whether two results have the same numbers, bit for bit; failed clusterings compare as equal."""
    pairs = [(getattr(left.trials, name), getattr(right.trials, name)) for name in NUMBERS]
    return all(np.array_equal(one, two, equal_nan=True) for one, two in pairs)


def identical(left, right):
    """Return whether two results have the same content, bit for bit."""
    return json.dumps(left.to_dict()) == json.dumps(right.to_dict())


def kept(path):
    """Return the content of a checkpoint, which must be strict JSON."""
    text = path.read_text()
    assert "NaN" not in text
    return json.loads(text)


def stop_after(n):
    """Return a progress function that interrupts the run after n steps."""

    def progress(done, total):
        if done == n:
            raise KeyboardInterrupt

    return progress


def wait_for_workers():
    """Wait until all threads started by a run have ended."""
    join(thread for thread in threading.enumerate() if thread.name.startswith("compsil"))
