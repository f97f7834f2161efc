import numpy as np
import pytest
from answers import continuous, grids
from scipy.stats import kstest, kurtosis

from compsil_kit._method.reference_data import _copula, _independent_rotation, _unimodal_fit, principal_axes, references
from compsil_kit._method.structure import (
    LEVEL,
    MAX_COMPARED_ROWS,
    REFERENCE_KINDS,
    Structure,
    break_ties,
    compare_with,
    judge,
    n_compared,
    n_starts,
    standardised,
)
from compsil_kit.plan import Plan

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("n_rows", "k_max", "compared", "starts"),
    [(100, 5, 100, 10), (400, 5, 400, 3), (9000, 5, MAX_COMPARED_ROWS, 2), (9000, 100, 3000, 2)],
)
def test_few_rows_get_more_initialisations(n_rows, k_max, compared, starts):
    plan = Plan(n_rows, 2, (2, 3, k_max), 1, 0, n_rows, (1,), "kmeans", "euclidean", "float64")
    assert n_compared(plan) == compared
    assert n_starts(compared) == starts


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_standardised_points_do_not_depend_on_scale(scale):
    X = RANDOM.normal(size=(50, 3)) + 5
    points = standardised(X * scale)
    np.testing.assert_allclose(points, standardised(X), rtol=1e-10, atol=1e-12)
    assert abs(points).max() == 1
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    assert np.all(standardised(np.zeros((4, 2))) == 0)
    assert standardised(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("kind", REFERENCE_KINDS)
@pytest.mark.parametrize("shape", [(200, 4), (12, 30)], ids=["tall", "wide"])
def test_references_have_the_same_covariance_as_the_data(kind, shape):
    """Compare in the coordinates of the principal components, because distances do not depend on rotation."""
    points = standardised(RANDOM.normal(size=shape) @ np.diag(np.linspace(1, 3, shape[1])))
    drawn = references(points)[kind](np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=1e-9)
    spread = np.linalg.svd(points, compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(drawn, compute_uv=False), spread[: drawn.shape[1]], rtol=1e-6)
    again = references(points)[kind](np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, again)
    assert not np.array_equal(drawn, references(points)[kind](np.random.default_rng(2)))
    # The choice of null components does not depend on the scale.
    assert references(points * 1e-8)[kind](np.random.default_rng(1)).shape == drawn.shape


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in [*continuous(), *grids()]])
def test_references_do_not_amplify_rounding_errors(X):
    """The last bit of a matrix product depends on the CPU, but the drawn reference data must not."""
    points = standardised(X)
    # Equal values must stay equal, as on every CPU.
    values, which = np.unique(points, return_inverse=True)
    rounded = (values * (1 + 1e-14 * RANDOM.normal(size=values.shape)))[which].reshape(points.shape)
    here, there = references(points), references(rounded)
    for kind in REFERENCE_KINDS:
        drawn = [draws[kind](np.random.default_rng(1)) for draws in (here, there)]
        np.testing.assert_allclose(*drawn, atol=1e-8, err_msg=kind)


def test_jitter_keeps_equal_rows_equal():
    points = standardised(np.repeat(np.arange(12.0).reshape(4, 3), 5, axis=0))
    moved = break_ties(points, np.random.default_rng(0))
    assert 0 < np.abs(moved - points).max() < 1e-5
    assert len(np.unique(moved, axis=0)) == 4
    np.testing.assert_array_equal(moved[::5].repeat(5, axis=0), moved)
    assert len(np.unique(moved - points, axis=0)) == 4


def test_constant_columns_are_dropped():
    points = standardised(np.column_stack([RANDOM.normal(size=(60, 2)), np.full(60, 7.0)]))
    assert all(draw(np.random.default_rng(0)).shape == (60, 2) for draw in references(points).values())


def test_elliptical_references_have_the_same_tails_as_the_data():
    def lengths(drawn):
        return np.linalg.norm(np.linalg.svd(drawn, full_matrices=False)[0], axis=1)

    points = standardised(RANDOM.standard_t(2, size=(800, 3)))
    kinds = references(points)
    random = np.random.default_rng(0)
    elliptical = lengths(kinds["elliptical"](random))
    assert elliptical.max() > 1.5 * lengths(kinds["gaussian"](random)).max()
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(elliptical, share) == pytest.approx(np.quantile(lengths(points), share), rel=0.2)


def test_unimodal_references_keep_independent_columns_that_were_mixed():
    mixing = np.array([[2.0, 1.0], [0.0, 1.0]])
    points = standardised(np.random.default_rng(1).uniform(-1, 1, size=(2000, 2)) @ mixing)
    drawn = references(points)["unimodal"](np.random.default_rng(0)) @ principal_axes(points)[2]
    # Of a uniform distribution; mixed columns are closer to the normal one, which has 3.
    np.testing.assert_allclose(kurtosis(drawn @ np.linalg.inv(mixing), fisher=False), 1.8, atol=0.1)


def density_changes(shares, places):
    """Count how often a piecewise constant density turns from falling to rising."""
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
def test_fitted_distributions_are_unimodal(values):
    shares, places = _unimodal_fit(values)
    assert shares[0] == pytest.approx(0)
    assert shares[-1] == pytest.approx(1)
    assert density_changes(shares, places) == 0


@pytest.mark.parametrize("draw", [RANDOM.normal, RANDOM.exponential, RANDOM.uniform], ids=lambda f: f.__name__)
def test_fitting_does_not_change_a_unimodal_distribution(draw):
    values = draw(size=2000)
    drawn = np.interp(np.random.default_rng(0).uniform(size=2000), *_unimodal_fit(values))
    assert kstest(values, drawn).pvalue > 1e-3


def test_the_fitted_distribution_starts_at_zero_despite_ties():
    shares, places = _unimodal_fit(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0]))
    assert places.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(shares, [0, 0.25, 0.75, 1])


@pytest.mark.parametrize("values", [np.zeros(5), np.array([1.0, 1.0, 2.0])], ids=["constant", "two values"])
def test_fitted_distributions_cover_constant_and_binary_columns(values):
    drawn = np.interp(np.linspace(0, 1, 11), *_unimodal_fit(values))
    assert (drawn.min(), drawn.max()) == (values.min(), values.max())


@pytest.mark.parametrize("draw", [RANDOM.uniform, RANDOM.laplace], ids=["box", "long tails"])
def test_independent_components_are_found_after_a_rotation(draw):
    sides = draw(-1, 1, size=(3000, 2))
    angle = 0.6
    turned = sides @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    white = np.linalg.svd(turned - turned.mean(axis=0), full_matrices=False)[0]
    found = white @ _independent_rotation(white)
    agreement = abs(np.corrcoef(found.T, sides.T)[:2, 2:])
    np.testing.assert_allclose(agreement.max(axis=1), 1, atol=0.02)


def test_copula_keeps_distributions_and_rank_correlations():
    long = RANDOM.exponential(size=2000)
    points = standardised(np.column_stack([long, 0.8 * long + 0.2 * RANDOM.normal(size=2000)]))
    drawn = _copula(points)(np.random.default_rng(0))
    ranks = [np.corrcoef(each.argsort(axis=0).argsort(axis=0).T)[0, 1] for each in (points, drawn)]
    assert ranks[0] == pytest.approx(ranks[1], abs=0.05)
    assert kstest(points[:, 0], drawn[:, 0]).pvalue > 1e-3


def test_p_value_is_the_share_of_sets_at_least_as_extreme():
    drawn = np.arange(19.0)[:, None] @ np.ones((1, 2))
    assert compare_with(np.array([100.0, 0.0]), drawn)[0] == pytest.approx(1 / 20)
    assert compare_with(np.array([-5.0, -5.0]), drawn)[0] == 1
    # The statistic is the largest excess over all values of k.
    assert compare_with(np.array([9.0, 100.0]), drawn)[0] == pytest.approx(1 / 20)
    p, excess = compare_with(np.array([20.0, 20.0]), drawn)
    assert p == pytest.approx(1 / 20)
    assert excess == pytest.approx((20 - 9) / drawn.std(axis=0)[0])
    assert compare_with(np.array([0.02, 0.02]), drawn / 1000) == pytest.approx((p, excess))
    same = 0.5 + 1e-15 * RANDOM.normal(size=(9, 2))
    assert compare_with(same[0], same[1:])[0] == 1
    # Identical sets have no spread.
    assert compare_with(np.array([1.0]), np.full((3, 1), 0.5)) == (0.25, 0.5)


def test_all_kinds_have_equal_weight():
    low, high = np.zeros((19, 2)) + RANDOM.uniform(size=(19, 2)), 9 + RANDOM.uniform(size=(19, 2))
    every = judge(np.array([5.0, 5.0]), dict.fromkeys(REFERENCE_KINDS, low), 50)
    assert every.found
    assert (every.p_value, every.n_null, every.n_rows) == (0.05, 19, 50)
    one = judge(np.array([5.0, 5.0]), {**dict.fromkeys(REFERENCE_KINDS, low), "uniform": high}, 50)
    assert not one.found
    assert one.p_values == {**dict.fromkeys(REFERENCE_KINDS, 0.05), "uniform": 1.0}
    assert one.p_value == pytest.approx((4 * 0.05 + 1.0) / 5)
    assert one.statistic < 0 < every.statistic
    # One kind with a larger p-value does not prevent rejection.
    kinds = [*np.repeat(0.02, 4), 0.15]
    assert Structure(np.mean(kinds), dict(zip(REFERENCE_KINDS, kinds, strict=True)), 1.0, 59, 50).found


def test_values_of_k_without_clusterings_are_ignored():
    drawn = dict.fromkeys(REFERENCE_KINDS, RANDOM.uniform(size=(19, 2)))
    assert judge(np.array([5.0, np.nan]), drawn, 50).p_value == 0.05
    assert judge(np.array([np.nan, np.nan]), drawn, 50).p_value == 1.0


def test_verdict_names_the_closest_reference():
    p_values = {**dict.fromkeys(REFERENCE_KINDS, 0.02), "uniform": 0.43}
    none = Structure(0.43, p_values, 0.1, 59, 500)
    assert none.verdict.startswith("The data show no clusters: ")
    assert "(p = 0.43; the closest match is a uniform box with the same covariance)" in none.verdict
    some = Structure(LEVEL, dict.fromkeys(REFERENCE_KINDS, LEVEL), 0.1, 59, 500)
    assert some.verdict.startswith("The data show clusters: ")
    assert "(p = 0.05)" in some.verdict
