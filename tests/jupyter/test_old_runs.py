"""A run or a comparison that ends late, when another one has taken its place: nothing of it is seen any more."""

import threading
from typing import ClassVar

import pandas as pd
import pytest
from sklearn.cluster import KMeans
from waiting import PATIENCE, join, threads

from compsil_jupyter import explore

KS = [2, 3]


@pytest.fixture
def explorer(blobs):
    opened = explore(pd.DataFrame(blobs, columns=["a", "b", "c"]), scale=None, ks=KS, n_subsamples=2)
    yield opened
    for gate in Gate.all:
        gate.go.set()
    Gate.all.clear()
    opened.close()
    opened.wait(PATIENCE)


def cluster(X, k, seed):
    return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


class Gate:
    """A place where a thread waits until it may go on; all after the first ``free`` ones do."""

    all: ClassVar[list] = []

    def __init__(self, free=0):
        self.free, self.passed = free, 0
        self.reached, self.go = threading.Event(), threading.Event()
        self.all.append(self)

    def stop_here(self):
        self.passed += 1
        if self.passed > self.free:
            self.reached.set()
            assert self.go.wait(PATIENCE)


def hold_at_result(session, number):
    """Hold the thread of a run where it tells of its n-th result, once."""
    gate, told = Gate(), []

    def listener(what):
        if what == "result":
            told.append(what)
            if len(told) == number:
                gate.stop_here()

    session.listen(listener)
    return gate


def heard(session, word):
    """Return an event that is set when the session tells this word."""
    event = threading.Event()
    session.listen(lambda what: event.set() if what == word else None)
    return event


def failing_at(number):
    calls = []

    def fails(X, k, seed):
        calls.append(k)
        if len(calls) == number:
            raise RuntimeError("too late to be told")
        return cluster(X, k, seed)

    return fails


@pytest.mark.parametrize(("held_at", "fails_at"), [(1, None), (2, None), (1, 3)], ids=["result", "end", "error"])
def test_of_an_old_run_nothing_arrives(explorer, held_at, fails_at):
    session = explorer.session
    session.change(clusterer=failing_at(fails_at))
    held = hold_at_result(session, held_at)
    session.start()
    assert held.reached.wait(PATIENCE)
    # The workers are through: what is left waits to be taken by the thread that is held.
    join(threads("compsil"))
    old = threads("compsil-explorer")

    gate = Gate(free=len(KS))

    def gated(X, k, seed):
        gate.stop_here()
        return cluster(X, k, seed)

    session.change(clusterer=gated, n_subsamples=3)
    first = heard(session, "result")
    session.start()
    assert first.wait(PATIENCE)
    assert gate.reached.wait(PATIENCE)
    held.go.set()
    join(old)
    # The new run stands at its second subsample, with the first one on show.
    assert session.result.plan.n_subsamples == 3
    assert session.result.n_subsamples == 1
    assert (session.status.phase, session.status.done, session.status.total) == ("running", 1, 3)
    assert session.status.error == ""
    gate.go.set()
    explorer.wait(PATIENCE)
    assert (session.status.phase, session.result.n_subsamples) == ("done", 3)


def test_an_old_run_that_fails_takes_nothing_from_the_page(explorer):
    """What was shown comes back when a run fails, but only when it is still the last one."""
    session = explorer.session
    session.change(clusterer=failing_at(3))
    held = hold_at_result(session, 1)
    session.start()
    assert held.reached.wait(PATIENCE)
    join(threads("compsil"))
    old = threads("compsil-explorer")

    gate = Gate()

    def gated(X, k, seed):
        gate.stop_here()
        return cluster(X, k, seed)

    session.change(clusterer=gated)
    session.start()
    assert gate.reached.wait(PATIENCE)
    # The result of the old run is still on show, and the comparison that is made beside it meanwhile.
    compared = threading.Event()
    session.listen(lambda _: compared.set() if session.comparing.phase == "done" else None)
    session.compare()
    assert compared.wait(PATIENCE)
    shown = session.shown
    assert shown.comparison is not None
    held.go.set()
    join(old)
    assert session.shown is shown
    assert (session.status.phase, session.status.error) == ("running", "")


def test_of_an_old_comparison_nothing_arrives(explorer):
    session = explorer.session
    old_gate, new_gate, calls = Gate(), Gate(), []

    def clusterer(X, k, seed):
        calls.append(k)
        if len(calls) == 1:
            old_gate.stop_here()
            raise RuntimeError("too late to be told")
        new_gate.stop_here()
        return cluster(X, k, seed)

    session.change(clusterer=clusterer)
    session.compare()
    assert old_gate.reached.wait(PATIENCE)
    old = threads("compsil-explorer")
    session.compare()
    assert new_gate.reached.wait(PATIENCE)
    old_gate.go.set()
    join(old)
    assert (session.comparing.phase, session.comparing.error) == ("running", "")
    new_gate.go.set()
    explorer.wait(PATIENCE)
    assert (session.comparing.phase, session.comparing.error) == ("done", "")
    assert set(explorer.comparison.choices) >= {"composite", "micro"}
