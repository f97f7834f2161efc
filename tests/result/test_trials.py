"""Trials: the numbers of one subsample, and of all subsamples as arrays."""

import sys

import numpy as np
import pytest
import sklearn

import compsil_kit
from compsil_kit._result.trials import Trial, Trials, current_versions

TRIALS = [Trial(2, (0.2, 0.3), (0.1, 0.0)), Trial(0, (0.5, 0.6), (0.4, 0.2)), Trial(3, (0.7, 0.8), (0.3, 0.5))]


def test_trials_are_sorted_and_split():
    trials = Trials.collect(TRIALS, n_ks=2)
    assert trials.subsamples == (0, 2, 3)
    assert trials.micro.tolist() == [[0.5, 0.2, 0.7], [0.6, 0.3, 0.8]]
    assert trials.macro.tolist() == [[0.4, 0.1, 0.3], [0.2, 0.0, 0.5]]
    scored, calibration = Trials.split(TRIALS, n_ks=2, n_scored=3)
    assert (scored.subsamples, calibration.subsamples) == ((0, 2), (3,))
    assert calibration.micro.tolist() == [[0.7], [0.8]]
    assert Trials.collect([], n_ks=4).micro.shape == (4, 0)


def test_defaults_of_omitted_numbers():
    plain = Trial(0, (0.5, 0.6), (0.4, 0.2))
    assert plain.whole
    assert (plain.best_micro, plain.best_macro) == (plain.micro, plain.macro)
    assert np.isnan([plain.agreement, plain.within, plain.small]).all()
    full = Trial(0, (0.5,), (0.4,), best_micro=(0.7,), best_macro=(0.8,), agreement=(0.25,), within=(0.1,))
    assert (full.best_micro, full.best_macro, full.agreement) == ((0.7,), (0.8,), (0.25,))
    # Rounded to single precision.
    assert full.within == (float(np.float32(0.1)),)
    trials = Trials((0,), np.array([[0.5]]), np.array([[0.4]]), within=np.array([[0.1]]))
    assert (trials.best_micro, trials.best_macro, trials.within) == (0.5, 0.4, 0.1)
    assert np.isnan(trials.agreement)


def test_the_first_trials_are_a_read_only_copy():
    trials = Trials.collect(TRIALS, n_ks=2)
    first = trials.first(2)
    assert first.subsamples == (0, 2)
    assert first.macro.tolist() == [[0.4, 0.1], [0.2, 0.0]]
    assert not np.shares_memory(first.micro, trials.micro)
    for array in (trials.micro, trials.macro, first.micro):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_versions():
    found = current_versions()
    assert list(found) == ["python", "compsil-kit", "numpy", "scikit-learn", "scipy"]
    assert found["python"] == sys.version.split()[0]
    assert (found["numpy"], found["scikit-learn"]) == (np.__version__, sklearn.__version__)
    assert found["compsil-kit"] == compsil_kit.__version__
