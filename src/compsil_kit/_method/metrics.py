"""What "distance" means: a metric's name or function, checked once, as sums of distances to groups of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, PAIRWISE_DISTANCE_FUNCTIONS

from compsil_kit._method.kernel_numpy import Tile
from compsil_kit._util.checks import describe

Array = NDArray[Any]

# Sums of these distances have a closed form, linear in the number of points.
CLOSED_FORMS = ("sqeuclidean", "cosine")
# The same function under another name.
_SAME = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
_SCIPY_ONLY = (
    "braycurtis", "canberra", "chebyshev", "correlation", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip
# Sums of squares of values up to two to this power, and down to its inverse, are far from the ends of float64.
_SAFE_EXPONENT = 400
NAMES = tuple(
    sorted(
        {*PAIRWISE_DISTANCE_FUNCTIONS, *PAIRWISE_BOOLEAN_FUNCTIONS, *_SCIPY_ONLY, "precomputed"}
        - {"nan_euclidean", *_SAME}
    )
)


@dataclass(frozen=True)
class Metric:
    """A checked metric: a scikit-learn name or a function of two points, and its extra arguments."""

    name: str
    function: Callable[..., float] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def precomputed(self) -> bool:
        """Whether the data are themselves the distances."""
        return self.name == "precomputed"

    @property
    def takes_sparse(self) -> bool:
        """Whether the metric compares rows of a sparse matrix."""
        known = self.name in (*PAIRWISE_DISTANCE_FUNCTIONS, *CLOSED_FORMS)
        return self.function is not None or (known and not self.precomputed)


def resolve_metric(metric: object) -> Metric:
    """Turn what the user gave as ``metric`` into a :class:`Metric`."""
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        # scipy.spatial.distance.jaccard is a function like any other, not the metric that goes by this name.
        return Metric(f"{name} (function)" if name in {*NAMES, *_SAME} else name, metric)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a function f(x, y) -> distance; got {describe(metric)}.")
    name = _SAME.get(metric, metric)
    if name not in NAMES:
        raise ValueError(f"metric must be a function or one of {', '.join(NAMES)}; got {describe(metric)}.")
    return Metric(name)


def check_metric_fits(metric: Metric, X: Array) -> None:
    """Try the metric on two rows, so that a wrong choice fails before any work is done."""
    if metric.precomputed:
        check_distances(X)
        return
    if metric.name in ("euclidean", *CLOSED_FORMS):
        # Defined for all finite points, also those whose squares are out of range: the kernels scale them first.
        return
    if metric.name in PAIRWISE_BOOLEAN_FUNCTIONS and not _is_binary(X):
        raise ValueError(
            f"metric={metric.name!r} compares yes/no features; X has values other than 0 and 1. "
            "Pass boolean data, or another metric."
        )
    if sparse.issparse(X) and not metric.takes_sparse:
        raise ValueError(f"metric={metric.name!r} does not take sparse data. Pass X.toarray(), or another metric.")
    try:
        points = X if metric.function else in_range(X)
        params = tile_params(metric, points)
        trial = pairwise_distances(_operand(points[:2], metric), metric=metric.function or metric.name, **params)
    except (ValueError, TypeError, np.linalg.LinAlgError) as error:
        raise ValueError(f"metric={metric.name!r} does not work on this X: {error}") from error
    _check_block(trial, metric)


def _check_block(block: Array, metric: Metric) -> None:
    """Refuse NaN, infinite and negative distances, which would pass as a silhouette of 0; rounding is harmless."""
    if not (np.isfinite(block.max()) and block.min() >= -1e-9 * block.max()):
        raise ValueError(f"metric={metric.name!r} must give finite distances of at least 0 on X; it does not.")


def check_distances(D: Array) -> None:
    """Check a matrix given as ``metric='precomputed'``: square, non-negative, zero diagonal, symmetric."""
    problem = _distance_problem(D)
    if problem:
        raise ValueError(
            f"metric='precomputed' needs X to be a symmetric matrix of distances: {problem}. "
            "Pass pairwise distances, or the data itself with another metric."
        )


def _distance_problem(D: Array) -> str | None:
    if sparse.issparse(D):
        return "it is sparse, where a missing entry would count as distance 0"
    if D.shape[0] != D.shape[1]:
        return f"it is not square, its shape is {D.shape}"
    # Rounding passes: distances from |x|^2 - 2 x.y + |y|^2, as in scikit-learn, are exact to the root of epsilon.
    tolerance = float(D.max(initial=0.0)) * float(np.sqrt(np.finfo(D.dtype).eps))
    if np.any(np.abs(np.diagonal(D)) > tolerance):
        return "its diagonal is not 0"
    # By blocks: a full D - D.T would double the memory.
    for low in range(0, len(D), 1024):
        block = D[low : low + 1024]
        if np.any(block < -tolerance):
            return "it has negative entries"
        if np.any(np.abs(block - D[:, low : low + 1024].T) > tolerance):
            return "it is not symmetric"
    return None


def _is_binary(X: Array) -> bool:
    values = X.data if sparse.issparse(X) else X
    return bool(np.all((values == 0) | (values == 1)))


def tile_params(metric: Metric, X: Array) -> dict[str, Any]:
    """Return the metric's arguments that depend on all the points (a tile alone would estimate them wrongly)."""
    if metric.name == "seuclidean":
        variances = np.var(X, axis=0, ddof=1)
        # A feature that is constant (in this subsample) adds nothing: 0 / 1 instead of 0 / 0.
        return {"V": np.where(variances > 0, variances, 1.0), **metric.params}
    if metric.name == "mahalanobis":
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X.T))).T, **metric.params}
    return dict(metric.params)


def in_range(X: Any) -> Any:
    """Return X scaled by a power of two if its squares are out of range; that changes no digit and no silhouette."""
    values = X.data if sparse.issparse(X) else X
    exponent = int(np.frexp(np.max(np.abs(values), initial=0.0))[1])
    if abs(exponent) <= (_SAFE_EXPONENT if X.dtype == np.float64 else _SAFE_EXPONENT // 8):
        return X
    scaled = np.ldexp(values.astype(np.float64, copy=False), -exponent)
    return type(X)((scaled, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else scaled


def _operand(X: Any, metric: Metric) -> Any:
    """Return the points in the type that the metric compares."""
    return X.astype(bool) if metric.name in PAIRWISE_BOOLEAN_FUNCTIONS else X


def metric_tile(X: Any, metric: Metric, order: Array) -> Tile:
    """Return a function that gives the distances of a tile, for any metric, points taken in ``order``."""
    if metric.precomputed:
        return lambda rows, columns: X[np.ix_(order[rows], order[columns])]
    points = _operand(X[order] if metric.function else in_range(X)[order], metric)
    params = tile_params(metric, points)

    def tile(rows: slice, columns: slice) -> Array:
        measure = metric.function or metric.name
        block: Array = pairwise_distances(points[rows], points[columns], metric=measure, **params)
        _check_block(block, metric)
        return block

    return tile


def closed_form_sums(X: Any, metric: Metric, codes: Array, n_clusters: int) -> Array:
    """Return sums of squared Euclidean or cosine distances to each cluster, clusters by points.

    The squared distances of x to a cluster add up to ``n |x - mean|^2 + sum |y - mean|^2`` (both terms positive, so
    nothing cancels). Cosine distance is half the squared distance of the normalised points.
    """
    if metric.name == "sqeuclidean":
        return squared_sums(X, codes, n_clusters)
    X = _of_length_about_one(X)
    lengths = _norms(X)
    empty = lengths == 0
    scale = 1.0 / np.where(empty, 1.0, lengths)
    unit = sparse.diags_array(scale) @ X if sparse.issparse(X) else X * scale[:, None]
    # As in scikit-learn, a row of zeros is at distance 1 from everything but itself; it stands in no cluster below.
    sums = 0.5 * squared_sums(unit, np.where(empty, n_clusters, codes), n_clusters)
    sums += np.bincount(codes[empty], minlength=n_clusters)[:, None]
    if empty.any():
        sums[:, empty] = np.bincount(codes, minlength=n_clusters)[:, None]
        sums[codes[empty], np.flatnonzero(empty)] -= 1.0
    return sums


def _norms(X: Any) -> Array:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _of_length_about_one(X: Any) -> Any:
    """Return the rows scaled by powers of two, so that the squares of none are out of range; directions stay."""
    if sparse.issparse(X):
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, row, np.abs(X.data))
        data = np.ldexp(X.data, -np.frexp(largest)[1][row])
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])


def squared_sums(X: Any, codes: Array, n_clusters: int, *, apart: bool = False) -> Array:
    """Return sums of squared Euclidean distances to each cluster; ``apart`` gives each cluster an origin of its own.

    Differences to one of its own points keep all digits of a cluster that is small and far from the mean of all.
    """
    sums = np.zeros((n_clusters, X.shape[0]))
    for c in range(n_clusters):
        members = codes == c
        if not members.any():
            continue
        points = X - X[np.argmax(members)] if apart else X
        mean = np.asarray(points[members].mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(X):
            squares = np.maximum(_norms(X) ** 2 - 2.0 * (X @ mean) + mean @ mean, 0.0)
        else:
            from_mean = points - mean
            squares = np.einsum("ij,ij->i", from_mean, from_mean)
        sums[c] = members.sum() * squares + squares[members].sum()
    # Infinity less infinity: a cluster with a value out of range is as far as can be.
    return np.nan_to_num(sums, copy=False, nan=np.inf, posinf=np.inf) if apart else sums
