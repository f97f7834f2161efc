"""The curve of a selection as lines and as table columns: the one source of text, HTML and plots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.selection import LIKELY
from compsil_kit._util.format import number, percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]

# A 95 % band is this many standard errors wide on either side.
BAND = 1.96
# What each criterion scores.
SCORED = {
    "composite": "composite silhouette",
    "micro": "micro-averaged silhouette",
    "macro": "macro-averaged silhouette",
    "stable": "stable silhouette",
    "likely": "confidence",
}

# More labels side by side would overlap.
MAX_LABELS = 15


def lines(result: SelectionResult) -> dict[str, Array]:
    """Return the values per k of the criterion and, if these are silhouettes, of micro and macro."""
    averages = () if result.criterion == LIKELY else ("micro", "macro")
    return {name: result._summaries[name].mean for name in (result.criterion, *averages)}


def half_width(result: SelectionResult) -> Array:
    """Return half the width of the criterion's 95 % band; 0 where the standard error is undefined."""
    return BAND * np.nan_to_num(result.sem)


def selected(result: SelectionResult, line: str) -> tuple[int, float] | None:
    """Return the k that a line selects and the value of the line there."""
    k = result.choices[line]
    return None if k is None else (k, float(lines(result)[line][result.ks.index(k)]))


def at_best(result: SelectionResult, values: Array) -> float:
    """Return the value at the selected k."""
    return float(values[result.ks.index(result.best_k)])


def columns(result: SelectionResult) -> dict[str, list[str]]:
    """Return formatted cells by heading; failures have a column only if there are any."""
    micro, macro, weight = (result._summaries[name].mean for name in ("micro", "macro", "weight"))
    # With criterion="likely" the score is the confidence, which has a separate column.
    scores = {} if result.criterion == LIKELY else {"score": result.scores, "± se": result.sem}
    return {
        "k": [str(k) for k in result.ks],
        **_cells(number, **scores, micro=micro, macro=macro),
        **_cells(partial(number, digits=3), weight=weight, stability=result.stability),
        **_cells(percent, probability=result.selection_probability, confidence=result.confidence),
        **(_cells(str, failed=result.n_failed) if result.n_failed.any() else {}),
    }


def _cells(text: Callable[[Any], str], **columns: NDArray[Any]) -> dict[str, list[str]]:
    return {heading: [text(value) for value in values] for heading, values in columns.items()}


def thinned(values: Any) -> list[Any]:
    """Return every value, or every second, third, ... one if there are too many to label."""
    return list(values[:: -(-len(values) // MAX_LABELS)])
