"""Explorer sessions for tests, and a clusterer that blocks."""

import itertools
import re
import threading
from html import unescape
from types import SimpleNamespace

from sklearn.cluster import KMeans
from waiting import PATIENCE

from compsil_jupyter.session import Session
from compsil_kit import SelectionError
from compsil_kit.config import SelectionConfig, TableConfig, settings_of

KS = (2, 3, 4, 5)
QUICK = {"ks": KS, "n_subsamples": 6}


def open_session(data, *, expression=None, **settings):
    """Return a session with these settings; the data are not scaled by default."""
    given = {"scale": None, "n_jobs": "auto", **settings}
    table = TableConfig(**{name: given.pop(name) for name in settings_of(TableConfig) if name in given})
    return Session(data, table, SelectionConfig(**given), expression)


def visible_text(markup):
    """Return the visible text of HTML on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


class Result(SimpleNamespace):
    """A result with the given attributes; ``k`` is the selected k, or None."""

    k = 3

    @property
    def best_k(self):
        if self.k is None:
            raise SelectionError("No <k>.")
        return self.k

    def explain(self):
        return "No <k>."


def finish(session):
    session.start()
    session.wait(PATIENCE)
    return session.result


def finished(data, **settings):
    """Return a session whose run is complete."""
    session = open_session(data, **settings)
    finish(session)
    return session


def start(session, gate):
    """Start a run and wait until it reaches a gate."""
    session.start()
    assert gate.reached.wait(PATIENCE)


def compare(session):
    session.compare()
    session.wait(PATIENCE)
    return session.shown.comparison


def cluster(session, k):
    """Compute all clusterings, starting with k, and return the clustering into k clusters."""
    session.shown.clusterings.prioritise(k)
    session.shown.clusterings.wait(PATIENCE)
    return session.shown.clusterings.found.get(k)


def kmeans(X, k, seed):
    return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


def fail_after(n_calls):
    """Return a clusterer that raises after a number of calls."""
    calls = itertools.count()

    def fail(X, k, seed):
        if next(calls) >= n_calls:
            raise RuntimeError("out of luck")
        return kmeans(X, k, seed)

    return fail


def on_all_rows(n_rows, act):
    """Return a clusterer that calls ``act(k)`` before clustering all rows, but not before clustering a subsample."""

    def clusterer(X, k, seed):
        if len(X) == n_rows:
            act(k)
        return kmeans(X, k, seed)

    return clusterer


class Gate:
    """A clusterer that blocks after a number of calls until ``go`` is set."""

    def __init__(self, after=0):
        self.after, self.calls = after, 0
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, X, k, seed):
        self.block()
        return kmeans(X, k, seed)

    def block(self):
        """Count a call; block if there have been more than ``after`` calls."""
        self.calls += 1
        if self.calls > self.after:
            self.reached.set()
            assert self.go.wait(PATIENCE)
