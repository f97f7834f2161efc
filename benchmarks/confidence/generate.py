"""Generate data sets with a known number of clusters; the index of a data set determines its content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

Array = NDArray[np.float64]
Random = np.random.Generator

SEED = 20261117
# Share of data sets without clusters, and of data sets with each difficulty.
NO_CLUSTERS, TABLES, UNBALANCED, STRETCHED, NOISE_COLUMNS, OUTLIERS, ROUNDED = 0.1, 0.2, 0.5, 0.5, 0.2, 0.15, 0.1
STANDARDISED = 0.6
MAX_CLUSTERS, MAX_IMBALANCE, MIN_POINTS = 40, 50.0, 10


@dataclass(frozen=True)
class Generated:
    """A data set: points, labels, the number of clusters (1 for none), and the candidates."""

    X: Array
    y: NDArray[np.int64]
    k: int
    ks: tuple[int, ...]

    def recalls(self) -> Array:
        """Return, for each cluster, the share of points that are closest to the mean of their own cluster."""
        means = np.stack([self.X[self.y == each].mean(axis=0) for each in range(self.k)])
        nearest = pairwise_distances_argmin(self.X, means)
        return np.array([(nearest[self.y == each] == each).mean() for each in range(self.k)])


def generate(number: int, more: int = 1) -> Generated:
    """Return the data set with this index, or a data set of the same kind with ``more`` times as many rows."""
    rng = np.random.default_rng((SEED, number))
    kind = rng.random()
    # Use one to three columns, as in most collections of clustering data, or many columns, as in tables.
    d = int(rng.integers(1, 4)) if rng.random() < 0.4 else _between(rng, 2, 100)
    if kind < NO_CLUSTERS:
        X, k = _without_clusters(rng, more * _between(rng, 100, 20_000), d), 1
        y = np.zeros(len(X), dtype=np.int64)
    elif kind < NO_CLUSTERS + TABLES:
        # Two classes are the most frequent case.
        k, d = 2 if rng.random() < 0.5 else _between(rng, 2, 8), max(d, 4)
        X, y = _table(rng, _sizes(rng, more * _between(rng, 100, 20_000), k), d)
    else:
        k = int(rng.integers(2, 11)) if rng.random() < 0.5 else _between(rng, 2, MAX_CLUSTERS)
        X, y = _clusters(rng, _sizes(rng, more * _between(rng, max(100, 2 * MIN_POINTS * k), 20_000), k), d)
    if rng.random() < OUTLIERS:
        low, high = X.min(axis=0), X.max(axis=0)
        n = int(len(X) * rng.uniform(0.005, 0.03))
        X[rng.integers(len(X), size=n)] = rng.uniform(low, high, (n, d))
    if rng.random() < ROUNDED:
        X = np.round(X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0) * rng.uniform(3, 20))
    if rng.random() < STANDARDISED:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return Generated(np.ascontiguousarray(X), y, k, _candidates(rng, k))


def _between(rng: Random, low: int, high: int) -> int:
    """Return a random integer with a log-uniform distribution."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def _candidates(rng: Random, k: int) -> tuple[int, ...]:
    """Return the default range of k, a range around the true k or, rarely, a range that may not contain the true k."""
    kind = rng.random()
    if kind < 0.35 and k <= 12:
        low, high = 2, 10
    elif kind < 0.92:
        low, high = max(2, k - int(rng.integers(1, 9))), k + int(rng.integers(1, 9))
    else:
        low = _between(rng, 2, 30)
        high = low + int(rng.integers(3, 15))
    return tuple(range(low, max(high, low + 3) + 1))


def _sizes(rng: Random, n: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of k clusters; the ratio of the largest to the smallest is at most fifty."""
    ratio = np.exp(rng.uniform(0.0, np.log(MAX_IMBALANCE))) if rng.random() < UNBALANCED else 1.0
    shares = ratio ** -rng.permutation(np.linspace(0.0, 1.0, k) ** rng.uniform(0.5, 2.0))
    return np.maximum(MIN_POINTS, n * shares / shares.sum()).astype(np.int64)


def _table(rng: Random, sizes: NDArray[np.int64], d: int) -> tuple[Array, NDArray[np.int64]]:
    """Return a realistic table with a few latent clusters in correlated, skewed and rounded columns."""
    hidden, y = _clusters(rng, sizes, int(rng.integers(2, 5)))
    columns = hidden / hidden.std() @ rng.normal(size=(hidden.shape[1], d))
    columns += rng.uniform(0.1, 1.0) * rng.normal(size=columns.shape)
    for column in range(d):
        kind, values = rng.random(), columns[:, column] / columns[:, column].std()
        if kind < 0.25:
            values = np.exp(rng.uniform(0.3, 1.0) * values)
        elif kind < 0.35:
            values = np.maximum(values, np.quantile(values, rng.uniform(0.1, 0.7)))
        elif kind < 0.45:
            values = np.round(values * rng.uniform(0.5, 3.0))
        columns[:, column] = values
    return columns, y


def _clusters(rng: Random, sizes: NDArray[np.int64], d: int) -> tuple[Array, NDArray[np.int64]]:
    """Return clusters with a random separation in some or all columns."""
    k = len(sizes)
    used = max(2, int(d * rng.uniform(0.3, 1.0))) if d > 2 and rng.random() < NOISE_COLUMNS else d
    centres = _centres(rng, k, used)
    gaps = np.sqrt(np.square(centres[:, None] - centres[None]).sum(axis=2)) + np.diag(np.full(k, np.inf))
    # Half the distance to the nearest cluster in standard deviations: from overlapping to well separated.
    separation = np.exp(rng.uniform(np.log(1.3), np.log(8.0)))
    spread = float(np.median(gaps.min(axis=1))) / (2.0 * separation)
    spreads = spread * np.exp(rng.uniform(-1.0, 1.0, k) * rng.uniform(0.0, 0.6))
    draw = SHAPES[int(rng.choice(len(SHAPES), p=[0.55, 0.15, 0.15, 0.15]))]
    stretch = rng.uniform(1.0, 5.0) if rng.random() < STRETCHED else 1.0
    parts = []
    for size, centre, scale in zip(sizes, centres, spreads, strict=True):
        axes = stretch ** rng.uniform(-0.5, 0.5, used)
        turn = np.linalg.qr(rng.normal(size=(used, used)))[0]
        parts.append(centre + scale * (draw(rng, size, used) * axes) @ turn)
    X = np.vstack(parts)
    noise = X.std() * rng.uniform(0.3, 1.0) * draw(rng, len(X), d - used)
    order = rng.permutation(len(X))
    return np.hstack([X, noise])[order], np.repeat(np.arange(k), sizes)[order]


def _centres(rng: Random, k: int, d: int) -> Array:
    """Return centres; each centre is the point farthest from the previous centres among a few random points."""
    n_points = int(rng.integers(1, 12))
    place: Callable[[int], Array] = (
        (lambda n: rng.normal(size=(n, d))) if rng.random() < 0.5 else (lambda n: rng.uniform(-1.5, 1.5, (n, d)))
    )
    centres = place(1)
    while len(centres) < k:
        points = place(n_points)
        nearest = np.square(points[:, None] - centres[None]).sum(axis=2).min(axis=1)
        centres = np.vstack([centres, points[nearest.argmax()]])
    return centres


def _without_clusters(rng: Random, n: int, d: int) -> Array:
    """Return a single cluster with a random shape, stretched and rotated."""
    points = SHAPES[int(rng.integers(len(SHAPES)))](rng, n, d)
    if rng.random() < 0.2:
        # Use a distribution with a long tail on one side, as for amounts of money.
        points = np.exp(rng.uniform(0.3, 0.9) * points)
    axes = rng.uniform(1.0, 6.0) ** rng.uniform(-1.0, 1.0, d)
    return (points * axes) @ np.linalg.qr(rng.normal(size=(d, d)))[0]


def _gaussian(rng: Random, n: int, d: int) -> Array:
    return rng.normal(size=(n, d))


def _tails(rng: Random, n: int, d: int) -> Array:
    """Return points from a t distribution with four degrees of freedom, scaled to unit variance."""
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(4, (n, 1)) / 4) / np.sqrt(2.0)


def _box(rng: Random, n: int, d: int) -> Array:
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (n, d))


def _skewed(rng: Random, n: int, d: int) -> Array:
    return rng.gamma(2.0, 1.0 / np.sqrt(2.0), (n, d)) - np.sqrt(2.0)


SHAPES: tuple[Callable[[Random, int, int], Any], ...] = (_gaussian, _tails, _box, _skewed)
