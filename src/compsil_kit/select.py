"""``select_k``, ``stream`` and ``plan_selection``: the whole pipeline behind three functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Unpack

from compsil_kit._method.plan import Plan
from compsil_kit._method.weights import Transform
from compsil_kit._run.request import check_plan, check_request
from compsil_kit._run.select import run_selection, stream_selection
from compsil_kit._settings.keywords import PlanKeywords, SelectKeywords, StreamKeywords
from compsil_kit._settings.surfaces import documented, takes
from compsil_kit.result import SelectionResult


@documented(SelectKeywords)
def select_k(
    X: Any,
    *,
    ks: Any = range(2, 11),
    clusterer: Any = "kmeans",
    n_subsamples: int | str = 30,
    sample_size: str | int | float = "auto",
    metric: str | Callable[..., float] = "euclidean",
    on_failure: str = "raise",
    random_state: int | Sequence[int] | None = 42,
    n_starts: int | str = "auto",
    n_calibration: int = 0,
    structure: bool = False,
    criterion: str = "composite",
    transform: Transform = "tanh",
    rule: str = "max",
    z: float = 1.0,
    n_jobs: int | str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
) -> SelectionResult:
    """Select the number of clusters by Composite Silhouette.

    Clusters many subsamples under every candidate count, combines the micro- and macro-averaged silhouette of each with
    a weight taken from how far the two disagree, averages, and takes the best k.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data: NumPy, SciPy sparse, pandas, Polars or PyArrow, numeric or boolean and finite, or what
        :func:`prepare` made of a table. With ``metric="precomputed"``, a square matrix of distances. Tables outside
        memory are read in one pass: the path, glob or address of Parquet files, a ``pyarrow`` dataset, a Polars
        LazyFrame, a DuckDB relation, an array of Zarr or h5py, Dask, Spark.
    {keywords}

    Returns
    -------
    SelectionResult
        The choice, the curve, and every trial.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data cannot be used; the message says which, why, and what to do.
    ClusteringError
        A clusterer failed and ``on_failure="raise"``; ``.result`` holds the finished part.
    SelectionError
        Every k lost too many subsamples; ``.result`` holds the causes.
    Interrupted
        A ``KeyboardInterrupt`` whose ``.result`` holds the finished part.

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
    # All the keywords by name, before anything else has one.
    given = {name: value for name, value in locals().items() if name != "X"}
    request = check_request(X, SelectKeywords, given)
    return run_selection(request, progress)


@takes(StreamKeywords)
def stream(X: Any, **keywords: Unpack[StreamKeywords]) -> Iterator[SelectionResult]:
    """Yield a growing result after every scored subsample; the last one equals that of :func:`select_k`.

    Leaving the loop stops the work. What a checkpoint holds comes as one first result. Keywords are checked at the
    call, before the first result is asked for. Nothing is computed while a result is looked at, and BLAS has its
    threads back in between; so several workers take a little longer here than in :func:`select_k`.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or outside it, as in :func:`select_k`.
    {keywords}

    Yields
    ------
    SelectionResult
        The selection from the subsamples finished so far, ``partial`` until the last.

    Examples
    --------
    >>> from compsil_kit import stream
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> [result.n_subsamples for result in stream(X, ks=[4, 5], n_subsamples=3)]
    [1, 2, 3]
    """
    return stream_selection(check_request(X, StreamKeywords, keywords), in_rounds=True)


@takes(PlanKeywords)
def plan_selection(X: Any, **keywords: Unpack[PlanKeywords]) -> Plan:
    """Say what :func:`select_k` would compute, without computing it.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, as in :func:`select_k`. Of a large table outside memory only the number of rows and the types of the
        columns are looked at.
    {keywords}

    Returns
    -------
    Plan
        Print it to read it.

    Examples
    --------
    >>> import numpy as np
    >>> from compsil_kit import plan_selection
    >>> plan_selection(np.random.default_rng(0).normal(size=(10_000, 10))).sample_size
    6000
    """
    return check_plan(X, PlanKeywords, keywords)
