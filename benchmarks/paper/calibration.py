"""Can the answer be trusted? Readings of "how sure", held against what other runs chose and against the truth.

``repeat`` is the engine's: what a new run on the same data would choose, with the noise of both runs. ``plain`` is a
bootstrap with the noise of one: how often k wins when the subsamples at hand are drawn again. ``sample`` asks what a
run on another sample of the same size would choose: subsamples overlap, so they differ less than samples would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit import SelectionResult
from compsil_kit._method.weights import combine, weigh

Array = NDArray[Any]
N_DRAWS = 1000
ESTIMATES = ("plain", "repeat", "sample")
BINS = ((0.0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))


def estimates(result: SelectionResult) -> dict[str, float]:
    """Return the probability of the chosen k under each reading."""
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
    """Return scores of runs whose subsamples are drawn from those at hand, ks by draws."""
    draws = rng.integers(result.n_subsamples, size=(N_DRAWS, result.n_subsamples))
    micro, macro = result.micro[:, draws], result.macro[:, draws]
    return np.asarray(np.nanmean(combine(micro, macro, weigh(micro, macro, result.transform)), axis=-1))


def resampled(result: SelectionResult, rng: np.random.Generator) -> Array:
    """Return scores as two samples of this size would differ, by the delete-d jackknife.

    The variance between subsamples of m of N rows, times m / (N - m), estimates the variance between samples of N rows.
    Two samples differ by both their noises, hence the factor 2. Where m = N there is nothing to learn this from.
    """
    n, m = result.plan.n_rows, result.plan.sample_size
    if m == n:
        return np.full((len(result.ks), N_DRAWS), np.nan)
    scale = np.sqrt(2 * m / (n - m))
    deviations = np.nan_to_num(result.composite - result.scores[:, None])
    # Random signs of all subsamples together keep the covariance between ks and make a smooth distribution.
    signs = rng.standard_normal((result.n_subsamples, N_DRAWS)) / np.sqrt(result.n_subsamples - 1)
    return np.asarray(result.scores[:, None] + scale * deviations @ signs)


def wins(scores: Array, at: int) -> float:
    """Return how often the k at this position has the best score; NaN where nothing is known."""
    if np.isnan(scores[at]).any():
        return float("nan")
    return float((np.where(np.isnan(scores), -np.inf, scores).argmax(axis=0) == at).mean())


def reliability(probability: Array, outcome: Array) -> list[dict[str, float]]:
    """Return per bin of probability: how many runs, what they said on average, and what came true."""
    table = []
    for low, high in BINS:
        inside = (probability >= low) & ((probability < high) | (high == 1.0))
        if inside.any():
            said, came = probability[inside].mean(), outcome[inside].mean()
            table.append({"low": low, "high": high, "n": int(inside.sum()), "said": float(said), "came": float(came)})
    return table


def squared(probability: Array, share: Array) -> Array:
    """Return the expected squared distance (Brier) between what was said and one outcome, true in this share of cases.

    Written so, a run that was held against nine others and one that was held against a single one are comparable.
    """
    return np.asarray((probability - share) ** 2 + share * (1 - share))
