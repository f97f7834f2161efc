"""Numbers of a single subsample, arrays with the numbers of all subsamples, and failed clusterings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Numbers stored for each clustering.
NUMBERS = ("micro", "macro", "best_micro", "best_macro", "agreement", "within", "small")
# Always rounded to single precision, so that packed batches are small but give bit-identical results.
SINGLE = ("agreement", "within")
_OPTIONAL = (*SINGLE, "small")


@dataclass(frozen=True)
class Failure:
    """A clustering that could not be scored, and the cause."""

    k: int
    subsample: int
    seed: int
    cause: str


@dataclass(frozen=True)
class Trial:
    """Numbers of a single subsample for each k, as described in :class:`Trials`; NaN where the clustering failed."""

    index: int
    micro: tuple[float, ...]
    macro: tuple[float, ...]
    failures: tuple[Failure, ...] = ()
    best_micro: tuple[float, ...] = ()
    best_macro: tuple[float, ...] = ()
    agreement: tuple[float, ...] = ()
    within: tuple[float, ...] = ()
    small: tuple[float, ...] = ()
    # False if the run ended before the agreements were computed.
    whole: bool = True

    def __post_init__(self) -> None:
        """Fill in omitted numbers, and round the single-precision ones."""
        for name, value in (("best_micro", self.micro), ("best_macro", self.macro)):
            object.__setattr__(self, name, getattr(self, name) or value)
        for name in _OPTIONAL:
            values = getattr(self, name) or (float("nan"),) * len(self.micro)
            object.__setattr__(self, name, tuple(np.array(values, dtype=np.float32).tolist()))


@dataclass(frozen=True)
class Trials:
    """Values for each subsample, as arrays of shape (n_ks, n_subsamples) with NaN where a clustering failed.

    Attributes
    ----------
    micro, macro : ndarray
        Silhouettes of the clusterings with one initialisation.
    best_micro, best_macro : ndarray
        Silhouettes of the best of several initialisations; with one initialisation, equal to ``micro`` and ``macro``.
    agreement : ndarray
        Adjusted Rand index with the clustering of the previous subsample, on their shared rows or on a fixed
        set of rows; NaN for the first subsample.
    within : ndarray
        Within-cluster sum of squares as a share of the total; NaN for sparse data.
    small : ndarray
        1 if the smallest cluster has fewer than 30 rows, else 0.
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
        """Sort trials by subsample and stack their numbers."""
        rows = sorted(trials, key=lambda trial: trial.index)
        arrays = {
            name: np.array([getattr(trial, name) for trial in rows], dtype=np.float64).reshape(-1, n_ks).T.copy()
            for name in NUMBERS
        }
        return cls(tuple(trial.index for trial in rows), **arrays)

    def __post_init__(self) -> None:
        """Fill in omitted numbers and make the arrays read-only."""
        unknown = np.full_like(self.micro, np.nan)
        defaults = {"best_micro": self.micro, "best_macro": self.macro, **dict.fromkeys(_OPTIONAL, unknown)}
        for name in NUMBERS:
            if getattr(self, name) is None:
                object.__setattr__(self, name, defaults[name])
            getattr(self, name).setflags(write=False)

    def first(self, n: int) -> Trials:
        """Return the first n subsamples."""
        return Trials(self.subsamples[:n], **{name: getattr(self, name)[:, :n].copy() for name in NUMBERS})


@dataclass(frozen=True)
class Saved:
    """Weights and selection probabilities of a loaded result whose transform was a function."""

    weights: Array
    probability: Array


# Cached, because looking up one package in importlib.metadata takes as long as a subsample.
_version = cache(version)


def current_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that affect the numbers."""
    return {
        "python": "{}.{}.{}".format(*sys.version_info),
        "compsil-kit": _version("compsil-kit"),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }
