"""Resolve and validate metrics, and sum distances to groups of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, PAIRWISE_DISTANCE_FUNCTIONS

from compsil_kit._method.kernel_numpy import Tile
from compsil_kit._method.precision import scale_to_safe_range
from compsil_kit._util.checks import describe

Array = NDArray[Any]

# For these metrics, sums of distances have a closed form that takes linear time in the number of points.
CLOSED_FORMS = ("sqeuclidean", "cosine")
# Alternative names for the same metric.
_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
_SCIPY_ONLY = (
    "braycurtis", "canberra", "chebyshev", "correlation", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip
METRIC_NAMES = tuple(
    sorted(
        {*PAIRWISE_DISTANCE_FUNCTIONS, *PAIRWISE_BOOLEAN_FUNCTIONS, *_SCIPY_ONLY, "precomputed"}
        - {"nan_euclidean", *_ALIASES}
    )
)


@dataclass(frozen=True)
class Metric:
    """A validated metric: a scikit-learn name, or a function of two points whose name differs from all metric names."""

    name: str
    function: Callable[..., float] | None = None

    @property
    def precomputed(self) -> bool:
        """Whether the data are precomputed distances."""
        return self.name == "precomputed"

    @property
    def takes_sparse(self) -> bool:
        """Whether the metric accepts a sparse matrix."""
        if self.function is not None:
            return True
        return self.name in (*PAIRWISE_DISTANCE_FUNCTIONS, *CLOSED_FORMS) and not self.precomputed


def resolve_metric(metric: object) -> Metric:
    """Return the :class:`Metric` for a ``metric`` argument."""
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        # A function named jaccard, such as SciPy's, may differ from the built-in metric of the same name.
        return Metric(f"{name} (function)" if name in {*METRIC_NAMES, *_ALIASES} else name, metric)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a function f(x, y) -> distance; got {describe(metric)}.")
    name = _ALIASES.get(metric, metric)
    if name not in METRIC_NAMES:
        raise ValueError(f"metric must be a function or one of {', '.join(METRIC_NAMES)}; got {describe(metric)}.")
    return Metric(name)


def check_metric_fits(metric: Metric, X: Array) -> None:
    """Try the metric on two rows, so that an unsuitable metric raises an error before any work is done."""
    if metric.precomputed:
        if problem := _distance_problem(X):
            raise ValueError(
                f"metric='precomputed' needs a symmetric matrix of distances, but X {problem}. "
                "Pass pairwise distances, or the data themselves with another metric."
            )
        return
    if metric.name in ("euclidean", *CLOSED_FORMS):
        # Defined for all finite points, because the kernels scale points whose squares would be out of range.
        return
    values = X.data if sparse.issparse(X) else X
    if metric.name in PAIRWISE_BOOLEAN_FUNCTIONS and not np.all((values == 0) | (values == 1)):
        raise ValueError(
            f"metric={metric.name!r} compares boolean features, but X has values other than 0 and 1. "
            "Pass boolean data or another metric."
        )
    if sparse.issparse(X) and not metric.takes_sparse:
        raise ValueError(f"metric={metric.name!r} does not support sparse data. Pass X.toarray() or another metric.")
    try:
        points = X if metric.function else scale_to_safe_range(X)
        measure, params = metric.function or metric.name, _params(metric, points)
        trial = pairwise_distances(_operand(points[:2], metric), metric=measure, **params)
    except (ValueError, TypeError, np.linalg.LinAlgError) as error:
        raise ValueError(f"metric={metric.name!r} cannot be used with this X: {error}") from error
    _check_block(trial, metric)


def _check_block(block: Array, metric: Metric) -> None:
    """Raise if distances are NaN, infinite or negative beyond rounding error; their silhouettes would be 0."""
    if not (np.isfinite(block.max()) and block.min() >= -1e-9 * block.max()):
        raise ValueError(
            f"metric={metric.name!r} must return finite, non-negative distances, but for this X some distances are "
            "NaN, infinite or negative. Pass another metric."
        )


def _distance_problem(D: Array) -> str | None:
    if sparse.issparse(D):
        return "is sparse, so that missing entries would count as distance 0"
    if D.shape[0] != D.shape[1]:
        return f"is not square; it has shape {D.shape}"
    # Distances computed as |x|^2 - 2 x.y + |y|^2, as in scikit-learn, are accurate to the square root of epsilon.
    tolerance = float(D.max(initial=0.0)) * float(np.sqrt(np.finfo(D.dtype).eps))
    if np.any(np.abs(np.diagonal(D)) > tolerance):
        return "has non-zero values on its diagonal"
    # Check block by block, because a full D - D.T would double the memory.
    for low in range(0, len(D), 1024):
        block = D[low : low + 1024]
        if np.any(block < -tolerance):
            return "has negative entries"
        if np.any(np.abs(block - D[:, low : low + 1024].T) > tolerance):
            return "is not symmetric"
    return None


def _params(metric: Metric, X: Array) -> dict[str, Any]:
    """Return the metric's arguments that depend on all points and therefore cannot be estimated from a tile."""
    if metric.name == "seuclidean":
        variances = np.var(X, axis=0, ddof=1)
        # A feature that is constant in this subsample must contribute 0 / 1 instead of 0 / 0.
        return {"V": np.where(variances > 0, variances, 1.0)}
    return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X.T))).T} if metric.name == "mahalanobis" else {}


def _operand(X: Any, metric: Metric) -> Any:
    """Return the points in the dtype that the metric expects."""
    return X.astype(bool) if metric.name in PAIRWISE_BOOLEAN_FUNCTIONS else X


def metric_tile(X: Any, metric: Metric, order: Array) -> Tile:
    """Return a function that computes the distances in a tile for any metric, with the points in ``order``."""
    if metric.precomputed:
        return lambda rows, columns: X[np.ix_(order[rows], order[columns])]
    points = _operand(X[order] if metric.function else scale_to_safe_range(X)[order], metric)
    measure, params = metric.function or metric.name, _params(metric, points)

    def tile(rows: slice, columns: slice) -> Array:
        block: Array = pairwise_distances(points[rows], points[columns], metric=measure, **params)
        _check_block(block, metric)
        return block

    return tile


def closed_form_sums(X: Any, metric: Metric, codes: Array, n_clusters: int) -> Array:
    """Return sums of squared Euclidean or cosine distances to each cluster, of shape (n_clusters, n_points).

    The squared distances from x to the points of a cluster add up to ``n |x - mean|^2 + sum |y - mean|^2``; both terms
    are non-negative, so there is no cancellation. The cosine distance is half the squared distance between the
    normalised points.
    """
    if metric.name == "sqeuclidean":
        return squared_sums(X, codes, n_clusters)
    X = _scale_rows(X)
    lengths = _norms(X)
    empty = lengths == 0
    scale = 1.0 / np.where(empty, 1.0, lengths)
    unit = sparse.diags_array(scale) @ X if sparse.issparse(X) else X * scale[:, None]
    # As in scikit-learn, a row of zeros has distance 1 from all other points, so these rows are added separately.
    sums = 0.5 * squared_sums(unit, np.where(empty, n_clusters, codes), n_clusters)
    sums += np.bincount(codes[empty], minlength=n_clusters)[:, None]
    if empty.any():
        sums[:, empty] = np.bincount(codes, minlength=n_clusters)[:, None]
        sums[codes[empty], np.flatnonzero(empty)] -= 1.0
    return sums


def _norms(X: Any) -> Array:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _scale_rows(X: Any) -> Any:
    """Scale each row by a power of two to a length near 1, so that its square is in range; directions do not change."""
    if sparse.issparse(X):
        # Not by SciPy's maximum: it sorts the indices of X in place, and X may be read-only.
        row, largest = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.zeros(X.shape[0])
        np.maximum.at(largest, row, np.abs(X.data))
        data = np.ldexp(X.data, -np.frexp(largest)[1][row])
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])


def squared_sums(X: Any, codes: Array, n_clusters: int, *, own_origins: bool = False) -> Array:
    """Return sums of squared Euclidean distances to each cluster.

    With ``own_origins``, the origin is a point in the cluster, which preserves precision for a small cluster far from
    the overall mean.
    """
    sums = np.zeros((n_clusters, X.shape[0]))
    for c in range(n_clusters):
        members = codes == c
        if not members.any():
            continue
        points = X - X[np.argmax(members)] if own_origins else X
        mean = np.asarray(points[members].mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(X):
            squares = np.maximum(_norms(X) ** 2 - 2.0 * (X @ mean) + mean @ mean, 0.0)
        else:
            from_mean = points - mean
            squares = np.einsum("ij,ij->i", from_mean, from_mean)
        sums[c] = members.sum() * squares + squares[members].sum()
    # Infinity minus infinity gives NaN; a cluster with a value out of range is infinitely far away.
    return np.nan_to_num(sums, copy=False, nan=np.inf, posinf=np.inf) if own_origins else sums
