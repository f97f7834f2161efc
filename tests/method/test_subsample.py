"""Seeds and subsamples: one integer makes one draw, and depends on nothing else."""

import numpy as np
import pytest
from sklearn.utils import resample

from compsil_kit.method.subsample import (
    CALIBRATION,
    FURTHER_RUNS,
    REFERENCES,
    STRUCTURE,
    derive_seed,
    fresh_entropy,
    make_seeds,
    subsample_rows,
)


def test_seeds_are_these_for_ever():
    """Results of earlier releases are repeated with them."""
    assert make_seeds(42, 3, 2) == (3444837047, 3329053876, 955475868, 4091952314, 3307319418)
    streams = (0, CALIBRATION, FURTHER_RUNS, REFERENCES, STRUCTURE)
    assert [derive_seed(42, 3, stream=stream) for stream in streams] == [
        2541583436, 716571710, 2302161747, 2765408135, 1896920709,
    ]  # fmt: skip


def test_streams_share_no_seed():
    streams = (0, CALIBRATION, FURTHER_RUNS, REFERENCES)
    seeds = [derive_seed(7, index, stream=stream) for stream in streams for index in range(50)]
    assert len(set(seeds)) == 200


def test_seeds_that_are_given_are_used_as_they_are():
    assert make_seeds([5, 6, 7], 2, 1) == (5, 6, 7)
    assert make_seeds(np.array([5, 6]), 2, 0) == (5, 6)
    assert make_seeds(range(42, 45), 3, 0) == (42, 43, 44)
    assert all(type(seed) is int for seed in make_seeds(np.array([5, 6]), 2, 0))


def test_no_seed_means_new_ones():
    assert make_seeds(None, 5, 0) != make_seeds(None, 5, 0)
    assert 0 <= fresh_entropy() < 2**32


@pytest.mark.parametrize("given", ["42", b"42", 4.2, {1: 2}, np.zeros((2, 2), int)])
def test_what_is_no_seed(given):
    with pytest.raises(TypeError, match=r"^random_state must be an integer, None, or a sequence"):
        make_seeds(given, 2, 0)


def test_the_first_and_the_last_seed():
    assert make_seeds([0, 2**32 - 1], 2, 0) == (0, 2**32 - 1)
    assert make_seeds(0, 1, 0) != make_seeds(2**32 - 1, 1, 0)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_out_of_range(seed):
    with pytest.raises(ValueError, match=f"random_state must be made of integers from 0 to 4294967295; got {seed}"):
        make_seeds(seed, 1, 0)
    with pytest.raises(ValueError, match="integers from 0 to 4294967295"):
        make_seeds([0, seed], 2, 0)


def test_the_draw_is_that_of_scikit_learn():
    rows = subsample_rows(3, 50, 20)
    assert rows.tolist() == resample(np.arange(50), replace=False, n_samples=20, random_state=3).tolist()
    assert sorted(subsample_rows(3, 50, 50)) == list(range(50))
