"""Values so large, so small or so far apart that a clusterer loses them: clustered another way, or refused."""

from __future__ import annotations

from math import ceil, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.mixture import GaussianMixture

Array = NDArray[Any]

# Clusterers add up squares; beyond these values, or all below their inverse, squares leave the range of the type.
_LARGEST = {"float64": 1e150, "float32": 1e17}
# Squared distances within the bulk may be off by this share: less than what decides a label, but for ties.
_TOLERANCE = 1e-4
# So many rows tell where the bulk of the data is, also when a third of them hold fill values.
_SOME_ROWS = 33


def check_magnitude(estimator: Any, name: str, X: Any) -> None:
    """Refuse data that scikit-learn's clusterers cannot square, or whose bulk the given one cannot resolve."""
    if not type(estimator).__module__.startswith("sklearn"):
        return
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limit = _LARGEST[X.dtype.name]
    if largest > 0 and not 1 / limit <= largest <= limit:
        power = round(log10(largest))
        double = " or pass it as float64" if X.dtype == np.float32 else ""
        raise ValueError(
            f"X has values of magnitude 1e{power}{'' if largest < 1 else _place(X)}, whose squares are beyond the "
            f"range of {X.dtype}; clusterer={name!r} needs them. Scale X first{double}"
            f"{'.' if largest < 1 else '; if it is a fill value, treat it as missing.'}"
        )
    if not sparse.issparse(X) and _centres_on_the_mean(estimator) and loses_digits(X):
        some, centre = _bulk(X)
        steps = np.abs(X - centre)
        row, column = np.unravel_index(int(np.argmax(steps)), X.shape)
        usual = max(float(np.median(np.abs(some - centre).max(axis=1))), 1e-300)
        raise ValueError(
            f"X has values of very different magnitude: row {row}, column {column} is about "
            f"1e{round(log10(steps[row, column]))} away from the others, most of which are within "
            f"1e{ceil(log10(usual))} of their median; clusterer={name!r} cannot tell the others apart. Treat such "
            "values as missing or clip them, or pass clusterer='kmeans', which can."
        )


def _place(X: Any) -> str:
    """Say where the largest value stands."""
    if sparse.issparse(X):
        cells = X.tocoo()
        at = int(np.argmax(np.abs(cells.data)))
        row, column = cells.row[at], cells.col[at]
    else:
        row, column = np.unravel_index(int(np.argmax(np.abs(X))), X.shape)
    return f" (row {row}, column {column})"


def _centres_on_the_mean(estimator: Any) -> bool:
    """Tell whether it subtracts the mean and cannot be kept from it; k-means can, but for centres that are given."""
    if isinstance(estimator, GaussianMixture):
        return bool(estimator.init_params == "kmeans")
    return isinstance(estimator, BisectingKMeans) or (
        isinstance(estimator, KMeans) and not _takes_another_centre(estimator)
    )


def _takes_another_centre(estimator: Any) -> bool:
    return type(estimator) is KMeans and isinstance(estimator.init, str)


def fit_predict(estimator: Any, X: Any) -> Any:
    """Fit and return the labels; k-means on data with far values gets them in a form in which no digit is lost."""
    if sparse.issparse(X) or not _takes_another_centre(estimator) or not loses_digits(X):
        return estimator.fit_predict(X)
    centre = np.median(X, axis=0).astype(np.float64)
    tolerance = estimator.tol
    # The tolerance is a share of the variance, which is that of the far values: no step of the others would count.
    estimator.tol = 0.0
    # scikit-learn moves dense data to their mean, which the far values determine; sparse data stay where they are.
    labels = estimator.fit_predict(sparse.csr_array(X - centre))
    estimator.tol = tolerance
    estimator.cluster_centers_ = (estimator.cluster_centers_ + centre).astype(X.dtype)
    return labels


def loses_digits(X: Array) -> bool:
    """Tell whether the mean is so far from the bulk of the points that their distances drown in its square.

    Squared distances come from a product, whose error is eps times the squared distance to the mean.
    """
    some, centre = _bulk(X)
    steps = np.sqrt(np.square(some - centre).sum(axis=1))
    steps = np.sort(steps[steps > 0])
    if not steps.size:
        return False
    offset = np.sqrt(np.square(X.mean(axis=0, dtype=np.float64) - centre).sum())
    return bool(np.finfo(X.dtype).eps * (offset / steps[len(steps) // 2]) ** 2 > _TOLERANCE)


def _bulk(X: Array) -> tuple[Array, Array]:
    """Return some rows in double precision, and their median."""
    some = X[:: max(1, len(X) // _SOME_ROWS)].astype(np.float64)
    return some, np.sort(some, axis=0)[len(some) // 2]
