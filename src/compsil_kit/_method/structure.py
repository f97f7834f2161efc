"""Test whether the data contain any clusters: compare their silhouettes with those of data without clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.clusterers import MIN_COMPILED_KMEANS_POINTS, Clusterer
from compsil_kit._method.metrics import Metric
from compsil_kit._method.subsample import POINTS_PER_CLUSTER

if TYPE_CHECKING:
    from compsil_kit.plan import Plan

Array = NDArray[np.float64]

# Reference data sets of each kind.
N_NULL = 59
# Significance level.
LEVEL = 0.05
# Rows compared, unless a large k needs more.
MAX_COMPARED_ROWS = 500
# Initialisations of each clustering.
N_STARTS = 2
# Differences below this are rounding errors.
MAX_ROUNDING = 1e-9
# Distinct rows are moved by up to this share of the range, so that ties do not depend on the CPU.
JITTER = 1e-6
# Descriptions of the kinds of reference data.
REFERENCE_KINDS = {
    "gaussian": "a Gaussian of the same covariance",
    "uniform": "a uniform box of the same covariance",
    "elliptical": "an elliptical cloud with the tails of the data",
    "unimodal": "independent unimodal components",
    "columns": "unimodal columns with the correlations of the data",
}


@dataclass(frozen=True)
class Structure:
    """Outcome of the structure test: do the data contain any clusters?

    Attributes
    ----------
    p_value : float
        Mean of ``p_values``: the share of reference data sets, weighting all kinds equally, with silhouettes at least
        as high. The data are taken to have clusters if it is at most 0.05.
    p_values : mapping of str to float
        For each kind of reference data, the share of data sets, including these data, whose statistic is at least as
        large.
    statistic : float
        Largest excess over all k of the silhouette over its mean in the reference data, in standard deviations of the
        latter; the minimum over the kinds of reference data.
    n_null : int
        Number of reference data sets of each kind.
    n_rows : int
        Number of rows compared.
    """

    p_value: float
    p_values: Mapping[str, float]
    statistic: float
    n_null: int
    n_rows: int

    @property
    def found(self) -> bool:
        """Whether the data have clusters, at the 5 % level."""
        return self.p_value <= LEVEL

    @property
    def verdict(self) -> str:
        """The outcome in one or two sentences."""
        if self.found:
            return (
                "The data show clusters: silhouettes are higher than in reference data without clusters "
                f"(p = {self.p_value:.2g})."
            )
        nearest = max(self.p_values, key=lambda name: self.p_values[name])
        return (
            "The data show no clusters: reference data without clusters reach silhouettes as high "
            f"(p = {self.p_value:.2g}; the closest match is {REFERENCE_KINDS[nearest]}). Do not rely on any number of "
            "clusters."
        )


def check_testable(clusterer: Clusterer, metric: Metric, X: Any) -> None:
    """Raise if the structure test was not validated for these settings."""
    if clusterer.name != "kmeans" or not clusterer.by_name or metric.name != "euclidean":
        raise ValueError(
            "structure=True needs clusterer='kmeans' and metric='euclidean', for which the test was validated; "
            f"got clusterer={clusterer.name!r} and metric={metric.name!r}. Omit structure."
        )
    if sparse.issparse(X):
        raise ValueError(
            "structure=True needs dense data, but X is a sparse matrix. Pass X.toarray(), or omit structure."
        )


def n_compared(plan: Plan) -> int:
    """Return the number of rows in the comparison."""
    return min(plan.n_rows, max(MAX_COMPARED_ROWS, POINTS_PER_CLUSTER * plan.ks[-1]))


def n_starts(n_rows: int) -> int:
    """Return the initialisations per clustering; few rows get more, so that compiled k-means is used."""
    return max(N_STARTS, -(-MIN_COMPILED_KMEANS_POINTS // n_rows))


def standardised(X: Any) -> Array:
    """Centre the points and rescale them, all columns alike, so that squares neither overflow nor underflow."""
    points = np.asarray(X, dtype=np.float64)
    points = points / (np.abs(points).max() or 1.0)
    points -= points.mean(axis=0)
    return np.ascontiguousarray(points / (np.abs(points).max() or 1.0))


def break_ties(points: Array, random: np.random.Generator) -> Array:
    """Add a tiny jitter to each distinct point; equal points stay equal.

    On a grid many points are equally far from two centres, and rounding would decide.
    """
    distinct, which = np.unique(points, axis=0, return_inverse=True)
    moved = distinct + JITTER * random.uniform(-1.0, 1.0, size=distinct.shape)
    return np.ascontiguousarray(moved[which.ravel()])


def compare_with(observed: Array, drawn: Array) -> tuple[float, float]:
    """Return the p-value and the excess of silhouettes per k against those of reference data (sets by ks).

    For the p-value each k is standardised over all sets including the data, so that all sets are treated alike.
    """
    pooled = np.vstack([observed, drawn])
    excess = _standardise(pooled, pooled).max(axis=1)
    return float((excess >= excess[0] - MAX_ROUNDING).mean()), float(_standardise(observed, drawn).max())


def _standardise(values: Array, by: Array) -> Array:
    spread = by.std(axis=0)
    scores: Array = (values - by.mean(axis=0)) / np.where(spread > MAX_ROUNDING, spread, 1.0)
    return scores


def judge(observed: Array, drawn: Mapping[str, Array], n_rows: int) -> Structure:
    """Return the outcome from silhouettes per k of the data and, by kind, of the reference data sets (sets by ks)."""
    # A k without a clustering, for lack of distinct points, is ignored.
    known = np.isfinite(observed) & np.all([np.isfinite(sets).all(axis=0) for sets in drawn.values()], axis=0)
    if not known.any():
        known, observed = np.array([True]), np.zeros(1)
        drawn = {name: np.zeros((len(sets), 1)) for name, sets in drawn.items()}
    outcomes = {name: compare_with(observed[known], sets[:, known]) for name, sets in drawn.items()}
    p_values = {name: p for name, (p, _) in outcomes.items()}
    n_null = len(next(iter(drawn.values())))
    # Requiring rejection by every kind is too conservative: it rejects 1 % of data without clusters at the 5 % level.
    mean = fsum(p_values.values()) / len(p_values)
    return Structure(mean, p_values, min(excess for _, excess in outcomes.values()), n_null, n_rows)
