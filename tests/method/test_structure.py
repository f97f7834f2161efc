import numpy as np
import pytest
from answers import continuous, grids
from scipy import sparse
from scipy.stats import kstest

from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.plan import Plan
from compsil_kit._method.structure import (
    LEVEL,
    MOST_ROWS,
    REFERENCES,
    Structure,
    _correlated,
    _independent,
    _one_mode,
    check_testable,
    compare_with,
    judge,
    n_compared,
    n_starts,
    references,
    standardised,
    without_ties,
)

RANDOM = np.random.default_rng(0)
EUCLIDEAN = resolve_metric("euclidean")
KMEANS = resolve_clusterer("kmeans", EUCLIDEAN)


def plan(n_rows, k_max):
    return Plan(n_rows, 2, (2, 3, k_max), 1, 0, n_rows, (1,), "kmeans", "euclidean", "float64")


@pytest.mark.parametrize(("n_rows", "k_max", "expected"), [(100, 5, 100), (9000, 5, MOST_ROWS), (9000, 100, 3000)])
def test_as_many_rows_are_compared_as_clusters_need(n_rows, k_max, expected):
    assert n_compared(plan(n_rows, k_max)) == expected


@pytest.mark.parametrize(("n_rows", "expected"), [(100, 10), (400, 3), (5000, 2)])
def test_few_rows_have_more_starts(n_rows, expected):
    assert n_starts(n_rows) == expected


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_points_of_any_scale_become_the_same(scale):
    X = RANDOM.normal(size=(50, 3)) + 5
    points = standardised(X * scale)
    np.testing.assert_allclose(points, standardised(X), rtol=1e-10, atol=1e-12)
    assert abs(points).max() == 1
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    assert np.all(standardised(np.zeros((4, 2))) == 0)
    assert standardised(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("kind", REFERENCES)
@pytest.mark.parametrize("shape", [(200, 4), (12, 30)], ids=["tall", "wide"])
def test_references_have_the_covariance_of_the_data(kind, shape):
    """In the directions of the principal components: distances do not depend on directions."""
    points = standardised(RANDOM.normal(size=shape) @ np.diag(np.linspace(1, 3, shape[1])))
    drawn = references(points)[kind](np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=1e-9)
    spread = np.linalg.svd(points, compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(drawn, compute_uv=False), spread[: drawn.shape[1]], rtol=1e-6)
    again = references(points)[kind](np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, again)
    assert not np.array_equal(drawn, references(points)[kind](np.random.default_rng(2)))
    # Which components are rounding errors does not depend on the scale.
    assert references(points * 1e-8)[kind](np.random.default_rng(1)).shape == drawn.shape


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in [*continuous(), *grids()]])
def test_rounding_errors_do_not_grow(X):
    """The last bit of a product depends on the CPU; what is drawn must not."""
    points = standardised(X)
    # Equal values stay equal, as they do on every CPU.
    values, which = np.unique(points, return_inverse=True)
    rounded = (values * (1 + 1e-14 * RANDOM.normal(size=values.shape)))[which].reshape(points.shape)
    here, there = references(points), references(rounded)
    for kind in REFERENCES:
        drawn = [draws[kind](np.random.default_rng(1)) for draws in (here, there)]
        np.testing.assert_allclose(*drawn, atol=1e-8, err_msg=kind)


def test_ties_are_decided_alike_for_equal_rows_only():
    points = standardised(np.repeat(np.arange(12.0).reshape(4, 3), 5, axis=0))
    moved = without_ties(points, np.random.default_rng(0))
    assert 0 < np.abs(moved - points).max() < 1e-5
    assert len(np.unique(moved, axis=0)) == 4
    np.testing.assert_array_equal(moved[::5].repeat(5, axis=0), moved)
    assert len(np.unique(moved - points, axis=0)) == 4


def test_values_that_differ_by_rounding_are_one():
    values = RANDOM.integers(0, 6, 200).astype(float)
    noisy = values + 1e-14 * RANDOM.normal(size=200)
    for exact, rounded in zip(_one_mode(values), _one_mode(noisy), strict=True):
        np.testing.assert_allclose(rounded, exact, atol=1e-12)


def test_constant_columns_are_left_out():
    points = standardised(np.column_stack([RANDOM.normal(size=(60, 2)), np.full(60, 7.0)]))
    assert all(draw(np.random.default_rng(0)).shape == (60, 2) for draw in references(points).values())


def test_elliptical_references_have_the_tails_of_the_data():
    points = standardised(RANDOM.standard_t(2, size=(800, 3)))
    kinds = references(points)

    def lengths(drawn):
        white = np.linalg.svd(drawn, full_matrices=False)[0] * np.sqrt(len(drawn))
        return np.linalg.norm(white, axis=1)

    random = np.random.default_rng(0)
    elliptical = lengths(kinds["elliptical"](random))
    assert elliptical.max() > 1.5 * lengths(kinds["gaussian"](random)).max()
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(elliptical, share) == pytest.approx(np.quantile(lengths(points), share), rel=0.2)


def density_changes(shares, places):
    """Return how often a piecewise constant density turns from falling to rising."""
    density = np.diff(shares) / np.diff(places)
    steps = np.sign(np.round(np.diff(density), 9))
    steps = steps[steps != 0]
    return int(((steps[:-1] < 0) & (steps[1:] > 0)).sum())


@pytest.mark.parametrize(
    "values",
    [
        RANDOM.normal(size=300),
        RANDOM.exponential(size=300),
        np.concatenate([RANDOM.normal(-4, 1, 150), RANDOM.normal(4, 1, 150)]),
        RANDOM.integers(0, 9, 300).astype(float),
    ],
    ids=["normal", "exponential", "two modes", "ties"],
)
def test_margins_have_one_mode(values):
    shares, places = _one_mode(values)
    assert shares[0] == pytest.approx(0)
    assert shares[-1] == pytest.approx(1)
    assert density_changes(shares, places) == 0


@pytest.mark.parametrize("draw", [RANDOM.normal, RANDOM.exponential, RANDOM.uniform], ids=lambda f: f.__name__)
def test_a_margin_of_one_mode_stays_as_it_is(draw):
    values = draw(size=2000)
    shares, places = _one_mode(values)
    drawn = np.interp(np.random.default_rng(0).uniform(size=2000), shares, places)
    assert kstest(values, drawn).pvalue > 1e-3


def test_ties_at_the_first_value_count_as_the_place_where_it_begins():
    shares, places = _one_mode(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0]))
    assert places.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(shares, [0, 0.25, 0.75, 1])


def test_two_modes_are_filled_up():
    shares, places = _one_mode(np.concatenate([RANDOM.normal(-4, 0.5, 500), RANDOM.normal(4, 0.5, 500)]))
    drawn = np.interp(np.random.default_rng(0).uniform(size=1000), shares, places)
    assert (abs(drawn) < 2).mean() > 0.2


@pytest.mark.parametrize("values", [np.zeros(5), np.array([1.0, 1.0, 2.0])], ids=["constant", "two values"])
def test_margins_of_few_values_are_drawn_from(values):
    shares, places = _one_mode(values)
    drawn = np.interp(np.random.default_rng(0).uniform(size=10), shares, places)
    assert drawn.min() >= values.min()
    assert drawn.max() <= values.max()


@pytest.mark.parametrize("draw", [RANDOM.uniform, RANDOM.laplace], ids=["box", "long tails"])
def test_sides_of_a_turned_box_are_found(draw):
    sides = draw(-1, 1, size=(3000, 2))
    angle = 0.6
    turned = sides @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    white = np.linalg.svd(turned - turned.mean(axis=0), full_matrices=False)[0]
    found = white @ _independent(white)
    agreement = abs(np.corrcoef(found.T, sides.T)[:2, 2:])
    np.testing.assert_allclose(agreement.max(axis=1), 1, atol=0.02)


def test_correlated_columns_keep_their_tails_and_correlations():
    long = RANDOM.exponential(size=2000)
    points = standardised(np.column_stack([long, 0.8 * long + 0.2 * RANDOM.normal(size=2000)]))
    drawn = _correlated(points)(np.random.default_rng(0))
    ranks = [np.corrcoef(each.argsort(axis=0).argsort(axis=0).T)[0, 1] for each in (points, drawn)]
    assert ranks[0] == pytest.approx(ranks[1], abs=0.05)
    assert kstest(points[:, 0], drawn[:, 0]).pvalue > 1e-3


def test_a_p_value_is_the_share_of_sets_that_are_as_extreme():
    drawn = np.arange(19.0)[:, None] @ np.ones((1, 2))
    assert compare_with(np.array([100.0, 0.0]), drawn)[0] == pytest.approx(1 / 20)
    assert compare_with(np.array([-5.0, -5.0]), drawn)[0] == 1
    # Of two ks the one that stands out counts.
    assert compare_with(np.array([9.0, 100.0]), drawn)[0] == pytest.approx(1 / 20)
    p, excess = compare_with(np.array([20.0, 20.0]), drawn)
    assert p == pytest.approx(1 / 20)
    assert excess == pytest.approx((20 - 9) / drawn.std(axis=0)[0])
    assert compare_with(np.array([0.02, 0.02]), drawn / 1000) == pytest.approx((p, excess))
    # Sets that are all alike have no spread to measure by.
    assert compare_with(np.array([1.0]), np.full((3, 1), 0.5)) == (0.25, 0.5)


def test_statistics_that_differ_by_rounding_are_as_extreme():
    same = 0.5 + 1e-15 * RANDOM.normal(size=(9, 2))
    assert compare_with(same[0], same[1:])[0] == 1


def test_p_values_of_exchangeable_sets_are_uniform():
    sets = RANDOM.normal(size=(400, 20, 3))
    found = [compare_with(each[0], each[1:])[0] for each in sets]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(found) == pytest.approx(0.525, abs=0.06)


def test_all_kinds_count_alike():
    low, high = np.zeros((19, 2)) + RANDOM.uniform(size=(19, 2)), 9 + RANDOM.uniform(size=(19, 2))
    every = judge(np.array([5.0, 5.0]), dict.fromkeys(REFERENCES, low), 50)
    assert every.found
    assert (every.p_value, every.n_null, every.n_rows) == (0.05, 19, 50)
    one = judge(np.array([5.0, 5.0]), {**dict.fromkeys(REFERENCES, low), "uniform": high}, 50)
    assert not one.found
    assert one.p_values == {**dict.fromkeys(REFERENCES, 0.05), "uniform": 1.0}
    assert one.p_value == pytest.approx((4 * 0.05 + 1.0) / 5)
    assert one.statistic < 0 < every.statistic
    # One kind that is rejected less clearly than the others does not hide clusters.
    kinds = [*np.repeat(0.02, 4), 0.15]
    assert Structure(np.mean(kinds), dict(zip(REFERENCES, kinds, strict=True)), 1.0, 59, 50).found


def test_ks_that_failed_are_left_out():
    drawn = dict.fromkeys(REFERENCES, RANDOM.uniform(size=(19, 2)))
    assert judge(np.array([5.0, np.nan]), drawn, 50).p_value == 0.05
    assert judge(np.array([np.nan, np.nan]), drawn, 50).p_value == 1.0


def test_the_verdict_names_the_reference_that_is_most_alike():
    p_values = {**dict.fromkeys(REFERENCES, 0.02), "uniform": 0.43}
    none = Structure(0.43, p_values, 0.1, 59, 500)
    assert none.verdict.startswith("These data show no clusters: ")
    assert "(p = 0.43; most alike is a uniform box of the same covariance)" in none.verdict
    some = Structure(LEVEL, dict.fromkeys(REFERENCES, LEVEL), 0.1, 59, 500)
    assert some.verdict.startswith("These data show clusters: ")
    assert "(p = 0.05)" in some.verdict


@pytest.mark.parametrize(
    ("clusterer", "metric", "X", "reason"),
    [
        ("gmm", "euclidean", np.zeros((3, 2)), "clusterer='gmm'"),
        ("kmeans", "manhattan", np.zeros((3, 2)), "metric='manhattan'"),
        ("kmeans", "euclidean", sparse.csr_array(np.eye(3)), "sparse"),
        (lambda X, k, seed: X, "euclidean", np.zeros((3, 2)), "clusterer="),
    ],
)
def test_other_settings_are_refused_with_the_reason(clusterer, metric, X, reason):
    measure = resolve_metric(metric)
    with pytest.raises(ValueError, match=f"structure=True needs .*{reason}"):
        check_testable(resolve_clusterer(clusterer, measure), measure, X)


def test_dense_points_and_kmeans_are_taken():
    check_testable(KMEANS, EUCLIDEAN, np.zeros((3, 2)))
