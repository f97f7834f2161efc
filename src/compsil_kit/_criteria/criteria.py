"""The criteria of a comparison: their labels, and the rules by which they select k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._util.format import number

Array = NDArray[np.float64]

# Relative differences up to this are ties: rounding depends on the CPU.
MAX_RELATIVE_ROUNDING = 1e-12
# Absolute differences of slopes up to this are ties.
MAX_SLOPE_ROUNDING = 1e-9


def largest(values: Array, *_: Any) -> int | None:
    """Return the position of the largest value, the first on ties; None without finite values."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    return int(np.argmax(np.isclose(values, finite.max(), rtol=MAX_RELATIVE_ROUNDING, atol=0.0)))


def smallest(values: Array, *_: Any) -> int | None:
    """Return the position of the smallest value, the first on ties; None without finite values."""
    return largest(-values)


def knee(values: Array, _: Array, ks: Sequence[int]) -> int | None:
    """Return the position where the slope of the curve's logarithm over k increases most, the first on ties.

    The slope does not change at the first and the last k. None if it increases nowhere, or a value is undefined.
    """
    if len(values) < 3 or not np.isfinite(values).all() or values.max() <= 0:
        return None
    # Inertia is 0 once every distinct point is a cluster; the floor keeps its logarithm finite.
    logs = np.log(np.maximum(values / values.max(), np.finfo(np.float64).eps))
    bends = np.diff(np.diff(logs) / np.diff(ks))
    if bends.max() <= MAX_SLOPE_ROUNDING:
        return None
    return int(np.flatnonzero(bends >= bends.max() - MAX_SLOPE_ROUNDING)[0]) + 1


def gap_rule(values: Array, errors: Array, *_: Any) -> int | None:
    """Return the position of the smallest k with ``gap(k) >= gap(k+1) - error(k+1)`` (Tibshirani), or the largest."""
    for at in range(len(values) - 1):
        if values[at] >= values[at + 1] - errors[at + 1]:
            return at
    return largest(values)


@dataclass(frozen=True)
class Kind:
    """Label of a criterion, and the rule that maps its values, errors and ks to the position of the selected k."""

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
    """One criterion: mean values per k and their standard errors."""

    name: str
    values: Array
    errors: Array

    @property
    def kind(self) -> Kind:
        """Label and rule of the criterion."""
        return KINDS[self.name]

    def cells(self, digits: int = 4) -> list[str]:
        """Return the formatted values; numbers of 100 and more have no decimals."""
        return [f"{value:,.0f}" if 100 <= abs(value) < np.inf else number(value, digits) for value in self.values]
