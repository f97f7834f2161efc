"""Keep silhouettes (method step 2) and labels accurate for data with huge, tiny or very different values.

The fast sums of distances centre the points and may use a matrix product. Both steps lose precision for points whose
distance is small compared with the extent of the data: with a single fill value of 1e36, all other points seem to
coincide. The error can be bounded afterwards from each point's own distances. Only silhouettes that exceed the allowed
error are recomputed from differences of the original values, so ordinary data cause no extra work and no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.mixture import GaussianMixture

Array = NDArray[Any]
# measure(power of two, rows) yields (index of a labelling, rows, sums of distances to the clusters of the labelling).
Measure = Callable[[int, Array], Iterator[tuple[int, Array, Array]]]

# Largest allowed error of a silhouette computed from fast sums. Single precision reaches 1e-7 at best.
_SILHOUETTE_ERROR = {"float64": 1e-10, "float32": 1e-5}
# Only about half of all exponents can be squared without leaving the range. At one of these scales, every finite
# distance is in range. Distances out of range become 0 or infinite, which is harmless unless they determine the
# silhouette.
_POWERS = (0, 800, -800)
_SAFE_DISTANCE = 2.0**450
# Sums of squares are safely within the range of float64 for values between two to the minus and plus this power.
_SAFE_EXPONENT = 400
# Squares of values above this limit, or below its inverse, leave the range of the dtype.
_MAX_SQUARABLE = {"float64": 1e150, "float32": 1e17}
# Relative error of squared distances that does not change any label, except for ties.
_LABEL_ERROR = 1e-4
# Number of rows used to locate the bulk of the data, which works even if a third of them are fill values.
_PROBE_ROWS = 33


def silhouettes_of_sums(sums: Array, codes: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the silhouettes for sums of distances of shape (n_clusters, n_points), and max(a, b) for each point.

    For a point alone in its cluster, the maximum is infinite, because its silhouette does not depend on distances.
    """
    here = np.arange(sums.shape[1])
    own_size = sizes[codes]
    within = sums[codes, here] / np.maximum(own_size - 1, 1)
    others = sums / sizes[:, None]
    others[codes, here] = np.inf
    nearest = others.min(axis=0)
    larger = np.maximum(within, nearest)
    # As in scikit-learn, the silhouette is 0 for a point alone in its cluster, and for 0/0.
    values = np.zeros(sums.shape[1])
    together = own_size > 1
    np.divide(nearest - within, larger, out=values, where=together & (larger > 0))
    larger[~together] = np.inf
    return values, larger


def doubt_limit(points: Array, *, product: bool) -> float:
    """Return the limit for max(a, b) below which the error of a silhouette may exceed the allowed error.

    Centring changes a point by up to eps times the radius, so the relative error of a distance is ``eps * radius /
    distance``. A matrix product rounds squares, which gives ``eps * (radius / distance)^2``.
    """
    radius = float(np.sqrt(np.einsum("ij,ij->i", points, points).max(initial=0.0)))
    ratio = float(np.finfo(points.dtype).eps) / _SILHOUETTE_ERROR[points.dtype.name]
    return radius * (ratio**0.5 if product else ratio)


def recompute_doubtful(
    values: Array, doubtful: Array, labelings: Sequence[Array], measure: Measure, *, squared: bool
) -> None:
    """Recompute the silhouettes marked in ``doubtful``, of shape (n_labelings, n_points), from exact sums."""
    for power in _POWERS:
        rows = np.flatnonzero(doubtful.any(axis=0))
        if not rows.size:
            return
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for position, part, sums in measure(power, rows):
                codes = labelings[position]
                found, larger = silhouettes_of_sums(sums, codes[part], np.bincount(codes))
                distance = np.sqrt(larger) if squared else larger
                in_range = (distance <= _SAFE_DISTANCE) & (distance >= (0.0 if power else 1 / _SAFE_DISTANCE))
                # With the last power, a distance of zero is exact.
                sure = doubtful[position, part] & (in_range | (power < 0))
                values[position, part[sure]] = found[sure]
                doubtful[position, part[sure]] = False


def scale_to_safe_range(X: Any) -> Any:
    """Scale X by a power of two if its squares are out of range; this loses no precision."""
    values = X.data if sparse.issparse(X) else X
    exponent = int(np.frexp(np.max(np.abs(values), initial=0.0))[1])
    if abs(exponent) <= (_SAFE_EXPONENT if X.dtype == np.float64 else _SAFE_EXPONENT // 8):
        return X
    scaled = np.ldexp(values.astype(np.float64, copy=False), -exponent)
    return type(X)((scaled, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else scaled


def check_magnitude(estimator: Any, name: str, X: Any) -> None:
    """Raise if a scikit-learn clusterer cannot square the values, or would lose the differences between most rows."""
    if not type(estimator).__module__.startswith("sklearn"):
        return
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limit = _MAX_SQUARABLE[X.dtype.name]
    if largest > 0 and not 1 / limit <= largest <= limit:
        power = round(log10(largest))
        double = " or pass it as float64" if X.dtype == np.float32 else ""
        raise ValueError(
            f"X has values of magnitude 1e{power}{'' if largest < 1 else _place_of_largest(X)}, whose squares are "
            f"outside the range of {X.dtype}, but clusterer={name!r} computes squares. Scale X first{double}"
            f"{'.' if largest < 1 else '. If the value is a fill value, treat it as missing.'}"
        )
    if not sparse.issparse(X) and _subtracts_mean(estimator) and loses_precision(X):
        some, centre = _bulk(X)
        steps = np.abs(X - centre)
        row, column = np.unravel_index(int(np.argmax(steps)), X.shape)
        usual = max(float(np.median(np.abs(some - centre).max(axis=1))), 1e-300)
        raise ValueError(
            f"X has values of very different magnitudes: the value in row {row}, column {column} is about "
            f"1e{round(log10(steps[row, column]))} away from the other rows, most of which are within "
            f"1e{ceil(log10(usual))} of their median, so clusterer={name!r} cannot distinguish the other rows. Treat "
            "such values as missing, clip them, or pass clusterer='kmeans', which supports them."
        )


def _place_of_largest(X: Any) -> str:
    cells = sparse.coo_array(X)
    at = int(np.argmax(np.abs(cells.data)))
    return f" (row {cells.row[at]}, column {cells.col[at]})"


def _subtracts_mean(estimator: Any) -> bool:
    """Return whether the clusterer subtracts the mean and :func:`fit_predict` cannot prevent that."""
    if isinstance(estimator, GaussianMixture):
        return bool(estimator.init_params == "kmeans")
    return isinstance(estimator, BisectingKMeans) or (
        isinstance(estimator, KMeans) and not _accepts_other_centre(estimator)
    )


def _accepts_other_centre(estimator: Any) -> bool:
    return type(estimator) is KMeans and isinstance(estimator.init, str)


def fit_predict(estimator: Any, X: Any) -> Any:
    """Fit and return the labels. For k-means, data with extreme values are first centred on the median.

    Centring on the median preserves precision, because extreme values hardly affect the median.
    """
    if sparse.issparse(X) or not _accepts_other_centre(estimator) or not loses_precision(X):
        return estimator.fit_predict(X)
    centre = np.median(X, axis=0).astype(np.float64)
    tolerance = estimator.tol
    # The tolerance is relative to the variance, which extreme values dominate, so k-means would stop immediately.
    estimator.tol = 0.0
    # scikit-learn centres dense data on the mean, which extreme values dominate, but does not centre sparse data.
    labels = estimator.fit_predict(sparse.csr_array(X - centre))
    estimator.tol = tolerance
    estimator.cluster_centers_ = (estimator.cluster_centers_ + centre).astype(X.dtype)
    return labels


def loses_precision(X: Array) -> bool:
    """Return whether the mean is so far from most points that squared distances between them would lose precision.

    Squared distances are computed by a matrix product, whose error is eps times the squared distance to the mean.
    """
    some, centre = _bulk(X)
    steps = np.sqrt(np.square(some - centre).sum(axis=1))
    steps = np.sort(steps[steps > 0])
    if not steps.size:
        return False
    offset = np.sqrt(np.square(X.mean(axis=0, dtype=np.float64) - centre).sum())
    return bool(np.finfo(X.dtype).eps * (offset / steps[len(steps) // 2]) ** 2 > _LABEL_ERROR)


def _bulk(X: Array) -> tuple[Array, Array]:
    """Return a sample of the rows in double precision, and its median."""
    some = X[:: max(1, len(X) // _PROBE_ROWS)].astype(np.float64)
    return some, np.sort(some, axis=0)[len(some) // 2]
