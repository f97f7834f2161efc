"""Principal directions that do not depend on rounding.

A decomposition leaves the signs open and, where singular values are nearly equal, any rotation among their directions.
Which ones come out is decided by the last bit of a matrix product, and so by the CPU. Here the data decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Singular values closer than this share of the largest count as equal, and smaller ones as zero.
TOLERANCE = 1e-6


def principal_axes(points: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of centred points: scores of unit length, singular values, directions.

    Directions are rows. Those without any spread are left out.
    """
    left, spread, axes = np.linalg.svd(points, full_matrices=False)
    known = spread > TOLERANCE * spread.max(initial=0.0)
    left, spread, axes = left[:, known], spread[known], axes[known]
    fixed = fix_directions(spread, axes)
    return left @ (axes @ fixed.T), spread, fixed


def fix_directions(spread: Array, axes: Array) -> Array:
    """Return one basis of the space of each group of nearly equal singular values, which are sorted, largest first.

    The projection onto such a space is unique, whatever its basis. Its columns, the longest first, are made orthogonal.
    """
    ends = np.flatnonzero(-np.diff(spread) > TOLERANCE * spread.max(initial=0.0)) + 1
    groups = np.split(axes, ends) if len(axes) else []
    return np.vstack([_basis_of(group) for group in groups]) if groups else axes


def _basis_of(group: Array) -> Array:
    found = np.empty_like(group)
    # Coordinates, in the given basis, of the projections of the columns of the data; turning the basis turns them all.
    rest = group.copy()
    for place in range(len(group)):
        lengths = np.linalg.norm(rest, axis=0)
        # The first of those that are equally long: in two standardised columns, both always are.
        longest = int(np.argmax(lengths >= (1.0 - TOLERANCE) * lengths.max()))
        direction = rest[:, longest] / lengths[longest]
        found[place] = direction @ group
        rest = rest - np.outer(direction, direction @ rest)
    return found
