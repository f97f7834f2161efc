"""Compute rates, intervals and calibration from the records of the runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.confidence.measure import plan_of
from compsil_kit._method.likelihood import likelihood

Array = NDArray[np.float64]
Record = dict[str, Any]

N_SUBSAMPLES, N_RESAMPLES = 30, 2000
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def means(record: Record, starts: int, name: str) -> Array:
    """Return the mean over subsamples for each k."""
    return np.array(record[str(starts)][name], dtype=np.float64)


def confidence(record: Record, starts: int) -> Array:
    """Return the confidence in each k and, as the last value, in no k, from the current model."""
    return likelihood(
        {name: means(record, starts, name) for name in record[str(starts)]}, plan_of(record, starts, N_SUBSAMPLES)
    )


def stable(record: Record) -> Array:
    """Return the stable silhouette for each k."""
    return means(record, 5, "best_micro") * np.maximum(means(record, 5, "agreement"), 0.0)


CRITERIA: dict[str, Callable[[Record], Array]] = {
    "composite": lambda record: means(record, 1, "composite"),
    "micro": lambda record: means(record, 1, "micro"),
    "macro": lambda record: means(record, 1, "macro"),
    "micro, better half of subsamples": lambda record: means(record, 1, "better best_micro"),
    "micro, best of 5 initialisations": lambda record: means(record, 5, "best_micro"),
    "macro, best of 5 initialisations": lambda record: means(record, 5, "best_macro"),
    "stability alone": lambda record: means(record, 5, "agreement"),
    "stable": stable,
    "likely, one initialisation": lambda record: confidence(record, 1)[:-1],
    "likely": lambda record: confidence(record, 5)[:-1],
}


def chosen(record: Record, values: Array) -> int:
    """Return the k with the largest value."""
    return int(record["ks"][int(np.nanargmax(values))])


def right(records: Iterable[Record], criterion: str) -> dict[str, list[bool]]:
    """Return, for each set, whether each run selected the true k."""
    found: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        found[record["set"]].append(chosen(record, CRITERIA[criterion](record)) == record["k"])
    return dict(found)


def rate(found: dict[str, list[bool]]) -> tuple[float, float, float]:
    """Return the mean rate over sets, and its 95 % interval from resampling sets."""
    shares = np.array([np.mean(each) for each in found.values()])
    draws = np.random.default_rng(0).integers(len(shares), size=(N_RESAMPLES, len(shares)))
    low, high = np.quantile(shares[draws].mean(axis=1), [0.025, 0.975])
    return float(shares.mean()), float(low), float(high)


def sign_test(one: dict[str, list[bool]], other: dict[str, list[bool]]) -> tuple[int, int, float]:
    """Return the numbers of sets on which each criterion is better, and the p-value of the sign test."""
    better = sum(np.mean(one[name]) > np.mean(other[name]) for name in one)
    worse = sum(np.mean(one[name]) < np.mean(other[name]) for name in one)
    n, fewer = better + worse, min(better, worse)
    tail = sum(comb(n, i) for i in range(fewer + 1)) / 2**n if n else 1.0
    return int(better), int(worse), min(1.0, 2 * tail)


def calibration(
    estimates: Sequence[float], correct: Sequence[bool]
) -> tuple[float, float, list[tuple[float, float, int]]]:
    """Return the calibration error, the Brier score, and the mean estimate, observed rate and runs for each bin."""
    p, y = np.array(estimates), np.array(correct, dtype=np.float64)
    rows, error = [], 0.0
    for low, high in pairwise(BINS):
        here = (p >= low) & ((p < high) | (high == BINS[-1]))
        if here.any():
            rows.append((float(p[here].mean()), float(y[here].mean()), int(here.sum())))
            error += abs(rows[-1][0] - rows[-1][1]) * here.mean()
    return float(error), float(np.mean((p - y) ** 2)), rows
