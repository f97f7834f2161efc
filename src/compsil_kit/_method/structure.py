"""Test whether the data contain any clusters, by comparing their silhouettes with reference data without clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.clusterers import MIN_COMPILED_KMEANS_POINTS, Clusterer
from compsil_kit._method.metrics import Metric
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._util import schema

if TYPE_CHECKING:
    from compsil_kit.plan import Plan

Array = NDArray[np.float64]

# Number of reference data sets of each kind.
N_NULL = 59
LEVEL = 0.05
# Maximum number of rows to compare, unless a large k needs more.
MAX_COMPARED_ROWS = 500
N_STARTS = 2
# Smaller differences are treated as rounding errors.
MAX_ROUNDING = 1e-9
# Distinct rows are moved by up to this share of the range, because on a grid many are equally far from two centres.
JITTER = 1e-6
REFERENCE_KINDS = {
    "gaussian": "a Gaussian with the same covariance",
    "uniform": "a uniform box with the same covariance",
    "elliptical": "an elliptical distribution with the same tails",
    "unimodal": "independent unimodal components",
    "columns": "unimodal columns with the same correlations",
}
P_VALUE = schema.real(0.0, 1.0)


@dataclass(frozen=True)
class Structure:
    """Outcome of the structure test, which checks whether the data contain any clusters.

    Attributes
    ----------
    p_value : float
        Mean of ``p_values``, so that all kinds of reference data have equal weight. If it is at most 0.05, the data are
        assumed to have clusters.
    p_values : mapping of str to float
        For each kind of reference data, the share of data sets whose statistic is at least as large as for the data.
        The data are counted as one of the sets.
    statistic : float
        How far the silhouette exceeds its mean in the reference data, in standard deviations across the reference data
        sets. This is the maximum over k, and then the minimum over the kinds of reference data.
    n_null : int
        Number of reference data sets of each kind.
    n_rows : int
        Number of rows compared.
    """

    # With the validation of data that come from a file.
    p_value: Annotated[float, P_VALUE]
    p_values: Annotated[Mapping[str, float], schema.record(dict.fromkeys(REFERENCE_KINDS, P_VALUE))]
    statistic: Annotated[float, schema.real(-1e300, 1e300)]
    n_null: Annotated[int, schema.integer(1)]
    n_rows: Annotated[int, schema.integer(2)]

    @property
    def found(self) -> bool:
        """Whether the test finds clusters at the 5 % level."""
        return self.p_value <= LEVEL

    @property
    def verdict(self) -> str:
        """The outcome in one or two sentences."""
        if self.found:
            return (
                "The data show clusters: their silhouettes are higher than in reference data without clusters "
                f"(p = {self.p_value:.2g})."
            )
        nearest = max(self.p_values, key=lambda name: self.p_values[name])
        return (
            "The data show no clusters: silhouettes are equally high in reference data without clusters "
            f"(p = {self.p_value:.2g}; the closest match is {REFERENCE_KINDS[nearest]}). Do not rely on any number of "
            "clusters."
        )


def check_testable(clusterer: Clusterer, metric: Metric, X: Any) -> None:
    """Raise if the structure test has not been validated for these settings."""
    if clusterer.name != "kmeans" or not clusterer.by_name or metric.name != "euclidean":
        raise ValueError(
            "structure=True needs clusterer='kmeans' and metric='euclidean', because the test has been validated only "
            "for these settings; "
            f"got clusterer={clusterer.name!r} and metric={metric.name!r}. Omit structure."
        )
    if sparse.issparse(X):
        raise ValueError(
            "structure=True needs dense data, but X is a sparse matrix. Pass X.toarray(), or omit structure."
        )


def n_compared(plan: Plan) -> int:
    return min(plan.n_rows, max(MAX_COMPARED_ROWS, POINTS_PER_CLUSTER * plan.ks[-1]))


def n_starts(n_rows: int) -> int:
    """Return the number of initialisations per clustering.

    Small samples get more initialisations, so that there is enough work for compiled k-means.
    """
    return max(N_STARTS, -(-MIN_COMPILED_KMEANS_POINTS // n_rows))


def standardised(X: Any) -> Array:
    """Centre the points and scale all columns by the same factor, so that squares neither overflow nor underflow."""
    points = np.asarray(X, dtype=np.float64)
    points = points / (np.abs(points).max() or 1.0)
    points -= points.mean(axis=0)
    return np.ascontiguousarray(points / (np.abs(points).max() or 1.0))


def break_ties(points: Array, random: np.random.Generator) -> Array:
    """Add a tiny jitter to each distinct point; identical points stay identical."""
    distinct, which = np.unique(points, axis=0, return_inverse=True)
    moved = distinct + JITTER * random.uniform(-1.0, 1.0, size=distinct.shape)
    return np.ascontiguousarray(moved[which.ravel()])


def compare_with(observed: Array, drawn: Array) -> tuple[float, float]:
    """Return the p-value and the excess of the silhouettes per k over reference data of shape (n_sets, n_ks)."""
    # Standardise over all sets including the data, so that all sets are treated in the same way.
    pooled = np.vstack([observed, drawn])
    excess = _standardise(pooled, pooled).max(axis=1)
    return float((excess >= excess[0] - MAX_ROUNDING).mean()), float(_standardise(observed, drawn).max())


def _standardise(values: Array, by: Array) -> Array:
    spread = by.std(axis=0)
    scores: Array = (values - by.mean(axis=0)) / np.where(spread > MAX_ROUNDING, spread, 1.0)
    return scores


def judge(observed: Array, drawn: Mapping[str, Array], n_rows: int) -> Structure:
    """Return the outcome of the test, given silhouettes per k.

    ``drawn`` contains an array of shape (n_sets, n_ks) for each kind of reference data.
    """
    # Ignore values of k for which there is no clustering because the data have too few distinct points.
    known = np.isfinite(observed) & np.all([np.isfinite(sets).all(axis=0) for sets in drawn.values()], axis=0)
    if not known.any():
        known, observed = np.array([True]), np.zeros(1)
        drawn = {name: np.zeros((len(sets), 1)) for name, sets in drawn.items()}
    outcomes = {name: compare_with(observed[known], sets[:, known]) for name, sets in drawn.items()}
    p_values = {name: p for name, (p, _) in outcomes.items()}
    n_null = len(next(iter(drawn.values())))
    # Requiring every kind to reject would be too conservative: only 1 % of data without clusters would be rejected.
    mean = fsum(p_values.values()) / len(p_values)
    return Structure(mean, p_values, min(excess for _, excess in outcomes.values()), n_null, n_rows)
