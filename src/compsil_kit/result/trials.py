"""The kept trials of a selection, and what is known of the data they came from."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from compsil_kit.run.engine import Trial

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trials:
    """Micro and macro silhouettes, ks by subsamples, of the subsamples in ``subsamples``; NaN where one failed."""

    subsamples: tuple[int, ...]
    micro: Array
    macro: Array

    @classmethod
    def collect(cls, trials: Iterable[Trial], n_ks: int) -> Trials:
        """Put trials, finished in any order, into the order of the subsamples."""
        rows = sorted(trials, key=lambda trial: trial.index)
        micro = np.array([trial.micro for trial in rows], dtype=np.float64).reshape(-1, n_ks).T.copy()
        macro = np.array([trial.macro for trial in rows], dtype=np.float64).reshape(-1, n_ks).T.copy()
        return cls(tuple(trial.index for trial in rows), micro, macro)

    def __post_init__(self) -> None:
        """Freeze the arrays along with the fields."""
        self.micro.setflags(write=False)
        self.macro.setflags(write=False)

    def first(self, n: int) -> Trials:
        """Return the first n subsamples alone."""
        return Trials(self.subsamples[:n], self.micro[:, :n].copy(), self.macro[:, :n].copy())


@dataclass(frozen=True)
class Saved:
    """What a saved result says of a transformation that was a function, which cannot be saved itself."""

    weights: Array
    probability: Array


@dataclass(frozen=True)
class Preparation:
    """What was done to a table before it was clustered.

    Attributes
    ----------
    columns : tuple of str
        The columns that were used.
    left_out : tuple of str
        Columns that were left out because they are not numeric.
    scale : str or None
        How the columns were scaled.
    n_dropped : int
        Rows left out because of missing values.
    notes : tuple of str
        What looked odd about the columns.
    """

    columns: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    scale: str | None = None
    n_dropped: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say in one line what was used and what was left out."""
        parts = [f"columns {shorten(self.columns)}", f"scale {self.scale or 'none'}"]
        if self.left_out:
            parts.append(f"left out as not numeric: {shorten(self.left_out)}")
        if self.n_dropped:
            parts.append(f"{self.n_dropped:,} {'row' if self.n_dropped == 1 else 'rows'} with missing values dropped")
        return "; ".join(parts)


def shorten(names: tuple[str, ...], most: int = 12) -> str:
    """Return names as a list that stays readable when there are hundreds."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def current_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on."""
    names = ("compsil-kit", "numpy", "scikit-learn", "scipy")
    return {"python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in names}}
