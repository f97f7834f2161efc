"""Run the whole pipeline: ``select_k``, ``stream``, ``plan_selection`` and ``label_rows``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from compsil_kit._config.setting import documented, takes
from compsil_kit._data.sources.table import FetchedData, SourceTable
from compsil_kit._data.table import open_data
from compsil_kit._method.labels import fit_all_rows, number_by_size
from compsil_kit._method.subsample import subsample_rows
from compsil_kit._run.planning import fetched_bytes, load, make_plan, resolve_workers
from compsil_kit._run.select import run_selection, stream_selection
from compsil_kit._types import (
    ClustererLike,
    Criterion,
    MetricLike,
    OnFailure,
    PathLikeOrStr,
    Progress,
    Rule,
    Seeds,
    SelectionKeywords,
    StreamKeywords,
    Transform,
)
from compsil_kit._util.checks import check_integer
from compsil_kit.config import SelectionConfig
from compsil_kit.events import Events
from compsil_kit.plan import Plan
from compsil_kit.result import SelectionResult

Array = NDArray[Any]


@documented(SelectionConfig, Events)
def select_k(
    X: Any,
    *,
    ks: Iterable[int] | int = range(2, 11),
    clusterer: ClustererLike = "kmeans",
    n_subsamples: int | Literal["auto"] = 30,
    sample_size: int | float | Literal["auto", "paper"] = "auto",
    metric: MetricLike = "euclidean",
    on_failure: OnFailure = "raise",
    random_state: Seeds = 42,
    n_jobs: int | Literal["auto"] | None = None,
    n_starts: int | Literal["auto"] = "auto",
    n_calibration: int = 0,
    structure: bool = False,
    criterion: Criterion = "composite",
    transform: Transform = "tanh",
    rule: Rule = "max",
    z: float = 1.0,
    checkpoint: PathLikeOrStr | None = None,
    progress: Progress = None,
) -> SelectionResult:
    """Select the number of clusters using Composite Silhouette.

    Cluster many subsamples with every candidate k, combine the micro- and macro-averaged silhouettes of each clustering
    with a weight derived from their discrepancy, average over the subsamples, and select the best k.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data: NumPy, SciPy sparse, pandas, Polars or PyArrow, numeric or boolean and finite, or a table returned
        by :func:`prepare`. With ``metric="precomputed"``, a square matrix of distances. Out-of-core tables are read
        in one pass: the path, glob or URL of Parquet files, a PyArrow dataset, a Polars LazyFrame, a DuckDB
        relation, a Zarr or h5py array, or a Dask or Spark table.
    {keywords}

    Returns
    -------
    SelectionResult
        The choice, the curve, and every trial.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data are invalid. The message names the parameter, the rule, the value and the fix.
    ClusteringError
        A clusterer failed and ``on_failure="raise"``; ``.result`` contains the partial result.
    SelectionError
        Too many subsamples failed for every k; ``.result`` contains the causes.
    Interrupted
        A ``KeyboardInterrupt`` whose ``.result`` contains the partial result.

    References
    ----------
    Semoglou, Likas, Pavlopoulos: Composite Silhouette, ECML PKDD 2026.

    Examples
    --------
    >>> from compsil_kit import select_k
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> result = select_k(X, ks=range(2, 8))
    >>> result.best_k
    5
    """
    # Capture the arguments before defining locals.
    settings = {name: value for name, value in locals().items() if name not in ("X", "checkpoint", "progress")}
    config, events = SelectionConfig(**settings), Events(checkpoint=checkpoint, progress=progress)
    events.require_repeatable(config.random_state)
    table = open_data(X)
    plan = make_plan(table, config)
    # Load after planning, because the plan determines which rows of an out-of-core table are read.
    data = load(table, plan, events)
    return run_selection(plan, data, events)


@takes(SelectionConfig, Events, leave_out=("progress",))
def stream(X: Any, **keywords: Unpack[StreamKeywords]) -> Iterator[SelectionResult]:
    """Yield a growing result after every scored subsample; the last result equals the one from :func:`select_k`.

    Leaving the loop stops the computation. With a checkpoint, the first result contains the subsamples saved in it.
    Keywords are validated when the function is called, before the first result is requested. The workers pause while
    the caller processes a result, so that BLAS can use its own threads; with several workers, this takes a little
    longer than :func:`select_k`.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or out of core, as in :func:`select_k`.
    {keywords}

    Yields
    ------
    SelectionResult
        The selection from the subsamples finished so far. ``partial`` is true for every result but the last.

    Examples
    --------
    >>> from compsil_kit import stream
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> [result.n_subsamples for result in stream(X, ks=[4, 5], n_subsamples=3)]
    [1, 2, 3]
    """
    events = Events(checkpoint=keywords.pop("checkpoint", None), pause_between=True)
    config = SelectionConfig.from_dict(keywords)
    events.require_repeatable(config.random_state)
    table = open_data(X)
    plan = make_plan(table, config)
    return stream_selection(plan, load(table, plan, events), events)


@takes(SelectionConfig)
def plan_selection(X: Any, **keywords: Unpack[SelectionKeywords]) -> Plan:
    """Return the plan of :func:`select_k` without running it.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, as in :func:`select_k`. Only the number of rows and the column types of a large out-of-core table are
        read.
    {keywords}

    Returns
    -------
    Plan
        The plan. ``print(plan)`` describes the computation and estimates its run time.

    Examples
    --------
    >>> import numpy as np
    >>> from compsil_kit import plan_selection
    >>> plan_selection(np.random.default_rng(0).normal(size=(10_000, 10))).sample_size
    6000
    """
    table = open_data(X)
    plan = make_plan(table, SelectionConfig.from_dict(keywords))
    if isinstance(table, SourceTable):
        resolve_workers(plan, pending_bytes=fetched_bytes(plan))
    else:
        load(table, plan, Events())
    return plan


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
    """Cluster all rows into k clusters, and yield their labels in row order, in chunks.

    Data in memory are clustered as a whole. For a large out-of-core table, one pass fetches the rows of the first
    subsample, to which the clusterer is fitted, and a second pass predicts the cluster of every row. ``"kmeans"`` keeps
    the best of ten initialisations.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or out of core, as in :func:`select_k`.
    k : int
        Number of clusters.
    clusterer : str, estimator or callable, default="kmeans"
        Clustering algorithm, as in :func:`select_k`. For a large out-of-core table, it needs a
        ``predict`` method.
    metric : str or callable, default="euclidean"
        The metric of the selection. It matters only if it is ``"precomputed"``, or for agglomerative clustering and
        k-medoids.
    sample_size : "auto", "paper", int or float, default="auto"
        Number of rows to which the clusterer is fitted if X is a large out-of-core table.
    random_state : int, None or sequence of int, default=42
        Random seed. If a sequence is passed, such as ``result.plan.seeds``, its first seed is used.
    progress : bool or callable, default=None
        Whether to show a progress bar while an out-of-core table is read, as in :func:`select_k`.

    Yields
    ------
    ndarray of int
        The labels of the next rows. Label 0 is the largest cluster among the rows to which the clusterer was fitted.

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
    used = config.resolved_clusterer
    # Raise before the table is read.
    if isinstance(table, SourceTable) and not hasattr(used.estimator, "predict"):
        raise ValueError(
            f"clusterer={used.name!r} has no predict method, so it can label only the rows it was fitted to, and X is "
            "too large to fit. Pass 'kmeans', 'gmm' or another clusterer with predict, or load X into memory first."
        )
    plan = make_plan(table, config)
    data = load(table, plan, events, indices=[0], warn=False)
    if not isinstance(table, SourceTable):
        return iter([number_by_size(fit_rows(config, data.matrix, k, plan.seeds[0])[1])])
    assert isinstance(data, FetchedData)
    rows = data.matrix[subsample_rows(plan.seeds[0], plan.n_rows, plan.sample_size)]
    return _predict(table, data, *fit_rows(config, rows, k, plan.seeds[0]))


def fit_rows(config: SelectionConfig, matrix: Any, k: int, seed: int) -> tuple[Any, NDArray[Any]]:
    """Cluster all rows of a matrix, such as ``open_data(X).matrix``, with the configured clusterer.

    Return the fitted estimator (None if the clusterer is a function) and the labels as numbered by the clusterer.
    """
    return fit_all_rows(config.resolved_clusterer, matrix, k, seed)


def _predict(table: SourceTable, fetched: FetchedData, estimator: Any, labels: Array) -> Iterator[Array]:
    names, first = np.unique(labels, return_index=True)
    ranks = number_by_size(labels)[first]
    for rows in table.matrices(fetched.moments):
        yield ranks[np.searchsorted(names, estimator.predict(rows))]
