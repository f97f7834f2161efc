"""The confidence model, its features, and the settings for which it is calibrated."""

import json
from dataclasses import replace

import numpy as np
import pytest
from samples import plan_of

from compsil_kit._method import likelihood
from compsil_kit._method.likelihood import BETTER_HALF, INPUTS, MODEL_FILE, features, means, model, why_unknown

KS = tuple(range(2, 9))
MEANS = (*INPUTS, *(f"better {name}" for name in BETTER_HALF))
PLAN = plan_of(KS, 10)


def numbers(shape=(), seed=0):
    """Return made-up means; the last axis is k."""
    rng = np.random.default_rng(seed)
    found = {name: rng.uniform(0.1, 0.9, (*shape, len(KS))) for name in MEANS}
    for name in ("within", "better within"):
        found[name] = np.sort(found[name], axis=-1)[..., ::-1]
    return found


def chances(given, plan=PLAN):
    return likelihood.likelihood(given, plan)


@pytest.mark.parametrize(("n_starts", "name"), [(1, "1"), (5, "several"), (12, "several")])
def test_confidence_equals_a_naive_loop(n_starts, name):
    """Confidence is a softmax of the scaled utilities for each k and for "none"."""
    given, found = numbers(), model()["starts"][name]
    per_k, of_none = features(given, PLAN)
    utilities = [sum(weight * float(per_k[name][at]) for name, weight in found["k"].items()) for at in range(len(KS))]
    utilities.append(sum(weight * float(of_none[name]) for name, weight in found["none"].items()))
    weights = np.exp(found["sharpness"] * np.array(utilities))
    np.testing.assert_allclose(chances(given, replace(PLAN, n_starts=n_starts)), weights / weights.sum(), rtol=1e-9)


def test_resamples_are_evaluated_independently():
    redrawn = numbers((4, 3))
    together = chances(redrawn)
    assert together.shape == (4, 3, len(KS) + 1)
    for at in np.ndindex(4, 3):
        alone = chances({name: values[at] for name, values in redrawn.items()})
        np.testing.assert_allclose(together[at], alone, rtol=1e-12)


def test_unknown_stability_counts_as_zero():
    given = numbers()
    given["agreement"] = np.full(len(KS), np.nan)
    unknown = chances(given)
    assert np.isfinite(unknown).all()
    given["agreement"] = np.zeros(len(KS))
    assert np.array_equal(unknown, chances(given))


def test_confidence_is_finite_for_a_zero_within_cluster_sum_of_squares():
    """With one cluster per distinct point, only rounding errors remain."""
    given = numbers()
    for rest in (0.0, -1e-17, 1e-15):
        given["within"] = given["better within"] = np.array([0.5, 0.1, rest, rest, rest, rest, rest])
        assert np.isfinite(chances(given)).all()


def test_large_utilities_do_not_overflow():
    given = {name: 1e6 * values for name, values in numbers().items()}
    with np.errstate(over="raise", invalid="raise"):
        found = chances(given)
    assert found.sum() == pytest.approx(1.0)


def bump(values):
    """Return the excess over the mean of the neighbours; at both ends, values are extrapolated and the excess is 0."""
    inner = [values[at] - (values[at - 1] + values[at + 1]) / 2 for at in range(1, len(values) - 1)]
    return np.array([0.0, *inner, 0.0])


def best(values):
    return np.array([float(value == max(values)) for value in values])


@pytest.mark.parametrize(("first", "best_at"), [(2, 0), (3, 0), (2, 6), (3, 3)])
def test_features_equal_a_naive_computation(first, best_at):
    given = {name: values.copy() for name, values in numbers(seed=3).items()}
    given["within"][-1] = 1e-12
    given["best_micro"][best_at] = given["agreement"][best_at] = 0.95
    ks = np.arange(first, first + len(KS))
    micro, macro, stability = given["best_micro"], given["best_macro"], given["agreement"]
    stable, better = micro * stability, {name: given[f"better {name}"] for name in BETTER_HALF}
    bends = [-bump(np.log(np.maximum(within, 1e-9))) for within in (given["within"], better["within"])]
    per_k = {
        "micro": micro, "macro": macro, "stability": stability, "micro x stability": stable, "log k": np.log(ks),
        "bump of micro": bump(micro), "bump of macro": bump(macro), "bump of stability": bump(stability),
        "bend": bends[0], "largest bend": best(bends[0]), "better bend": bends[1],
        "largest better bend": best(bends[1]), "best of micro": best(micro), "best of macro": best(macro),
        "best of micro x stability": best(stable),
        **{f"better {name}": better[f"best_{name}"] for name in ("micro", "macro")},
        **{f"bump of better {name}": bump(better[f"best_{name}"]) for name in ("micro", "macro")},
        **{f"best of better {name}": best(better[f"best_{name}"]) for name in ("micro", "macro")},
        "first k": (ks == first) * (first > 2.0), "last k": ks == ks[-1], "k = 2": ks == 2,
    }  # fmt: skip
    of_none = {
        "always": 1, "largest micro": max(micro), "largest macro": max(macro), "largest stability": max(stability),
        "largest micro x stability": max(stable), "log number of ks": np.log(7), "log mean k": np.log(first + 3),
        "log columns": np.log(2), "the best is last": float(best_at == 6),
        "the best is first": float(best_at == 0 and first > 2),
    }  # fmt: skip
    found = features(given, plan_of(ks.tolist(), 10))
    for features_found, expected in zip(found, (per_k, of_none), strict=True):
        assert set(features_found) == set(expected)
        for name, values in expected.items():
            np.testing.assert_allclose(features_found[name], values, atol=1e-12, err_msg=name)


def test_means_are_computed_over_all_subsamples_and_the_better_half():
    """The better half has the lowest within-cluster sums of squares, is rounded up and excludes failed subsamples."""
    nan = np.nan
    trials = {
        "best_micro": np.array([[0.1, 0.5, 0.3, 0.4, 0.2], [nan, 0.2, 0.6, nan, 0.4]]),
        "best_macro": np.array([[1.0, 5.0, 3.0, 4.0, 2.0], [nan, 2.0, 6.0, nan, 4.0]]),
        "agreement": np.array([[nan, 0.5, 0.5, 0.5, 0.5], [nan, nan, nan, nan, nan]]),
        "within": np.array([[0.9, 0.5, 0.7, 0.6, 0.8], [nan, 0.8, 0.4, nan, 0.6]]),
    }
    found = means(trials)
    assert set(found) == set(MEANS)
    np.testing.assert_allclose(found["best_micro"], [0.3, 0.4])
    np.testing.assert_allclose(found["agreement"], [0.5, nan])
    np.testing.assert_allclose(found["better best_micro"], [0.4, 0.5])
    np.testing.assert_allclose(found["better best_macro"], [4.0, 5.0])
    np.testing.assert_allclose(found["better within"], [0.6, 0.5])
    # Resamples add an axis.
    redrawn = means({name: np.stack([values, values[:, ::-1]], axis=1) for name, values in trials.items()})
    np.testing.assert_allclose(redrawn["better best_macro"], [[4.0, 4.0], [5.0, 5.0]])
    single = means({name: np.array([[0.3], [0.2]]) for name in INPUTS})
    assert single["better best_micro"].tolist() == [0.3, 0.2]


@pytest.mark.parametrize("starts", ["1", "several"])
def test_every_feature_has_a_coefficient(starts):
    per_k, of_none = features(numbers(), PLAN)
    found = json.loads(MODEL_FILE.read_text())["starts"][starts]
    # With several initialisations, the better half is not a feature.
    assert set(found["k"]) == {name for name in per_k if starts == "1" or "better" not in name}
    assert set(found["none"]) == set(of_none)
    coefficients = [*found["k"].values(), *found["none"].values(), found["sharpness"]]
    assert all(isinstance(value, float) and np.isfinite(value) for value in coefficients)
    assert found["sharpness"] > 0


LIMITS = json.loads(MODEL_FILE.read_text())["limits"]
KNOWN = {
    "by name": {},
    "by estimator": {"clusterer": "KMeans"},
    "the largest k": {"ks": tuple(range(LIMITS["k"] - 2, LIMITS["k"] + 1))},
    "most columns": {"n_features": LIMITS["features"]},
    "several starts": {"n_starts": 5},
    "three candidates": {"ks": (4, 5, 6)},
    "few shared rows per cluster": {"n_rows": 300, "sample_size": 67, "ks": (3, 4, 5)},
    "a small part of many rows": {"n_rows": 10**8, "sample_size": 20_000},
    "three rows per cluster of many": {"n_rows": 10**8, "sample_size": 15, "ks": (3, 4, 5)},
}
UNKNOWN = {
    "clusterer": ({"clusterer": "gmm"}, "k-means with Euclidean distance; this run used gmm"),
    "metric": ({"metric": "manhattan"}, "k-means with Euclidean distance; this run used manhattan"),
    "both": ({"clusterer": "kmedoids", "metric": "precomputed"}, "this run used kmedoids with precomputed"),
    "gaps": ({"ks": (2, 3, 5)}, "at least three consecutive candidates"),
    "two candidates": ({"ks": (2, 3)}, "at least three consecutive candidates"),
    "too large": (
        {"ks": tuple(range(LIMITS["k"] - 1, LIMITS["k"] + 2))},
        f"up to {LIMITS['k']} clusters; the largest candidate is {LIMITS['k'] + 1}",
    ),
    "hardly any rows": (
        {"n_rows": 10**8, "sample_size": 14, "ks": (3, 4, 5)},
        "subsamples of 14 rows are too small to measure the stability of 5 clusters",
    ),
    "too wide": ({"n_features": LIMITS["features"] + 1}, f"up to {LIMITS['features']} columns; the data have"),
}


@pytest.mark.parametrize("changes", KNOWN.values(), ids=KNOWN)
def test_calibrated_settings_have_no_reason(changes):
    assert why_unknown(replace(PLAN, **changes), LIMITS["subsamples"]) == ""


@pytest.mark.parametrize(("changes", "reason"), UNKNOWN.values(), ids=UNKNOWN)
def test_uncalibrated_settings_have_a_reason(changes, reason):
    assert reason in why_unknown(replace(PLAN, **changes), 30)


def test_too_few_subsamples_are_the_reason():
    few = LIMITS["subsamples"] - 1
    assert why_unknown(PLAN, few) == f"confidence requires at least {LIMITS['subsamples']} subsamples"
