"""Sessions of the explorer for tests: their settings, and a clusterer that waits."""

import threading

from sklearn.cluster import KMeans
from waiting import PATIENCE

from compsil_kit._settings.keywords import PlanKeywords, TableKeywords, defaults_of

KS = (2, 3, 4, 5)


def settings(**given):
    """What is computed, by default without scaling."""
    return {**defaults_of(TableKeywords), **defaults_of(PlanKeywords), "n_jobs": "auto", "scale": None, **given}


QUICK = settings(ks=KS, n_subsamples=6)


def finish(session):
    session.start()
    session.wait(PATIENCE)
    return session.result


class Gate:
    """A clusterer that stops at its n-th call until it is let through."""

    def __init__(self, after):
        self.after, self.calls = after, 0
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, X, k, seed):
        self.calls += 1
        if self.calls > self.after:
            self.reached.set()
            assert self.go.wait(PATIENCE)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)
