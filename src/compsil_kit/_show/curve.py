"""The curve of a selection in numbers: one row per k, the lines, a band and the choices.

Text, HTML and figures show these; none of them computes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.selection import LIKELY
from compsil_kit._util.format import number, percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]

# Standard errors on either side that hold 95 % of a normal distribution.
BAND = 1.96
# What each criterion scores, in words.
SCORED = {
    "composite": "composite silhouette",
    "micro": "micro-averaged silhouette",
    "macro": "macro-averaged silhouette",
    "stable": "stable silhouette",
    "likely": "confidence",
}


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over the subsamples per k, NaN where undefined, and the k that each line chooses."""

    ks: tuple[int, ...]
    criterion: str
    score: Array
    sem: Array
    micro: Array
    macro: Array
    weight: Array
    stability: Array
    probability: Array
    confidence: Array
    n_failed: NDArray[np.int64]
    choices: Mapping[str, int | None]

    @property
    def lines(self) -> dict[str, Array]:
        """The lines by name: the criterion in use and, where they have the same scale, the two averages."""
        averages = {} if self.criterion == LIKELY else {"micro": self.micro, "macro": self.macro}
        return {self.criterion: self.score, **{name: v for name, v in averages.items() if name != self.criterion}}

    @property
    def half_width(self) -> Array:
        """Half the width of the criterion's 95 % band; 0 where the standard error is undefined."""
        return BAND * np.nan_to_num(self.sem)

    def chosen(self, line: str) -> tuple[int, float] | None:
        """Return the k that a line chooses, with the line's value there."""
        k = self.choices[line]
        return None if k is None else (k, float(self.lines[line][self.ks.index(k)]))

    def columns(self) -> dict[str, list[str]]:
        """Return the table as formatted cells by heading; failures have a column only where there are any."""
        scores = {"score": [number(value) for value in self.score], "± se": [number(value) for value in self.sem]}
        columns = {
            "k": [str(k) for k in self.ks],
            # The confidence has a column of its own.
            **({} if self.criterion == LIKELY else scores),
            "micro": [number(value) for value in self.micro],
            "macro": [number(value) for value in self.macro],
            "weight": [number(value, 3) for value in self.weight],
            "stability": [number(value, 3) for value in self.stability],
            "probability": [percent(value) for value in self.probability],
            "confidence": [percent(value) for value in self.confidence],
        }
        return {**columns, "failed": [str(n) for n in self.n_failed]} if self.n_failed.any() else columns


def curve_of(result: SelectionResult) -> Curve:
    """Return the curve of a result."""
    rows = result.curve
    names = ("score", "sem", "micro", "macro", "weight", "stability", "probability", "confidence", "n_failed")
    columns = {name: rows[name].to_numpy() for name in names}
    return Curve(ks=result.ks, criterion=result.criterion, choices=result.choices, **columns)
