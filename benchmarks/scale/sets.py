"""Generate large data sets with balanced, imbalanced and overlapping Gaussian clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_ROWS = 200_000


@dataclass(frozen=True)
class Generated:
    """Parameters of a data set: cluster shares, number of features, and distance between the centres."""

    shares: tuple[float, ...]
    n_features: int
    # Smallest distance between two centres, in standard deviations of a cluster.
    distance: float

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.shares)


SETS = {
    "balanced, 6 clusters": Generated((1 / 6,) * 6, 10, 6.0),
    "balanced, 12 clusters": Generated((1 / 12,) * 12, 8, 6.0),
    "one of 0.5 % and one of 0.1 %": Generated((0.4, 0.3, 0.294, 0.005, 0.001), 5, 8.0),
    "halving shares, 8 clusters": Generated(tuple(2.0**-i for i in range(8)), 6, 6.0),
    "overlapping, 5 clusters": Generated((0.2,) * 5, 4, 3.5),
    "overlapping, imbalanced, 7 clusters": Generated((0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01), 5, 4.0),
    "one of 0.1 %, overlapping": Generated((0.5, 0.3, 0.199, 0.001), 3, 4.5),
}


def generate(name: str, seed: int = 0, n_rows: int = N_ROWS) -> NDArray[Any]:
    """Return the rows of a data set in single precision and in random order."""
    recipe = SETS[name]
    random = np.random.default_rng([seed, *name.encode()])
    centres = _centres(recipe, random)
    shares = np.array(recipe.shares) / sum(recipe.shares)
    sizes = np.maximum(1, np.floor(shares * n_rows).astype(int))
    sizes[0] += n_rows - sizes.sum()
    rows = np.repeat(centres, sizes, axis=0) + random.normal(size=(n_rows, recipe.n_features))
    return random.permutation(rows.astype(np.float32))


def _centres(recipe: Generated, random: np.random.Generator) -> NDArray[Any]:
    """Draw centres in a box that is enlarged until they are far enough apart."""
    side = recipe.distance
    while True:
        for _ in range(200):
            centres = random.uniform(0, side, size=(recipe.k, recipe.n_features))
            gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
            if gaps[np.triu_indices(recipe.k, 1)].min() >= recipe.distance:
                return centres
        side *= 1.1
