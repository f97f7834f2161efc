"""Score each k under a criterion, choose one, and estimate how often a new run would choose each (method, step 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STABLE, LIKELY = "stable", "likely"
CRITERIA = ("composite", "micro", "macro", STABLE, LIKELY)
# These criteria score the best of several initialisations.
MULTI_INIT_CRITERIA = (STABLE, LIKELY)
RULES = ("max", "lcb")
# A k that lost more than this share of its subsamples is scored on a biased remainder and cannot be selected.
MAX_FAILED_SHARE = 0.2
# Values this close are ties: the difference is rounding, which depends on the CPU.
ROUNDING = 1e-12
# Bootstrap resamples: fewer for long runs, whose resamples hardly differ.
MAX_RESAMPLES, MIN_RESAMPLES = 1000, 100
_ALL_RESAMPLES = 50_000_000
_RESAMPLE_CELLS = 2_000_000
# n_subsamples="auto": candidates are reviewed after each round of subsamples.
AUTO = "auto"
ROUND, MAX_AUTO_SUBSAMPLES = 10, 200
# Stop once one k has this selection probability; drop candidates below the other one.
STOP_PROBABILITY, DROP_PROBABILITY = 0.99, 0.001


def second_criterion(criterion: str, *, confidence_known: bool) -> str:
    """Return the best available criterion to compare another one with."""
    if confidence_known and criterion != LIKELY:
        return LIKELY
    return "composite" if criterion in MULTI_INIT_CRITERIA else STABLE


def finite_mean(values: Array) -> Array:
    """Return the mean of the finite values over the last axis; NaN if there are none."""
    finite = np.isfinite(values)
    n = finite.sum(axis=-1)
    return np.where(n > 0, np.where(finite, values, 0.0).sum(axis=-1) / np.maximum(n, 1), np.nan)


def criterion_values(name: str, take: Callable[[str], Array], composite: Callable[[], Array]) -> Array:
    """Return the values of a criterion per k and subsample (last axis); ``take`` returns arrays of the trials."""
    if name == "composite":
        return composite()
    if name != STABLE:
        return take(name)
    stability = finite_mean(take("agreement"))
    # Stability is undefined for a single subsample, and for subsamples that share no rows.
    return take("best_micro") * np.where(np.isfinite(stability), np.maximum(stability, 0.0), 1.0)[..., None]


@dataclass(frozen=True)
class Summary:
    """Mean, standard error, lower confidence bound and number of finite values per k; NaN where undefined."""

    mean: Array
    sem: Array
    lcb: Array
    count: NDArray[np.int64]


def summarise(values: Array, z: float) -> Summary:
    """Summarise the finite values over the last axis. The standard error needs at least two of them."""
    mean, finite = finite_mean(values), np.isfinite(values)
    count = finite.sum(axis=-1)
    squares = np.where(finite, values - mean[..., None], 0.0) ** 2
    variance = squares.sum(axis=-1) / np.maximum(count - 1, 1)
    sem = np.where(count > 1, np.sqrt(variance / np.maximum(count, 1)), np.nan)
    return Summary(mean, sem, mean - z * sem, count)


def selectable(values: Array, n_run: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Return which ks kept enough of the subsamples on which they were run (all of them if ``n_run`` is None)."""
    planned = values.shape[-1] if n_run is None else n_run
    kept: NDArray[np.bool_] = np.isfinite(values).sum(axis=-1) >= (1.0 - MAX_FAILED_SHARE) * planned - 1e-9
    return kept


def maximised(summary: Summary, rule: str) -> Array:
    """Return the values that the rule maximises."""
    return summary.mean if rule == "max" else summary.lcb


def choose(values: Array, eligible: NDArray[np.bool_]) -> int | None:
    """Return the position of the largest eligible value, the smallest k on ties; None if there is none."""
    candidates = np.where(eligible & np.isfinite(values), values, -np.inf)
    best = int(_first_largest(candidates))
    return best if np.isfinite(candidates[best]) else None


def _first_largest(values: Array) -> NDArray[np.intp]:
    position: NDArray[np.intp] = np.argmax(values >= values.max(axis=0) - ROUNDING, axis=0)
    return position


def selection_probability(
    n_subsamples: int, eligible: NDArray[np.bool_], values_of: Callable[[NDArray[np.int64]], Array]
) -> Array:
    """Estimate how often a new run on the same data, with other subsamples, would choose each k.

    ``values_of`` maps draws of subsamples (draws by subsamples) to the values that the rule maximises (ks by draws).

    A new run has the values of this run, minus the noise of this run, plus its own. Both noises come from a paired
    bootstrap: all ks share the resampled subsamples, so common noise cancels, and so does the bias of a largest
    discrepancy that is recomputed in every resample. NaN below two subsamples.
    """
    n_ks = len(eligible)
    if n_subsamples < 2 or not eligible.any():
        return np.full(n_ks, np.nan)
    n_resamples = min(MAX_RESAMPLES, max(MIN_RESAMPLES, _ALL_RESAMPLES // n_subsamples))
    rng, step = np.random.default_rng(0), max(1, _RESAMPLE_CELLS // (n_ks * n_subsamples))
    # Chunks bound the memory; the random numbers are those of one large draw.
    chunks = [min(step, n_resamples - low) for low in range(0, n_resamples, step)]
    resampled = np.hstack([values_of(rng.integers(n_subsamples, size=(chunk, n_subsamples))) for chunk in chunks])
    # Each resample serves as noise of this run and of a new one. Resamples vary less than runs, by (B - 1) / B.
    noise = np.sqrt(n_subsamples / (n_subsamples - 1)) * (resampled - np.roll(resampled, 1, axis=1))
    new_runs = values_of(np.arange(n_subsamples)[None]) + noise
    new_runs = np.where(eligible[:, None] & np.isfinite(new_runs), new_runs, -np.inf)
    shares: Array = np.bincount(_first_largest(new_runs), minlength=n_ks) / n_resamples
    return shares


def review_candidates(
    probability: Array, eligible: NDArray[np.bool_], candidates: tuple[int, ...]
) -> tuple[bool, tuple[int, ...]]:
    """Return whether ``n_subsamples="auto"`` stops after this round, and the positions of the ks that continue."""
    dropped = ~eligible | (probability < DROP_PROBABILITY)
    remaining = tuple(at for at in candidates if not dropped[at])
    return bool((probability >= STOP_PROBABILITY).any()) or not remaining, remaining
