"""``select_k``, ``stream`` and ``plan_selection``: the whole pipeline behind three functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Unpack

from compsil_kit._config.setting import documented, takes
from compsil_kit._data.dataset import SourceTable
from compsil_kit._data.table import open_data
from compsil_kit._run.load import load
from compsil_kit._run.planning import make_plan, resolve_workers
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
from compsil_kit.config import Events, SelectionConfig
from compsil_kit.plan import Plan
from compsil_kit.result import SelectionResult


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
    """Select the number of clusters by Composite Silhouette.

    Clusters many subsamples under every candidate k, combines the micro- and macro-averaged silhouette of each with a
    weight derived from their discrepancy, averages over the subsamples, and selects the best k.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data: NumPy, SciPy sparse, pandas, Polars or PyArrow, numeric or boolean and finite, or the return value
        of :func:`prepare`. With ``metric="precomputed"``, a square matrix of distances. Out-of-core tables are read
        in one pass: the path, glob or URL of Parquet files, a ``pyarrow`` dataset, a Polars LazyFrame, a DuckDB
        relation, a Zarr or h5py array, Dask, Spark.
    {keywords}

    Returns
    -------
    SelectionResult
        The choice, the curve, and every trial.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data are invalid; the message names the parameter, the rule, the value and the fix.
    ClusteringError
        A clusterer failed and ``on_failure="raise"``; ``.result`` has the finished part.
    SelectionError
        Too many subsamples failed for every k; ``.result`` has the causes.
    Interrupted
        A ``KeyboardInterrupt`` whose ``.result`` has the finished part.

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
    # After the plan: it determines the rows that are read of an out-of-core table.
    data = load(table, plan, events)
    return run_selection(plan, data, events)


@takes(SelectionConfig, Events, leave_out=("progress",))
def stream(X: Any, **keywords: Unpack[StreamKeywords]) -> Iterator[SelectionResult]:
    """Yield a growing result after every scored subsample; the last one equals that of :func:`select_k`.

    Leaving the loop stops the work. The subsamples of a checkpoint are the first result. Keywords are validated at the
    call, before the first result is requested. The workers pause while the caller processes a result, and BLAS uses its
    own threads in between, so several workers take a little longer than in :func:`select_k`.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or out of core, as in :func:`select_k`.
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
    events = Events(checkpoint=keywords.pop("checkpoint", None))
    config = SelectionConfig.from_dict(keywords)
    events.require_repeatable(config.random_state)
    table = open_data(X)
    plan = make_plan(table, config)
    return stream_selection(plan, load(table, plan, events), events, pause_between=True)


@takes(SelectionConfig)
def plan_selection(X: Any, **keywords: Unpack[SelectionKeywords]) -> Plan:
    """Return what :func:`select_k` would compute, without computing it.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, as in :func:`select_k`. Of a large out-of-core table, only the number of rows and the types of the
        columns are read.
    {keywords}

    Returns
    -------
    Plan
        The plan. ``print(plan)`` describes it and estimates the run time.

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
        resolve_workers(plan, fetched=True)
    else:
        load(table, plan, Events())
    return plan
