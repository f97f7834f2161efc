"""The clusterings that the explorer draws: one per k, computed in the background, the requested k first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from compsil_kit import Plan, Silhouettes, silhouettes
from compsil_kit.adapters import (
    Dataset,
    Projection,
    fit_rows,
    number_by_size,
    one_openmp_thread,
    project,
    take_rows,
)

# The cost of silhouettes grows quadratically with the number of points, and a plot of more points shows no more.
MAX_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """Labels, 0 for the largest cluster, and the silhouettes of the points."""

    labels: NDArray[Any]
    scores: Silhouettes


class Clusterings:
    """The data of one run clustered into each of its ks, with the labels of ``df.compsil.cluster``.

    Large data are represented by a fixed sample of the rows.
    """

    def __init__(self, plan: Plan, data: Dataset, notify: Callable[[], None]) -> None:
        """Prepare the clusterings of a run; the first call of :meth:`prioritise` starts the computation."""
        self._plan, self._data, self._notify = plan, data, notify
        self._found: dict[int, Clustering | str] = {}
        self._requested: int | None = None
        self._thread: Thread | None = None
        self._paused = self._closed = False
        self._lock = Lock()

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return self._plan.n_rows

    @cached_property
    def points(self) -> Any:
        """The clustered rows: all, or a sample."""
        config, matrix = self._plan.config, self._data.matrix
        # For clusterers that hold all pairs, memory was checked for one subsample only.
        limit = min(MAX_ROWS, self._plan.sample_size) if config.resolved_clusterer.bytes_per_pair else MAX_ROWS
        if self.n_rows <= limit:
            return matrix
        rows = np.sort(np.random.default_rng(0).choice(self.n_rows, limit, replace=False))
        return take_rows(matrix, rows, config.resolved_metric)

    @property
    def sampled(self) -> bool:
        """Whether the clusterings cover only a sample of the rows."""
        return bool(self.points.shape[0] < self.n_rows)

    @cached_property
    def projection(self) -> Projection | None:
        """The points in two dimensions; None for a distance matrix."""
        return None if self._plan.config.resolved_metric.precomputed else project(self.points)

    def get(self, k: int) -> Clustering | str | None:
        """Return the clustering into k, its error message, or None if it has not been computed yet."""
        return self._found.get(k)

    def prioritise(self, k: int) -> None:
        """Compute this k next, then the others, the closest first."""
        with self._lock:
            self._requested, self._paused = k, False
            if self._thread is None and not self._closed and self._next() is not None:
                self._thread = Thread(target=self._work, name="compsil-explorer", daemon=True)
                self._thread.start()

    def pause(self) -> None:
        """Stop after the clustering in progress; :meth:`prioritise` resumes."""
        self._paused = True

    def close(self) -> None:
        """Stop for good after the clustering in progress."""
        self._closed = True

    def wait(self, timeout: float | None = None) -> None:
        """Wait until every k has been computed or the work has been stopped."""
        if (thread := self._thread) is not None:
            thread.join(timeout)

    def _next(self) -> int | None:
        nearest_to = self._requested or 0
        remaining = [k for k in self._plan.ks if k not in self._found]
        return min(remaining, key=lambda k: abs(k - nearest_to), default=None)

    def _work(self) -> None:
        while True:
            with self._lock:
                k = None if self._paused or self._closed else self._next()
                if k is None:
                    self._thread = None
                    return
            try:
                self._found[k] = self._cluster(k)
            except Exception as error:  # noqa: BLE001  (a clusterer may raise anything; the error replaces the plot)
                self._found[k] = f"Clustering into k = {k} failed: {error}"
            if not self._closed:
                self._notify()

    def _cluster(self, k: int) -> Clustering:
        config = self._plan.config
        # Small fits are many times slower when OpenMP threads compete.
        with one_openmp_thread(ThreadpoolController()):
            _, labels = fit_rows(config, self.points, k, self._plan.seeds[0])
            codes = number_by_size(labels)
            scores = silhouettes(self.points, codes, metric=config.metric)
        assert isinstance(scores, Silhouettes)
        return Clustering(codes, scores)
