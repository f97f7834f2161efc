"""Clusterers on data with one value far from the others, and on data of any magnitude: right, or outspoken."""

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
from compsil_kit._method.precision import _bulk, check_magnitude, fit_predict, loses_digits

EUCLIDEAN = resolve_metric("euclidean")
FILL = 9.97e36


def blobs(n=400, d=3, dtype="float64"):
    X, y = make_blobs(n, d, centers=4, random_state=3)
    return X.astype(dtype), y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ordinary_data_go_the_ordinary_way(dtype):
    X, _ = blobs(dtype=dtype)
    rng = np.random.default_rng(0)
    for data in (X, X + 100, rng.lognormal(0, 2, (500, 3)).astype(dtype), np.eye(300, dtype=dtype), X * 0):
        assert not loses_digits(data)
    X[17, 1] = 1e12
    assert loses_digits(X)


@pytest.mark.parametrize("far", [1e9, 1e12, 1e17, FILL, 1e100])
@pytest.mark.parametrize("clusterer", ["kmeans", KMeans(n_init=3)], ids=["name", "estimator"])
def test_kmeans_tells_the_others_apart(clusterer, far):
    X, y = blobs()
    X[17, 1] = far
    labels = resolve_clusterer(clusterer, EUCLIDEAN).labels(X, 5, 0)
    assert (labels == labels[17]).sum() == 1
    others = np.arange(len(X)) != 17
    rest = max(
        adjusted_rand_score(y[others], KMeans(4, n_init=1, random_state=s).fit_predict(X[others])) for s in range(5)
    )
    best = max(
        adjusted_rand_score(y[others], resolve_clusterer(clusterer, EUCLIDEAN).labels(X, 5, s)[others])
        for s in range(5)
    )
    assert best == pytest.approx(rest, abs=0.02)


def test_kmeans_in_single_precision_beside_a_far_value():
    X, y = blobs(dtype="float32")
    X[17, 1] = 1e9
    labels = resolve_clusterer(KMeans(n_init=10), EUCLIDEAN).labels(X, 5, 0)
    others = np.arange(len(X)) != 17
    assert adjusted_rand_score(y[others], labels[others]) > 0.95


@pytest.mark.parametrize(("dtype", "far"), [("float64", FILL), ("float32", 1e9)])
def test_a_refit_beside_a_far_value_predicts_what_it_labelled(dtype, far):
    X, _ = blobs(dtype=dtype)
    X[17, 1] = far
    estimator, labels = fit_all_rows(resolve_clusterer("kmeans", EUCLIDEAN), X, 5, 0)
    assert estimator.cluster_centers_.dtype == X.dtype
    np.testing.assert_array_equal(estimator.predict(X), labels)
    model = CompositeSilhouette(ks=[2, 5], n_subsamples=3, random_state=0).fit(X)
    assert model.labels_.shape == (400,)


def test_a_fill_value_does_not_change_how_the_others_are_scored():
    X, _ = blobs()
    X[17, 1] = FILL
    result = select_k(X, ks=[3, 4, 5, 6], n_subsamples=8, random_state=0)
    assert result.best_k == 5


@pytest.mark.parametrize("clusterer", ["bisecting-kmeans", "gmm", BisectingKMeans(), GaussianMixture()])
def test_clusterers_that_cannot_say_so_and_name_the_place(clusterer):
    X, _ = blobs()
    X[17, 1] = FILL
    with pytest.raises(
        ValueError, match=r"different magnitude: row 17, column 1 is about 1e37 away .* within 1e[12] "
    ) as caught:
        select_k(X, ks=[2, 3], n_subsamples=2, clusterer=clusterer)
    assert "9.97" not in str(caught.value)


@pytest.mark.parametrize("clusterer", ["agglomerative", "minibatch-kmeans", "birch"])
def test_other_clusterers_take_far_values(clusterer):
    X, _ = blobs(120)
    X[17, 1] = 1e20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = resolve_clusterer(clusterer, EUCLIDEAN).labels(X, 2, 0)
    assert (labels == labels[17]).sum() == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize(
    "clusterer", ["kmeans", "minibatch-kmeans", "bisecting-kmeans", "gmm", "agglomerative", "spectral", "birch"]
)
def test_data_beyond_all_squares_are_refused(clusterer, scale):
    X, _ = blobs(200)
    with pytest.raises(ValueError, match=r"magnitude.*1e-?\d+.*Scale"):
        select_k(X * scale, ks=[3, 4], n_subsamples=2, clusterer=clusterer)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_single_precision_beyond_its_squares_is_refused(scale):
    X, _ = blobs(200, dtype="float32")
    with pytest.raises(ValueError, match=r"magnitude.*float32.*float64"):
        select_k(X * np.float32(scale), ks=[3, 4], n_subsamples=2)


LARGE = "whose squares are beyond the range of {}; clusterer='name' needs them. Scale X first{}"
FILLED = "; if it is a fill value, treat it as missing."


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
def test_the_place_of_a_value_and_the_way_out_are_said(kind, dtype, value, message):
    X = np.zeros((4, 3), dtype)
    X[2, 1] = value
    with pytest.raises(ValueError, match="squares") as caught:
        check_magnitude(KMeans(), "name", kind(X))
    assert str(caught.value) == f"X has values of magnitude {message}"


@pytest.mark.parametrize(("dtype", "limit"), [("float64", 1e150), ("float32", 1e17)])
def test_up_to_the_limits_values_are_taken(dtype, limit):
    for fine in (0.0, limit, 1 / limit):
        check_magnitude(Birch(), "birch", np.full((4, 3), fine))
    for wrong in (1.001 * limit, 0.999 / limit):
        with pytest.raises(ValueError, match="squares"):
            check_magnitude(Birch(), "birch", np.full((4, 3), wrong).astype(dtype))


class OwnKMeans(KMeans):
    """It may do anything with its centres."""


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
def test_who_cannot_be_kept_from_the_mean_refuses_far_values(estimator, taken):
    X, _ = blobs()
    # One of the rows that tell where the bulk is.
    X[24, 1] = FILL
    check_magnitude(estimator, "name", sparse.csr_array(X))
    if taken:
        check_magnitude(estimator, "name", X)
    else:
        with pytest.raises(ValueError, match=r"row 24, column 1 is about 1e37 away .* within 1e[12] of"):
            check_magnitude(estimator, "name", X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_tolerance_given_is_the_tolerance_kept(kind):
    X, _ = blobs()
    X[17, 1] = 1e12
    estimator = KMeans(5, n_init=1, tol=0.01, random_state=0)
    fit_predict(estimator, kind(X))
    assert estimator.tol == 0.01


def test_ordinary_data_are_fitted_as_scikit_learn_does():
    X, _ = blobs()
    ours, theirs = (KMeans(7, n_init=1, tol=0.05, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(fit_predict(ours, X), theirs.fit_predict(X))
    assert ours.n_iter_ == theirs.n_iter_ < KMeans(7, n_init=1, tol=0, random_state=0).fit(X).n_iter_


def test_the_bulk_is_the_median_of_some_rows():
    some, centre = _bulk(np.array([[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]], np.float32))
    assert (some.dtype, some.tolist()) == (np.float64, [[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]])
    assert centre.tolist() == [2.0, 20.0]
    assert _bulk(np.arange(330.0)[:, None])[0][:, 0].tolist() == list(range(0, 330, 10))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_large_and_small_data_cluster_as_ever(scale):
    X, _ = blobs(200)
    # By a power of two, which changes no digit.
    factor = 2.0 ** np.round(np.log2(scale))
    expected = select_k(X, ks=[3, 4], n_subsamples=2, random_state=0)
    found = select_k(X * factor, ks=[3, 4], n_subsamples=2, random_state=0)
    assert found.scores == pytest.approx(expected.scores, abs=1e-12)


def test_a_function_may_cluster_what_it_likes():
    X, y = blobs(200)
    result = select_k(
        X * 1e200, ks=[4], n_subsamples=2, sample_size=200, clusterer=lambda part, k, seed: np.arange(200) % k
    )
    assert np.isfinite(result.scores).all()
    del y


@pytest.mark.parametrize(("offset", "expected"), [(5e5, False), (4e6, True)])
def test_digits_count_as_lost_from_a_ten_thousandth_on(offset, expected):
    """The mean is so many times as far away as the points are from each other; the error is eps times its square."""
    X = (np.arange(1000.0) % 7)[:, None]
    X[0] = offset * len(X)
    assert loses_digits(X) is expected
