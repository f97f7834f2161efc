"""Compile every loop ahead of time, so that no run has to wait for it."""

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
class Part:
    """Some loops that are ready now: what they compute, and how long that took if they had to be compiled."""

    name: str
    compiled: bool
    seconds: float


def warm_up() -> Iterator[Part]:
    """Load or compile the loops, one part after the other, by using each on a few points."""
    require("numba", purpose="compsil-kit warmup")
    for dtype in ("float64", "float32"):
        for name, use in (("k-means", _use_kmeans), ("silhouettes", _use_silhouettes)):
            before, start = _n_compiled(), time.perf_counter()
            use(np.random.default_rng(0).normal(size=(silhouette.MIN_COMPILED_POINTS, 3)).astype(dtype))
            yield Part(f"{name}, {dtype}", _n_compiled() > before, time.perf_counter() - start)


def cache_folders() -> list[str]:
    """Return where the compiled loops are kept."""
    return sorted({loop.stats.cache_path for loop in _loops() if loop.stats.cache_path is not None})


def _use_kmeans(X: Any) -> None:
    from compsil_kit._kmeans.fit import Fits

    # Two starts, as only several are compared with each other.
    Fits(X, tol=1e-4).labels(KMeans(3, n_init=2, random_state=0))


def _use_silhouettes(X: Any) -> None:
    from compsil_kit._method import kernel_numba

    codes, euclidean = np.arange(len(X)) % 2, resolve_metric("euclidean")
    # In few dimensions by differences, in many by products.
    for points in (X, np.repeat(X, kernel_numba.MAX_DIRECT_FEATURES, axis=1)):
        silhouette.point_silhouettes(points, [codes], euclidean)
    # What has lost digits is measured anew, always in double precision.
    columns, starts = np.ascontiguousarray(X.T.astype(np.float64)), np.array([0, len(X) // 2])
    kernel_numba.accumulate_rows(columns, starts, np.sort(codes), np.arange(5), lambda: None)


def _loops() -> set[Any]:
    from compsil_kit._kmeans import assign, lloyd, plus_plus, points
    from compsil_kit._method import kernel_numba

    modules = (kernel_numba, assign, lloyd, plus_plus, points)
    return {value for module in modules for value in vars(module).values() if hasattr(value, "py_func")}


def _n_compiled() -> int:
    return sum(sum(loop.stats.cache_misses.values()) for loop in _loops())
