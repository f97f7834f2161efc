"""Compile the inner loops ahead of time, to avoid the delay on the first run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from compsil_kit._method import silhouette
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._util.imports import require


def warm_up() -> Iterator[tuple[str, bool, float]]:
    """Load or compile the loops by running them on a few points.

    For each group of loops, yield its name, whether it was compiled, and the time taken in seconds.
    """
    require("numba", purpose="compsil-kit warmup")
    for dtype in ("float64", "float32"):
        for name, use in (("k-means", _use_kmeans), ("silhouettes", _use_silhouettes)):
            before, start = _n_compiled(), time.perf_counter()
            use(dtype)
            yield f"{name}, {dtype}", _n_compiled() > before, time.perf_counter() - start


def cache_folders() -> list[str]:
    """Return the folders where the compiled loops are cached."""
    return sorted({loop.stats.cache_path for loop in _loops() if loop.stats.cache_path is not None})


def _use_kmeans(dtype: str) -> None:
    from compsil_kit._kmeans.fit import load_loops

    # Use two initialisations, because the inertia is computed only to compare initialisations.
    load_loops(dtype, n_starts=2)


def _use_silhouettes(dtype: str) -> None:
    from compsil_kit._method import kernel_numba

    X = np.random.default_rng(0).normal(size=(silhouette.MIN_COMPILED_SILHOUETTE_POINTS, 3)).astype(dtype)
    codes, euclidean = np.arange(len(X)) % 2, resolve_metric("euclidean")
    # Few features use coordinate differences, many features use a matrix product.
    for points in (X, np.repeat(X, kernel_numba.MAX_DIRECT_FEATURES, axis=1)):
        silhouette.point_silhouettes(points, [codes], euclidean)
    # Points that lost precision are recomputed, always in double precision.
    columns, starts = np.ascontiguousarray(X.T.astype(np.float64)), np.array([0, len(X) // 2])
    kernel_numba.accumulate_rows(columns, starts, np.sort(codes), np.arange(5), lambda: None)


def _loops() -> set[Any]:
    from compsil_kit._kmeans import assign, lloyd, plus_plus, points
    from compsil_kit._method import kernel_numba

    modules = (kernel_numba, assign, lloyd, plus_plus, points)
    return {value for module in modules for value in vars(module).values() if hasattr(value, "py_func")}


def _n_compiled() -> int:
    return sum(sum(loop.stats.cache_misses.values()) for loop in _loops())
