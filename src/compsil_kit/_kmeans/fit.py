"""Labels of k-means for many k and starts on the same points: scikit-learn's own, whatever it takes.

Compiled loops decide what is certain. What is too close to call for them is settled by the matrix product that
scikit-learn would use, on its centres; and where even the course of the steps is open, or a cluster runs empty, the fit
is handed over to scikit-learn.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, sgemm
from sklearn.cluster import KMeans, _kmeans
from sklearn.utils.extmath import row_norms

from compsil_kit._kmeans import steps
from compsil_kit._kmeans.arrays import UNIT, lay_out, make_room
from compsil_kit._kmeans.assign import begin
from compsil_kit._kmeans.starts import plus_plus

Array = NDArray[Any]

# Rows in one product of scikit-learn.
CHUNK = 256
# Steps of one start with open labels; data that have more are a lattice, and scikit-learn is faster.
MOST_SETTLED = 30
# Beyond these lengths, and below their inverse, squares may leave the range of the type.
LONGEST = {"float64": 1e150, "float32": 1e17}
# Two inertias that differ by no more than this share may come out in another order.
SAME_INERTIA = {"float64": 1e-9, "float32": 1e-3}


def is_compiled() -> bool:
    """Tell whether the loops have been compiled, in this process or, for this source, in an earlier one."""
    loops: Any = steps.lloyd
    python = "py{}{}".format(*sys.version_info)
    return bool(loops.signatures) or any(Path(loops.stats.cache_path).glob(f"steps.lloyd-*.{python}.*.nbc"))


@cache
def load_loops(dtype: str) -> None:
    """Load the loops into this process, or compile them, by using them on a few points."""
    points = np.array([[0.0, 1.0], [1.0, 0.0], [8.0, 9.0], [9.0, 8.0]], dtype=dtype)
    Fits(points, tol=1e-4).labels(KMeans(2, n_init=1, random_state=0))


def _n_starts(estimator: KMeans) -> int:
    return 1 if not isinstance(estimator.init, str) or estimator.n_init == "auto" else int(estimator.n_init)


class Fits:
    """Fits of one KMeans, as it is or with other k and seeds, to the same points.

    Attributes
    ----------
    counts : Counter
        ``fits``; ``settled``, chunks whose labels were settled by scikit-learn's product; ``starts``, starts chosen by
        its k-means++; ``handed over``, fits that it computed as a whole.
    """

    def __init__(self, X: Array, tol: float) -> None:
        """Prepare dense points, once for all ks and starts."""
        self._given = X
        # The tolerance and the mean as scikit-learn computes them.
        self._tol = np.mean(np.var(X, axis=0)) * tol if tol else 0.0
        self._mean = X.mean(axis=0)
        self._points = lay_out(np.ascontiguousarray(X - self._mean))
        self._known = make_room(len(X))
        reach, unit = float(self._points.lengths.max()), float(np.finfo(X.dtype).eps) / 2
        # Of a comparison of two distances: rounding of scikit-learn's two and of ours.
        self._gamma = 4.0 * (X.shape[1] + 8) * (unit + UNIT)
        self._in_range = 1 / LONGEST[X.dtype.name] < reach < LONGEST[X.dtype.name]
        self._draws: dict[int, Array] = {}
        self.counts: Counter[str] = Counter()

    def labels(self, estimator: KMeans) -> Array:
        """Return the labels that the estimator, with an integer as its random_state, would find."""
        return self.first_and_best(estimator)[1]

    def first_and_best(self, estimator: KMeans) -> tuple[Array, Array]:
        """Return the labels that it would find from its first start alone, and those from all of its starts."""
        self.counts["fits"] += 1
        first, best = self._runs(estimator) if self._in_range else (None, None)
        if best is None:
            self.counts["handed over"] += 1
            best = np.asarray(estimator.fit_predict(self._given))
            if first is None:
                one = type(estimator)(**{**estimator.get_params(), "n_init": 1})
                first = best if _n_starts(estimator) == 1 else np.asarray(one.fit_predict(self._given))
        assert first is not None
        return first, best

    def _runs(self, estimator: KMeans) -> tuple[Array | None, Array | None]:
        """Return the labels of the first start and of the best, or None where scikit-learn has to decide."""
        k, first, best = estimator.n_clusters, None, None
        given = not isinstance(estimator.init, str)
        n_starts = _n_starts(estimator)
        for start in range(n_starts):
            centers = np.empty((k, self._given.shape[1]))
            compared = not given and self._choose(centers, estimator.random_state, start)
            if given:
                if np.shape(estimator.init) != centers.shape:
                    return None, None
                centers[:] = np.asarray(estimator.init, self._given.dtype) - self._mean
            if not self._steps(centers, compared, estimator.max_iter):
                return first, None
            labels = self._known.label.astype(np.int32)
            if n_starts == 1:
                return labels, labels
            inertia = steps.inertia(self._points.rows, centers, self._known.label)
            if best is None:
                first, best = labels, (labels, inertia)
            elif not _kmeans._is_same_clustering(labels, best[0], k):
                if abs(inertia - best[1]) <= SAME_INERTIA[self._given.dtype.name] * best[1]:
                    return first, None
                best = min(best, (labels, inertia), key=lambda found: found[1])
        assert best is not None
        return first, best[0]

    def _choose(self, centers: Array, seed: int, start: int) -> bool:
        """Write the centres of k-means++; return whether the points have been compared with them on the way."""
        k, n = len(centers), len(self._given)
        n_trials = 2 + int(np.log(k))
        per_start = 1 + (k - 1) * n_trials
        draws = self._random(seed, (start + 1) * per_start)[start * per_start :]
        if self._given.dtype == np.float64:
            # All points are drawn alike; this is what RandomState.choice makes of equal weights.
            first = self._shares.searchsorted(draws[0], side="right")
            share = 4.0 * n * UNIT
            if plus_plus(self._points, self._known, first, draws[1:per_start], n_trials, centers, self._gamma, share):
                return True
        self.counts["starts"] += 1
        random_state = np.random.RandomState(seed)
        random_state.random_sample(start * per_start)
        weights, data = np.ones(n, self._given.dtype), self._points.data
        centers[:] = _kmeans._kmeans_plusplus(data, k, row_norms(data, squared=True), weights, random_state)[0]
        return False

    def _random(self, seed: int, n: int) -> Array:
        """Return the first numbers that a RandomState of this seed draws, n at least."""
        if len(self._draws.get(seed, ())) < n:
            self._draws[seed] = np.random.RandomState(seed).random_sample(max(n, 256))
        return self._draws[seed]

    @cached_property
    def _shares(self) -> Array:
        weights = np.ones(len(self._given), self._given.dtype)
        shares: Array = np.asarray(weights / weights.sum(), np.float64).cumsum()
        shares /= shares[-1]
        return shares

    def _steps(self, centers: Array, compared: bool, max_iter: int) -> bool:
        """Take Lloyd's steps from these centres, which become the final ones; return whether that went well."""
        points, known = self._points, self._known
        n_open = begin(points, known, centers, self._gamma, compared)
        if n_open:
            unsure = known.unsure[:n_open]
            known.label[unsure] = self._settle(centers, unsure)
        sums, counts = np.empty(centers.shape, points.data.dtype), np.empty(len(centers), np.int64)
        steps.add_up(points.data, known.label, sums, counts)
        state = np.zeros(6, np.int64)
        state[steps.MOVED] = 1
        exact = points.data.dtype != np.float64
        for _ in range(MOST_SETTLED):
            end = steps.lloyd(
                points, known, centers, sums, counts, state, self._gamma, float(self._tol), max_iter, exact
            )
            if end != steps.SETTLE:
                return bool(end == steps.DONE and counts.min() > 0)
            unsure = known.unsure[: state[steps.OPEN]]
            labels = self._settle(centers, unsure)
            changed, first = labels != known.label[unsure], state[steps.MOVED]
            state[steps.MOVED] += changed.sum()
            known.moved[first : state[steps.MOVED]] = unsure[changed]
            known.to[first : state[steps.MOVED]] = labels[changed]
            state[steps.SETTLED] = 1
        return False

    def _settle(self, centers: Array, unsure: Array) -> Array:
        """Return the labels of the listed points by scikit-learn's product: the same rows and call, the same bits."""
        data = self._points.data
        centers = centers.astype(data.dtype)
        multiply = dgemm if data.dtype == np.float64 else sgemm
        norms, chunks = row_norms(centers, squared=True), unsure // CHUNK
        labels = np.empty(len(unsure), np.int64)
        for chunk in np.unique(chunks):
            rows = data[chunk * CHUNK : (chunk + 1) * CHUNK]
            values = np.tile(norms, (len(rows), 1))
            values = multiply(-2.0, centers.T, rows.T, beta=1.0, c=values.T, trans_a=1, overwrite_c=1).T
            here = chunks == chunk
            labels[here] = values.argmin(axis=1)[unsure[here] - chunk * CHUNK]
            self.counts["settled"] += 1
        return labels
