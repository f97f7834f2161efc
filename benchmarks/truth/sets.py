"""Labelled data sets: 52 of a public collection, from the local folder, and the paper's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.paper.data import SETS, MissingData, folder, standardised

Array = NDArray[np.float64]

# Rows in a subsample, at most: the paper's rule would take hours on its largest sets.
MOST_ROWS = 3000


@dataclass(frozen=True)
class Labelled:
    """One data set, and how many classes it has."""

    name: str
    collection: str
    k: int
    load: Callable[[], Array]
    y: NDArray[np.int64] | None = None

    @property
    def ks(self) -> list[int]:
        """The candidates: five below to five above the number of classes, from 2 on."""
        return list(range(max(2, self.k - 5), self.k + 6))

    def facts(self) -> dict[str, float]:
        """Return how uneven the classes are, and which share of the points is nearest to the mean of another class."""
        if self.y is None:
            return {}
        X, sizes = self.load(), np.bincount(self.y)
        means = np.stack([X[self.y == each].mean(axis=0) for each in range(self.k)])
        overlap = float(np.mean(pairwise_distances_argmin(X, means) != self.y))
        return {"imbalance": round(float(sizes.max() / sizes.min()), 2), "overlap": round(overlap, 4)}


def labelled() -> Iterator[Labelled]:
    """Yield all sets that can be had."""
    local = folder()
    path = None if local is None else local / "convex.npz"
    if path is None or not path.exists():
        raise MissingData("convex.npz is not in the local folder; COMPSIL_DATA names another one.")
    with np.load(path) as stored:
        for key in sorted(stored.files):
            if key.startswith("X_"):
                name, X = key[2:], np.asarray(stored[key], dtype=np.float64)
                X = standardised(X) if name.startswith("real_") else X
                classes, y = np.unique(stored[f"y_{name}"], return_inverse=True)
                yield Labelled(name, "collection", len(classes), lambda X=X: X, y)
    for data in SETS.values():
        # The first cannot be had, and the second has more clusters than the confidence is known for.
        if data.key not in ("Stl", "B77"):
            yield Labelled(data.name, "paper", data.k, lambda data=data: np.asarray(data.load("published"), np.float64))
