"""Read the committed results, and compute statistics for the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper.data import SETS
from benchmarks.paper.store import HERE, Store

Record = dict[str, Any]
PUBLISHED = json.loads((HERE / "published.json").read_text())["sets"]
CRITERIA = (
    "composite", "micro", "macro", "full-micro", "full-macro", "calinski-harabasz", "davies-bouldin", "elbow", "gap",
)  # fmt: skip
SEVEN = CRITERIA[:7]


class Results:
    """The results of a run: units, and the tables computed from their trials."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.units: list[Record] = Store(folder).records()

    def find(self, **wanted: Any) -> list[Record]:
        """Return the units whose fields have these values."""
        return [unit for unit in self.units if all(unit.get(name) == value for name, value in wanted.items())]

    def table(self, name: str) -> pd.DataFrame:
        """Return a table that the analysis has written."""
        return pd.read_csv(self.folder / f"{name}.csv")

    @cached_property
    def sets(self) -> list[str]:
        """The sets that were run, in the paper's order."""
        present = {unit["set"] for unit in self.units}
        return [key for key in SETS if key in present]

    @cached_property
    def missing(self) -> dict[str, str]:
        """The sets whose data were unavailable in the last run, with the reasons."""
        return Store(self.folder).missing()

    def with_choices(self, clusterer: str = "kmeans") -> list[str]:
        """Return the sets on which the composite was run under the literal protocol."""
        return [key for key in self.sets if self.choices("composite", key, clusterer=clusterer)]

    def choices(self, criterion: str, key: str, *, protocol: str = "literal", clusterer: str = "kmeans") -> list[int]:
        """Return the choices of a criterion on a set for each seed; 0 means that no k was selected."""
        part = "subsamples" if criterion in CRITERIA[:3] else "full"
        found = self.find(set=key, protocol=protocol, clusterer=clusterer, part=part)
        return [unit["choices"][criterion] or 0 for unit in found if criterion in unit["choices"]]


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % Wilson interval for a rate."""
    rate, shrink = right / n, 1 + z**2 / n
    centre = (rate + z**2 / (2 * n)) / shrink
    radius = z / shrink * float(np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2)))
    return max(0.0, centre - radius), min(1.0, centre + radius)


def over_sets(rates: Sequence[float], n_draws: int = 10_000) -> tuple[float, float, float]:
    """Return the mean rate over sets with a 95 % interval from resampling sets.

    All seeds for a set use the same data, so sets are independent, but runs are not.
    """
    values = np.array(rates, dtype=float)
    draws: NDArray[Any] = np.random.default_rng(0).integers(len(values), size=(n_draws, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def share(chosen: Iterable[int | None], k: int) -> float:
    """Return the share of choices that are k."""
    return float(np.mean([found == k for found in chosen]))


def percent(value: float) -> str:
    """Format a share as a percentage."""
    return f"{value:.0%}".replace("%", " %")


def points(difference: tuple[float, float, float]) -> str:
    """Format a difference of shares with its interval, in percentage points."""
    mean, low, high = (f"{round(100 * value):+d}" for value in difference)
    return f"{mean} ({low} to {high})"


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table whose first column is left-aligned and whose others are right-aligned."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" + "---:|" * (len(header) - 1)]
    for row in rows:
        cells = [f"{cell}" for _, cell in zip(header, row, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
