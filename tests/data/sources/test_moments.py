"""Mean, variance and range from blocks of rows."""

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from compsil_kit._data.sources.moments import BLOCK_ROWS, blocks, joined, moments_of, scaler_of

ROWS = np.random.default_rng(3).normal([5, -3, 1e6], [1, 100, 10], size=(3 * BLOCK_ROWS + 77, 3))


def of(rows):
    return joined(moments_of(block) for block in blocks(rows))


def test_moments_are_those_of_all_rows():
    found = of(ROWS)
    assert found.n == len(ROWS)
    np.testing.assert_allclose(found.mean, ROWS.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.squares, ROWS.var(axis=0) * len(ROWS), rtol=1e-9)
    assert (found.low == ROWS.min(axis=0)).all()
    assert (found.high == ROWS.max(axis=0)).all()


def test_the_layout_of_a_block_does_not_matter():
    one, other = moments_of(ROWS[:BLOCK_ROWS]), moments_of(np.asfortranarray(ROWS[:BLOCK_ROWS]))
    assert (one.mean == other.mean).all()
    assert (one.squares == other.squares).all()


def test_sums_of_float32_are_those_of_float64():
    single = ROWS[:BLOCK_ROWS].astype(np.float32)
    assert (moments_of(single).squares == moments_of(single.astype(np.float64)).squares).all()


@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler)])
def test_scalers_are_those_of_scikit_learn(scale, scaler):
    found = scaler_of(of(ROWS), scale).transform(ROWS[:100])
    np.testing.assert_allclose(found, scaler().fit(ROWS).transform(ROWS[:100]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_constant_column_stays_finite(scale):
    rows = np.column_stack([np.full(2 * BLOCK_ROWS, 0.1), ROWS[: 2 * BLOCK_ROWS, 0]])
    found = scaler_of(of(rows), scale).transform(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 0], 0, atol=1e-12)


def test_blocks_are_those_of_the_grid():
    assert [len(block) for block in blocks(ROWS)] == [BLOCK_ROWS, BLOCK_ROWS, BLOCK_ROWS, 77]
