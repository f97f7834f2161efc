"""The curve of a selection in numbers: one row per k, three lines, a band and the choices.

Text, HTML and figures show these; none of them computes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit.util.format import number, percent

if TYPE_CHECKING:
    from compsil_kit.result.result import SelectionResult

Array = NDArray[np.float64]

# Standard errors on either side that hold 95 % of a normal distribution.
BAND = 1.96


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over the subsamples per k, NaN where undefined, and the k that each line chooses."""

    ks: tuple[int, ...]
    composite: Array
    sem: Array
    micro: Array
    macro: Array
    weight: Array
    probability: Array
    n_failed: NDArray[np.int64]
    choices: Mapping[str, int | None]

    @property
    def lines(self) -> dict[str, Array]:
        """The three lines by name; the composite comes first."""
        return {"composite": self.composite, "micro": self.micro, "macro": self.macro}

    @property
    def half_width(self) -> Array:
        """Half the width of the composite's 95 % band; 0 where the standard error is undefined."""
        return BAND * np.nan_to_num(self.sem)

    def chosen(self, line: str) -> tuple[int, float] | None:
        """Return the k that a line chooses, with the line's value there."""
        k = self.choices[line]
        return None if k is None else (k, float(self.lines[line][self.ks.index(k)]))

    def columns(self) -> dict[str, list[str]]:
        """Return the table as formatted cells by heading; failures have a column only where there are any."""
        columns = {
            "k": [str(k) for k in self.ks],
            "score": [number(value) for value in self.composite],
            "± se": [number(value) for value in self.sem],
            "micro": [number(value) for value in self.micro],
            "macro": [number(value) for value in self.macro],
            "weight": [number(value, 3) for value in self.weight],
            "probability": [percent(value) for value in self.probability],
        }
        return {**columns, "failed": [str(n) for n in self.n_failed]} if self.n_failed.any() else columns


def curve_of(result: SelectionResult) -> Curve:
    """Return the curve of a result."""
    rows = result.curve
    names = ("sem", "micro", "macro", "weight", "probability", "n_failed")
    columns = {name: rows[name].to_numpy() for name in names}
    return Curve(ks=result.ks, composite=rows["score"].to_numpy(), choices=result.choices, **columns)
