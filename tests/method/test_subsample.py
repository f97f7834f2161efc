"""Seeds and subsamples: each draw is determined by its seed alone."""

import numpy as np
import pytest
from sklearn.utils import resample

from compsil_kit._method.subsample import (
    CALIBRATION_STREAM,
    MAX_SHUFFLED_ROWS,
    ONE_BY_ONE,
    REFERENCE_STREAM,
    REPEAT_STREAM,
    SHUFFLE,
    STRUCTURE_STREAM,
    derive_seed,
    draw_version,
    make_seeds,
    subsample_rows,
)


def test_seeds_are_the_same_in_all_releases():
    """Results from earlier releases depend on these seeds."""
    assert make_seeds(42, 3, 2) == (3444837047, 3329053876, 955475868, 4091952314, 3307319418)
    streams = (0, CALIBRATION_STREAM, REPEAT_STREAM, REFERENCE_STREAM, STRUCTURE_STREAM)
    assert [derive_seed(42, 3, stream=stream) for stream in streams] == [
        2541583436, 716571710, 2302161747, 2765408135, 1896920709,
    ]  # fmt: skip


def test_streams_have_no_common_seeds():
    seeds = [derive_seed(7, index, stream=stream) for stream in range(6) for index in range(50)]
    assert len(set(seeds)) == 300


@pytest.mark.parametrize("given", [[5, 6, 7], np.array([5, 6, 7]), range(5, 8), [0, 1, 2**32 - 1]])
def test_explicit_seeds_are_used_unchanged(given):
    found = make_seeds(given, 2, 1)
    assert found == tuple(given)
    assert all(type(seed) is int for seed in found)


def test_seeds_differ_between_runs_and_random_states():
    assert make_seeds(None, 5, 0) != make_seeds(None, 5, 0)
    assert make_seeds(0, 1, 0) != make_seeds(2**32 - 1, 1, 0)


@pytest.mark.parametrize("given", ["42", b"42", 4.2, {1: 2}, np.zeros((2, 2), int)])
def test_seeds_of_invalid_types_raise(given):
    with pytest.raises(TypeError, match=r"^random_state must be an integer, None, or a sequence"):
        make_seeds(given, 2, 0)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_out_of_range_raise(seed):
    with pytest.raises(ValueError, match=f"random_state must consist of integers from 0 to 4294967295; got {seed}"):
        make_seeds(seed, 1, 0)
    with pytest.raises(ValueError, match="integers from 0 to 4294967295"):
        make_seeds([0, seed], 2, 0)


def test_draws_from_few_rows_equal_scikit_learn():
    rows = subsample_rows(3, 50, 20)
    assert rows.tolist() == resample(np.arange(50), replace=False, n_samples=20, random_state=3).tolist()
    assert sorted(subsample_rows(3, 50, 50)) == list(range(50))


@pytest.mark.parametrize(
    ("n_rows", "size", "version"),
    [
        (MAX_SHUFFLED_ROWS, 10, SHUFFLE),
        (MAX_SHUFFLED_ROWS + 1, 10, ONE_BY_ONE),
        (100_000, 50_000, ONE_BY_ONE),
        (100_000, 50_001, SHUFFLE),
        (10**12, 20_000, ONE_BY_ONE),
    ],
)
def test_draw_version_depends_on_the_number_of_rows_and_size(n_rows, size, version):
    assert draw_version(n_rows, size) == version


def test_many_rows_are_drawn_one_by_one():
    """Existing checkpoints and batches depend on these numbers."""
    assert subsample_rows(42, 10**9, 6).tolist() == [534895718, 199900595, 862061404, 787846414, 996406378, 127521863]
    # Repeated rows are redrawn, and rows stay in the order in which they are drawn.
    rows = subsample_rows(7, 60_000, 30_000)
    assert rows.shape == (30_000,)
    assert len(np.unique(rows)) == 30_000
    assert rows.min() >= 0
    assert rows.max() < 60_000
    assert not np.array_equal(rows, np.sort(rows))


def test_all_rows_are_equally_likely():
    """Check a chi-squared statistic with 99 degrees of freedom, for 400 subsamples in a hundred bins of rows."""
    counts = np.zeros(100)
    for seed in range(400):
        counts += np.bincount(subsample_rows(seed, 100_000, 5_000) // 1_000, minlength=100)
    # Counts vary a little less than independent counts, because rows are drawn without replacement.
    statistic = ((counts - 20_000) ** 2 / 20_000).sum() / 0.95
    assert 60 < statistic < 150


def test_draws_do_not_create_an_array_of_all_rows():
    assert subsample_rows(0, 2**62, 1_000).shape == (1_000,)
