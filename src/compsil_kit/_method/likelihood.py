"""Estimate the probability that each candidate k is correct with a conditional logit (docs, "Trust").

``make confidence`` fits the coefficients on simulated data sets and stores them next to this module.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.clusterers import PLAIN_KMEANS
from compsil_kit._method.labels import MIN_SHARED_PER_CLUSTER
from compsil_kit._method.selection import TIE_TOLERANCE, finite_mean

if TYPE_CHECKING:
    from compsil_kit.plan import Plan

Array = NDArray[np.float64]

MODEL_FILE = Path(__file__).with_name("likelihood.json")
# Inputs of the model, per k and subsample.
INPUTS = ("best_micro", "best_macro", "agreement", "within")
# Inputs that also enter as means over the better half of the subsamples.
BETTER_HALF = ("best_micro", "best_macro", "within")
# Lower bound on the within-cluster share of the sum of squares, so that its logarithm is finite.
MIN_WITHIN = 1e-9


@cache
def model() -> dict[str, Any]:
    """Return the coefficients, and the limits of the data used to fit them."""
    found: dict[str, Any] = json.loads(MODEL_FILE.read_text())
    return found


def why_unknown(plan: Plan, n_subsamples: int) -> str:
    """Return the reason why the model does not apply to a selection, as a clause, or an empty string."""
    limits, ks = model()["limits"], plan.ks
    if plan.clusterer not in PLAIN_KMEANS or plan.metric != "euclidean":
        used = " with ".join(name for name in (plan.clusterer, plan.metric) if name not in (*PLAIN_KMEANS, "euclidean"))
        return f"confidence is calibrated for k-means with Euclidean distance; this run used {used}"
    if len(ks) < 3 or ks[-1] - ks[0] != len(ks) - 1:
        return "confidence requires at least three consecutive candidates, such as range(2, 11)"
    if ks[-1] > limits["k"]:
        return f"confidence is calibrated for up to {limits['k']} clusters; the largest candidate is {ks[-1]}"
    if plan.n_features > limits["features"]:
        return f"confidence is calibrated for up to {limits['features']} columns; the data have {plan.n_features:,}"
    if n_subsamples < limits["subsamples"]:
        return f"confidence requires at least {limits['subsamples']} subsamples"
    if plan.sample_size < MIN_SHARED_PER_CLUSTER * ks[-1]:
        return (
            f"subsamples of {plan.sample_size:,} rows are too small to measure the stability of {ks[-1]} clusters; "
            "pass a larger sample_size"
        )
    return ""


def means(numbers: dict[str, Array]) -> dict[str, Array]:
    """Return the means over all subsamples (the last axis), and over the better half of the subsamples.

    In some subsamples, a single initialisation misses clusters. The half with the lowest within-cluster sum of squares
    approximates the result of several initialisations.
    """
    found = {name: finite_mean(values) for name, values in numbers.items()}
    within = np.nan_to_num(numbers["within"], nan=2.0)
    better = np.argsort(within, axis=-1, kind="stable")[..., : -(-within.shape[-1] // 2)]
    # If a k was not run on all subsamples, use half of the subsamples on which it was run.
    beyond = np.arange(better.shape[-1]) >= -(-np.isfinite(numbers["within"]).sum(axis=-1, keepdims=True) // 2)
    for name in BETTER_HALF:
        half = np.take_along_axis(numbers[name], better, axis=-1)
        found[f"better {name}"] = finite_mean(np.where(beyond, np.nan, half))
    return found


def likelihood(numbers: dict[str, Array], plan: Plan) -> Array:
    """Return the confidence in each k, followed by the confidence in none, from means with ks on the last axis."""
    coefficients = model()["starts"]["1" if plan.n_starts == 1 else "several"]
    per_k, of_none = features(numbers, plan)
    utilities = sum(weight * per_k[name] for name, weight in coefficients["k"].items())
    none = sum(weight * of_none[name] for name, weight in coefficients["none"].items())
    logits = coefficients["sharpness"] * np.concatenate([utilities, np.asarray(none)[..., None]], axis=-1)
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    confidence: Array = odds / odds.sum(axis=-1, keepdims=True)
    return confidence


def features(numbers: dict[str, Array], plan: Plan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the features of each k, and the features of the outcome that no candidate is correct."""
    ks = np.array(plan.ks, dtype=np.float64)
    micro, macro = numbers["best_micro"], numbers["best_macro"]
    stability = np.nan_to_num(numbers["agreement"])
    stable = micro * stability
    # The elbow in the within-cluster sum of squares, on a logarithmic scale.
    bend, better_bend = (-_bump(np.log(np.maximum(numbers[name], MIN_WITHIN))) for name in ("within", "better within"))
    zeros = np.zeros_like(micro)
    silhouettes = {
        "micro": micro,
        "macro": macro,
        "better micro": numbers["better best_micro"],
        "better macro": numbers["better best_macro"],
    }
    per_k = {
        **silhouettes,
        **{f"bump of {name}": _bump(values) for name, values in silhouettes.items()},
        **{f"best of {name}": _is_best(values) for name, values in silhouettes.items()},
        "stability": stability,
        "bump of stability": _bump(stability),
        "micro x stability": stable,
        "best of micro x stability": _is_best(stable),
        "bend": bend,
        "largest bend": _is_best(bend),
        "better bend": better_bend,
        "largest better bend": _is_best(better_bend),
        "log k": zeros + np.log(ks),
        "first k": zeros + (ks == ks[0]) * (ks[0] > 2),
        "last k": zeros + (ks == ks[-1]),
        "k = 2": zeros + (ks == 2),
    }
    best = _is_best(stable).argmax(axis=-1)
    one = np.ones_like(micro[..., 0])
    of_none = {
        "always": one,
        "largest micro": micro.max(axis=-1),
        "largest macro": macro.max(axis=-1),
        "largest stability": stability.max(axis=-1),
        "largest micro x stability": stable.max(axis=-1),
        "log number of ks": one * np.log(len(ks)),
        "log mean k": one * np.log(ks.mean()),
        "log columns": one * float(np.log(plan.n_features)),
        "the best is last": one * (best == len(ks) - 1),
        "the best is first": one * ((best == 0) & (ks[0] > 2)),
    }
    return per_k, of_none


def _bump(values: Array) -> Array:
    """Return the difference between each value and the mean of its neighbours; the ends are extrapolated linearly."""
    first, last = 2 * values[..., :1] - values[..., 1:2], 2 * values[..., -1:] - values[..., -2:-1]
    longer: Array = np.concatenate([first, values, last], axis=-1)
    return values - (longer[..., :-2] + longer[..., 2:]) / 2


def _is_best(values: Array) -> Array:
    best: Array = (values >= values.max(axis=-1, keepdims=True) - TIE_TOLERANCE).astype(np.float64)
    return best
