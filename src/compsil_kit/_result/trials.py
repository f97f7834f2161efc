"""The trials of a selection: what one subsample gave, all of them as arrays, and the failures among them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What is known of a clustering.
NUMBERS = ("micro", "macro", "best_micro", "best_macro", "agreement", "within", "small")
# Of these seven digits are kept everywhere, so that batches stay small and yet give the same result to the last bit.
SINGLE = ("agreement", "within")


@dataclass(frozen=True)
class Failure:
    """A clustering that could not be scored: which, and why."""

    k: int
    subsample: int
    seed: int
    cause: str


@dataclass(frozen=True)
class Trial:
    """What one subsample gave under every k; NaN where the clustering failed.

    Micro and macro silhouettes of one start; those of the best of several starts, which are the same if there was but
    one. Of the latter clusterings also how well each agrees with that of the subsample before, NaN where there is none,
    and which share of the sum of squares is within its clusters, NaN where the points are not dense. And whether the
    smallest cluster of the one start has few rows, 1 or 0.
    """

    index: int
    micro: tuple[float, ...]
    macro: tuple[float, ...]
    failures: tuple[Failure, ...] = ()
    best_micro: tuple[float, ...] = ()
    best_macro: tuple[float, ...] = ()
    agreement: tuple[float, ...] = ()
    within: tuple[float, ...] = ()
    small: tuple[float, ...] = ()
    # False where the run ended before the agreements were known.
    whole: bool = True

    def __post_init__(self) -> None:
        """Fill in what one start alone leaves open, and round what is kept in single precision."""
        for name, value in (("best_micro", self.micro), ("best_macro", self.macro)):
            object.__setattr__(self, name, getattr(self, name) or value)
        for name in (*SINGLE, "small"):
            values = getattr(self, name) or (float("nan"),) * len(self.micro)
            object.__setattr__(self, name, tuple(np.array(values, dtype=np.float32).tolist()))


@dataclass(frozen=True)
class Trials:
    """Numbers of the subsamples in ``subsamples``, each ks by subsamples; NaN where a clustering failed.

    Attributes
    ----------
    micro, macro : ndarray
        Silhouettes of clusterings from one start.
    best_micro, best_macro : ndarray
        Silhouettes of the best of several starts; those of the one start if there was no other.
    agreement : ndarray
        Adjusted Rand index with the clustering of the subsample before, on the rows that both hold, or on rows that
        are the same for all subsamples; NaN for the first.
    within : ndarray
        Share of the sum of squares that is within clusters.
    small : ndarray
        1 where the smallest cluster has fewer than 30 rows, else 0.
    """

    subsamples: tuple[int, ...]
    micro: Array
    macro: Array
    best_micro: Array = None  # type: ignore[assignment]  # filled in below
    best_macro: Array = None  # type: ignore[assignment]
    agreement: Array = None  # type: ignore[assignment]
    within: Array = None  # type: ignore[assignment]
    small: Array = None  # type: ignore[assignment]

    @classmethod
    def collect(cls, trials: Iterable[Trial], n_ks: int) -> Trials:
        """Put trials, finished in any order, into the order of the subsamples."""
        rows = sorted(trials, key=lambda trial: trial.index)
        arrays = {
            name: np.array([getattr(trial, name) for trial in rows], dtype=np.float64).reshape(-1, n_ks).T.copy()
            for name in NUMBERS
        }
        return cls(tuple(trial.index for trial in rows), **arrays)

    @classmethod
    def split(cls, trials: Sequence[Trial], n_ks: int, n_scored: int) -> tuple[Trials, Trials]:
        """Return the scored trials, which come first in a plan, and those for calibration."""
        scored = [trial for trial in trials if trial.index < n_scored]
        calibration = [trial for trial in trials if trial.index >= n_scored]
        return cls.collect(scored, n_ks), cls.collect(calibration, n_ks)

    def __post_init__(self) -> None:
        """Fill in what one start alone leaves open, and freeze the arrays along with the fields."""
        unknown = np.full_like(self.micro, np.nan)
        others = {"best_micro": self.micro, "best_macro": self.macro}
        others |= dict.fromkeys(("agreement", "within", "small"), unknown)
        for name, values in others.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, values)
        for name in NUMBERS:
            getattr(self, name).setflags(write=False)

    def first(self, n: int) -> Trials:
        """Return the first n subsamples alone."""
        return Trials(self.subsamples[:n], **{name: getattr(self, name)[:, :n].copy() for name in NUMBERS})


@dataclass(frozen=True)
class Saved:
    """What a saved result says of a transformation that was a function, which cannot be saved itself."""

    weights: Array
    probability: Array


def current_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    # The modules know their versions; to look for that of an installed package takes as long as a subsample.
    modules = {"numpy": np, "scikit-learn": sklearn, "scipy": scipy}
    python = ".".join(map(str, sys.version_info[:3]))
    known = {name: str(module.__version__) for name, module in modules.items()}
    return {"python": python, "compsil-kit": version("compsil-kit"), **known}
