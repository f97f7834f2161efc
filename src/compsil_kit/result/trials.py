"""The trials of a selection: what one subsample gave, all of them as arrays, and the failures among them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Failure:
    """A clustering that could not be scored: which, and why."""

    k: int
    subsample: int
    seed: int
    cause: str


@dataclass(frozen=True)
class Trial:
    """Micro and macro silhouettes of one subsample under every k; NaN where the clustering failed."""

    index: int
    micro: tuple[float, ...]
    macro: tuple[float, ...]
    failures: tuple[Failure, ...] = ()


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

    @classmethod
    def split(cls, trials: Sequence[Trial], n_ks: int, n_scored: int) -> tuple[Trials, Trials]:
        """Return the scored trials, which come first in a plan, and those for calibration."""
        scored = [trial for trial in trials if trial.index < n_scored]
        calibration = [trial for trial in trials if trial.index >= n_scored]
        return cls.collect(scored, n_ks), cls.collect(calibration, n_ks)

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


def current_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on."""
    names = ("compsil-kit", "numpy", "scikit-learn", "scipy")
    return {"python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in names}}
