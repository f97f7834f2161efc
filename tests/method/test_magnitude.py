"""Clusterers return correct labels or raise an error for data with an outlier and for data of any magnitude."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import Birch, BisectingKMeans, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from compsil_kit import CompositeSilhouette, select_k
from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.labels import fit_all_rows
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.precision import _bulk, check_magnitude, fit_predict, loses_precision

EUCLIDEAN = resolve_metric("euclidean")
FILL = 9.97e36


def blobs(n=400, d=3, dtype="float64"):
    X, y = make_blobs(n, d, centers=4, random_state=3)
    return X.astype(dtype), y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_only_data_with_an_outlier_lose_precision(dtype):
    X, _ = blobs(dtype=dtype)
    rng = np.random.default_rng(0)
    for data in (X, X + 100, rng.lognormal(0, 2, (500, 3)).astype(dtype), np.eye(300, dtype=dtype), X * 0):
        assert not loses_precision(data)
    X[17, 1] = 1e12
    assert loses_precision(X)


@pytest.mark.parametrize(
    ("dtype", "far"), [*(("float64", far) for far in [1e9, 1e12, 1e17, FILL, 1e100]), ("float32", 1e9)]
)
@pytest.mark.parametrize("clusterer", ["kmeans", KMeans(n_init=3)], ids=["name", "estimator"])
def test_kmeans_finds_the_other_clusters_despite_an_outlier(clusterer, dtype, far):
    X, y = blobs(dtype=dtype)
    X[17, 1] = far
    others = np.arange(len(X)) != 17
    labelings = [resolve_clusterer(clusterer, EUCLIDEAN).labels(X, 5, seed) for seed in range(5)]
    plain = [KMeans(4, n_init=1, random_state=seed).fit_predict(X[others]) for seed in range(5)]
    assert (labelings[0] == labelings[0][17]).sum() == 1
    best = max(adjusted_rand_score(y[others], labels[others]) for labels in labelings)
    assert best == pytest.approx(max(adjusted_rand_score(y[others], labels) for labels in plain), abs=0.02)


@pytest.mark.parametrize(("dtype", "far"), [("float64", FILL), ("float32", 1e9)])
def test_predict_matches_labels_after_refitting_data_with_an_outlier(dtype, far):
    X, _ = blobs(dtype=dtype)
    X[17, 1] = far
    estimator, labels = fit_all_rows(resolve_clusterer("kmeans", EUCLIDEAN), X, 5, 0)
    assert estimator.cluster_centers_.dtype == X.dtype
    np.testing.assert_array_equal(estimator.predict(X), labels)
    model = CompositeSilhouette(ks=[2, 5], n_subsamples=3, random_state=0).fit(X)
    assert model.labels_.shape == (400,)


def test_a_fill_value_does_not_prevent_the_correct_choice():
    X, _ = blobs()
    X[17, 1] = FILL
    assert select_k(X, ks=[3, 4, 5, 6], n_subsamples=8, random_state=0).best_k == 5
    with pytest.raises(ValueError, match="clusterer='gmm' cannot distinguish the other rows"):
        select_k(X, ks=[2, 3], n_subsamples=2, clusterer="gmm")


@pytest.mark.parametrize("clusterer", ["agglomerative", "minibatch-kmeans", "birch"])
def test_other_clusterers_accept_outliers(clusterer):
    X, _ = blobs(120)
    X[17, 1] = 1e20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = resolve_clusterer(clusterer, EUCLIDEAN).labels(X, 2, 0)
    assert (labels == labels[17]).sum() == 1


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [*(("float64", scale) for scale in [1e-300, 1e-160, 1e160, 1e300]), ("float32", 1e-30), ("float32", 1e30)],
)
@pytest.mark.parametrize(
    "clusterer", ["kmeans", "minibatch-kmeans", "bisecting-kmeans", "gmm", "agglomerative", "spectral", "birch"]
)
def test_data_whose_squares_are_out_of_range_raise(clusterer, dtype, scale):
    X, _ = blobs(200, dtype=dtype)
    with pytest.raises(ValueError, match=rf"magnitude.*1e-?\d+.*{dtype}.*Scale"):
        select_k(X * X.dtype.type(scale), ks=[3, 4], n_subsamples=2, clusterer=clusterer)


LARGE = "whose squares are outside the range of {}, but clusterer='name' computes squares. Scale X first{}"
FILLED = ". If the value is a fill value, treat it as missing."


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("float64", -1e160, "1e160 (row 2, column 1), " + LARGE.format("float64", FILLED)),
        ("float64", 1e-160, "1e-160, " + LARGE.format("float64", ".")),
        ("float32", -1e30, "1e30 (row 2, column 1), " + LARGE.format("float32", " or pass it as float64" + FILLED)),
        ("float32", 1e-30, "1e-30, " + LARGE.format("float32", " or pass it as float64.")),
    ],
)
def test_the_magnitude_error_names_the_position_and_a_fix(kind, dtype, value, message):
    X = np.zeros((4, 3), dtype)
    X[0, 0], X[2, 1] = abs(value) / 2, value
    with pytest.raises(ValueError, match="squares") as caught:
        check_magnitude(KMeans(), "name", kind(X))
    assert str(caught.value) == f"X has values of magnitude {message}"


@pytest.mark.parametrize(("dtype", "limit"), [("float64", 1e150), ("float32", 1e17)])
def test_values_up_to_the_limits_are_accepted(dtype, limit):
    for fine in (0.0, limit, 1 / limit):
        check_magnitude(Birch(), "birch", np.full((4, 3), fine))
    for wrong in (1.001 * limit, 0.999 / limit):
        with pytest.raises(ValueError, match="squares"):
            check_magnitude(Birch(), "birch", np.full((4, 3), wrong).astype(dtype))


class OwnKMeans(KMeans):
    """A subclass, which may use its centres in any way."""


OwnKMeans.__module__ = "sklearn.somewhere"


@pytest.mark.parametrize(
    ("estimator", "taken"),
    [
        (KMeans(), True),
        (KMeans(init="random"), True),
        (KMeans(init=np.zeros((2, 3))), False),
        (OwnKMeans(), False),
        (BisectingKMeans(), False),
        (GaussianMixture(), False),
        (GaussianMixture(init_params="random"), True),
        (Birch(), True),
    ],
    ids=repr,
)
def test_estimators_that_subtract_the_mean_reject_outliers(estimator, taken):
    X, _ = blobs()
    # This row is in the sample that locates most of the data.
    X[24, 1] = FILL
    check_magnitude(estimator, "name", sparse.csr_array(X))
    if taken:
        check_magnitude(estimator, "name", X)
    else:
        message = r"different magnitudes: the value in row 24, column 1 is about 1e37 away .* within 1e[12] of"
        with pytest.raises(ValueError, match=message) as caught:
            check_magnitude(estimator, "name", X)
        assert "9.97" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_tolerance_of_the_estimator_is_restored(kind):
    X, _ = blobs()
    X[17, 1] = 1e12
    estimator = KMeans(5, n_init=1, tol=0.01, random_state=0)
    fit_predict(estimator, kind(X))
    assert estimator.tol == 0.01


def test_ordinary_data_are_fitted_exactly_as_in_scikit_learn():
    X, _ = blobs()
    ours, theirs = (KMeans(7, n_init=1, tol=0.05, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(fit_predict(ours, X), theirs.fit_predict(X))
    assert ours.n_iter_ == theirs.n_iter_ < KMeans(7, n_init=1, tol=0, random_state=0).fit(X).n_iter_


def test_bulk_returns_a_sample_of_rows_and_its_median():
    some, centre = _bulk(np.array([[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]], np.float32))
    assert (some.dtype, some.tolist()) == (np.float64, [[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]])
    assert centre.tolist() == [2.0, 20.0]
    assert _bulk(np.arange(330.0)[:, None])[0][:, 0].tolist() == list(range(0, 330, 10))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scaling_by_a_power_of_two_changes_no_score(scale):
    X, _ = blobs(200)
    factor = 2.0 ** np.round(np.log2(scale))
    expected = select_k(X, ks=[3, 4], n_subsamples=2, random_state=0)
    found = select_k(X * factor, ks=[3, 4], n_subsamples=2, random_state=0)
    assert found.scores == pytest.approx(expected.scores, abs=1e-12)


def test_functions_receive_data_of_any_magnitude():
    X = blobs(200)[0] * 1e200
    result = select_k(X, ks=[4], n_subsamples=2, sample_size=200, clusterer=lambda part, k, seed: np.arange(200) % k)
    assert np.isfinite(result.scores).all()


@pytest.mark.parametrize(("offset", "expected"), [(5e5, False), (4e6, True)])
def test_precision_counts_as_lost_above_the_error_limit(offset, expected):
    """``offset`` is the ratio of the distance to the mean and the distance between points.

    The relative error is eps times the square of this ratio.
    """
    X = (np.arange(1000.0) % 7)[:, None]
    X[0] = offset * len(X)
    assert loses_precision(X) is expected
