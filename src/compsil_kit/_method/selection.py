"""Weigh micro and macro, score each k under a criterion, choose one (method, steps 4 to 8), and bound the error.

Subsamples are the last axis of all arrays. The bounds are Hoeffding's (method, "Guarantees"). They hold strictly if the
largest discrepancies are estimated on separate subsamples (``n_calibration``); otherwise they are a guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from compsil_kit._types import Criterion, Rule, Transform
from compsil_kit._util.checks import check_integer, check_real, describe

Array = NDArray[np.float64]

CRITERIA: tuple[str, ...] = get_args(Criterion)
STABLE, LIKELY = "stable", "likely"
# These criteria score the best of several initialisations.
MULTI_INIT_CRITERIA = (STABLE, LIKELY)
RULES: tuple[str, ...] = get_args(Rule)
# A k that lost more than this share of its subsamples is scored on a biased remainder and cannot be selected.
MAX_FAILED_SHARE = 0.2
# Values this close are ties: the difference is rounding, which depends on the CPU.
TIE_TOLERANCE = 1e-12
# Bootstrap resamples: fewer for long runs, whose resamples hardly differ.
MAX_RESAMPLES, MIN_RESAMPLES = 1000, 100
_ALL_RESAMPLES = 50_000_000
_RESAMPLE_CELLS = 2_000_000
# n_subsamples="auto": candidates are reviewed after each round of subsamples.
ROUND, MAX_AUTO_SUBSAMPLES = 10, 200
# Stop once one k is selected with the first probability; drop candidates below the second.
STOP_PROBABILITY, DROP_PROBABILITY = 0.99, 0.001
# Keeps the normalised discrepancy finite (step 5).
EPSILON = 1e-12
# Map the normalised discrepancy to the weight of micro, in [0, 1]. The discrepancy lies in [-1, 1] unless its maximum
# was estimated on calibration subsamples, hence the clipping.
TRANSFORMS: dict[str, Callable[[Array], Array]] = {
    "tanh": lambda x: (1.0 + np.tanh(x)) / 2.0,
    "linear": lambda x: (1.0 + np.clip(x, -1.0, 1.0)) / 2.0,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "step": lambda x: np.where(x > 0, 1.0, 0.0),
}


def check_transform(transform: Any) -> Transform:
    """Return a transform that is a known name, or a function that passes a trial call; raise for others."""
    if isinstance(transform, str) and transform in TRANSFORMS:
        return transform  # type: ignore[return-value]  # one of the words
    if callable(transform):
        # Fail before any clustering.
        _custom(transform, np.linspace(-1.0, 1.0, 6).reshape(2, 3))
        return transform  # type: ignore[no-any-return]
    names = ", ".join(repr(name) for name in TRANSFORMS)
    error = ValueError if isinstance(transform, str) else TypeError
    raise error(
        f"transform must be one of {names}, or a function from normalised discrepancies in [-1, 1] to weights "
        f"in [0, 1]; got {describe(transform)}."
    )


def transform_name(transform: Transform) -> str:
    return transform if isinstance(transform, str) else getattr(transform, "__name__", type(transform).__name__)


def largest_discrepancy(micro: Array, macro: Array) -> Array:
    """Return the largest absolute discrepancy over the subsamples (step 5); NaN where all of them failed."""
    return np.fmax.reduce(np.abs(micro - macro), axis=-1, keepdims=True, initial=np.nan)


def weigh(micro: Array, macro: Array, transform: Transform, largest: Array | None = None) -> Array:
    """Return the weight of micro in every subsample (steps 4 to 6), NaN where the clustering failed."""
    if largest is None:
        largest = largest_discrepancy(micro, macro)
    normalised = (micro - macro) / (largest + EPSILON)
    weights = TRANSFORMS[transform](normalised) if isinstance(transform, str) else _custom(transform, normalised)
    weights = np.where(largest == 0.0, 0.5, weights)
    return np.where(np.isnan(micro), np.nan, weights)


def _custom(transform: Callable[[Array], Any], normalised: Array) -> Array:
    name = transform_name(transform)
    inputs = np.clip(np.where(np.isfinite(normalised), normalised, 0.0), -1.0, 1.0)
    try:
        weights = np.asarray(transform(inputs), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"transform {name!r} must map an array of discrepancies to an array of weights in [0, 1]: {error}"
        ) from error
    if weights.shape != normalised.shape:
        raise ValueError(
            f"transform {name!r} must return one weight per discrepancy, an array of shape {normalised.shape}; "
            f"got shape {weights.shape}."
        )
    if not np.all((weights >= 0.0) & (weights <= 1.0)):
        raise ValueError(f"transform {name!r} must return weights in [0, 1]; some are outside this range or NaN.")
    return weights


def combine(micro: Array, macro: Array, weights: Array) -> Array:
    """Return the composite of every subsample (step 7)."""
    return weights * micro + (1.0 - weights) * macro


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


@dataclass(frozen=True)
class Summary:
    """Mean, standard error, lower confidence bound and number of finite values per k; NaN where undefined."""

    mean: Array
    sem: Array
    lcb: Array
    count: NDArray[np.int64]


def summarise(values: Array, z: float) -> Summary:
    mean, finite = finite_mean(values), np.isfinite(values)
    count = finite.sum(axis=-1)
    squares = np.where(finite, values - mean[..., None], 0.0) ** 2
    variance = squares.sum(axis=-1) / np.maximum(count - 1, 1)
    sem = np.where(count > 1, np.sqrt(variance / np.maximum(count, 1)), np.nan)
    return Summary(mean, sem, mean - z * sem, count)


def selectable(values: Array, n_run: int | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ks kept enough of the subsamples on which they were run."""
    kept: NDArray[np.bool_] = np.isfinite(values).sum(axis=-1) >= (1.0 - MAX_FAILED_SHARE) * n_run - 1e-9
    return kept


def maximised(summary: Summary, rule: str) -> Array:
    return summary.mean if rule == "max" else summary.lcb


def choose(values: Array, eligible: NDArray[np.bool_]) -> int | None:
    """Return the position of the largest eligible value, the smallest k on ties; None if there is none."""
    candidates = np.where(eligible & np.isfinite(values), values, -np.inf)
    best = int(_first_largest(candidates))
    return best if np.isfinite(candidates[best]) else None


def _first_largest(values: Array) -> NDArray[np.intp]:
    position: NDArray[np.intp] = np.argmax(values >= values.max(axis=0) - TIE_TOLERANCE, axis=0)
    return position


def selection_probability(
    n_subsamples: int, eligible: NDArray[np.bool_], values_of: Callable[[NDArray[np.int64]], Array]
) -> Array:
    """Estimate how often a new run on the same data, with other subsamples, would choose each k; NaN below two.

    ``values_of`` maps draws of subsamples (draws by subsamples) to the values that the rule maximises (ks by draws).
    A new run has the values of this run, minus the noise of this run, plus its own. Both noises come from a paired
    bootstrap: all ks share the resampled subsamples, so common noise cancels, and so does the bias of a largest
    discrepancy that is recomputed in every resample.
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


def hoeffding_radius(n_subsamples: int, *, delta: float = 0.05, n_ks: int = 1) -> float:
    """Return the half-width of an interval that covers the expected score with probability 1 - delta.

    Parameters
    ----------
    n_subsamples : int
        Number of scored subsamples.
    delta : float, default=0.05
        Error probability.
    n_ks : int, default=1
        Number of candidates covered simultaneously; 1 for a single k.

    Returns
    -------
    float
        ``sqrt(2 ln(2 n_ks / delta) / n_subsamples)``.

    Examples
    --------
    >>> from compsil_kit import hoeffding_radius
    >>> round(hoeffding_radius(30), 4)
    0.4959
    """
    n_subsamples = check_integer("n_subsamples", n_subsamples, minimum=1)
    n_ks = check_integer("n_ks", n_ks, minimum=1)
    delta = check_real("delta", delta, low=0.0, high=1.0, open_ends=True)
    return math.sqrt(2.0 * math.log(2.0 * n_ks / delta) / n_subsamples)


def subsamples_for_margin(margin: float, *, n_ks: int, delta: float = 0.05) -> int:
    """Return the number of subsamples that finds the best k with probability 1 - delta if it leads by ``margin``.

    Parameters
    ----------
    margin : float
        Expected lead of the best k over the second, in (0, 2].
    n_ks : int
        Number of candidates.
    delta : float, default=0.05
        Error probability.

    Returns
    -------
    int
        ``(8 / margin^2) ln(2 n_ks / delta)``, rounded up.

    Examples
    --------
    >>> from compsil_kit import subsamples_for_margin
    >>> subsamples_for_margin(0.5, n_ks=9)
    189
    """
    margin = check_real("margin", margin, low=0.0, high=2.0)
    if margin == 0.0:
        raise ValueError("margin must be a number in (0, 2]; got 0.0: no number of subsamples resolves a tie.")
    n_ks = check_integer("n_ks", n_ks, minimum=1)
    delta = check_real("delta", delta, low=0.0, high=1.0, open_ends=True)
    return math.ceil(8.0 / margin**2 * math.log(2.0 * n_ks / delta))


@dataclass(frozen=True)
class Guarantee:
    """Hoeffding bounds of a finished run.

    Attributes
    ----------
    delta : float
        Error probability.
    n_subsamples : int
        Smallest number of scored subsamples of any k.
    radius_one, radius_all : float
        Half-width for the score of a single k, and for all ks simultaneously.
    lead : float
        Lead of the best k over the second; NaN with a single k.
    needed : int or None
        Subsamples that would prove the choice if the observed lead is the true one; None with a tie or a single k.
    proven : bool
        Whether the lead exceeds twice ``radius_all``, so that the best k also has the highest expected score.
    independent : bool
        Whether the bounds hold strictly: the largest discrepancies were estimated on separate subsamples.
    """

    delta: float
    n_subsamples: int
    radius_one: float
    radius_all: float
    lead: float
    needed: int | None
    proven: bool
    independent: bool
