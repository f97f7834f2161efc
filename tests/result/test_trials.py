"""The trials of a selection, in the order of the subsamples."""

import sys

import numpy as np
import pytest
import sklearn

import compsil_kit
from compsil_kit.result.trials import Trial, Trials, current_versions

TRIALS = [Trial(2, (0.2, 0.3), (0.1, 0.0)), Trial(0, (0.5, 0.6), (0.4, 0.2)), Trial(3, (0.7, 0.8), (0.3, 0.5))]


def test_trials_are_put_in_order():
    trials = Trials.collect(TRIALS, n_ks=2)
    assert trials.subsamples == (0, 2, 3)
    assert trials.micro.tolist() == [[0.5, 0.2, 0.7], [0.6, 0.3, 0.8]]
    assert trials.macro.tolist() == [[0.4, 0.1, 0.3], [0.2, 0.0, 0.5]]


def test_no_trials_have_a_row_for_every_k():
    assert Trials.collect([], n_ks=4).micro.shape == (4, 0)


def test_scored_trials_come_before_those_for_calibration():
    scored, calibration = Trials.split(TRIALS, n_ks=2, n_scored=3)
    assert (scored.subsamples, calibration.subsamples) == ((0, 2), (3,))
    assert calibration.micro.tolist() == [[0.7], [0.8]]


def test_the_first_ones_are_a_copy():
    trials = Trials.collect(TRIALS, n_ks=2)
    first = trials.first(2)
    assert first.subsamples == (0, 2)
    assert first.macro.tolist() == [[0.4, 0.1], [0.2, 0.0]]
    assert not np.shares_memory(first.micro, trials.micro)


def test_trials_are_frozen():
    trials = Trials.collect(TRIALS, n_ks=2)
    for array in (trials.micro, trials.macro, trials.first(1).micro):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_versions_that_the_numbers_depend_on():
    found = current_versions()
    assert list(found) == ["python", "compsil-kit", "numpy", "scikit-learn", "scipy"]
    assert found["python"] == sys.version.split()[0]
    assert (found["numpy"], found["scikit-learn"]) == (np.__version__, sklearn.__version__)
    assert found["compsil-kit"] == compsil_kit.__version__
