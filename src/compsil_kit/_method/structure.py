"""Test whether the data contain any clusters, by comparing their silhouettes with reference data without clusters.

All reference data are unimodal and have exactly the same covariance as the data. They are drawn in the coordinates of
the principal components, because a rotation does not change distances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata
from sklearn.isotonic import isotonic_regression

from compsil_kit._method.clusterers import MIN_COMPILED_KMEANS_POINTS, Clusterer
from compsil_kit._method.metrics import Metric
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._util import schema

if TYPE_CHECKING:
    from compsil_kit.plan import Plan

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]

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
# Relative to the largest singular value; smaller differences are treated as ties, and smaller values as zero.
AXES_TOLERANCE = 1e-6
# Number of candidate positions for the mode of a column.
N_MODES = 20
# Limits for independent component analysis: principal components, iterations, and decimals kept between iterations.
# Without independent components, the iteration does not converge, and without rounding it would amplify errors.
MAX_ICA_COMPONENTS = 30
MAX_ICA_ITERATIONS = 100
ICA_DECIMALS = 5
# Differences below this share of the range are treated as rounding errors.
ROUNDING_SHARE = 1e-9
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


def references(points: Array) -> dict[str, Draw]:
    """Return, for each kind of reference data, a function that draws a data set resembling these centred points."""
    points = points[:, np.ptp(points, axis=0) > 0]
    white, spread, axes = principal_axes(points)
    shape = white.shape
    radii = np.linalg.norm(white, axis=1)
    rotation = _independent_rotation(white)
    margins = [_unimodal_fit(column) for column in (white @ rotation).T]

    def elliptical(random: np.random.Generator) -> Array:
        directions = random.normal(size=shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * random.permutation(radii)[:, None]

    def unimodal(random: np.random.Generator) -> Array:
        return np.column_stack([np.interp(random.uniform(size=shape[0]), *margin) for margin in margins]) @ rotation.T

    columns = _copula(points)
    raw: dict[str, Draw] = {
        "gaussian": lambda random: random.normal(size=shape),
        "uniform": lambda random: random.uniform(-1.0, 1.0, size=shape),
        "elliptical": elliptical,
        "unimodal": unimodal,
        "columns": lambda random: columns(random) @ axes.T / spread,
    }
    return {name: partial(_with_spread, draw, spread) for name, draw in raw.items()}


def _with_spread(draw: Draw, spread: Array, random: np.random.Generator) -> Array:
    """Draw points and transform them so that their sample covariance is exactly the same as in the data."""
    drawn = draw(random)
    left, _, right = np.linalg.svd(drawn - drawn.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(left @ right * spread)


def _copula(points: Array) -> Draw:
    """Return a function that draws unimodal columns with the same rank correlations as the points (Gaussian copula)."""
    ranks = np.column_stack([rankdata(_merge_rounding(column)) for column in points.T])
    _, spread, axes = np.linalg.svd(ndtri((ranks - 0.5) / len(points)), full_matrices=False)
    # The symmetric square root is unique; it does not depend on the signs and order of the axes.
    root = axes.T * spread @ axes
    margins = [_unimodal_fit(column) for column in points.T]

    def draw(random: np.random.Generator) -> Array:
        normal = random.normal(size=points.shape) @ root
        shares = ndtr(normal / normal.std(axis=0))
        return np.column_stack([np.interp(share, *margin) for share, margin in zip(shares.T, margins, strict=True)])

    return draw


def principal_axes(points: Array) -> tuple[Array, Array, Array]:
    """Return unit-length scores, singular values and unique axes (as rows) of centred points, without null axes."""
    left, spread, axes = np.linalg.svd(points, full_matrices=False)
    kept = spread > AXES_TOLERANCE * spread.max(initial=0.0)
    left, spread, axes = left[:, kept], spread[kept], axes[kept]
    fixed = fix_axes(spread, axes)
    return left @ (axes @ fixed.T), spread, fixed


def fix_axes(spread: Array, axes: Array) -> Array:
    """Return a unique basis for each group of nearly equal singular values, which are sorted in descending order.

    A singular value decomposition does not determine the signs of the axes or a rotation within a group, so the result
    depends on rounding and thus on the CPU. The projection onto the space of a group is unique. Its columns are
    orthogonalised, starting with the longest.
    """
    ends = np.flatnonzero(-np.diff(spread) > AXES_TOLERANCE * spread.max(initial=0.0)) + 1
    return np.vstack([_unique_basis(group) for group in np.split(axes, ends)]) if len(axes) else axes


def _unique_basis(group: Array) -> Array:
    basis = np.empty_like(group)
    rest = group.copy()
    for row in basis:
        lengths = np.linalg.norm(rest, axis=0)
        # Take the first of the longest columns, because two standardised columns always tie.
        longest = int(np.argmax(lengths >= (1.0 - AXES_TOLERANCE) * lengths.max()))
        direction = rest[:, longest] / lengths[longest]
        row[:] = direction @ group
        rest = rest - np.outer(direction, direction @ rest)
    return basis


def _independent_rotation(white: Array) -> Array:
    """Return a rotation that makes uncorrelated columns as independent as possible (symmetric FastICA, log cosh)."""
    leading = white[:, :MAX_ICA_COMPONENTS] * np.sqrt(len(white))
    rotation = rounded = np.eye(leading.shape[1])
    for _ in range(MAX_ICA_ITERATIONS):
        bent = np.tanh(leading @ rounded)
        left, _, right = np.linalg.svd(leading.T @ bent / len(leading) - rounded * (1.0 - bent**2).mean(axis=0))
        rotation = left @ right
        previous, rounded = rounded, np.round(rotation, ICA_DECIMALS)
        if np.abs(np.abs((rounded * previous).sum(axis=0)) - 1.0).max(initial=0.0) < 1e-4:
            break
    full = np.eye(white.shape[1])
    full[: len(rotation), : len(rotation)] = rotation
    return full


def _merge_rounding(values: Array) -> Array:
    """Replace values that differ only by rounding errors with the smallest of these values."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    distinct = np.diff(ordered) > ROUNDING_SHARE * (ordered[-1] - ordered[0])
    merged = np.empty_like(values)
    merged[order] = ordered[np.maximum.accumulate(np.append(0, np.arange(1, len(values)) * distinct))]
    return merged


def _unimodal_fit(values: Array) -> tuple[Array, Array]:
    """Fit the closest unimodal distribution; return its cumulative shares and the corresponding values."""
    places, counts = np.unique(_merge_rounding(values), return_counts=True)
    if len(places) < 3:
        return np.linspace(0.0, 1.0, len(places)), places
    shares = (np.cumsum(counts) - counts[0]) / (len(values) - counts[0])
    gaps = np.diff(places)
    density = np.diff(shares) / gaps

    def fit(mode: int) -> Array:
        rising = isotonic_regression(density[:mode], sample_weight=gaps[:mode]) if mode else density[:0]
        falling = isotonic_regression(density[mode:], sample_weight=gaps[mode:], increasing=False)
        return np.concatenate([[0.0], np.cumsum(np.concatenate([rising, falling]) * gaps)])

    fits = [fit(mode) for mode in np.unique(np.linspace(0, len(gaps) - 1, N_MODES + 1).astype(int))]
    errors = np.array([np.abs(fitted - shares).max() for fitted in fits])
    return fits[int(np.argmax(errors <= errors.min() + ROUNDING_SHARE))], places
