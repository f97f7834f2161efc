"""``select_k`` and ``stream``: the whole pipeline behind two functions."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from os import PathLike
from typing import Any

from compsil_kit.errors import ClusteringError, Interrupted, SelectionError
from compsil_kit.method.plan import Plan
from compsil_kit.method.weights import Transform
from compsil_kit.result.result import SelectionResult
from compsil_kit.result.trials import Trial
from compsil_kit.run.checkpoint import resume
from compsil_kit.run.engine import n_workers, run
from compsil_kit.run.progress import Meter, check_progress, make_meter
from compsil_kit.run.request import Request, check_request
from compsil_kit.util.format import format_seconds

logger = logging.getLogger("compsil_kit")

# From this estimate on, the plan is announced before the work starts.
LONG_SECONDS = 60.0
DEFAULT_KS = range(2, 11)

Random = int | Sequence[int] | None
Clustering = str | Any | Callable[[Any, int, int], Any]


def select_k(
    X: Any,
    *,
    ks: Any = DEFAULT_KS,
    clusterer: Clustering = "kmeans",
    n_subsamples: int = 30,
    sample_size: str | int | float = "auto",
    metric: str | Callable[..., float] = "euclidean",
    transform: Transform = "tanh",
    rule: str = "max",
    z: float = 1.0,
    n_calibration: int = 0,
    on_failure: str = "raise",
    n_jobs: int | None = None,
    random_state: Random = 42,
    progress: bool | Callable[[int, int], None] | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> SelectionResult:
    """Select the number of clusters by Composite Silhouette.

    Clusters many subsamples under every candidate count, combines the micro- and macro-averaged silhouette of each with
    a weight taken from how far the two disagree, averages, and takes the best k.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data: NumPy, SciPy sparse, pandas, Polars or PyArrow, numeric or boolean and finite. With
        ``metric="precomputed"``, a square matrix of distances.
    ks : iterable of int, default=range(2, 11)
        Candidate counts, each at least 2.
    clusterer : str, estimator or callable, default="kmeans"
        ``"kmeans"`` (one k-means++ start), ``"minibatch-kmeans"``, ``"bisecting-kmeans"``, ``"gmm"``,
        ``"agglomerative"``, ``"spectral"``, ``"birch"``, ``"kmedoids"``, ``"clara"``; a scikit-learn estimator with
        ``n_clusters`` or ``n_components``; or a function ``f(X, k, seed) -> labels``.
    n_subsamples : int, default=30
        Subsamples to score. The same ones serve every k.
    sample_size : "auto", int or float, default="auto"
        Rows in a subsample: chosen from the number of rows, given, or as a fraction.
    metric : str or callable, default="euclidean"
        Distance of the silhouettes: a scikit-learn metric, a function of two points, or ``"precomputed"``.
    transform : {"tanh", "linear", "sigmoid", "step"} or callable, default="tanh"
        From normalised discrepancy to the weight of micro.
    rule : {"max", "lcb"}, default="max"
        Maximise the score, or its lower confidence bound ``score - z * sem``.
    z : float, default=1.0
        Width of the lower confidence bound, in standard errors.
    n_calibration : int, default=0
        Further subsamples that only estimate the largest discrepancy of each k; with them the Hoeffding guarantee holds
        strictly. 0 estimates it on the scored subsamples, as the paper does.
    on_failure : {"raise", "skip"}, default="raise"
        What to do when a clusterer fails on a subsample or gives other than k clusters: stop, or count it and go on.
        A k that lost more than a fifth of its subsamples is not selected.
    n_jobs : int, optional
        Workers, as in joblib: None is one, -1 all cores. Threads, unless a ``joblib.parallel_config`` says otherwise.
        The result does not depend on it.
    random_state : int, None or sequence of int, default=42
        An integer from which each subsample's seed is derived, None for fresh ones, or one seed per subsample
        (``range(42, 72)`` repeats the authors' runs).
    progress : bool or callable, optional
        Progress bar; None shows one when a terminal or notebook is watching. A function is called with (done, total).
    checkpoint : str or path, optional
        File that keeps finished subsamples. The same call continues from it after whatever stopped the first one, also
        with more subsamples or another transform, rule or z, and gives the result of an uninterrupted run bit for bit.
        A file of other data, settings or library versions is refused, never overwritten. Of an estimator its class and
        parameters are compared; of a function given as ``clusterer`` or ``metric`` its name, code, defaults and the
        plain values it captures. Changes in what these call, in global variables and inside other objects are not
        noticed. One run at a time may use a file.

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
    request = check_request(
        X, ks=ks, clusterer=clusterer, n_subsamples=n_subsamples, sample_size=sample_size, metric=metric,
        transform=transform, rule=rule, z=z, n_calibration=n_calibration, on_failure=on_failure, n_jobs=n_jobs,
        random_state=random_state, checkpoint=checkpoint,
    )  # fmt: skip
    meter = make_meter(check_progress(progress), len(request.job.plan.seeds))
    trials: list[Trial] = []
    try:
        trials, arriving = _begin(request)
        _announce(request, meter, len(trials))
        # Clusterers that silence warnings in two threads at once leave the filters changed; this puts them back.
        with warnings.catch_warnings(), closing(arriving):
            for trial in arriving:
                trials.append(trial)
                meter.advance()
    except KeyboardInterrupt as stop:
        raise _interrupted(request, trials) from stop
    except ClusteringError as error:
        error.result = request.partial(trials)
        raise
    finally:
        meter.close()
    return chosen(request.result(trials))


def stream(
    X: Any,
    *,
    ks: Any = DEFAULT_KS,
    clusterer: Clustering = "kmeans",
    n_subsamples: int = 30,
    sample_size: str | int | float = "auto",
    metric: str | Callable[..., float] = "euclidean",
    transform: Transform = "tanh",
    rule: str = "max",
    z: float = 1.0,
    n_calibration: int = 0,
    on_failure: str = "raise",
    n_jobs: int | None = None,
    random_state: Random = 42,
    checkpoint: str | PathLike[str] | None = None,
) -> Iterator[SelectionResult]:
    """Yield a growing result after every scored subsample; the last one equals that of :func:`select_k`.

    Leaving the loop stops the work. What a checkpoint holds comes as one first result. Parameters are those of
    :func:`select_k`; they are checked at the call, before the first result is asked for.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    ks, clusterer, n_subsamples, sample_size, metric, transform, rule, z, n_calibration, on_failure, n_jobs, \
    random_state, checkpoint
        As in :func:`select_k`.

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
    request = check_request(
        X, ks=ks, clusterer=clusterer, n_subsamples=n_subsamples, sample_size=sample_size, metric=metric,
        transform=transform, rule=rule, z=z, n_calibration=n_calibration, on_failure=on_failure, n_jobs=n_jobs,
        random_state=random_state, checkpoint=checkpoint,
    )  # fmt: skip
    return _grow(request, *_begin(request))


def _begin(request: Request) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials that are known already, and an iterator that computes the others."""
    if request.checkpoint is None:
        return [], run(request.X, request.job, request.n_jobs)
    return resume(request.checkpoint, request.X, request.job, request.n_jobs)


def _grow(request: Request, trials: list[Trial], arriving: Generator[Trial, None, None]) -> Iterator[SelectionResult]:
    with closing(arriving):
        known = request.partial(trials)
        if known is not None:
            yield known
        for trial in arriving:
            trials.append(trial)
            # Calibration subsamples go first, but one may finish late: the last result is always the whole one.
            growing = request.partial(trials)
            if growing is not None:
                yield growing


def plan_selection(
    X: Any,
    *,
    ks: Any = DEFAULT_KS,
    clusterer: Clustering = "kmeans",
    n_subsamples: int = 30,
    sample_size: str | int | float = "auto",
    metric: str | Callable[..., float] = "euclidean",
    n_calibration: int = 0,
    random_state: Random = 42,
) -> Plan:
    """Say what :func:`select_k` would compute, without computing it.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    ks, clusterer, n_subsamples, sample_size, metric, n_calibration, random_state
        As in :func:`select_k`.

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
    request = check_request(
        X, ks=ks, clusterer=clusterer, n_subsamples=n_subsamples, sample_size=sample_size, metric=metric,
        transform="tanh", rule="max", z=1.0, n_calibration=n_calibration, on_failure="raise", n_jobs=None,
        random_state=random_state,
    )  # fmt: skip
    return request.job.plan


def _announce(request: Request, meter: Meter, n_done: int) -> None:
    if n_done:
        meter.resume(n_done)
    n_all = len(request.job.plan.seeds)
    seconds = request.job.plan.estimate_seconds(n_workers(request.n_jobs)) * (1 - n_done / n_all)
    if seconds >= LONG_SECONDS:
        known = f", {n_done} of {n_all} subsamples are known already" if n_done else ""
        text = f"This will take a while, roughly {format_seconds(seconds)}{known}:\n{request.job.plan}"
        logger.info(text)
        meter.announce(text)


def _interrupted(request: Request, trials: Sequence[Trial]) -> Interrupted:
    done, total = len(trials), len(request.job.plan.seeds)
    kept = "" if request.checkpoint is None else f", and in {request.checkpoint}, from which the same call continues"
    stopped = Interrupted(
        f"stopped after {done} of {total} subsamples; the finished part is in this exception's .result "
        f"(sys.last_value.result in a notebook){kept}"
    )
    stopped.result = request.partial(trials)
    return stopped


def chosen(result: SelectionResult) -> SelectionResult:
    """Return the result if it has a choice, or say why it has none."""
    if result.best_index is None:
        error = SelectionError(result.explain())
        error.result = result
        raise error
    return result
