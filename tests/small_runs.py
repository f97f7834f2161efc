"""One small selection, for the tests of how it runs: three clusters, six subsamples, three candidates."""

import threading

import numpy as np
from waiting import join

from compsil_kit import select_k, stream

X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0))
SETTINGS = {"ks": (2, 3, 4), "n_subsamples": 6, "sample_size": 60}


def run(**keywords):
    return select_k(X, **{**SETTINGS, **keywords})


def flow(**keywords):
    return stream(X, **{**SETTINGS, **keywords})


def split(X, k, seed):
    """Cut the points into k groups by their place; quick, and never wrong about the count."""
    return np.arange(X.shape[0]) % k


def same(left, right):
    return np.array_equal(left.micro, right.micro) and np.array_equal(left.macro, right.macro)


def wait_for_workers():
    """Wait until the threads that a run started are gone."""
    join(thread for thread in threading.enumerate() if thread.name.startswith("compsil"))
