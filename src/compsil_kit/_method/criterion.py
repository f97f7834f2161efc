"""What is scored: the paper's composite, one of its two averages, the stable silhouette, the confidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STABLE, LIKELY = "stable", "likely"
CRITERIA = ("composite", "micro", "macro", STABLE, LIKELY)
# These judge the best of several starts.
OF_SEVERAL_STARTS = (STABLE, LIKELY)


def second_criterion(criterion: str, *, confidence_known: bool) -> str:
    """Return the criterion whose choice is worth comparing with that of another one, the best that is known."""
    if confidence_known and criterion != LIKELY:
        return LIKELY
    return "composite" if criterion in OF_SEVERAL_STARTS else STABLE


def mean_known(values: Array) -> Array:
    """Return the mean over the last axis, without what is unknown (NaN); NaN if all of it is."""
    known = np.isfinite(values)
    n = known.sum(axis=-1)
    return np.where(n > 0, np.where(known, values, 0.0).sum(axis=-1) / np.maximum(n, 1), np.nan)


def criterion_values(name: str, take: Callable[[str], Array], composite: Callable[[], Array]) -> Array:
    """Return what each subsample says of each k under a criterion; subsamples are the last axis.

    ``take`` returns numbers of the trials by their name.
    """
    if name == "composite":
        return composite()
    if name != STABLE:
        return take(name)
    stability = mean_known(take("agreement"))
    # Nothing is known of stability from a single subsample, or from subsamples that share no rows.
    return take("best_micro") * np.where(np.isfinite(stability), np.maximum(stability, 0.0), 1.0)[..., None]
