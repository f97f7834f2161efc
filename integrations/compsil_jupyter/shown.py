"""The content displayed by the explorer: a result, how k is chosen from it, and a clustering for each k."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from compsil_kit import Comparison, Plan, SelectionError, SelectionResult, Silhouettes, silhouettes
from compsil_kit.adapters import (
    NEED_POINTS,
    Dataset,
    Projection,
    fit_rows,
    is_integer,
    number_by_size,
    one_openmp_thread,
    project,
    take_rows,
)
from compsil_kit.config import ComparisonConfig, SelectionConfig, settings_of

# The cost of silhouettes grows quadratically with the number of points, and plotting more points adds no information.
MAX_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """Cluster labels (0 for the largest cluster) and the silhouettes of the points."""

    labels: NDArray[Any]
    scores: Silhouettes


class Clusterings:
    """The clusterings for one run, one per candidate k, with the same labels as ``df.compsil.cluster``.

    Large data are represented by a fixed sample of the rows.
    """

    def __init__(self, plan: Plan, data: Dataset, notify: Callable[[], None]) -> None:
        """Prepare the clusterings of a run; the first call to :meth:`prioritise` starts the computation."""
        self._plan, self._data, self._notify = plan, data, notify
        self.n_rows = plan.n_rows
        # The clustering for each k, or an error message if the clustering failed.
        self.found: dict[int, Clustering | str] = {}
        self._requested: int | None = None
        self._thread: Thread | None = None
        self._paused = self._closed = False
        self._lock = Lock()

    @cached_property
    def points(self) -> Any:
        """The clustered rows: all rows or a sample."""
        config, matrix = self._plan.config, self._data.matrix
        # For clusterers that store all pairwise distances, the memory check covered only one subsample.
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
        """A two-dimensional projection of the points; None for a distance matrix."""
        return None if self._plan.config.resolved_metric.precomputed else project(self.points)

    def prioritise(self, k: int) -> None:
        """Compute the clustering for this k next, then for the other candidates, closest first."""
        with self._lock:
            self._requested, self._paused = k, False
            if self._thread is None and not self._closed and self._next() is not None:
                self._thread = Thread(target=self._work, name="compsil-explorer", daemon=True)
                self._thread.start()

    def pause(self) -> None:
        """Stop after the clustering in progress; :meth:`prioritise` resumes."""
        self._paused = True

    def close(self) -> None:
        """Stop permanently after the clustering in progress."""
        self._closed = True

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all clusterings have been computed or the computation has been stopped."""
        if (thread := self._thread) is not None:
            thread.join(timeout)

    def _next(self) -> int | None:
        nearest_to = self._requested or 0
        remaining = [k for k in self._plan.ks if k not in self.found]
        return min(remaining, key=lambda k: abs(k - nearest_to), default=None)

    def _work(self) -> None:
        while True:
            with self._lock:
                k = None if self._paused or self._closed else self._next()
                if k is None:
                    self._thread = None
                    return
            try:
                self.found[k] = self._cluster(k)
            except Exception as error:  # noqa: BLE001  (a clusterer may raise anything; the error replaces the plot)
                self.found[k] = f"Clustering into k = {k} failed: {error}"
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


# The table and selection settings by name, without the choice settings. Users edit settings one at a time, so they
# are validated only when a run creates the configs.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """How to choose k from the finished subsamples; changes take effect immediately, without a new run."""

    choice: Mapping[str, Any]
    delta: float = 0.05
    # Use only this many subsamples, starting from the first; None for all.
    first: int | None = None


@dataclass(frozen=True)
class Shown:
    """A result, the task and settings that produced it, and its clusterings and comparison."""

    settings: Settings
    # The session task that computed the result.
    task: object = None
    result: SelectionResult | None = None
    clusterings: Clusterings | None = None
    comparison: Comparison | None = None

    @property
    def random_state(self) -> Any:
        """A value that reproduces the subsamples: the integer seed if there is one, otherwise the seeds in use."""
        seed = self.settings["random_state"]
        return seed if self.result is None or is_integer(seed) else self.result.plan.seeds


def pick(settings: Settings, config: type) -> dict[str, Any]:
    """Return the settings that belong to a config class."""
    return {name: settings[name] for name in settings_of(config) if name in settings}


def selected_k(result: SelectionResult) -> int | None:
    """Return the selected k, or None if no k can be selected."""
    try:
        return result.best_k
    except SelectionError:
        return None


def comparison_settings(data: Any, shown: Shown) -> dict[str, Any]:
    """Return the settings for a comparison on the subsamples of the displayed result."""
    n_subsamples, seeds = shown.settings["n_subsamples"], shown.random_state
    if n_subsamples == "auto":
        n_subsamples = SelectionConfig().max_subsamples if shown.result is None else shown.result.n_subsamples
    if hasattr(seeds, "__len__"):
        # A comparison has no calibration subsamples, whose seeds come last.
        seeds = seeds[:n_subsamples]
    given = {**pick(shown.settings, ComparisonConfig), "n_subsamples": n_subsamples, "random_state": seeds}
    if sparse.issparse(data) or given["metric"] == "precomputed":
        names = settings_of(ComparisonConfig)["criteria"].choices
        given["criteria"] = [name for name in names if name not in ("all", *NEED_POINTS)]
    return given
