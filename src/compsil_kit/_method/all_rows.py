"""The chosen k on all the data: a fitted estimator, and the labels of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from compsil_kit._method.clusterers import Clusterer, check_clusters
from compsil_kit._method.magnitude import fit_predict

Array = NDArray[Any]


def fit_all_rows(clusterer: Clusterer, X: Any, k: int, seed: int) -> tuple[Any, Array]:
    """Fit the chosen k on all the data; return the fitted estimator (None for a function) and the labels.

    The name ``kmeans`` uses ten starts here: one start is for judging k, the labels deserve the best of ten.
    """
    X = _protected(X)
    if clusterer.function is not None:
        return None, check_clusters(clusterer.function(X, k, seed), X.shape[0], k)
    estimator = clusterer.build(k, seed)
    if clusterer.name == "kmeans":
        estimator.set_params(n_init=10)
    labels = np.asarray(fit_predict(estimator, X))
    check_clusters(labels, X.shape[0], k)
    return estimator, labels


def _protected(X: Any) -> Any:
    """Return X so that a clusterer that writes into its input does not reach the caller's data."""
    if sparse.issparse(X):
        return X.copy()
    view = X.view()
    view.setflags(write=False)
    return view
