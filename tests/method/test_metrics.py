"""Silhouettes with every metric equal scikit-learn's; data that do not suit the metric raise an error."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.spatial.distance
from scipy import sparse
from sklearn.metrics import pairwise_distances, silhouette_samples

from compsil_kit import ClusteringError, SelectionError, select_k, silhouettes
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.precision import scale_to_safe_range

RNG = np.random.default_rng(7)
# Whole numbers up to 200, which are exact in every numeric type from uint8 and float16 to decimals.
WHOLE = np.clip(RNG.normal(np.repeat([[30, 40, 50], [100, 150, 20], [180, 30, 180]], 25, axis=0), 6), 0, 200).round()
YES_NO = RNG.random((75, 6)) < np.repeat([0.1, 0.5, 0.9], 25)[:, None]
# The dice distance is undefined for two rows that are all False.
YES_NO[:, 0] |= ~YES_NO.any(axis=1)
LABELS = np.repeat([0, 1, 2], 25)


def run(X, **keywords):
    return select_k(X, **{"ks": (2, 3, 4), "n_subsamples": 3, "sample_size": 50, **keywords})


def absolute(x, y):
    return float(np.abs(x - y).max())


ANGLES = np.column_stack([WHOLE[:, 0] / 200 - 0.5, WHOLE[:, 1] / 100])
OF_POINTS = ["euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev", "seuclidean", "mahalanobis", "minkowski"]
METRICS = {
    **dict.fromkeys([*OF_POINTS, "canberra", "correlation", absolute], WHOLE),
    **dict.fromkeys([scipy.spatial.distance.cosine, scipy.spatial.distance.canberra], WHOLE),
    **dict.fromkeys(["jaccard", "dice", "yule", scipy.spatial.distance.jaccard], YES_NO),
    "haversine": ANGLES,
    "precomputed": pairwise_distances(WHOLE),
}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: getattr(metric, "__name__", metric))
def test_silhouettes_equal_scikit_learn(metric):
    X = METRICS[metric]
    reference = silhouette_samples(X, LABELS, metric=metric)
    assert silhouettes(X, LABELS, metric=metric).per_point == pytest.approx(reference, abs=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan", "haversine"])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_silhouettes_of_sparse_data_equal_scikit_learn(metric, form):
    X = METRICS[metric] if metric == "haversine" else np.where(WHOLE > 45, WHOLE, 0.0)
    reference = silhouette_samples(X, LABELS, metric=metric)
    assert silhouettes(form(X), LABELS, metric=metric).per_point == pytest.approx(reference, abs=1e-10)


@pytest.mark.parametrize(("name", "same_as"), [("l1", "manhattan"), ("cityblock", "manhattan"), ("l2", "euclidean")])
def test_aliases_of_a_metric_give_the_same_result(name, same_as):
    result, expected = run(WHOLE, metric=name), run(WHOLE, metric=same_as)
    assert result.plan.metric == same_as
    np.testing.assert_array_equal([result.micro, result.macro], [expected.micro, expected.macro])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_zero", [1, 5, 40])
def test_cosine_distances_of_all_zero_rows_match_scikit_learn(form, n_zero):
    X = WHOLE.copy()
    X[RNG.permutation(75)[:n_zero]] = 0.0
    reference = silhouette_samples(X, LABELS, metric="cosine")
    assert silhouettes(form(X), LABELS, metric="cosine").per_point == pytest.approx(reference, abs=1e-10)


def test_constant_features_do_not_change_the_standardised_distance():
    X = np.column_stack([WHOLE, np.full(75, 3.0)])
    reference = silhouette_samples(WHOLE, LABELS, metric="seuclidean")
    assert silhouettes(X, LABELS, metric="seuclidean").per_point == pytest.approx(reference, abs=1e-10)


def precomputed(x, y):
    """Return a distance; the name of this function is also the name of a metric."""
    return math.dist(x, y)


def test_a_function_is_never_mistaken_for_a_metric_of_the_same_name():
    result = run(WHOLE, metric=precomputed)
    assert result.scores == pytest.approx(run(WHOLE).scores, abs=1e-12)
    assert result.plan.metric == "precomputed (function)"
    assert result.plan.n_pairs == run(WHOLE).plan.n_pairs


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
def test_precomputed_distances_give_the_same_result_as_points(metric):
    def halves(X, k, seed):
        return np.arange(len(X)) % k

    D = pairwise_distances(WHOLE, metric=metric)
    by_points = run(WHOLE, metric=metric, clusterer=halves)
    assert run(D, metric="precomputed", clusterer=halves).scores == pytest.approx(by_points.scores, abs=1e-12)


GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)
DISTANCES = pairwise_distances(GOOD)


def spoiled(row, column, value):
    D = DISTANCES.copy()
    D[row, column] = value
    return D


BAD_DISTANCES = {
    "not square": (DISTANCES[:, :30], r"is not square; it has shape \(40, 30\)"),
    "not symmetric": (spoiled(3, 7, 99.0), "is not symmetric"),
    "diagonal": (spoiled(3, 3, 0.5), "has non-zero values on its diagonal"),
    "negative": (-DISTANCES, "has negative entries"),
    "one negative": (spoiled(3, 7, -1.0), "has negative entries"),
    "sparse": (sparse.csr_array(DISTANCES), "is sparse, so that missing entries would count as distance 0"),
}


@pytest.mark.parametrize("name", BAD_DISTANCES)
def test_invalid_distance_matrices_raise(name):
    D, message = BAD_DISTANCES[name]
    assert not resolve_metric("precomputed").takes_sparse
    with pytest.raises(ValueError, match=f"metric='precomputed' needs a symmetric matrix.*, but X {message}. Pass"):
        silhouettes(D, np.arange(D.shape[0]) % 2, metric="precomputed")


def test_distances_with_rounding_errors_are_accepted():
    # The noise is as large as the error of |x|^2 - 2 x.y + |y|^2 for close points.
    noise = 1e-9 * DISTANCES.max() * np.random.default_rng(0).normal(size=DISTANCES.shape)
    labels = np.arange(40) // 20
    got = silhouettes(DISTANCES + noise, labels, metric="precomputed").per_point
    assert got == pytest.approx(silhouettes(DISTANCES, labels, metric="precomputed").per_point, abs=1e-7)


UNFIT = [
    ("haversine", GOOD, "metric='haversine' cannot be used with this X"),
    (
        "jaccard",
        GOOD,
        "metric='jaccard' compares boolean features, but X has values other than 0 and 1. Pass boolean data",
    ),
    ("chebyshev", sparse.csr_array(GOOD), r"metric='chebyshev' does not support sparse data. Pass X.toarray\(\)"),
    ("seuclidean", sparse.csr_array(GOOD), "metric='seuclidean' does not support sparse data"),
    ("mahalanobis", GOOD * [1.0, 1.0, 0.0], "metric='mahalanobis' cannot be used with this X: Singular matrix"),
    ("dice", np.eye(4, 3) @ np.ones((3, 3)), "metric='dice' must return finite, non-negative distances"),
    (lambda x, y: math.nan, GOOD, "metric='<lambda>' must return finite, non-negative distances"),
    (lambda x, y: -1.0, GOOD, "metric='<lambda>' must return finite, non-negative distances"),
    (lambda x: 1.0, GOOD, "metric='<lambda>' cannot be used with this X"),
    (lambda x, y: "far", GOOD, "metric='<lambda>' cannot be used with this X"),
]


@pytest.mark.parametrize(("metric", "X", "message"), UNFIT)
def test_unsuitable_metrics_raise(metric, X, message):
    with pytest.raises(ValueError, match=message):
        select_k(X, metric=metric, ks=2, n_subsamples=2)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_a_metric_that_fails_later_raises(wrong):
    def distance(x, y):
        return wrong if x[0] == GOOD[30, 0] and y[0] != x[0] else math.dist(x, y)

    with pytest.raises(ValueError, match="metric='distance' must return finite, non-negative distances"):
        silhouettes(GOOD, np.arange(40) // 20, metric=distance)
    with pytest.raises(
        ClusteringError, match=r"measuring distances failed on subsample .* finite, non-negative distances"
    ):
        select_k(GOOD, ks=2, n_subsamples=2, metric=distance)
    with pytest.raises(SelectionError, match=r"Most frequent cause: .* must return finite, non-negative distances"):
        select_k(GOOD, ks=2, n_subsamples=2, metric=distance, on_failure="skip")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "exponent"), [(np.float64, 400), (np.float32, 50)])
def test_points_are_scaled_by_powers_of_two_only_if_squares_are_out_of_range(form, dtype, exponent):
    X = np.array([[0.75, 0.0], [-0.5, 0.25]], dtype=dtype)
    for safe in (exponent, 0, -exponent):
        given = form(np.ldexp(X, safe))
        assert scale_to_safe_range(given) is given
    for wild in (exponent + 1, -exponent - 1):
        scaled = scale_to_safe_range(form(np.ldexp(X, wild)))
        assert sparse.issparse(scaled) is (form is not np.asarray)
        np.testing.assert_array_equal(scaled.toarray() if sparse.issparse(scaled) else scaled, X)
