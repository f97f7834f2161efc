"""Columns on one scale, however many rows there are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit._data.scaling import check_scale, scaled, scaled_by
from compsil_kit._data.sources.moments import WHOLE_ROWS, blocks, joined, moments_of
from compsil_kit._data.table import prepare

NAMES = ("a", "b", "c")
MANY = np.random.default_rng(1).normal([0, 50, -3], [1, 20, 0.1], size=(WHOLE_ROWS + 1, 3))


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(120, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["age", "spend", "visits"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y])


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler), ("robust", RobustScaler), ("minmax", MinMaxScaler)]
)
def test_scales_are_those_of_scikit_learn(frame, scale, scaler):
    numeric = frame[["age", "spend", "visits"]]
    table = prepare(frame, scale=scale)
    np.testing.assert_allclose(table.matrix, scaler().fit_transform(numeric.to_numpy()), rtol=0, atol=1e-12)
    assert table.preparation.scale == scale


def test_no_scale_is_called_none_on_a_command_line():
    assert [check_scale(scale) for scale in (None, "none", "robust")] == [None, None, "robust"]


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust"])
def test_values_that_cannot_be_scaled_are_refused(scale):
    """Sums of squares would overflow, and the scaler leave the column as it is or make it NaN."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "big": [1e308, -1e308, 1.0, 2.0]})
    with pytest.raises(ValueError, match=rf"columns: 'big' has values too large for scale='{scale}'"):
        prepare(frame, scale=scale)
    assert prepare(frame, scale=None).matrix.max() == 1e308
    # Only standard deviations need squares: what differences can hold is scaled by the others.
    large = frame.assign(big=[1e200, -1e200, 1.0, 2.0])
    if scale == "standard":
        with pytest.raises(ValueError, match="'big' has values too large"):
            prepare(large, scale=scale)
        large = frame.assign(big=[1e150, -1e150, 1.0, 2.0])
    assert 0 < np.ptp(prepare(large, scale=scale).matrix[:, 1]) < 1e10


@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler)])
def test_of_many_rows_too(scale, scaler):
    np.testing.assert_allclose(scaled(NAMES, MANY, scale), scaler().fit_transform(MANY), rtol=1e-9, atol=1e-11)
    # Up to there, to the last bit: these are the results of earlier releases.
    np.testing.assert_array_equal(scaled(NAMES, MANY[:-1], scale), scaler().fit_transform(MANY[:-1]))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_some_rows_are_scaled_as_all_of_them(scale, dtype):
    matrix = MANY.astype(dtype)
    moments = joined(moments_of(block) for block in blocks(matrix))
    some = scaled_by(moments, NAMES, matrix[::7], scale)
    assert some.dtype == dtype
    np.testing.assert_array_equal(some, scaled(NAMES, matrix, scale)[::7])


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust"])
def test_values_too_large_are_refused_among_many_rows(scale):
    large = MANY.copy()
    large[5, 1] = -1e308
    with pytest.raises(ValueError, match=rf"columns: 'b' has values too large for scale='{scale}'"):
        scaled(NAMES, large, scale)
