"""Scales are those of scikit-learn, for tables in memory and from the moments of blocks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit import prepare
from compsil_kit._data.columns import (
    BLOCK_ROWS,
    WHOLE_ROWS,
    check_scale,
    merge_moments,
    moments_of,
    scale_matrix,
    scale_rows,
)

NAMES = ("a", "b", "c")
MANY = np.random.default_rng(1).normal([0, 50, -3], [1, 20, 0.1], size=(WHOLE_ROWS + 1, 3))
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}


def moments(matrix):
    return merge_moments(moments_of(matrix[low : low + BLOCK_ROWS]) for low in range(0, len(matrix), BLOCK_ROWS))


def test_the_command_line_writes_no_scale_as_none():
    assert [check_scale(scale) for scale in (None, "none", "robust")] == [None, None, "robust"]


@pytest.mark.parametrize("scale", SCALERS)
def test_scales_of_small_and_large_tables(scale):
    # Up to WHOLE_ROWS to the last bit, as in earlier releases.
    np.testing.assert_array_equal(scale_matrix(NAMES, MANY[:-1], scale), SCALERS[scale]().fit_transform(MANY[:-1]))
    expected = SCALERS[scale]().fit_transform(MANY)
    np.testing.assert_allclose(scale_matrix(NAMES, MANY, scale), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_constant_column_stays_finite(scale):
    rows = np.column_stack([np.full(2 * BLOCK_ROWS, 0.1), MANY[: 2 * BLOCK_ROWS, 0]])
    scaled = scale_rows(moments(rows), ("constant", "a"), rows, scale)
    assert np.isfinite(scaled).all()
    np.testing.assert_allclose(scaled[:, 0], 0, atol=1e-12)


def test_moments_are_those_of_all_rows():
    found = moments(MANY)
    assert found.n == len(MANY)
    np.testing.assert_allclose(found.mean, MANY.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.squares, MANY.var(axis=0) * len(MANY), rtol=1e-9)
    assert (found.low == MANY.min(axis=0)).all()
    assert (found.high == MANY.max(axis=0)).all()


@pytest.mark.parametrize("convert", [np.asfortranarray, lambda block: block.astype(np.float64)])
def test_moments_do_not_depend_on_layout_and_precision(convert):
    block = MANY[:BLOCK_ROWS].astype(np.float32)
    one, other = moments_of(block), moments_of(convert(block))
    assert (one.mean == other.mean).all()
    assert (one.squares == other.squares).all()


@pytest.mark.parametrize("scale", SCALERS)
def test_values_whose_scaling_overflows_raise(scale):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "big": [1e308, -1e308, 1.0, 2.0]})
    with pytest.raises(ValueError, match=rf"columns: 'big' has values too large for scale='{scale}'"):
        prepare(frame, scale=scale)
    assert prepare(frame, scale=None).matrix.max() == 1e308
    # Only standard deviations need squares; the others need differences.
    large = 1e150 if scale == "standard" else 1e200
    assert 0 < np.ptp(prepare(frame.assign(big=[large, -large, 1.0, 2.0]), scale=scale).matrix[:, 1]) < 1e10
    many = MANY.copy()
    many[5, 1] = -1e200 if scale == "standard" else -1e308
    with pytest.raises(ValueError, match=rf"columns: 'b' has values too large for scale='{scale}'"):
        scale_matrix(NAMES, many, scale)
