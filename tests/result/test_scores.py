"""The numbers of a selection: the choice, its selection probability, the calibration, what a run guarantees."""

import numpy as np
import pytest
from samples import made_up

from compsil_kit import subsamples_for_margin
from compsil_kit.method.selection import selection_probability


def test_ties_go_to_the_smaller_k():
    assert made_up([[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.2], [0.2, 0.2]]).best_k == 2


@pytest.mark.parametrize("rule", ["max", "lcb"])
def test_probability_against_plain_loops(rule):
    rng = np.random.default_rng(0)
    micro, macro = rng.normal(0.5, 0.1, (3, 8)), rng.normal(0.5, 0.1, (3, 8))

    def values(draw):
        run = made_up(micro[:, draw], macro[:, draw], rule=rule)
        return run.scores if rule == "max" else run.lcb

    redrawn = [values(draw) for draw in np.random.default_rng(0).integers(8, size=(1000, 8))]
    wins = np.zeros(3)
    for at in range(1000):
        wins[np.argmax(values(np.arange(8)) + np.sqrt(8 / 7) * (redrawn[at] - redrawn[at - 1]))] += 1
    found = selection_probability(micro, macro, transform="tanh", rule=rule, z=1.0, largest=None)
    np.testing.assert_array_equal(found, wins / 1000)


def test_probability_is_how_often_a_new_run_agrees():
    """Pairs of runs on many kinds of data, some easy and some tied: what the first says is how often both agree."""
    rng = np.random.default_rng(1)
    said, agreed = [], []
    for _ in range(300):
        means = rng.uniform(0.48, 0.52, (3, 1))
        one, other = (made_up(*(means + rng.normal(0, 0.04, (2, 3, 30)))) for _ in range(2))
        said.append(one.probability[one.best_index])
        agreed.append(one.best_k == other.best_k)
    assert 0.7 < np.mean(agreed) < 0.9
    assert np.mean(said) == pytest.approx(np.mean(agreed), abs=0.03)


def test_calibration_uses_its_own_subsamples():
    """The largest discrepancy comes from the calibration set; scored subsamples may exceed it."""
    calibrated = made_up([[0.5, 0.6]], [[0.3, 0.2]], calibration=[[0.1, 0.05]])
    delta = np.array([0.2, 0.4])
    weights = (1 + np.tanh(delta / (0.1 + 1e-12))) / 2
    np.testing.assert_allclose(calibrated.weights[0], weights, rtol=0, atol=1e-15)
    assert calibrated.reweigh(transform="linear").weights.tolist() == [[1.0, 1.0]]
    assert calibrated.guarantee().independent


def test_guarantee_of_a_run():
    run = made_up([[0.9] * 400, [0.1] * 400], [[0.9] * 400, [0.1] * 400], calibration=np.zeros((2, 3)))
    found = run.guarantee()
    assert found.proven
    assert found.lead == pytest.approx(0.8)
    assert found.radius_one < found.radius_all < 0.4
    assert found.needed == subsamples_for_margin(0.8, n_ks=2)
    assert not made_up([[0.9] * 400, [0.1] * 400], [[0.9] * 400, [0.1] * 400]).guarantee().proven
    noisy = made_up([[0.5] * 4, [0.9, 0.2, 0.9, 0.2]], [[0.5] * 4, [0.9, 0.2, 0.9, 0.2]], rule="lcb")
    assert noisy.best_k == 2
    assert noisy.lead > 0 > noisy.guarantee().lead
    tie = made_up([[0.5] * 3, [0.5] * 3], [[0.5] * 3, [0.5] * 3]).guarantee()
    assert tie.needed is None
    assert not tie.proven
