"""The chance that each candidate k is right: a conditional logit on the numbers of a selection, see docs, "Trust".

Its coefficients were fitted on generated data sets by ``make confidence`` and are kept beside this module.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.agreement import FEWEST_SHARED_PER_CLUSTER
from compsil_kit._method.clusterers import PLAIN_KMEANS
from compsil_kit._method.criterion import mean_known
from compsil_kit._method.plan import Plan
from compsil_kit._method.selection import ROUNDING

Array = NDArray[np.float64]

MODEL = Path(__file__).with_name("likelihood.json")
# What the model looks at, per k and subsample.
NUMBERS = ("best_micro", "best_macro", "agreement", "within")
# Of these also the mean over the better half of the subsamples.
BETTER_HALF = ("best_micro", "best_macro", "within")
# Below this share, more digits of what is left within clusters tell nothing.
LEAST_WITHIN = 1e-9


@cache
def model() -> dict[str, Any]:
    """Return the coefficients and what they were fitted on."""
    found: dict[str, Any] = json.loads(MODEL.read_text())
    return found


def why_unknown(plan: Plan, n_subsamples: int) -> str:
    """Say why the model has nothing to say of a selection, or return an empty text."""
    limits, ks = model()["limits"], plan.ks
    if plan.clusterer not in PLAIN_KMEANS or plan.metric != "euclidean":
        return f"it is known for k-means and Euclidean distances only, not for {plan.clusterer} and {plan.metric}"
    if len(ks) < 3 or ks[-1] - ks[0] != len(ks) - 1:
        return "it needs at least three candidates without gaps between them, such as range(2, 11)"
    if ks[-1] > limits["k"]:
        return f"it is known for up to {limits['k']} clusters only"
    if plan.n_features > limits["features"]:
        return f"it is known for up to {limits['features']} columns only"
    if n_subsamples < limits["subsamples"]:
        return f"it needs at least {limits['subsamples']} subsamples"
    if plan.sample_size < FEWEST_SHARED_PER_CLUSTER * ks[-1]:
        return (
            f"subsamples of {plan.sample_size:,} rows are too small to see how stable clusterings into {ks[-1]} are "
            "(a larger sample_size would do)"
        )
    return ""


def means(numbers: dict[str, Array]) -> dict[str, Array]:
    """Return means over the last axis, that of the subsamples, and over their better half.

    One start per subsample misses clusters in some subsamples. Those in which k-means left least within clusters, which
    is what it chooses its best start by, show what more starts would have found.
    """
    found = {name: mean_known(values) for name, values in numbers.items()}
    within = np.nan_to_num(numbers["within"], nan=2.0)
    better = np.argsort(within, axis=-1, kind="stable")[..., : -(-within.shape[-1] // 2)]
    # Of a k that was not run everywhere, half of what it was run on.
    beyond = np.arange(better.shape[-1]) >= -(-np.isfinite(numbers["within"]).sum(axis=-1, keepdims=True) // 2)
    halves = {
        name: mean_known(np.where(beyond, np.nan, np.take_along_axis(numbers[name], better, axis=-1)))
        for name in BETTER_HALF
    }
    return found | {f"better {name}": values for name, values in halves.items()}


def likelihood(numbers: dict[str, Array], plan: Plan) -> Array:
    """Return the chances of all ks and, last, of none of them, from numbers whose last axis is that of the ks."""
    found = model()["starts"]["1" if plan.n_starts == 1 else "several"]
    per_k, of_none = features(numbers, plan)
    utilities = sum(weight * per_k[name] for name, weight in found["k"].items())
    none = sum(weight * of_none[name] for name, weight in found["none"].items())
    everything = found["sharpness"] * np.concatenate([utilities, np.asarray(none)[..., None]], axis=-1)
    chances = np.exp(everything - everything.max(axis=-1, keepdims=True))
    result: Array = chances / chances.sum(axis=-1, keepdims=True)
    return result


def features(numbers: dict[str, Array], plan: Plan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return what speaks for each k, and what speaks for none of them.

    A k is judged by its silhouettes and stability, by how far they stick out of those of its neighbours, and by the
    bend that it makes in what is left within clusters; of all subsamples, and of the better half.
    """
    ks, columns = np.array(plan.ks, dtype=np.float64), float(np.log(plan.n_features))
    micro, macro = numbers["best_micro"], numbers["best_macro"]
    stability = np.nan_to_num(numbers["agreement"])
    stable = micro * stability
    bend = _bend(numbers["within"])
    better_micro, better_macro = numbers["better best_micro"], numbers["better best_macro"]
    better_bend = _bend(numbers["better within"])
    alike = np.zeros_like(micro)
    per_k = {
        "micro": micro,
        "macro": macro,
        "stability": stability,
        "micro x stability": stable,
        "log k": alike + np.log(ks),
        "bump of micro": _bump(micro),
        "bump of macro": _bump(macro),
        "bump of stability": _bump(stability),
        "bend": bend,
        "best of micro": _is_best(micro),
        "best of macro": _is_best(macro),
        "best of micro x stability": _is_best(stable),
        "largest bend": _is_best(bend),
        "better micro": better_micro,
        "better macro": better_macro,
        "bump of better micro": _bump(better_micro),
        "bump of better macro": _bump(better_macro),
        "best of better micro": _is_best(better_micro),
        "best of better macro": _is_best(better_macro),
        "better bend": better_bend,
        "largest better bend": _is_best(better_bend),
        "first k": alike + (ks == ks[0]) * (ks[0] > 2),
        "last k": alike + (ks == ks[-1]),
        "k = 2": alike + (ks == 2),
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
        "log columns": one * columns,
        "the best is last": one * (best == len(ks) - 1),
        "the best is first": one * ((best == 0) & (ks[0] > 2)),
    }
    return per_k, of_none


def _bump(values: Array) -> Array:
    """Return by how much each value exceeds the mean of its neighbours; at the ends the line goes on straight."""
    first, last = 2 * values[..., :1] - values[..., 1:2], 2 * values[..., -1:] - values[..., -2:-1]
    longer = np.concatenate([first, values, last], axis=-1)
    bumps: Array = values - (longer[..., :-2] + longer[..., 2:]) / 2
    return bumps


def _bend(within: Array) -> Array:
    """Return how sharply what is left within clusters bends at each k, on a logarithmic scale."""
    return -_bump(np.log(np.maximum(within, LEAST_WITHIN)))


def _is_best(values: Array) -> Array:
    best: Array = (values >= values.max(axis=-1, keepdims=True) - ROUNDING).astype(np.float64)
    return best
