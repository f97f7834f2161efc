"""Principal axes that do not depend on rounding.

A decomposition leaves signs open and, among nearly equal singular values, any rotation: the CPU's last bit decides.
Here the data decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Relative to the largest singular value: differences below this are ties, values below this are zero.
TOLERANCE = 1e-6


def principal_axes(points: Array) -> tuple[Array, Array, Array]:
    """Return scores of unit length, singular values and axes (as rows) of centred points, without null axes."""
    left, spread, axes = np.linalg.svd(points, full_matrices=False)
    kept = spread > TOLERANCE * spread.max(initial=0.0)
    left, spread, axes = left[:, kept], spread[kept], axes[kept]
    fixed = fix_axes(spread, axes)
    return left @ (axes @ fixed.T), spread, fixed


def fix_axes(spread: Array, axes: Array) -> Array:
    """Return a unique basis for each group of nearly equal singular values, which are sorted in descending order.

    The projection onto a group's space is unique, whatever its basis; its columns are orthogonalised, longest first.
    """
    ends = np.flatnonzero(-np.diff(spread) > TOLERANCE * spread.max(initial=0.0)) + 1
    return np.vstack([_unique_basis(group) for group in np.split(axes, ends)]) if len(axes) else axes


def _unique_basis(group: Array) -> Array:
    basis = np.empty_like(group)
    # Projected data columns in the coordinates of the group: a rotation of the group rotates all of them alike.
    rest = group.copy()
    for row in basis:
        lengths = np.linalg.norm(rest, axis=0)
        # The first of the longest: two standardised columns always tie.
        longest = int(np.argmax(lengths >= (1.0 - TOLERANCE) * lengths.max()))
        direction = rest[:, longest] / lengths[longest]
        row[:] = direction @ group
        rest = rest - np.outer(direction, direction @ rest)
    return basis
