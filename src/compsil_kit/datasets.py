"""A small generated data set for demonstrations and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler


def imbalanced_blobs() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the data set S3 from the paper: 2,300 points in two large, loose clusters and three small, tight ones.

    On these data, the micro-averaged silhouette selects 2 clusters and the macro-averaged silhouette selects 5.

    Returns
    -------
    X : ndarray of shape (2300, 2)
        Standardised points.
    y : ndarray of shape (2300,)
        The cluster from which each point was drawn.
    """
    centers = [(0, 0), (3, 3), (12, 12), (-12, 12), (0, 15)]
    X, y = make_blobs(
        n_samples=[1000, 1000, 100, 100, 100],
        centers=centers,
        cluster_std=[1.8, 1.8, 0.5, 0.5, 0.5],
        random_state=42,
    )
    return StandardScaler().fit_transform(X), y
