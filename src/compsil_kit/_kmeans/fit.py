"""Compute the labels that scikit-learn's KMeans would return, for many values of k and many seeds on the same points.

Compiled loops assign every point whose label cannot depend on rounding. Where a label might depend on rounding, it is
computed by the same matrix product as in scikit-learn. If rounding might change the iterations themselves, or a cluster
becomes empty, scikit-learn computes the whole fit.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, sgemm
from sklearn.base import clone
from sklearn.cluster import KMeans, _kmeans
from sklearn.utils.extmath import row_norms

from compsil_kit._kmeans import assign, lloyd
from compsil_kit._kmeans.plus_plus import plus_plus
from compsil_kit._kmeans.points import UNIT_ROUNDOFF, empty_bounds, lay_out

Array = NDArray[Any]

# Rows per matrix product in scikit-learn.
CHUNK_ROWS = 256
# Maximum number of iterations with ambiguous labels per initialisation. Data that exceed it usually lie on a lattice,
# where scikit-learn is faster.
MAX_RESOLVED_ITERATIONS = 30
# Squares of lengths above this limit, or below its inverse, may leave the range of the dtype.
MAX_LENGTH = {"float64": 1e150, "float32": 1e17}
# Rounding may change which of two inertias is smaller if their relative difference is below this.
SAME_INERTIA = {"float64": 1e-9, "float32": 1e-3}


def is_compiled() -> bool:
    """Return whether the loops have been compiled, in this process or in the cache written by an earlier process."""
    loop: Any = lloyd.lloyd
    python = "py{}{}".format(*sys.version_info)
    return bool(loop.signatures) or any(Path(loop.stats.cache_path).glob(f"lloyd.lloyd-*.{python}.*.nbc"))


@cache
def load_loops(dtype: str, n_starts: int = 1) -> None:
    """Load or compile the loops by running them on a few points."""
    points = np.array([[0.0, 1.0], [1.0, 0.0], [8.0, 9.0], [9.0, 8.0]], dtype=dtype)
    Fits(points, tol=1e-4).labels(KMeans(2, n_init=n_starts, random_state=0))


def _n_starts(estimator: KMeans) -> int:
    return 1 if not isinstance(estimator.init, str) or estimator.n_init == "auto" else int(estimator.n_init)


class Fits:
    """KMeans fits to the same points with different values of k and seeds.

    Attributes
    ----------
    counts : Counter
        Numbers of ``fits``; of chunks whose labels were resolved by scikit-learn's matrix product (``settled``); of
        initialisations by scikit-learn's k-means++ (``starts``); and of fits computed entirely by scikit-learn
        (``handed over``).
    """

    def __init__(self, X: Array, tol: float) -> None:
        """Prepare dense points once for all values of k and all initialisations."""
        self._X = X
        self._tol = float(_kmeans._tolerance(X, tol))
        self._mean = X.mean(axis=0)
        self._points = lay_out(np.ascontiguousarray(X - self._mean))
        self._bounds = empty_bounds(len(X))
        reach, unit = float(self._points.lengths.max()), float(np.finfo(X.dtype).eps) / 2
        # Bounds the rounding error when two distances are compared, in scikit-learn and in the loops.
        self._gamma = 4.0 * (X.shape[1] + 8) * (unit + UNIT_ROUNDOFF)
        # Bounds the rounding error of a sum of squared distances, apart from the error of the additions.
        self._rounding = 2.0 * self._gamma * (float(self._points.squares.sum()) + len(X) * reach * reach)
        self._in_range = 1 / MAX_LENGTH[X.dtype.name] < reach < MAX_LENGTH[X.dtype.name]
        self._draws: dict[int, Array] = {}
        # RandomState.choice draws from these cumulative weights.
        shares = np.full(len(X), 1 / len(X)).cumsum()
        self._shares: Array = shares / shares[-1]
        self.counts: Counter[str] = Counter()

    def labels(self, estimator: KMeans) -> Array:
        """Return the labels that the estimator would return; its random_state must be an integer."""
        return self.first_and_best(estimator)[1]

    def first_and_best(self, estimator: KMeans) -> tuple[Array, Array]:
        """Return the labels from the estimator's first initialisation alone, and the labels from all of them."""
        self.counts["fits"] += 1
        first, best = self._runs(estimator) if self._in_range else (None, None)
        if best is None:
            self.counts["handed over"] += 1
            best = np.asarray(estimator.fit_predict(self._X))
        if first is None:
            one = clone(estimator).set_params(n_init=1)
            first = best if _n_starts(estimator) == 1 else np.asarray(one.fit_predict(self._X))
        return first, best

    def _runs(self, estimator: KMeans) -> tuple[Array | None, Array | None]:
        """Return the labels from the first and the best initialisation; None if scikit-learn must compute them."""
        k, first, best, least = estimator.n_clusters, None, None, np.inf
        given = not isinstance(estimator.init, str)
        n_starts = _n_starts(estimator)
        for start in range(n_starts):
            centers = np.empty((k, self._X.shape[1]))
            compared = not given and self._initialise(centers, estimator.random_state, start)
            if given:
                if np.shape(estimator.init) != centers.shape:
                    return None, None
                centers[:] = np.asarray(estimator.init, self._X.dtype) - self._mean
            if not self._iterate(centers, compared, estimator.max_iter):
                return first, None
            labels = self._bounds.label.astype(np.int32)
            if n_starts == 1:
                return labels, labels
            inertia = lloyd.inertia(self._points.rows, centers, self._bounds.label)
            if best is None:
                first, best, least = labels, labels, inertia
            elif not _kmeans._is_same_clustering(labels, best, k):
                if abs(inertia - least) <= SAME_INERTIA[self._X.dtype.name] * least:
                    return first, None
                best, least = min((best, least), (labels, inertia), key=lambda found: found[1])
        return first, best

    def _initialise(self, centers: Array, seed: int, start: int) -> bool:
        """Write the initial k-means++ centres to ``centers``; return whether the bounds hold for them."""
        k, n = len(centers), len(self._X)
        n_trials = 2 + int(np.log(k))
        per_start = 1 + (k - 1) * n_trials
        draws = self._random(seed, (start + 1) * per_start)[start * per_start :]
        if self._X.dtype == np.float64:
            first, rounding = self._shares.searchsorted(draws[0], side="right"), self._rounding
            share = 4.0 * n * UNIT_ROUNDOFF
            if plus_plus(self._points, self._bounds, first, draws[1:per_start], n_trials, centers, rounding, share):
                return True
        self.counts["starts"] += 1
        random_state = np.random.RandomState(seed)
        random_state.random_sample(start * per_start)
        weights, data = np.ones(n, self._X.dtype), self._points.data
        centers[:] = _kmeans._kmeans_plusplus(data, k, row_norms(data, squared=True), weights, random_state)[0]
        return False

    def _random(self, seed: int, n: int) -> Array:
        """Return at least the first n random numbers from a RandomState with this seed."""
        if len(self._draws.get(seed, ())) < n:
            self._draws[seed] = np.random.RandomState(seed).random_sample(max(n, 256))
        return self._draws[seed]

    def _iterate(self, centers: Array, compared: bool, max_iter: int) -> bool:
        """Run Lloyd's iterations, updating the centres in place; return False if scikit-learn must compute the fit."""
        points, bounds = self._points, self._bounds
        n_ambiguous = assign.assign_all(points, bounds, centers, self._gamma, compared)
        if n_ambiguous:
            ambiguous = bounds.ambiguous[:n_ambiguous]
            bounds.label[ambiguous] = self._resolve(centers, ambiguous)
        sums, counts = np.empty(centers.shape, points.data.dtype), np.empty(len(centers), np.int64)
        lloyd.add_up(points.data, bounds.label, sums, counts)
        state = np.zeros(6, np.int64)
        state[lloyd.N_MOVED] = 1
        exact = points.data.dtype != np.float64
        for _ in range(MAX_RESOLVED_ITERATIONS):
            end = lloyd.lloyd(points, bounds, centers, sums, counts, state, self._gamma, self._tol, max_iter, exact)
            if end != lloyd.RESOLVE:
                return bool(end == lloyd.DONE and counts.min() > 0)
            ambiguous = bounds.ambiguous[: state[lloyd.N_AMBIGUOUS]]
            labels = self._resolve(centers, ambiguous)
            changed, first = labels != bounds.label[ambiguous], state[lloyd.N_MOVED]
            state[lloyd.N_MOVED] += changed.sum()
            bounds.moved[first : state[lloyd.N_MOVED]] = ambiguous[changed]
            bounds.target[first : state[lloyd.N_MOVED]] = labels[changed]
            state[lloyd.RESOLVED] = 1
        return False

    def _resolve(self, centers: Array, ambiguous: Array) -> Array:
        """Return the labels of ambiguous points from the same matrix product as in scikit-learn, bit for bit."""
        data = self._points.data
        centers = centers.astype(data.dtype)
        multiply = dgemm if data.dtype == np.float64 else sgemm
        norms, chunks = row_norms(centers, squared=True), ambiguous // CHUNK_ROWS
        labels = np.empty(len(ambiguous), np.int64)
        for chunk in np.unique(chunks):
            rows = data[chunk * CHUNK_ROWS : (chunk + 1) * CHUNK_ROWS]
            values = np.tile(norms, (len(rows), 1))
            values = multiply(-2.0, centers.T, rows.T, beta=1.0, c=values.T, trans_a=1, overwrite_c=1).T
            here = chunks == chunk
            labels[here] = values.argmin(axis=1)[ambiguous[here] - chunk * CHUNK_ROWS]
            self.counts["settled"] += 1
        return labels
