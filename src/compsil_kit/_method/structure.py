"""Whether data have clusters at all: data without clusters to compare them with, and the p-value (docs, "Structure").

Every kind of reference data has one mode and, exactly, the covariance of the data. Distances do not change under a
rotation, so references are made and left in the directions of the principal components.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata
from sklearn.isotonic import isotonic_regression

from compsil_kit._method.axes import principal_axes
from compsil_kit._method.clusterers import MIN_COMPILED_POINTS, Clusterer
from compsil_kit._method.metrics import Metric
from compsil_kit._method.plan import POINTS_PER_CLUSTER, Plan

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]

# Reference data sets of each kind.
N_NULL = 59
# A p-value up to this one is taken for clusters.
LEVEL = 0.05
# Rows of a reference data set, and of the data that it is compared with, unless there are many ks.
MOST_ROWS = 500
N_STARTS = 2
# Places at which the mode of a column is looked for.
N_MODES = 20
# The search for independent components: how many of the leading principal components it turns, its steps, and the
# decimals kept from step to step. On data without such components the steps wander, and would amplify rounding errors.
MOST_TURNED = 30
MOST_STEPS = 100
DECIMALS = 5
# Differences that are rounding errors: between values as a share of their range, and between statistics.
ROUNDING = 1e-9
# Rows that differ are moved by up to this share of the range, which decides ties between clusters on every CPU alike.
NUDGE = 1e-6

# Kinds of reference data, in words.
REFERENCES = {
    "gaussian": "a Gaussian of the same covariance",
    "uniform": "a uniform box of the same covariance",
    "elliptical": "an elliptical cloud with the tails of the data",
    "unimodal": "independent components of one mode each",
    "columns": "columns of one mode each with the correlations of the data",
}


@dataclass(frozen=True)
class Structure:
    """Outcome of the test whether the data have clusters at all.

    Attributes
    ----------
    p_value : float
        The mean of ``p_values``: the share of data sets without clusters, all kinds taken alike, with silhouettes as
        high. Clusters are claimed where it is at most 0.05.
    p_values : mapping of str to float
        For each kind of reference data, the share of data sets, these data included, whose statistic is as large.
    statistic : float
        The largest excess over k of the silhouette over its mean in the reference data, in standard deviations of the
        latter; the least over the kinds of reference data.
    n_null : int
        Number of reference data sets of each kind.
    n_rows : int
        Number of rows that were compared.
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
        """The outcome in one sentence."""
        if self.found:
            return (
                "These data show clusters: silhouettes are higher than in data without clusters "
                f"(p = {self.p_value:.2g})."
            )
        nearest = max(self.p_values, key=lambda name: self.p_values[name])
        return (
            f"These data show no clusters: data without clusters have silhouettes as high (p = {self.p_value:.2g}; "
            f"most alike is {REFERENCES[nearest]}). Do not rely on any number of clusters."
        )


def check_testable(clusterer: Clusterer, metric: Metric, X: Any) -> None:
    """Refuse the test where it is not known to hold."""
    if clusterer.name != "kmeans" or not clusterer.by_name or metric.name != "euclidean":
        raise ValueError(
            "structure=True needs clusterer='kmeans' and metric='euclidean', for which the test was checked; "
            f"got clusterer={clusterer.name!r} and metric={metric.name!r}. Leave structure out."
        )
    if sparse.issparse(X):
        raise ValueError(
            "structure=True needs dense data, but X is a sparse matrix. Pass X.toarray(), or leave structure out."
        )


def n_compared(plan: Plan) -> int:
    """Return the number of rows of the data, and of each reference data set, that are compared."""
    return min(plan.n_rows, max(MOST_ROWS, POINTS_PER_CLUSTER * plan.ks[-1]))


def n_starts(n_rows: int) -> int:
    """Return the number of starts of each clustering; of few rows so many that compiled k-means is used."""
    return max(N_STARTS, -(-MIN_COMPILED_POINTS // n_rows))


def standardised(X: Any) -> Array:
    """Return the points around their mean, in a range whose squares are numbers; silhouettes stay as they are."""
    points = np.asarray(X, dtype=np.float64)
    points = points / (np.abs(points).max() or 1.0)
    points -= points.mean(axis=0)
    return np.ascontiguousarray(points / (np.abs(points).max() or 1.0))


def without_ties(points: Array, random: np.random.Generator) -> Array:
    """Return the points, each distinct one moved by very little; equal points stay equal.

    On a grid many points are as near to one centre as to another, and a rounding error would decide.
    """
    distinct, which = np.unique(points, axis=0, return_inverse=True)
    moved = distinct + NUDGE * random.uniform(-1.0, 1.0, size=distinct.shape)
    return np.ascontiguousarray(moved[which.ravel()])


def references(points: Array) -> dict[str, Draw]:
    """Return a function for each kind of reference data that draws a set like these points, which have mean zero."""
    points = points[:, np.ptp(points, axis=0) > 0]
    white, spread, axes = principal_axes(points)
    shape = white.shape
    radii = np.linalg.norm(white, axis=1)
    turn = _independent(white)
    margins = [_one_mode(column) for column in (white @ turn).T]

    def elliptical(random: np.random.Generator) -> Array:
        directions = random.normal(size=shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * random.permutation(radii)[:, None]

    def unimodal(random: np.random.Generator) -> Array:
        return np.column_stack([np.interp(random.uniform(size=shape[0]), *margin) for margin in margins]) @ turn.T

    columns = _correlated(points)
    raw: dict[str, Draw] = {
        "gaussian": lambda random: random.normal(size=shape),
        "uniform": lambda random: random.uniform(-1.0, 1.0, size=shape),
        "elliptical": elliptical,
        "unimodal": unimodal,
        "columns": lambda random: columns(random) @ axes.T / spread,
    }
    return {name: _with_spread(raw[name], spread) for name in REFERENCES}


def _with_spread(draw: Draw, spread: Array) -> Draw:
    """Give what is drawn the very covariance of the data: an estimate would be off by the noise of both."""

    def draw_alike(random: np.random.Generator) -> Array:
        drawn = draw(random)
        left, _, right = np.linalg.svd(drawn - drawn.mean(axis=0), full_matrices=False)
        return np.ascontiguousarray(left @ right * spread)

    return draw_alike


def _correlated(points: Array) -> Draw:
    """Return what draws columns of one mode each, with the rank correlations of the points (a Gaussian copula)."""
    ranks = np.column_stack([rankdata(_merged(column)) for column in points.T])
    _, spread, axes = np.linalg.svd(ndtri((ranks - 0.5) / len(points)), full_matrices=False)
    # The symmetric root, of which there is one only, whatever the signs and the order of the axes.
    root = axes.T * spread @ axes
    margins = [_one_mode(column) for column in points.T]

    def draw(random: np.random.Generator) -> Array:
        normal = random.normal(size=points.shape) @ root
        shares = ndtr(normal / normal.std(axis=0))
        return np.column_stack([np.interp(share, *margin) for share, margin in zip(shares.T, margins, strict=True)])

    return draw


def _independent(white: Array) -> Array:
    """Return the rotation of uncorrelated columns towards independent ones (FastICA, symmetric, log cosh).

    Sides of a box and columns with long tails are found whatever the directions of the principal components, which are
    arbitrary where the spread is the same in all directions.
    """
    leading = white[:, :MOST_TURNED] * np.sqrt(len(white))
    turn = kept = np.eye(leading.shape[1])
    for _ in range(MOST_STEPS):
        bent = np.tanh(leading @ kept)
        left, _, right = np.linalg.svd(leading.T @ bent / len(leading) - kept * (1.0 - bent**2).mean(axis=0))
        turn = left @ right
        last, kept = kept, np.round(turn, DECIMALS)
        if np.abs(np.abs((kept * last).sum(axis=0)) - 1.0).max(initial=0.0) < 1e-4:
            break
    whole = np.eye(white.shape[1])
    whole[: len(turn), : len(turn)] = turn
    return whole


def _merged(values: Array) -> Array:
    """Return the values, each replaced by the smallest one of those that differ from it by rounding alone."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    apart = np.diff(ordered) > ROUNDING * (ordered[-1] - ordered[0])
    merged = np.empty_like(values)
    merged[order] = ordered[np.maximum.accumulate(np.append(0, np.arange(1, len(values)) * apart))]
    return merged


def _one_mode(values: Array) -> tuple[Array, Array]:
    """Return the distribution with one mode that is nearest to values, as cumulative shares and the values there.

    Its density rises up to one place and falls from there on; among some places the nearest is taken.
    """
    places, counts = np.unique(_merged(values), return_counts=True)
    if len(places) < 3:
        return np.linspace(0.0, 1.0, len(places)), places
    shares = (np.cumsum(counts) - counts[0]) / (len(values) - counts[0])
    gaps = np.diff(places)
    density = np.diff(shares) / gaps

    def fit(at: int) -> Array:
        rising = isotonic_regression(density[:at], sample_weight=gaps[:at]) if at else density[:0]
        falling = isotonic_regression(density[at:], sample_weight=gaps[at:], increasing=False)
        return np.concatenate([[0.0], np.cumsum(np.concatenate([rising, falling]) * gaps)])

    fits = [fit(at) for at in np.unique(np.linspace(0, len(gaps) - 1, N_MODES + 1).astype(int))]
    errors = [float(np.abs(fitted - shares).max()) for fitted in fits]
    return next(fitted for fitted, error in zip(fits, errors, strict=True) if error <= min(errors) + ROUNDING), places


def compare_with(observed: Array, drawn: Array) -> tuple[float, float]:
    """Return the p-value of silhouettes per k against those of reference data (sets by ks), and the excess.

    Each k is measured by the mean and the spread of all sets, the data among them, so that all are treated alike.
    """
    everything = np.vstack([observed, drawn])
    spread = everything.std(axis=0)
    excess = ((everything - everything.mean(axis=0)) / np.where(spread > ROUNDING, spread, 1.0)).max(axis=1)
    own = drawn.std(axis=0)
    shown = (observed - drawn.mean(axis=0)) / np.where(own > ROUNDING, own, 1.0)
    return float((excess >= excess[0] - ROUNDING).mean()), float(shown.max())


def judge(observed: Array, drawn: Mapping[str, Array], n_rows: int) -> Structure:
    """Return the outcome from silhouettes per k, of the data and, by kind, of reference data sets (sets by ks)."""
    # A k that the data have too few distinct points for tells nothing.
    known = np.isfinite(observed) & np.all([np.isfinite(sets).all(axis=0) for sets in drawn.values()], axis=0)
    if not known.any():
        known, observed = np.array([True]), np.zeros(1)
        drawn = {name: np.zeros((len(sets), 1)) for name, sets in drawn.items()}
    found = {name: compare_with(observed[known], sets[:, known]) for name, sets in drawn.items()}
    p_values = {name: p for name, (p, _) in found.items()}
    n_null = len(next(iter(drawn.values())))
    # To ask for a rejection of every kind is too careful: of data without clusters, 1 % were then rejected at 5 %.
    mean = fsum(p_values.values()) / len(p_values)
    return Structure(mean, p_values, min(excess for _, excess in found.values()), n_null, n_rows)
