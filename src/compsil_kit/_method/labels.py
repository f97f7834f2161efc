"""Labels of points, checked and turned into codes 0 .. k-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def encode_labels(labels: Any, n_points: int) -> tuple[bool, list[tuple[Array, Array]]]:
    """Return whether one labeling was given, and per labeling its distinct labels and the codes of the points."""
    single, rows = _as_rows(labels)
    return single, [_encode(row, n_points) for row in rows]


def _as_rows(labels: Any) -> tuple[bool, list[Array]]:
    if isinstance(labels, list | tuple) and labels and not np.isscalar(labels[0]):
        return False, [np.asarray(row) for row in labels]
    given = np.asarray(labels)
    if given.ndim == 1:
        return True, [given]
    if given.ndim == 2 and len(given):
        return False, list(given)
    raise ValueError(
        f"labels must be one label per point, or a sequence of such labelings; got an array of shape {given.shape}."
    )


def _encode(row: Array, n_points: int) -> tuple[Array, Array]:
    names, codes = distinct_labels(row, n_points, who="labels")
    if not 2 <= len(names) < n_points:
        raise ValueError(
            f"labels must name at least 2 clusters and fewer clusters than points; got {len(names)} "
            f"clusters for {n_points} points."
        )
    return names, codes


def distinct_labels(row: Array, n_points: int, *, who: str) -> tuple[Array, Array]:
    """Return the distinct labels, sorted, and each point's index into them."""
    if row.ndim != 1 or len(row) != n_points:
        raise ValueError(f"{who} must hold one label for each of the {n_points} points; got shape {row.shape}.")
    if row.dtype.kind == "c" or (row.dtype.kind == "f" and not np.all(np.isfinite(row))):
        raise ValueError(f"{who} must not hold NaN, infinity or complex values.")
    if row.dtype.kind == "O":
        row = _from_objects(row, who)
    names, codes = np.unique(row, return_inverse=True)
    return names, codes.astype(np.int64, copy=False)


def _from_objects(row: Array, who: str) -> Array:
    """Return labels given as Python objects in a type that NumPy can sort."""
    # NaN and NaT differ from themselves; pandas.NA answers such questions with NA.
    if any(value is None or (value != value) is not False for value in row):
        raise ValueError(f"{who} must not hold missing values.")
    typed = np.asarray(row.tolist())
    if typed.ndim != 1 or typed.dtype.kind == "O":
        raise TypeError(f"{who} must be integers or strings; got values of type {type(row[0]).__name__}.")
    return typed


def number_by_size(labels: Array) -> Array:
    """Number the clusters anew, 0 for the largest; equally large ones keep their order."""
    _, codes = np.unique(labels, return_inverse=True)
    rank = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))
    return np.asarray(rank[codes])
