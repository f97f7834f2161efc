import os
import signal

import pytest
from hypothesis import settings
from sklearn.datasets import make_blobs

# Use the same examples in every run, so that failures are reproducible; a second profile runs more examples.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Processes that a shell starts in the background ignore Ctrl-C by default, but some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def blobs():
    """Four blobs of unequal size in three dimensions, 600 points."""
    X, _ = make_blobs([300, 180, 90, 30], 3, cluster_std=[1.0, 0.8, 0.6, 0.5], random_state=7)
    X.setflags(write=False)
    return X
