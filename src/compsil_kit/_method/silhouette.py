"""Micro- and macro-averaged silhouettes for many labellings in one pass over the distances (method steps 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from compsil_kit._data.table import load_data
from compsil_kit._method import kernel_numpy as plain
from compsil_kit._method.labels import encode_labels
from compsil_kit._method.metrics import (
    CLOSED_FORMS,
    Metric,
    check_metric_fits,
    closed_form_sums,
    metric_tile,
    resolve_metric,
    squared_sums,
)
from compsil_kit._method.precision import doubt_limit, recompute_doubtful, scale_to_safe_range, silhouettes_of_sums
from compsil_kit._types import ManyLabelings, MetricLike, OneLabeling
from compsil_kit._util.imports import gc_paused, has

Array = NDArray[Any]

# Bytes for sums of distances, in addition to the tiles and one sorted copy of the points.
SUMS_BYTES = 24 * 2**20
# With fewer points, a pass takes milliseconds, and loading Numba would take more time than it saves.
MIN_COMPILED_SILHOUETTE_POINTS = 1500


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes for one labelling.

    Attributes
    ----------
    micro : float
        Mean over all points.
    macro : float
        Mean of the cluster means.
    clusters : ndarray
        The distinct labels, sorted.
    per_cluster : ndarray
        Mean silhouette of each of ``clusters``.
    per_point : ndarray
        Silhouette of each point, in row order.
    """

    micro: float
    macro: float
    clusters: Array
    per_cluster: Array
    per_point: Array

    def __repr__(self) -> str:
        """Show the two averages and the numbers of clusters and points, but not the arrays."""
        return (
            f"Silhouettes(micro={self.micro:.4f}, macro={self.macro:.4f}, "
            f"{len(self.clusters)} clusters, {len(self.per_point)} points)"
        )


@overload
def silhouettes(X: Any, labels: OneLabeling, *, metric: MetricLike = "euclidean") -> Silhouettes: ...
@overload
def silhouettes(X: Any, labels: ManyLabelings, *, metric: MetricLike = "euclidean") -> list[Silhouettes]: ...
@overload
def silhouettes(X: Any, labels: ArrayLike, *, metric: MetricLike = "euclidean") -> Silhouettes | list[Silhouettes]: ...
def silhouettes(X: Any, labels: Any, *, metric: MetricLike = "euclidean") -> Silhouettes | list[Silhouettes]:
    """Compute exact silhouettes for one labelling, or for many labellings of the same data in one pass.

    The distances do not depend on the labels, so they are computed once for all labellings, tile by tile. The
    additional memory is a few tens of MiB, regardless of the number of points.

    Parameters
    ----------
    X : array, sparse matrix, table or prepared table of shape (n_points, n_features)
        The data, in any form that :func:`select_k` accepts, or a square matrix of distances if
        ``metric="precomputed"``. An out-of-core table is loaded into memory.
    labels : array of shape (n_points,), or a sequence of such arrays
        The cluster of each point, as integers or strings. There must be at least two clusters, and fewer clusters than
        points.
    metric : str or callable, default="euclidean"
        A scikit-learn metric, a function of two points, or ``"precomputed"``.

    Returns
    -------
    Silhouettes or list of Silhouettes
        A list if ``labels`` is a sequence of labellings or a two-dimensional array with one labelling per row.

    Examples
    --------
    >>> import numpy as np
    >>> from compsil_kit import silhouettes
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> silhouettes(X, [0, 0, 1, 1])
    Silhouettes(micro=0.8997, macro=0.8997, 2 clusters, 4 points)
    >>> [s.micro > 0 for s in silhouettes(X, [[0, 0, 1, 1], [0, 1, 0, 1]])]
    [True, False]
    """
    resolved, matrix = resolve_metric(metric), load_data(X).matrix
    check_metric_fits(resolved, matrix)
    single, encoded = encode_labels(labels, matrix.shape[0])
    per_point = point_silhouettes(matrix, [codes for _, codes in encoded], resolved)
    results = []
    for (names, codes), values in zip(encoded, per_point, strict=True):
        micro, means = averages(values, codes)
        results.append(Silhouettes(micro, float(means.mean()), names, means, values))
    return results[0] if single else results


def averages(values: Array, codes: Array) -> tuple[float, Array]:
    """Return the mean over points and the mean of each cluster (method step 3)."""
    return float(values.mean()), np.bincount(codes, weights=values) / np.bincount(codes)


def point_silhouettes(
    X: Any, labelings: Sequence[Array], metric: Metric, tick: Callable[[], None] = lambda: None
) -> Array:
    """Return the silhouettes as an array of shape (n_labelings, n_points), for labels coded as 0 .. k-1.

    ``tick`` is called every few milliseconds and may raise an exception to stop the computation.
    """
    if metric.name in CLOSED_FORMS:
        return _by_closed_form(X, labelings, metric, tick)
    values = np.empty((len(labelings), X.shape[0]))
    doubtful = np.zeros(values.shape, dtype=bool)
    cell, member = refine(labelings)
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(member.shape[1]))
    sums_of, limit = _choose_kernel(X, metric, order, cell[order], starts, tick)
    per_labeling = _gatherer(member)
    width = max(plain.TILE_ROWS, SUMS_BYTES // (8 * len(starts)))
    for panel in plain.chunks(0, X.shape[0], width):
        cell_sums = sums_of(panel)
        rows = order[panel]
        for position, (codes, sums) in enumerate(zip(labelings, per_labeling(cell_sums), strict=True)):
            values[position, rows], larger = silhouettes_of_sums(sums, codes[rows], np.bincount(codes))
            if larger.min() < limit:
                doubtful[position, rows] = larger < limit

    def measure(power: int, rows: Array) -> Iterator[tuple[int, Array, Array]]:
        exact_sums = _exact_sums(X, power, order, cell[order], starts, tick)
        for part in plain.chunks(0, len(rows), width):
            cell_sums = exact_sums(rows[part])
            for position, sums in enumerate(per_labeling(cell_sums)):
                yield position, rows[part], sums

    if X.dtype == np.float32 and doubtful.any(axis=0).mean() > 0.5:
        # If most points need double precision, use it for all points.
        doubtful[:] = True
    recompute_doubtful(values, doubtful, labelings, measure, squared=False)
    return values


def _by_closed_form(X: Any, labelings: Sequence[Array], metric: Metric, tick: Callable[[], None]) -> Array:
    """Return the silhouettes for a metric whose sums of distances can be computed from the cluster means."""
    values = np.empty((len(labelings), X.shape[0]))
    doubtful = np.zeros(values.shape, dtype=bool)
    limit = 0.0
    if sparse.issparse(X):
        points = scale_to_safe_range(X) if metric.name == "sqeuclidean" else X
    elif metric.name == "sqeuclidean":
        points = _centred(X, np.float64)
        limit = doubt_limit(points, product=False)
    else:
        points = X.astype(np.float64, copy=False)
    for position, codes in enumerate(labelings):
        tick()
        sums = closed_form_sums(points, metric, codes, codes.max() + 1)
        values[position], larger = silhouettes_of_sums(sums, codes, np.bincount(codes))
        doubtful[position] = np.sqrt(larger) < limit

    def measure(power: int, rows: Array) -> Iterator[tuple[int, Array, Array]]:
        scaled = np.ldexp(X.astype(np.float64, copy=False), power)
        for position, codes in enumerate(labelings):
            tick()
            yield position, rows, squared_sums(scaled, codes, codes.max() + 1, own_origins=True)[:, rows]

    recompute_doubtful(values, doubtful, labelings, measure, squared=True)
    return values


def refine(labelings: Sequence[Array]) -> tuple[Array, Array]:
    """Return the cell of each point and, for each labelling, the cluster of each cell.

    Two points are in the same cell if they are in the same cluster in every labelling.
    """
    key = np.zeros(len(labelings[0]), dtype=np.int64)
    span = 1
    for codes in labelings:
        n_clusters = int(codes.max()) + 1
        if span * n_clusters >= 2**63:
            names, key = np.unique(key, return_inverse=True)
            span = len(names)
        key = key * n_clusters + codes
        span *= n_clusters
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    return cell, np.array([codes[first] for codes in labelings])


def _gatherer(member: Array) -> Callable[[Array], Iterator[Array]]:
    """Return a function that converts sums per cell into sums per cluster for each labelling.

    One matrix product for all labellings takes no longer than for a single labelling. If it would need too much memory,
    there is one product per labelling. The cells are added in the same order, so the sums are bit-for-bit identical.
    """
    firsts = np.cumsum([0, *(member.max(axis=1) + 1)])
    together = _gather((member + firsts[:-1, None]).T)

    def per_labeling(cell_sums: Array) -> Iterator[Array]:
        if 8 * firsts[-1] * cell_sums.shape[1] > SUMS_BYTES:
            return (_gather(belongs[:, None]) @ cell_sums for belongs in member)
        return iter(np.split(together @ cell_sums, firsts[1:-1]))

    return per_labeling


def _gather(belongs: Array) -> Any:
    """Return a sparse matrix that sums the cells of each cluster; ``belongs`` contains the clusters of each cell."""
    n_cells, n_each = belongs.shape
    shape = (int(belongs.max()) + 1, n_cells)
    return sparse.csc_array((np.ones(belongs.size), belongs.ravel(), np.arange(n_cells + 1) * n_each), shape=shape)


def _choose_kernel(
    X: Any, metric: Metric, order: Array, cell: Array, starts: Array, tick: Callable[[], None]
) -> tuple[Callable[[slice], Array], float]:
    """Return a function that computes the sums of distances from a panel of sorted points to every cell.

    Also return the mean distance below which these sums may have lost too much precision.
    """
    n_points, add, limit = X.shape[0], plain.add_distances, 0.0
    dense = not sparse.issparse(X) or X.shape[0] * X.shape[1] * X.dtype.itemsize <= SUMS_BYTES
    if metric.name != "euclidean" or not dense:
        tile = metric_tile(X, metric, order)
    else:
        points = _centred(X.toarray() if sparse.issparse(X) else X, X.dtype)[order]
        limit = doubt_limit(points, product=True)
        if n_points < MIN_COMPILED_SILHOUETTE_POINTS or not has("numba"):
            tile = plain.distance_tile(points)
        else:
            with gc_paused():
                from compsil_kit._method import kernel_numba as compiled
            if points.shape[1] <= compiled.MAX_DIRECT_FEATURES:
                columns, limit = np.ascontiguousarray(points.T), doubt_limit(points, product=False)
                return partial(compiled.accumulate_direct, columns, starts, cell, tick=tick), limit
            tile, add = plain.squared_tile(points), compiled.add_squared
    return partial(plain.accumulate, tile, add, starts, n_points=n_points, tick=tick), limit


def _exact_sums(
    X: Any, power: int, order: Array, cell: Array, starts: Array, tick: Callable[[], None]
) -> Callable[[Array], Array]:
    """Return a function that computes exact sums of distances from rows of X to every cell.

    The distances are computed from coordinate differences in double precision.
    """
    points = X.toarray() if sparse.issparse(X) else X
    points = np.ldexp(points.astype(np.float64, copy=False), power)[order]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    if len(order) < MIN_COMPILED_SILHOUETTE_POINTS or not has("numba"):
        return lambda rows: plain.accumulate_rows(points, starts, place[rows], tick)
    from compsil_kit._method import kernel_numba as compiled

    columns = np.ascontiguousarray(points.T)
    return lambda rows: compiled.accumulate_rows(columns, starts, cell, place[rows], tick)


def _centred(X: Array, dtype: Any) -> Array:
    """Centre the points and scale them by a power of two, which changes the silhouettes only by rounding error.

    Scaling first keeps the squares of 1e-150 and 1e150 in range.
    """
    exponent = int(np.frexp(np.max(np.abs(X), initial=0.0))[1])
    points = np.ldexp(X.astype(np.float64, copy=False), -exponent)
    points -= points.mean(axis=0)
    return points.astype(dtype, copy=False)
