"""The clusterings behind the explorer's pictures: one per k, computed in the background, the wanted one first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from compsil_kit.method.clusterers import fit_final
from compsil_kit.method.labels import largest_first
from compsil_kit.method.silhouette import Silhouettes, silhouettes
from compsil_kit.run.engine import take_rows
from compsil_kit.run.native_threads import one_openmp_thread
from compsil_kit.run.request import Request
from compsil_kit.show.cluster_plots import Projection, project

# Silhouettes of all points take time that grows with the square of their number, and more would not be seen.
MOST_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """Labels, 0 for the largest cluster, and the silhouettes of the points under them."""

    labels: NDArray[Any]
    scores: Silhouettes


class Clusterings:
    """The data of one run clustered into each of its ks, with the final labels that ``df.compsil.cluster`` gives.

    Of large data a fixed sample of the rows is clustered and shown.
    """

    def __init__(self, request: Request, tell: Callable[[], None]) -> None:
        """Take a checked request; nothing is computed before a k is wanted."""
        self._request, self._tell = request, tell
        self._found: dict[int, Clustering | str] = {}
        self._wanted: int | None = None
        self._thread: Thread | None = None
        self._closed = False
        self._lock = Lock()

    @property
    def n_rows(self) -> int:
        """How many rows the data has."""
        return self._request.job.plan.n_rows

    @cached_property
    def points(self) -> Any:
        """The rows that are shown: all, or a sample."""
        job = self._request.job
        # A clusterer that holds all pairs was found to fit into memory for a subsample, not for more.
        most = min(MOST_ROWS, job.plan.sample_size) if job.clusterer.bytes_per_pair else MOST_ROWS
        if self.n_rows <= most:
            return self._request.X
        rows = np.sort(np.random.default_rng(0).choice(self.n_rows, most, replace=False))
        return take_rows(self._request.X, rows, job.metric)

    @property
    def sampled(self) -> bool:
        """Whether some rows are not shown."""
        return bool(self.points.shape[0] < self.n_rows)

    @cached_property
    def projection(self) -> Projection | None:
        """The points in two dimensions; None where only their distances are known."""
        return None if self._request.job.metric.precomputed else project(self.points)

    def get(self, k: int) -> Clustering | str | None:
        """Return the clustering into k, or why there is none, or None while it is being computed."""
        return self._found.get(k)

    def want(self, k: int) -> None:
        """Compute this k next, then the others, those close to it first."""
        with self._lock:
            self._wanted = k
            if self._thread is None and not self._closed and self._next() is not None:
                self._thread = Thread(target=self._work, name="compsil-explorer", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop at the next step."""
        self._closed = True

    def wait(self, timeout: float | None = None) -> None:
        """Wait until every k has been computed."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _next(self) -> int | None:
        wanted = self._wanted
        left = [k for k in self._request.job.plan.ks if k not in self._found]
        return min(left, key=lambda k: abs(k - (wanted or 0)), default=None)

    def _work(self) -> None:
        while True:
            with self._lock:
                k = None if self._closed else self._next()
                if k is None:
                    self._thread = None
                    return
            try:
                self._found[k] = self._cluster(k)
            except Exception as error:  # noqa: BLE001  (a clusterer may raise anything: it is shown where its picture would be)
                self._found[k] = f"Clustering into k = {k} failed: {error}"
            if not self._closed:
                self._tell()

    def _cluster(self, k: int) -> Clustering:
        job = self._request.job
        # Small fits are many times slower when OpenMP's threads get in each other's way.
        with one_openmp_thread(ThreadpoolController()):
            _, labels = fit_final(job.clusterer, self.points, k, job.plan.seeds[0])
            codes = largest_first(labels)
            scores = silhouettes(self.points, codes, metric=job.metric)  # type: ignore[arg-type]  # checked already
        assert isinstance(scores, Silhouettes)
        return Clustering(codes, scores)
