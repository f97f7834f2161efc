"""Silhouettes from each kernel, compared with naive loops, scikit-learn and extended precision."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

import naive
from compsil_kit import prepare, silhouettes
from compsil_kit._method import kernel_numba, kernel_numpy, silhouette
from compsil_kit._method.precision import doubt_limit
from compsil_kit.adapters import open_data

FILL = 9.97e36
EXACT = {"rtol": 0, "atol": 1e-9}
KERNELS = {
    "numpy": (kernel_numpy, "add_distances"),
    "compiled direct": (kernel_numba, "accumulate_direct"),
    "compiled product": (kernel_numba, "add_squared"),
}


@pytest.fixture(params=KERNELS)
def kernel(request, monkeypatch):
    """Run a test with each kernel, regardless of the size of the data."""
    monkeypatch.setattr(silhouette, "MIN_COMPILED_SILHOUETTE_POINTS", 10**9 if request.param == "numpy" else 0)
    monkeypatch.setattr(kernel_numba, "MAX_DIRECT_FEATURES", 10**9 if request.param == "compiled direct" else 0)
    return request.param


@pytest.fixture
def used(monkeypatch):
    """The names of the kernels that have been called."""
    names = set()

    def watch(name, module, attribute):
        function = getattr(module, attribute)
        monkeypatch.setattr(module, attribute, lambda *args, **keywords: names.add(name) or function(*args, **keywords))

    for name, (module, attribute) in KERNELS.items():
        watch(name, module, attribute)
    return names


def labelings_of(X, ks):
    return [KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in ks]


def blobs(n=400, d=3, dtype="float64"):
    X, y = make_blobs(n, d, centers=4, random_state=3)
    return X.astype(dtype), y


def long_double(X, labels):
    return naive.silhouettes_long_double(X, labels).astype(float)


def test_the_fixture_selects_the_kernel(kernel, used):
    silhouettes(*blobs())
    assert used == {kernel}


@pytest.mark.parametrize(
    ("n", "d", "expected"), [(1499, 3, "numpy"), (1500, 64, "compiled direct"), (1500, 65, "compiled product")]
)
def test_large_data_use_compiled_code(n, d, expected, used):
    silhouettes(np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 2)
    assert used == {expected}


@pytest.mark.parametrize(
    ("n", "d"), [*((97, d) for d in (1, 2, 3, 4, 7, 33)), (2500, 2), (2500, 10), (1501, 50), (1300, 3)]
)
def test_silhouettes_equal_scikit_learn(kernel, n, d):
    X, _ = make_blobs(n, d, centers=6, random_state=0)
    labelings = labelings_of(X - X.mean(axis=0), range(2, 8))
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        expected = silhouette_samples(X, labels)
        np.testing.assert_allclose(found.per_point, expected, rtol=0, atol=1e-10)
        means = [expected[labels == c].mean() for c in range(labels.max() + 1)]
        assert (found.micro, found.macro) == pytest.approx((expected.mean(), np.mean(means)), abs=1e-12)


@pytest.mark.parametrize("d", [1, 3, 7])
def test_silhouettes_equal_extended_precision(kernel, d):
    X, y = make_blobs(97, d, centers=4, random_state=d)
    np.testing.assert_allclose(silhouettes(X, y).per_point, long_double(X, y), rtol=0, atol=1e-12)


def test_silhouettes_do_not_depend_on_the_panel_width(kernel, monkeypatch):
    X, _ = make_blobs(1250, 5, centers=5, random_state=1)
    labelings = labelings_of(X, [3, 8])
    whole = silhouettes(X, labelings)
    monkeypatch.setattr(silhouette, "SUMS_BYTES", 1)
    for a, b in zip(whole, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(a.per_point, b.per_point, rtol=0, atol=1e-13)


@pytest.mark.parametrize("edge", [-1, 0, 1, 3])
def test_silhouettes_are_correct_for_sizes_near_the_tile_sizes(kernel, edge):
    for size in (kernel_numpy.TILE_ROWS, kernel_numpy.TILE_COLUMNS, kernel_numba.PASS_COLUMNS):
        X = np.random.default_rng(size).normal(size=(size + edge, 3))
        labels = np.arange(len(X)) % 7
        np.testing.assert_allclose(silhouettes(X, labels).per_point, silhouette_samples(X, labels), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "n_labelings"), [(300, 6), (120, 100)], ids=["singletons", "long key"])
def test_silhouettes_are_correct_for_many_labelings(kernel, n, n_labelings):
    """Six labelings can split the points into singletons; with 100, the mixed-radix key is longer than 64 bits."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    labelings = [np.append(np.arange(12), rng.integers(0, 12, size=n - 12)) for _ in range(n_labelings)]
    assert len(np.unique(np.array(labelings).T, axis=0)) > 0.98 * n
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(found.per_point, silhouette_samples(X, labels), rtol=0, atol=1e-12)


def test_refine_keeps_the_first_of_many_labelings():
    """With 8 clusters each, the last 22 labelings fill a 64-bit key, so the first labeling would be lost."""
    first, others = np.arange(16) // 8, np.arange(16) % 8
    cell, member = silhouette.refine([first, *[others] * 30])
    assert sorted(cell) == list(range(16))
    np.testing.assert_array_equal(member[0][cell], first)
    np.testing.assert_array_equal(member[-1][cell], others)


@pytest.mark.parametrize(
    ("dtype", "offset", "d", "tolerance"),
    [
        ("float64", 1e8, 3, 1e-9), ("float64", 1e10, 60, 1e-6), ("float64", -1e8, 60, 1e-9), ("float32", 1e4, 3, 1e-5),
    ],
)  # fmt: skip
def test_silhouettes_are_accurate_for_data_far_from_the_origin(kernel, dtype, offset, d, tolerance):
    X, y = make_blobs(400, d, centers=4, random_state=2)
    X = (X + offset).astype(dtype)
    np.testing.assert_allclose(silhouettes(X, y).per_point, long_double(X, y), rtol=0, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e-150, 1e-30, 1e30, 1e150, 1e200, 1e290])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_silhouettes_do_not_depend_on_the_scale(kernel, scale, offset):
    X, y = make_blobs(300, 4, centers=3, random_state=5)
    found = silhouettes((X + offset) * scale, y).per_point
    np.testing.assert_allclose(found, silhouettes(X, y).per_point, rtol=0, atol=1e-13)


SPARSE_METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan"]


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize(
    ("form", "metric"),
    [
        *((np.asarray, name) for name in [*SPARSE_METRICS, "chebyshev", "seuclidean"]),
        *((sparse.csr_array, name) for name in SPARSE_METRICS),
    ],
)
def test_silhouettes_do_not_depend_on_the_scale_for_any_metric(scale, metric, form, monkeypatch):
    monkeypatch.setattr(silhouette, "SUMS_BYTES", 2**10)
    X, y = blobs(150)
    found = silhouettes(form(X * scale), y, metric=metric).per_point
    np.testing.assert_allclose(found, silhouettes(X, y, metric=metric).per_point, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 10, 60])
def test_float32_is_computed_in_float32(kernel, d):
    X, _ = make_blobs(1200, d, centers=6, random_state=8)
    labels = KMeans(4, n_init=1, random_state=0).fit_predict(X)
    double = silhouettes(X, labels).per_point
    single = silhouettes(X.astype(np.float32), labels).per_point
    assert single.dtype == np.float64
    assert not np.array_equal(single, double)
    np.testing.assert_allclose(single, double, rtol=0, atol=5e-6)


def test_silhouettes_of_singletons_and_identical_points(kernel):
    X = np.array([[0.0, 0], [0, 0], [0, 0], [0, 0], [5, 5]])
    found = silhouettes(X, [0, 0, 1, 1, 2])
    assert found.per_point.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0]
    assert silhouettes(X, [0, 0, 0, 0, 1]).per_point.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_sparse_data_give_the_same_silhouettes_as_dense_data(kernel):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.1)
    y = rng.integers(0, 4, size=400)
    expected = silhouettes(X, y).per_point
    np.testing.assert_allclose(silhouettes(sparse.csr_array(X), y).per_point, expected, rtol=0, atol=1e-12)


def test_one_labeling_returns_an_object_and_several_return_a_list():
    X = np.array([[0.0], [1], [10], [11]])
    one = silhouettes(X, ["a", "a", "b", "b"])
    assert one.clusters.tolist() == ["a", "b"]
    assert one.per_cluster.tolist() == pytest.approx([one.micro, one.micro])
    many = silhouettes(X, np.array([[0, 0, 1, 1], [7, 3, 7, 3]]))
    assert [s.clusters.tolist() for s in many] == [[0, 1], [3, 7]]
    assert many[0].micro == one.micro
    assert repr(one) == "Silhouettes(micro=0.8997, macro=0.8997, 2 clusters, 4 points)"


def test_prepared_tables_and_files_are_accepted(tmp_path):
    """Accept any input of ``select_k``; a prepared table keeps its rows and scale."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"height": random.normal(size=60), "weight": 1000.0 * random.normal(size=60), "name": "a"})
    frame.loc[7, "height"] = np.nan
    table = prepare(frame, missing="drop")
    labels = np.arange(59) % 3
    expected = silhouettes(table.matrix, labels)
    np.testing.assert_array_equal(silhouettes(table, labels).per_point, expected.per_point)
    complete = frame.dropna().drop(columns="name")
    complete.to_parquet(tmp_path / "table.parquet")
    np.testing.assert_array_equal(silhouettes(prepare(complete), labels).per_point, expected.per_point)
    np.testing.assert_allclose(
        silhouettes(prepare(tmp_path / "table.parquet"), labels).per_point, expected.per_point, atol=1e-12
    )
    raw = silhouettes(complete.to_numpy(), labels)
    for X in (complete, tmp_path / "table.parquet", open_data(complete)):
        np.testing.assert_allclose(silhouettes(X, labels).per_point, raw.per_point, atol=1e-12)


def test_tick_can_stop_the_computation(kernel):
    class Enough(Exception):
        pass

    def tick():
        raise Enough

    X = np.random.default_rng(0).normal(size=(500, 3))
    with pytest.raises(Enough):
        silhouette.point_silhouettes(X, [np.arange(500) % 3], silhouette.resolve_metric("euclidean"), tick)


@pytest.mark.parametrize("most", [0, 10**9])
def test_sums_per_cluster_are_bitwise_equal_in_one_product_or_several(monkeypatch, most):
    random = np.random.default_rng(0)
    cell_sums = random.uniform(size=(40, 7))
    member = np.vstack([np.arange(40) % k for k in (2, 5, 3)])
    monkeypatch.setattr(silhouette, "SUMS_BYTES", most)
    found = list(silhouette._gatherer(member)(cell_sums))
    assert [sums.shape for sums in found] == [(2, 7), (5, 7), (3, 7)]
    for belongs, sums in zip(member, found, strict=True):
        expected = np.zeros_like(sums)
        for cell, cluster in enumerate(belongs):
            expected[cluster] += cell_sums[cell]
        np.testing.assert_array_equal(sums, expected)


# --- outliers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_rounding_reaches_the_tolerance_at_the_doubt_limit(dtype, tolerance):
    points = np.array([[3.0, 4.0], [-3.0, -4.0], [1.0, 0.0]], dtype)
    radius, eps = 5.0, np.finfo(dtype).eps
    assert eps * radius / doubt_limit(points, product=False) == pytest.approx(tolerance)
    assert eps * (radius / doubt_limit(points, product=True)) ** 2 == pytest.approx(tolerance)


@pytest.mark.parametrize(
    ("dtype", "far"),
    [
        *(("float64", far) for far in [1e5, 1e9, 1e13, 1e17, FILL, -1e160, 1e300, np.finfo(float).max]),
        *(("float32", far) for far in [1e7, 1e9, 1e17, FILL, 3e38]),
    ],
)
def test_silhouettes_are_accurate_with_one_outlier(kernel, dtype, far):
    X, y = blobs(dtype=dtype)
    X[17, 1] = far
    np.testing.assert_allclose(silhouettes(X, y).per_point, long_double(X, y), **EXACT)


@pytest.mark.parametrize("far", [1e9, FILL, 1e300])
def test_silhouettes_are_accurate_with_five_per_cent_fill_values(kernel, far):
    X, y = blobs(300, 5)
    X[::20, 2] = far
    labelings = [y, y % 2, np.arange(300) % 7]
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(found.per_point, long_double(X, labels), **EXACT)


@pytest.mark.parametrize("far", [1e9, 1e17, FILL, 1e160, 1e300])
def test_squared_distances_are_accurate_with_one_outlier(far):
    X, y = blobs(200)
    X[17, 1] = far
    wide, expected = X.astype(np.longdouble), np.zeros(200)
    for i in range(200):
        squares, own = ((wide - wide[i]) ** 2).sum(axis=1), y == y[i]
        a = squares[own].sum() / (own.sum() - 1)
        b = min(squares[y == c].mean() for c in np.unique(y[~own]))
        expected[i] = (b - a) / max(a, b)
    np.testing.assert_allclose(silhouettes(X, y, metric="sqeuclidean").per_point, expected, **EXACT)


@pytest.mark.parametrize("far", [1e17, 1e160, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cosine_distances_are_accurate_with_one_outlier(form, far):
    X, y = blobs(200)
    near = X.copy()
    X[17], near[17] = (far, 0.0, 0.0), (1.0, 0.0, 0.0)
    found, expected = (silhouettes(form(data), y, metric="cosine").per_point for data in (X, near))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_silhouettes_are_accurate_across_many_scales(kernel):
    """Each group of points is ten thousand times wider than the previous group."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) * 10.0**power + 10.0**power for power in range(-12, 13, 4)])
    y = np.repeat(np.arange(14), 30)
    np.testing.assert_allclose(silhouettes(X, y).per_point, long_double(X, y), **EXACT)


@pytest.mark.parametrize(
    ("dtype", "width", "tolerance"), [("float64", 1e-4, 1e-9), ("float32", 0.3, 1e-5), ("float32", 0.03, 1e-5)]
)
def test_silhouettes_are_accurate_for_many_tight_clusters(kernel, dtype, width, tolerance):
    """The matrix product gives exactly 0 for two points that are much closer to each other than to the origin."""
    y = np.repeat(np.arange(700), 3)
    X = (y + width * np.random.default_rng(0).normal(size=len(y)))[:, None].astype(dtype)
    x, here = X[:, 0].astype(np.longdouble), np.arange(len(y))
    sums = np.add.reduceat(np.abs(x[:, None] - x), np.arange(0, len(x), 3), axis=1)
    within, others = sums[here, y] / 2, sums / 3
    others[here, y] = np.inf
    nearest = others.min(axis=1)
    expected = ((nearest - within) / np.maximum(within, nearest)).astype(float)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected, rtol=0, atol=tolerance)


_cells = st.one_of(
    st.floats(-10, 10), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1e-320, FILL, 1e308])
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_cells, _cells), min_size=6, max_size=14), st.sampled_from([10**9, 0]))
def test_silhouettes_are_accurate_for_any_finite_values(rows, min_compiled):
    X, y = np.array(rows), np.arange(len(rows)) % 3
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(silhouette, "MIN_COMPILED_SILHOUETTE_POINTS", min_compiled)
        found = silhouettes(X, y).per_point
    np.testing.assert_allclose(found, long_double(X, y), **EXACT)
