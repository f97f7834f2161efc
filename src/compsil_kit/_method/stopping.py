"""When a selection with as many subsamples as it takes goes on, with which ks, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

AUTO = "auto"
# Subsamples between two looks at what they say, and at most.
ROUND, MOST_SUBSAMPLES = 10, 200
# The leader is chosen at this selection probability.
SURE = 0.99
# A k that so few redraws would choose cannot win any more.
HOPELESS = 0.001


@dataclass(frozen=True)
class Look:
    """What is decided after some subsamples: whether that was enough, and which ks go on if it was not."""

    enough: bool
    going_on: tuple[int, ...]


def look(probability: Array, selectable: NDArray[np.bool_], before: tuple[int, ...]) -> Look:
    """Decide from the selection probability of each k, which of them can be selected, and which went on before."""
    hopeless = ~selectable | (probability < HOPELESS)
    going_on = tuple(at for at in before if not hopeless[at])
    enough = bool((probability >= SURE).any()) or not going_on
    return Look(enough, going_on)
