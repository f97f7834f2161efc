"""Reference data without clusters for the structure test.

All reference data are unimodal and have exactly the same covariance as the data. They are drawn in the coordinates of
the principal components, because a rotation does not change distances.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata
from sklearn.isotonic import isotonic_regression

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]
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
