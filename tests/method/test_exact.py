"""Silhouettes beside a value far from the others, and of data of any magnitude: exact."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

import naive
from compsil_kit import silhouettes
from compsil_kit._method import kernel_numba, silhouette
from compsil_kit._method.precision import doubt_limit

FILL = 9.97e36
EXACT = {"rtol": 0, "atol": 1e-9}


@pytest.fixture(params=["numpy", "compiled direct", "compiled product"])
def kernel(request, monkeypatch):
    """Run a test on each of the ways to the sums of distances, whatever the size of its data."""
    monkeypatch.setattr(silhouette, "MIN_COMPILED_SILHOUETTE_POINTS", 10**9 if request.param == "numpy" else 0)
    monkeypatch.setattr(kernel_numba, "MAX_DIRECT_FEATURES", 10**9 if request.param == "compiled direct" else 0)
    return request.param


def blobs(n=400, d=3, dtype="float64"):
    X, y = make_blobs(n, d, centers=4, random_state=3)
    return X.astype(dtype), y


def oracle_of_runs(X, size):
    """Silhouettes in one dimension in extended precision, clusters being runs of equal size."""
    x = X[:, 0].astype(np.longdouble)
    sums = np.add.reduceat(np.abs(x[:, None] - x), np.arange(0, len(x), size), axis=1)
    here, own = np.arange(len(x)), np.arange(len(x)) // size
    a, others = sums[here, own] / (size - 1), sums / size
    others[here, own] = np.inf
    b = others.min(axis=1)
    return ((b - a) / np.maximum(a, b)).astype(float)


def squared_oracle(X, labels):
    """Silhouettes of squared distances, in extended precision."""
    X = np.asarray(X).astype(np.longdouble)
    values = np.zeros(len(X), np.longdouble)
    for i in range(len(X)):
        squares = ((X - X[i]) ** 2).sum(axis=1)
        own = labels == labels[i]
        a = squares[own].sum() / (own.sum() - 1)
        b = min(squares[labels == c].mean() for c in np.unique(labels[~own]))
        values[i] = (b - a) / max(a, b)
    return values


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_at_the_limit_of_doubt_rounding_reaches_the_tolerance(dtype, tolerance):
    points = np.array([[3.0, 4.0], [-3.0, -4.0], [1.0, 0.0]], dtype)
    radius, eps = 5.0, np.finfo(dtype).eps
    assert eps * radius / doubt_limit(points, product=False) == pytest.approx(tolerance)
    assert eps * (radius / doubt_limit(points, product=True)) ** 2 == pytest.approx(tolerance)


@pytest.mark.parametrize("far", [1e5, 1e9, 1e13, 1e17, FILL, -1e160, 1e300, np.finfo(float).max])
def test_one_far_coordinate_leaves_the_others_exact(kernel, far):
    X, y = blobs()
    X[17, 1] = far
    np.testing.assert_allclose(silhouettes(X, y).per_point, naive.silhouettes_long_double(X, y).astype(float), **EXACT)


@pytest.mark.parametrize("far", [1e7, 1e9, 1e17, FILL, 3e38])
def test_one_far_coordinate_in_single_precision(kernel, far):
    X, y = blobs(dtype="float32")
    X[17, 1] = far
    np.testing.assert_allclose(silhouettes(X, y).per_point, naive.silhouettes_long_double(X, y).astype(float), **EXACT)


@pytest.mark.parametrize("far", [1e9, FILL, 1e300])
def test_many_labelings_and_a_twentieth_of_fill_values(kernel, far):
    X, y = blobs(300, 5)
    X[::20, 2] = far
    labelings = [y, y % 2, np.arange(300) % 7]
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        expected = naive.silhouettes_long_double(X, labels).astype(float)
        np.testing.assert_allclose(found.per_point, expected, **EXACT)


@pytest.mark.parametrize("far", [1e9, 1e17, FILL, 1e160, 1e300])
def test_squared_distances_beside_a_far_value(far):
    X, y = blobs(200)
    X[17, 1] = far
    found = silhouettes(X, y, metric="sqeuclidean").per_point
    np.testing.assert_allclose(found, squared_oracle(X, y).astype(float), **EXACT)


@pytest.mark.parametrize("far", [1e17, 1e160, 1e300])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_directions_beside_a_far_value(kind, far):
    X, y = blobs(200)
    near = X.copy()
    X[17], near[17] = (far, 0.0, 0.0), (1.0, 0.0, 0.0)
    found, expected = (silhouettes(kind(data), y, metric="cosine").per_point for data in (X, near))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_scales_within_scales(kernel):
    """Groups of groups, each level a million times wider: every point has its own measure of near."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) * 10.0**power + 10.0**power for power in range(-12, 13, 4)])
    y = np.repeat(np.arange(14), 30)
    np.testing.assert_allclose(silhouettes(X, y).per_point, naive.silhouettes_long_double(X, y).astype(float), **EXACT)


def test_tight_groups_far_apart_are_not_taken_for_one_place(kernel):
    """The product gives exactly 0 for points that are close compared with their distance to the origin."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(700), 3)
    X = (y + 1e-4 * rng.normal(size=len(y)))[:, None]
    np.testing.assert_allclose(silhouettes(X, y).per_point, oracle_of_runs(X, 3), **EXACT)


@pytest.mark.parametrize("width", [0.3, 0.03])
def test_seven_hundred_clusters_in_one_dimension_in_single_precision(kernel, width):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(700), 3)
    X = (y + width * rng.normal(size=len(y)))[:, None].astype(np.float32)
    expected = oracle_of_runs(X, 3)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected, rtol=0, atol=1e-5)


_cells = st.one_of(
    st.floats(-10, 10), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1e-320, FILL, 1e308])
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_cells, _cells), min_size=6, max_size=14), st.sampled_from(["numpy", "compiled"]))
def test_any_finite_values(rows, way):
    X, y = np.array(rows), np.arange(len(rows)) % 3
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(silhouette, "MIN_COMPILED_SILHOUETTE_POINTS", 10**9 if way == "numpy" else 0)
        found = silhouettes(X, y).per_point
    np.testing.assert_allclose(found, naive.silhouettes_long_double(X, y).astype(float), **EXACT)


SPARSE_METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan"]


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        *((np.asarray, name) for name in [*SPARSE_METRICS, "chebyshev", "seuclidean"]),
        *((sparse.csr_array, name) for name in SPARSE_METRICS),
    ],
)
def test_silhouettes_of_tiny_and_huge_data(scale, metric, kind, monkeypatch):
    monkeypatch.setattr(silhouette, "SUMS_BYTES", 2**10)
    X, y = blobs(150)
    found = silhouettes(kind(X * scale), y, metric=metric).per_point
    np.testing.assert_allclose(found, silhouettes(X, y, metric=metric).per_point, rtol=0, atol=1e-9)
