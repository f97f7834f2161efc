"""The kernel against the naive loops, scikit-learn and extended precision, on both paths."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples, silhouette_score

import naive
from compsil_kit import prepare, silhouettes
from compsil_kit._method import kernel_numba, kernel_numpy, silhouette
from compsil_kit.adapters import open_data


@pytest.fixture(params=["numpy", "compiled direct", "compiled product"])
def kernel(request, monkeypatch):
    """Run a test on each of the ways to the sums of distances, whatever the size of its data."""
    monkeypatch.setattr(silhouette, "MIN_COMPILED_SILHOUETTE_POINTS", 10**9 if request.param == "numpy" else 0)
    monkeypatch.setattr(kernel_numba, "MAX_DIRECT_FEATURES", 10**9 if request.param == "compiled direct" else 0)
    return request.param


def labelings_of(X, ks):
    return [KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in ks]


@pytest.fixture
def used(monkeypatch):
    """The names of the kernels that were called."""
    names = set()

    def watch(module, name):
        function = getattr(module, name)

        def watched(*args, **keywords):
            names.add(f"{module.__name__.rpartition('.')[2]}.{name}")
            return function(*args, **keywords)

        monkeypatch.setattr(module, name, watched)

    for module, name in (
        (kernel_numpy, "add_distances"), (kernel_numba, "accumulate_direct"), (kernel_numba, "add_squared"),
    ):  # fmt: skip
        watch(module, name)
    return names


KERNELS = {
    "numpy": "kernel_numpy.add_distances",
    "compiled direct": "kernel_numba.accumulate_direct",
    "compiled product": "kernel_numba.add_squared",
}


def test_the_tests_below_run_on_the_kernel_they_name(kernel, used):
    X, _ = make_blobs(97, 3, centers=4, random_state=0)
    silhouettes(X, labelings_of(X, [2, 3]))
    assert used == {KERNELS[kernel]}


@pytest.mark.parametrize(
    ("n", "d", "expected"), [(1499, 3, "numpy"), (1500, 64, "compiled direct"), (1500, 65, "compiled product")]
)
def test_large_data_are_left_to_compiled_code(n, d, expected, used):
    X = np.random.default_rng(0).normal(size=(n, d))
    silhouettes(X, [np.arange(n) % 2])
    assert used == {KERNELS[expected]}


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 33])
def test_equals_naive_loops(kernel, n_features):
    X, _ = make_blobs(97, n_features, centers=4, random_state=n_features)
    labelings = labelings_of(X, [2, 3, 5, 9])
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        expected = naive.silhouette_of_points(naive.distance_table(X), list(labels))
        micro, macro = naive.micro_macro(expected, list(labels))
        np.testing.assert_allclose(found.per_point, expected, rtol=0, atol=1e-12)
        assert found.micro == pytest.approx(micro, abs=1e-12)
        assert found.macro == pytest.approx(macro, abs=1e-12)


@pytest.mark.parametrize(("n", "d"), [(2500, 2), (2500, 10), (1501, 50), (1300, 3)])
def test_equals_scikit_learn(kernel, n, d):
    X, _ = make_blobs(n, d, centers=6, random_state=0)
    labelings = labelings_of(X - X.mean(axis=0), range(2, 8))
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(found.per_point, silhouette_samples(X, labels), rtol=0, atol=1e-10)
        assert found.micro == pytest.approx(silhouette_score(X, labels), abs=1e-12)


def test_panels_of_any_width_agree(kernel, monkeypatch):
    X, _ = make_blobs(1250, 5, centers=5, random_state=1)
    labelings = labelings_of(X, [3, 8])
    whole = silhouettes(X, labelings)
    monkeypatch.setattr(silhouette, "SUMS_BYTES", 1)
    for a, b in zip(whole, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(a.per_point, b.per_point, rtol=0, atol=1e-13)


@pytest.mark.parametrize("edge", [-1, 0, 1, 3])
def test_sizes_around_the_tiles(kernel, edge):
    for size in (kernel_numpy.TILE_ROWS, kernel_numpy.TILE_COLUMNS, kernel_numba.PASS_COLUMNS):
        X = np.random.default_rng(size).normal(size=(size + edge, 3))
        labels = np.arange(len(X)) % 7
        np.testing.assert_allclose(silhouettes(X, labels).per_point, silhouette_samples(X, labels), rtol=0, atol=1e-12)


def test_every_point_its_own_cell(kernel):
    """Many labelings can split the points into singletons; sums of distances then are the distances."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    labelings = [rng.integers(0, 12, size=300) for _ in range(6)]
    assert len(np.unique(np.array(labelings).T, axis=0)) > 295
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(found.per_point, silhouette_samples(X, labels), rtol=0, atol=1e-12)


def test_a_hundred_labelings(kernel):
    """The mixed-radix key of the refinement would overflow 64 bits here; it is compressed on the way."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 2))
    labelings = [np.append(np.arange(9), rng.integers(0, 9, size=111)) for _ in range(100)]
    for labels, found in zip(labelings, silhouettes(X, labelings), strict=True):
        np.testing.assert_allclose(found.per_point, silhouette_samples(X, labels), rtol=0, atol=1e-12)


def test_the_first_of_many_labelings_is_not_forgotten():
    """With 8 clusters each, the key of the last 22 labelings alone fills 64 bits and would push out the first."""
    first, others = np.arange(16) // 8, np.arange(16) % 8
    cell, member = silhouette.refine([first, *[others] * 30])
    assert sorted(cell) == list(range(16))
    np.testing.assert_array_equal(member[0][cell], first)
    np.testing.assert_array_equal(member[-1][cell], others)


@pytest.mark.parametrize(("offset", "tolerance"), [(1e8, 1e-9), (1e10, 1e-6), (-1e8, 1e-9)])
@pytest.mark.parametrize("d", [3, 60])
def test_offset_data(kernel, offset, tolerance, d):
    X, y = make_blobs(400, d, centers=4, random_state=2)
    X += offset
    expected = naive.silhouettes_long_double(X, y)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected.astype(float), rtol=0, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_any_scale(kernel, scale, offset):
    X, y = make_blobs(300, 4, centers=3, random_state=5)
    found = silhouettes((X + offset) * scale, y).per_point
    np.testing.assert_allclose(found, silhouettes(X, y).per_point, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e200, 1e290])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_scale_whose_squares_are_no_numbers(kernel, scale, metric, form):
    X, y = make_blobs(300, 4, centers=3, random_state=5)
    found = silhouettes(form(X * scale), y, metric=metric).per_point
    np.testing.assert_allclose(found, silhouettes(X, y, metric=metric).per_point, rtol=0, atol=1e-13)


def test_one_far_outlier_costs_no_digits(kernel):
    """A sentinel value far away ruins distances taken from a common origin; ours take a local one."""
    X, y = make_blobs(1000, 3, centers=5, random_state=6)
    X = np.vstack([X, [[1e8, 1e8, 1e8], [1e8, 1e8, 1e8 + 1]]])
    y = np.append(y, [5, 5])
    expected = naive.silhouettes_long_double(X, y).astype(float)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d", [2, 10, 60])
def test_float32_is_computed_in_float32(kernel, d):
    X, _ = make_blobs(1200, d, centers=6, random_state=8)
    labels = KMeans(4, n_init=1, random_state=0).fit_predict(X)
    double = silhouettes(X, labels).per_point
    single = silhouettes(X.astype(np.float32), labels).per_point
    assert single.dtype == np.float64
    assert not np.array_equal(single, double)
    np.testing.assert_allclose(single, double, rtol=0, atol=5e-6)


def test_float32_with_an_offset(kernel):
    X, y = make_blobs(500, 3, centers=3, random_state=9)
    X = (X + 1e4).astype(np.float32)
    expected = naive.silhouettes_long_double(X, y).astype(float)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected, rtol=0, atol=1e-5)


def test_alone_equal_and_coinciding_points(kernel):
    X = np.array([[0.0, 0], [0, 0], [0, 0], [0, 0], [5, 5]])
    found = silhouettes(X, [0, 0, 1, 1, 2])
    assert found.per_point.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0]
    assert silhouettes(X, [0, 0, 0, 0, 1]).per_point.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_sparse_equals_dense(kernel):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.1)
    y = rng.integers(0, 4, size=400)
    expected = silhouettes(X, y).per_point
    np.testing.assert_allclose(silhouettes(sparse.csr_array(X), y).per_point, expected, rtol=0, atol=1e-12)


def test_sparse_too_wide_to_be_made_dense(monkeypatch):
    monkeypatch.setattr(silhouette, "SUMS_BYTES", 1000)
    X = sparse.random_array((300, 5000), density=0.01, format="csr", rng=np.random.default_rng(11))
    y = np.arange(300) % 5
    expected = silhouette_samples(X.toarray(), y)
    np.testing.assert_allclose(silhouettes(X, y).per_point, expected, rtol=0, atol=1e-10)


def test_one_labeling_gives_one_many_give_a_list():
    X = np.array([[0.0], [1], [10], [11]])
    one = silhouettes(X, ["a", "a", "b", "b"])
    assert one.clusters.tolist() == ["a", "b"]
    assert one.per_cluster.tolist() == pytest.approx([one.micro, one.micro])
    many = silhouettes(X, np.array([[0, 0, 1, 1], [7, 3, 7, 3]]))
    assert [s.clusters.tolist() for s in many] == [[0, 1], [3, 7]]
    assert many[0].micro == one.micro
    assert repr(one) == "Silhouettes(micro=0.8997, macro=0.8997, 2 clusters, 4 points)"


def test_prepared_tables_and_files_are_accepted(tmp_path):
    """Whatever ``select_k`` takes, with the rows and the scale that ``prepare`` chose."""
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


def test_tick_can_stop_the_work(kernel):
    class Enough(Exception):
        pass

    def tick():
        raise Enough

    X = np.random.default_rng(0).normal(size=(500, 3))
    with pytest.raises(Enough):
        silhouette.point_silhouettes(X, [np.arange(500) % 3], silhouette.resolve_metric("euclidean"), tick)


@pytest.mark.parametrize("most", [0, 10**9])
def test_labelings_are_gathered_together_or_one_by_one_to_the_same_bits(monkeypatch, most):
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
