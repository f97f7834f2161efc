"""Labels of all rows for one k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import FetchedData, SourceTable
from compsil_kit._data.table import open_data
from compsil_kit._method.labels import fit_all_rows, number_by_size
from compsil_kit._method.subsample import subsample_rows
from compsil_kit._run.load import load
from compsil_kit._run.planning import make_plan
from compsil_kit._types import ClustererLike, MetricLike, Progress, Seeds
from compsil_kit._util.checks import check_integer
from compsil_kit.config import Events, SelectionConfig

Array = NDArray[Any]


def label_rows(
    X: Any,
    k: int,
    *,
    clusterer: ClustererLike = "kmeans",
    metric: MetricLike = "euclidean",
    sample_size: int | float | Literal["auto", "paper"] = "auto",
    random_state: Seeds = 42,
    progress: Progress = None,
) -> Iterator[NDArray[np.int64]]:
    """Cluster all rows into k clusters, and yield their labels in row order, some rows at a time.

    Data in memory are clustered as a whole. For a large out-of-core table, the clusterer is fitted to the rows of the
    first subsample, which one pass fetches; a second pass predicts the cluster of every row. ``"kmeans"`` keeps the
    best of ten initialisations.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or out of core, as in :func:`select_k`.
    k : int
        Number of clusters.
    clusterer : str, estimator or callable, default="kmeans"
        Clustering algorithm, as in :func:`select_k`. For a large out-of-core table it needs ``predict``.
    metric : str or callable, default="euclidean"
        The metric of the selection. Only ``"precomputed"``, agglomerative clustering and k-medoids use it.
    sample_size : "auto", "paper", int or float, default="auto"
        Number of rows to which the clusterer is fitted, for a large out-of-core table.
    random_state : int, None or sequence of int, default=42
        Seed. Of a sequence, such as ``result.plan.seeds``, the first one.
    progress : bool or callable, default=None
        Whether to show the progress of the pass over an out-of-core table, as in :func:`select_k`.

    Yields
    ------
    ndarray of int
        The clusters of the next rows; 0 is the largest one among the rows that the clusterer was fitted to.

    Examples
    --------
    >>> from compsil_kit import label_rows
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> [len(labels) for labels in label_rows(X, 5)]
    [2300]
    """
    config = SelectionConfig(
        ks=[check_integer("k", k, minimum=2)],
        clusterer=clusterer,
        metric=metric,
        sample_size=sample_size,
        random_state=random_state,
        n_subsamples=len(random_state) if isinstance(random_state, Sequence | np.ndarray) else 1,
    )
    events, table = Events(progress=progress), open_data(X)
    if isinstance(table, SourceTable):
        _check_predicts(config)
    plan = make_plan(table, config)
    data = load(table, plan, events, indices=[0], warn=False)
    if not isinstance(table, SourceTable):
        return iter([number_by_size(fit_rows(config, data.matrix, k, plan.seeds[0])[1])])
    assert isinstance(data, FetchedData)
    rows = data.matrix[subsample_rows(plan.seeds[0], plan.n_rows, plan.sample_size)]
    return _predict(table, data, *fit_rows(config, rows, k, plan.seeds[0]))


def fit_rows(config: SelectionConfig, matrix: Any, k: int, seed: int) -> tuple[Any, NDArray[Any]]:
    """Cluster all rows of a validated matrix into k clusters, with the clusterer of a selection.

    Parameters
    ----------
    config : SelectionConfig
        The settings of the selection.
    matrix : array or sparse matrix of shape (n_rows, n_features)
        The rows, such as ``open_data(X).matrix``.
    k : int
        Number of clusters.
    seed : int
        The seed, such as ``result.plan.seeds[0]``.

    Returns
    -------
    estimator, labels : object, ndarray
        The fitted estimator (None for a function), and the labels as the clusterer numbered them.
    """
    return fit_all_rows(config.resolved_clusterer, matrix, k, seed)


def _check_predicts(config: SelectionConfig) -> None:
    """Raise, before the table is read, if the clusterer cannot label rows that it was not fitted to."""
    clusterer = config.resolved_clusterer
    if not hasattr(clusterer.estimator, "predict"):
        raise ValueError(
            f"clusterer={clusterer.name!r} has no predict, so it can label only rows that it was fitted to, and X is "
            "too large for that. Pass 'kmeans', 'gmm' or another clusterer with predict, or load X."
        )


def _predict(table: SourceTable, fetched: FetchedData, estimator: Any, labels: Array) -> Iterator[Array]:
    names, first = np.unique(labels, return_index=True)
    ranks = number_by_size(labels)[first]
    for rows in table.matrices(fetched.moments):
        yield ranks[np.searchsorted(names, estimator.predict(rows))]
