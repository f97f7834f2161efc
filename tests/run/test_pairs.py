"""Agreements between successive subsamples do not depend on the order of arrival, and labels are not kept."""

import contextlib
import gc
import itertools
import weakref

import numpy as np
import pytest
from samples import interrupting, plan_of
from sklearn.metrics import adjusted_rand_score

from compsil_kit._method.labels import agreement
from compsil_kit._method.subsample import subsample_rows
from compsil_kit._result.trials import Trial
from compsil_kit._run.subsample import Clustered, Pairs, with_predecessors

KS = (2, 3)
PLAN = plan_of(KS, 4)


def paired(outcomes, plan, wanted):
    """Yield the trials of subsamples that arrive one by one, as in the engine."""
    pairs = Pairs(plan, wanted)
    try:
        for arrived in outcomes:
            yield from pairs.add(arrived)
    except (Exception, KeyboardInterrupt):
        yield from pairs.incomplete()
        raise
    yield from pairs.incomplete()


def outcome(index):
    """Return a subsample of 40 rows with random labels."""
    rng = np.random.default_rng(index)
    labelings = {at: rng.integers(k, size=40).astype(np.int8) for at, k in enumerate(KS)}
    silhouettes = tuple(0.1 * index + at for at in range(len(KS)))
    return Clustered(index, subsample_rows(index, 60, 40), labelings, Trial(index, silhouettes, silhouettes))


def expected(before, here):
    """Return the agreements on shared rows, computed with dictionaries."""
    found = []
    for at in range(len(KS)):
        left = dict(zip(before.rows.tolist(), before.labelings[at], strict=True))
        right = dict(zip(here.rows.tolist(), here.labelings[at], strict=True))
        shared = sorted(left.keys() & right.keys())
        found.append(adjusted_rand_score([left[row] for row in shared], [right[row] for row in shared]))
    return found


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_trials_are_yielded_once_their_predecessor_has_arrived(order):
    arrived, found = [], {}

    def arriving():
        for index in order:
            arrived.append(index)
            yield outcome(index)
            assert set(found) == {at for at in arrived if at == 0 or at - 1 in arrived}

    for trial in paired(arriving(), PLAN, range(4)):
        assert trial.index not in found
        found[trial.index] = trial.agreement
    assert sorted(found) == [0, 1, 2, 3]
    assert np.isnan(found[0]).all()
    for index in (1, 2, 3):
        np.testing.assert_allclose(found[index], expected(outcome(index - 1), outcome(index)), atol=1e-7)


@pytest.mark.parametrize("order", [range(12), [0, 1, 2, *range(11, 2, -1)]], ids=["forwards", "backwards"])
def test_labels_are_released_when_no_longer_needed(order):
    """Labels are kept only for subsamples whose predecessor or successor has not arrived yet."""
    plan, living = plan_of(KS, 12), {}

    def arriving():
        for index in order:
            made = outcome(index)
            living[index] = weakref.ref(made)
            yield made
            del made
            gc.collect()
            held = {at for at, known in living.items() if known() is not None}
            waiting = {at for at in living if at + 1 not in living or (at and at - 1 not in living)}
            assert held <= waiting | {index}

    for _ in paired(arriving(), plan, range(12)):
        pass


def test_labels_of_calibration_subsamples_are_not_kept():
    plan, living = plan_of(KS, 2, n_calibration=5), []

    def arriving():
        for index in (2, 4, 6, 3, 5, 0, 1):
            made = outcome(index)
            living.append((index, weakref.ref(made)))
            yield made
            del made
            gc.collect()
            assert {at for at, known in living if known() is not None} <= {index, 0}

    assert len(list(paired(arriving(), plan, range(7)))) == 7


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        ([2, 3], [1, 2, 3]),
        ([0, 3], [0, 2, 3]),
        ([1, 3], [0, 1, 2, 3]),
        ([3, 1], [2, 3, 0, 1]),
        ([], []),
    ],
)
def test_the_preceding_subsample_is_also_clustered(wanted, order):
    assert with_predecessors(wanted, PLAN) == order


def test_calibration_subsamples_and_the_first_have_no_predecessor():
    assert with_predecessors([4, 2, 0], plan_of(KS, 3, n_calibration=2)) == [4, 1, 2, 0]


def test_an_interrupted_comparison_is_repeated(monkeypatch):
    """The interrupt may occur during a comparison; both clusterings have arrived, so the trial is complete."""
    monkeypatch.setattr("compsil_kit._run.subsample.agreement", interrupting(agreement, 3))
    trials = []
    with pytest.raises(KeyboardInterrupt):
        # Unlike list(), extend() keeps the items yielded before the exception.
        trials.extend(paired(map(outcome, range(4)), PLAN, range(4)))
    assert [(trial.index, trial.whole) for trial in trials] == [(0, True), (1, True), (2, True)]
    np.testing.assert_allclose(trials[2].agreement, expected(outcome(1), outcome(2)), atol=1e-7)


@pytest.mark.parametrize("stop", [None, RuntimeError, KeyboardInterrupt])
def test_trials_without_predecessor_are_yielded_in_order_at_the_end(stop):
    def arriving():
        yield outcome(3)
        yield outcome(1)
        if stop:
            raise stop

    trials = []
    with pytest.raises(stop) if stop else contextlib.nullcontext():
        trials.extend(paired(arriving(), PLAN, range(4)))
    assert [(trial.index, trial.whole) for trial in trials] == [(1, False), (3, False)]
    assert np.isnan([trial.agreement for trial in trials]).all()
