"""Compile all loops ahead of time, so that no run has to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from compsil_kit._method import silhouette
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._util.imports import require


@dataclass(frozen=True)
class CompiledPart:
    """Loops that are ready now: what they compute, whether they had to be compiled, and how long that took."""

    name: str
    compiled: bool
    seconds: float


def warm_up() -> Iterator[CompiledPart]:
    """Load or compile the loops, part by part, by using each on a few points."""
    require("numba", purpose="compsil-kit warmup")
    for dtype in ("float64", "float32"):
        for name, use in (("k-means", _use_kmeans), ("silhouettes", _use_silhouettes)):
            before, start = _n_compiled(), time.perf_counter()
            use(np.random.default_rng(0).normal(size=(silhouette.MIN_COMPILED_SILHOUETTE_POINTS, 3)).astype(dtype))
            yield CompiledPart(f"{name}, {dtype}", _n_compiled() > before, time.perf_counter() - start)


def cache_folders() -> list[str]:
    """Return the folders where the compiled loops are cached."""
    return sorted({loop.stats.cache_path for loop in _loops() if loop.stats.cache_path is not None})


def _use_kmeans(X: Any) -> None:
    from compsil_kit._kmeans.fit import Fits

    # The inertia is needed to compare two initialisations only.
    Fits(X, tol=1e-4).labels(KMeans(3, n_init=2, random_state=0))


def _use_silhouettes(X: Any) -> None:
    from compsil_kit._method import kernel_numba

    codes, euclidean = np.arange(len(X)) % 2, resolve_metric("euclidean")
    # By differences with few features, by products with many.
    for points in (X, np.repeat(X, kernel_numba.MAX_DIRECT_FEATURES, axis=1)):
        silhouette.point_silhouettes(points, [codes], euclidean)
    # Points that lost digits are recomputed, always in double precision.
    columns, starts = np.ascontiguousarray(X.T.astype(np.float64)), np.array([0, len(X) // 2])
    kernel_numba.accumulate_rows(columns, starts, np.sort(codes), np.arange(5), lambda: None)


def _loops() -> set[Any]:
    from compsil_kit._kmeans import lloyd, points
    from compsil_kit._method import kernel_numba

    modules = (kernel_numba, lloyd, points)
    return {value for module in modules for value in vars(module).values() if hasattr(value, "py_func")}


def _n_compiled() -> int:
    return sum(sum(loop.stats.cache_misses.values()) for loop in _loops())
