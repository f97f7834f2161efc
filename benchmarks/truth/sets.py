"""Load labelled data sets: 52 from a public collection, stored in the local folder, and the paper's data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.paper.data import SETS, MissingData, folder, standardised

Array = NDArray[np.float64]

# Maximum number of rows in a subsample; the paper's rule would take hours on its largest sets.
MAX_ROWS = 3000


@dataclass(frozen=True)
class Labelled:
    """A data set with its number of classes."""

    name: str
    collection: str
    k: int
    load: Callable[[], Array]
    y: NDArray[np.int64] | None = None

    @property
    def ks(self) -> list[int]:
        """The candidates, from five below to five above the number of classes, at least 2."""
        return list(range(max(2, self.k - 5), self.k + 6))

    def facts(self) -> dict[str, float]:
        """Return the imbalance of the classes, and the share of points closest to the mean of another class."""
        if self.y is None:
            return {}
        X, sizes = self.load(), np.bincount(self.y)
        means = np.stack([X[self.y == each].mean(axis=0) for each in range(self.k)])
        overlap = float(np.mean(pairwise_distances_argmin(X, means) != self.y))
        return {"imbalance": round(float(sizes.max() / sizes.min()), 2), "overlap": round(overlap, 4)}


def labelled() -> Iterator[Labelled]:
    """Yield all available sets."""
    local = folder()
    path = None if local is None else local / "convex.npz"
    if path is None or not path.exists():
        raise MissingData("convex.npz is not in the local folder. Set COMPSIL_DATA to the folder that contains it.")
    with np.load(path) as stored:
        for key in sorted(stored.files):
            if key.startswith("X_"):
                name, X = key[2:], np.asarray(stored[key], dtype=np.float64)
                X = standardised(X) if name.startswith("real_") else X
                classes, y = np.unique(stored[f"y_{name}"], return_inverse=True)
                yield Labelled(name, "collection", len(classes), lambda X=X: X, y)
    for data in SETS.values():
        # STL-10 is not available, and Banking77 has too many clusters for the confidence model.
        if data.key not in ("Stl", "B77"):
            yield Labelled(data.name, "paper", data.k, lambda data=data: np.asarray(data.load("published"), np.float64))
