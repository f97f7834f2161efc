"""Compute three estimates of the probability that another run agrees, and their calibration.

``repeat`` is the engine's selection probability, for a new run on the same data with the noise of both runs. ``plain``
is a bootstrap with the noise of one run: how often k wins if the subsamples are resampled. ``sample`` is for a run on
another sample of the same size: subsamples overlap, so they differ less than samples would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit import SelectionResult
from compsil_kit._method.selection import combine, weigh

Array = NDArray[Any]
N_DRAWS = 1000
ESTIMATES = ("plain", "repeat", "sample")
BINS = ((0.0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))


def estimates(result: SelectionResult) -> dict[str, float]:
    """Return each estimate for the selected k."""
    at = result._best_index
    if at is None:
        return dict.fromkeys(ESTIMATES, float("nan"))
    rng = np.random.default_rng(0)
    return {
        "plain": wins(redrawn(result, rng), at),
        "repeat": float(result.selection_probability[at]),
        "sample": wins(resampled(result, rng), at),
    }


def redrawn(result: SelectionResult, rng: np.random.Generator) -> Array:
    """Return the scores for resampled subsamples (candidates by draws)."""
    draws = rng.integers(result.n_subsamples, size=(N_DRAWS, result.n_subsamples))
    micro, macro = result.micro[:, draws], result.macro[:, draws]
    return np.asarray(np.nanmean(combine(micro, macro, weigh(micro, macro, result.transform)), axis=-1))


def resampled(result: SelectionResult, rng: np.random.Generator) -> Array:
    """Return scores that vary like the scores on another sample of N rows, using the delete-d jackknife.

    The variance between subsamples of m of N rows, times m / (N - m), estimates the variance between samples of N rows.
    The difference between two samples has twice this variance. The scores are NaN if m = N.
    """
    n, m = result.plan.n_rows, result.plan.sample_size
    if m == n:
        return np.full((len(result.ks), N_DRAWS), np.nan)
    scale = np.sqrt(2 * m / (n - m))
    deviations = np.nan_to_num(result.composite - result.scores[:, None])
    # Use the same random factors for all values of k, to preserve the covariance between them.
    factors = rng.standard_normal((result.n_subsamples, N_DRAWS)) / np.sqrt(result.n_subsamples - 1)
    return np.asarray(result.scores[:, None] + scale * deviations @ factors)


def wins(scores: Array, at: int) -> float:
    """Return how often the k at this position has the best score, or NaN if its scores are undefined."""
    if np.isnan(scores[at]).any():
        return float("nan")
    return float((np.where(np.isnan(scores), -np.inf, scores).argmax(axis=0) == at).mean())


def reliability(probability: Array, outcome: Array) -> list[dict[str, float]]:
    """Return the number of runs, the mean estimate and the observed rate for each bin of the estimate."""
    table = []
    for low, high in BINS:
        inside = (probability >= low) & ((probability < high) | (high == 1.0))
        if inside.any():
            estimate, observed = float(probability[inside].mean()), float(outcome[inside].mean())
            table.append({"low": low, "high": high, "n": int(inside.sum()), "estimate": estimate, "observed": observed})
    return table


def squared(probability: Array, share: Array) -> Array:
    """Return the expected Brier score of an estimate for an outcome that occurs in the given share of cases.

    This makes runs that are compared with nine other runs and with a single run comparable.
    """
    return np.asarray((probability - share) ** 2 + share * (1 - share))
