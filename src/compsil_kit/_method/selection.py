"""From composites to a choice (method step 8 and "Selection"), and how often another run would choose each k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.weights import largest_discrepancy

Array = NDArray[np.float64]

RULES = ("max", "lcb")
# A k that lost more than this share of its subsamples is scored on a biased remainder and cannot be selected.
MAX_LOST = 0.2
# Values that differ by no more than this are equal but for rounding, which depends on the CPU.
ROUNDING = 1e-12
# At most this many redraws; fewer where runs are so long that few of their redraws differ in anything.
N_RESAMPLES = 1000
FEWEST_RESAMPLES = 100
_ALL_RESAMPLES = 50_000_000
_RESAMPLE_CELLS = 2_000_000


@dataclass(frozen=True)
class Summary:
    """Mean, standard error and lower confidence bound per k; NaN where undefined."""

    mean: Array
    sem: Array
    lcb: Array
    count: NDArray[np.int64]


def summarise(values: Array, z: float) -> Summary:
    """Summarise values over the last axis, leaving out failed (NaN) ones. SE needs at least two values."""
    valid = np.isfinite(values)
    count = valid.sum(axis=-1)
    n = np.maximum(count, 1)
    mean = np.where(count > 0, np.where(valid, values, 0.0).sum(axis=-1) / n, np.nan)
    squares = np.where(valid, values - mean[..., None], 0.0) ** 2
    variance = squares.sum(axis=-1) / np.maximum(count - 1, 1)
    sem = np.where(count > 1, np.sqrt(variance / n), np.nan)
    return Summary(mean, sem, mean - z * sem, count)


def selectable(values: Array, n_run: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Tell which ks kept at least four fifths of the subsamples on which they were run."""
    asked = values.shape[-1] if n_run is None else n_run
    kept: NDArray[np.bool_] = np.isfinite(values).sum(axis=-1) >= (1.0 - MAX_LOST) * asked - 1e-9
    return kept


def maximised(summary: Summary, rule: str) -> Array:
    """Return what the rule maximises."""
    return summary.mean if rule == "max" else summary.lcb


def choose(values: Array, eligible: NDArray[np.bool_]) -> int | None:
    """Return the position of the largest eligible value, the first (smallest k) on ties; None if there is none."""
    candidates = np.where(eligible & np.isfinite(values), values, -np.inf)
    best = int(first_largest(candidates))
    return best if np.isfinite(candidates[best]) else None


def first_largest(values: Array) -> NDArray[np.intp]:
    """Return the position along the first axis of the largest value, the first one on ties."""
    position: NDArray[np.intp] = np.argmax(values >= values.max(axis=0) - ROUNDING, axis=0)
    return position


def selection_probability(
    n_subsamples: int, eligible: NDArray[np.bool_], values_of: Callable[[NDArray[np.int64]], Array]
) -> Array:
    """Estimate how often another run on the same data, with other subsamples, would choose each k.

    ``values_of`` returns what would be maximised, ks by draws, if each row of its argument were the subsamples run.

    The values of another run are those of this one, less the noise of this one, plus noise of its own. Both noises come
    from a paired bootstrap: all ks share the redrawn subsamples, so what they have in common cancels, and so does the
    bias of a largest discrepancy taken anew in every redraw (unless it came from other subsamples).
    NaN below two subsamples.
    """
    n_ks = len(eligible)
    if n_subsamples < 2 or not eligible.any():
        return np.full(n_ks, np.nan)
    n_redraws = min(N_RESAMPLES, max(FEWEST_RESAMPLES, _ALL_RESAMPLES // n_subsamples))
    rng, step = np.random.default_rng(0), max(1, _RESAMPLE_CELLS // (n_ks * n_subsamples))
    # In parts, for bounded memory; the numbers are those of one large draw.
    parts = [min(step, n_redraws - low) for low in range(0, n_redraws, step)]
    redrawn = np.hstack([values_of(rng.integers(n_subsamples, size=(part, n_subsamples))) for part in parts])
    # Every redraw serves twice, as the noise of one run and of another. Redraws vary less than runs, by (B - 1) / B.
    noise = np.sqrt(n_subsamples / (n_subsamples - 1)) * (redrawn - np.roll(redrawn, 1, axis=1))
    others = values_of(np.arange(n_subsamples)[None]) + noise
    others = np.where(eligible[:, None] & np.isfinite(others), others, -np.inf)
    shares: Array = np.bincount(first_largest(others), minlength=n_ks) / n_redraws
    return shares


def independent_largest(micro: Array, macro: Array) -> Array | None:
    """Return the largest discrepancies of the calibration subsamples, or None when there are none."""
    return largest_discrepancy(micro, macro) if micro.shape[-1] else None
