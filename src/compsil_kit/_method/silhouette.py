"""Micro- and macro-averaged silhouettes of many labelings in one pass over the distances (method steps 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from compsil_kit._data.matrix import as_matrix
from compsil_kit._method import kernel_numpy as plain
from compsil_kit._method.exact import doubt_limit, from_sums, settle
from compsil_kit._method.labels import encode_labels
from compsil_kit._method.metrics import (
    CLOSED_FORMS,
    Metric,
    check_metric_fits,
    closed_form_sums,
    in_range,
    metric_tile,
    resolve_metric,
    squared_sums,
)
from compsil_kit._util.imports import gc_paused, has

Array = NDArray[Any]

# The sums of distances kept at once; with the tiles and one sorted copy of the points this is the extra memory.
SUMS_BYTES = 24 * 2**20
# Below this many points a pass takes milliseconds, and loading the compiler costs more than it saves.
MIN_COMPILED_POINTS = 1500


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of one labeling.

    Attributes
    ----------
    micro : float
        Mean over all points.
    macro : float
        Mean over clusters of the cluster's mean.
    clusters : ndarray
        The distinct labels, sorted.
    per_cluster : ndarray
        Mean silhouette of each of ``clusters``.
    per_point : ndarray
        Silhouette of each point, in the order of the rows.
    """

    micro: float
    macro: float
    clusters: Array
    per_cluster: Array
    per_point: Array

    def __repr__(self) -> str:
        """Show the two averages and the size; the arrays are a mouthful."""
        return (
            f"Silhouettes(micro={self.micro:.4f}, macro={self.macro:.4f}, "
            f"{len(self.clusters)} clusters, {len(self.per_point)} points)"
        )


def silhouettes(
    X: Any, labels: ArrayLike | Sequence[ArrayLike], *, metric: str | Callable[..., float] = "euclidean"
) -> Silhouettes | list[Silhouettes]:
    """Compute exact silhouettes of one labeling, or of many labelings of the same data in one pass.

    The distances do not depend on the labels: they are computed once, a tile at a time, and serve every labeling.
    Extra memory stays at some tens of MiB however many points there are.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_points, n_features)
        The data, or a square matrix of distances with ``metric="precomputed"``.
    labels : array of shape (n_points,), or a sequence of such arrays
        The cluster of each point. Any integers or strings; at least two clusters, and fewer clusters than points.
    metric : str or callable, default="euclidean"
        A scikit-learn metric, a function of two points, or ``"precomputed"``.

    Returns
    -------
    Silhouettes or list of Silhouettes
        One for one labeling, a list for a sequence of labelings.

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
    measure = resolve_metric(metric)
    matrix = as_matrix(X)
    check_metric_fits(measure, matrix)
    single, encoded = encode_labels(labels, matrix.shape[0])
    per_point = point_silhouettes(matrix, [codes for _, codes in encoded], measure)
    results = [_summarise(names, codes, values) for (names, codes), values in zip(encoded, per_point, strict=True)]
    return results[0] if single else results


def _summarise(names: Array, codes: Array, values: Array) -> Silhouettes:
    micro, means = averages(values, codes)
    return Silhouettes(micro, float(means.mean()), names, means, values)


def averages(values: Array, codes: Array) -> tuple[float, Array]:
    """Return the mean over points and the mean of each cluster (method step 3)."""
    return float(values.mean()), np.bincount(codes, weights=values) / np.bincount(codes)


def _no_tick() -> None:
    """Do nothing between tiles."""


def point_silhouettes(X: Any, labelings: Sequence[Array], metric: Metric, tick: Callable[[], None] = _no_tick) -> Array:
    """Return the silhouette of every point under every labeling (codes 0 .. k-1), labelings by points.

    ``tick`` is called every few milliseconds; it may raise to stop the work.
    """
    if metric.name in CLOSED_FORMS and metric.function is None:
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
        who = order[panel]
        for position, (codes, sums) in enumerate(zip(labelings, per_labeling(cell_sums), strict=True)):
            values[position, who], larger = from_sums(sums, codes[who], np.bincount(codes))
            if larger.min() < limit:
                doubtful[position, who] = larger < limit

    def measure(power: int, rows: Array) -> Iterator[tuple[int, Array, Array]]:
        exact_sums = _exact_sums(X, power, order, cell[order], starts, tick)
        for part in plain.chunks(0, len(rows), width):
            cell_sums = exact_sums(rows[part])
            for position, sums in enumerate(per_labeling(cell_sums)):
                yield position, rows[part], sums

    if X.dtype == np.float32 and doubtful.any(axis=0).mean() > 0.5:
        # Where most points need double precision, the few others get it too.
        doubtful[:] = True
    settle(values, doubtful, labelings, measure, squared=False)
    return values


def _by_closed_form(X: Any, labelings: Sequence[Array], metric: Metric, tick: Callable[[], None]) -> Array:
    """Return the silhouettes for a metric whose sums of distances follow from the clusters' means."""
    values = np.empty((len(labelings), X.shape[0]))
    doubtful = np.zeros(values.shape, dtype=bool)
    limit = 0.0
    if sparse.issparse(X):
        points = in_range(X) if metric.name == "sqeuclidean" else X
    elif metric.name == "sqeuclidean":
        points = _centred(X, np.float64)
        limit = doubt_limit(points, product=False)
    else:
        points = X.astype(np.float64, copy=False)
    for position, codes in enumerate(labelings):
        tick()
        sums = closed_form_sums(points, metric, codes, codes.max() + 1)
        values[position], larger = from_sums(sums, codes, np.bincount(codes))
        doubtful[position] = np.sqrt(larger) < limit

    def measure(power: int, rows: Array) -> Iterator[tuple[int, Array, Array]]:
        as_given = np.ldexp(X.astype(np.float64, copy=False), power)
        for position, codes in enumerate(labelings):
            tick()
            yield position, rows, squared_sums(as_given, codes, codes.max() + 1, apart=True)[:, rows]

    settle(values, doubtful, labelings, measure, squared=True)
    return values


def refine(labelings: Sequence[Array]) -> tuple[Array, Array]:
    """Return the common refinement of the labelings: each point's cell, and each cell's cluster per labeling.

    Two points share a cell when every labeling puts them together.
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
    """Return a function from sums per cell to sums per cluster, of one labeling after the other.

    One product for all labelings, which takes no longer than that for one of them, unless it would take much memory.
    Sums are the same to the last bit: cells are added in their order in either case.
    """
    firsts = np.cumsum([0, *(member.max(axis=1) + 1)])
    together = _gather((member + firsts[:-1, None]).T)

    def per_labeling(cell_sums: Array) -> Iterator[Array]:
        if 8 * firsts[-1] * cell_sums.shape[1] > SUMS_BYTES:
            return (_gather(belongs[:, None]) @ cell_sums for belongs in member)
        return iter(np.split(together @ cell_sums, firsts[1:-1]))

    return per_labeling


def _gather(belongs: Array) -> Any:
    """Return the matrix that adds the sums of a cluster's cells, from the clusters of each cell; sparse, as few are."""
    n_cells, n_each = belongs.shape
    shape = (int(belongs.max()) + 1, n_cells)
    return sparse.csc_array((np.ones(belongs.size), belongs.ravel(), np.arange(n_cells + 1) * n_each), shape=shape)


def _choose_kernel(
    X: Any, metric: Metric, order: Array, cell: Array, starts: Array, tick: Callable[[], None]
) -> tuple[Callable[[slice], Array], float]:
    """Return a function from a panel of sorted points to their sums of distances to every cell.

    With it comes the size of mean distances below which they may have lost digits.
    """
    n_points = X.shape[0]
    if metric.name != "euclidean" or metric.function is not None or not _worth_densifying(X):
        tile = metric_tile(X, metric, order)
        return partial(plain.accumulate, tile, plain.add_distances, starts, n_points=n_points, tick=tick), 0.0
    points = _centred(_dense(X), X.dtype)[order]
    if n_points < MIN_COMPILED_POINTS or not has("numba"):
        tile, limit = plain.distance_tile(points), doubt_limit(points, product=True)
        return partial(plain.accumulate, tile, plain.add_distances, starts, n_points=n_points, tick=tick), limit
    with gc_paused():
        from compsil_kit._method import kernel_numba as compiled

    if points.shape[1] <= compiled.MAX_DIRECT_FEATURES:
        columns, limit = np.ascontiguousarray(points.T), doubt_limit(points, product=False)
        return partial(compiled.accumulate_direct, columns, starts, cell, tick=tick), limit
    tile, limit = plain.squared_tile(points), doubt_limit(points, product=True)
    return partial(plain.accumulate, tile, compiled.add_squared, starts, n_points=n_points, tick=tick), limit


def _exact_sums(
    X: Any, power: int, order: Array, cell: Array, starts: Array, tick: Callable[[], None]
) -> Callable[[Array], Array]:
    """Return a function from rows of X to their sums of distances to every cell, by differences in double precision."""
    columns = np.ascontiguousarray(np.ldexp(_dense(X).astype(np.float64, copy=False), power)[order].T)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    if len(order) < MIN_COMPILED_POINTS or not has("numba"):
        return lambda rows: plain.accumulate_rows(columns, starts, place[rows], tick)
    from compsil_kit._method import kernel_numba as compiled

    return lambda rows: compiled.accumulate_rows(columns, starts, cell, place[rows], tick)


def _dense(X: Any) -> Array:
    points: Array = X.toarray() if sparse.issparse(X) else X
    return points


def _worth_densifying(X: Any) -> bool:
    return not sparse.issparse(X) or X.shape[0] * X.shape[1] * X.dtype.itemsize <= SUMS_BYTES


def _centred(X: Array, dtype: Any) -> Array:
    """Return the points moved to their mean and scaled by a power of two: silhouettes do not change, rounding does.

    Scaling first keeps squares of 1e-150 and 1e150 within range; both steps are exact but for the last bit.
    """
    largest = float(np.max(np.abs(X), initial=0.0))
    exponent = int(np.frexp(largest)[1])
    points = np.ldexp(X.astype(np.float64, copy=False), -exponent)
    points -= points.mean(axis=0)
    return points.astype(dtype, copy=False)
