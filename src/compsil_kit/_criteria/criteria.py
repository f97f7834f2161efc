"""How each criterion is named for people, and how it chooses k from its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Values that differ by a smaller share than this are equal but for rounding, which depends on the CPU.
SAME = 1e-12
# Slopes that differ by no more than this are the same.
ROUNDING = 1e-9


def largest(values: Array, *_: Any) -> int | None:
    """Choose the largest value, the first on ties."""
    return _first(values, np.nanmax) if np.isfinite(values).any() else None


def smallest(values: Array, *_: Any) -> int | None:
    """Choose the smallest value, the first on ties."""
    return _first(values, np.nanmin) if np.isfinite(values).any() else None


def _first(values: Array, extreme: Callable[[Array], Any]) -> int:
    best = extreme(np.where(np.isfinite(values), values, np.nan))
    return int(np.argmax(np.isclose(values, best, rtol=SAME, atol=0.0)))


def knee(values: Array, _: Array, ks: Sequence[int]) -> int | None:
    """Choose the sharpest bend of the curve's logarithm: where its slope over k rises most, the first on ties.

    The first and the last candidate have no bend. A curve that is straight or bends down throughout has no knee.
    """
    if len(values) < 3 or not np.isfinite(values).all() or values.max() <= 0:
        return None
    # Inertia is 0 once every distinct point has its own cluster: the floor makes that a deep value, not minus infinity.
    logs = np.log(np.maximum(values / values.max(), np.finfo(np.float64).eps))
    bends = np.diff(np.diff(logs) / np.diff(ks))
    if bends.max() <= ROUNDING:
        return None
    return int(np.flatnonzero(bends >= bends.max() - ROUNDING)[0]) + 1


def gap_rule(values: Array, errors: Array, *_: Any) -> int | None:
    """Choose the smallest k with ``gap(k) >= gap(k+1) - error(k+1)`` (Tibshirani), else the largest gap."""
    for at in range(len(values) - 1):
        if values[at] >= values[at + 1] - errors[at + 1]:
            return at
    return largest(values)


@dataclass(frozen=True)
class Kind:
    """How a criterion is named for people, and how it chooses."""

    label: str
    choose: Callable[[Array, Array, Sequence[int]], int | None]
    lower_is_better: bool = False


KINDS = {
    "composite": Kind("composite silhouette", largest),
    "micro": Kind("micro silhouette, subsamples", largest),
    "macro": Kind("macro silhouette, subsamples", largest),
    "full-micro": Kind("micro silhouette, all data", largest),
    "full-macro": Kind("macro silhouette, all data", largest),
    "calinski-harabasz": Kind("Calinski–Harabasz", largest),
    "davies-bouldin": Kind("Davies–Bouldin (lower is better)", smallest, lower_is_better=True),
    "elbow": Kind("inertia (elbow)", knee, lower_is_better=True),
    "gap": Kind("gap statistic", gap_rule),
}


@dataclass(frozen=True)
class Criterion:
    """One criterion: its mean value per k and the standard error of it."""

    name: str
    values: Array
    errors: Array

    @property
    def label(self) -> str:
        """Its name for people."""
        return KINDS[self.name].label

    @property
    def lower_is_better(self) -> bool:
        """Whether small values speak for a k."""
        return KINDS[self.name].lower_is_better
