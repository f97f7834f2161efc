"""The other criteria for the number of clusters, beside the composite: one call, the same data, the same clusterer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from threading import Event
from typing import Any, Unpack

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score
from threadpoolctl import ThreadpoolController

from compsil_kit._criteria.comparison import Comparison, subsample_criteria
from compsil_kit._criteria.criteria import Criterion
from compsil_kit._method.selection import summarise
from compsil_kit._method.subsample import FURTHER_RUNS, REFERENCES, derive_seed
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import n_workers, run
from compsil_kit._run.memory import check_memory
from compsil_kit._run.native_threads import one_blas_thread, one_openmp_thread
from compsil_kit._run.one_subsample import Job, cluster_under_all, score_labelings
from compsil_kit._run.progress import Meter, make_meter
from compsil_kit._run.request import Request, check_request
from compsil_kit._run.select import announce_compiling
from compsil_kit._run.workers import in_threads
from compsil_kit._settings.keywords import CompareKeywords
from compsil_kit._settings.rules import AUTO, check_fixed
from compsil_kit._settings.surfaces import check_keywords, takes
from compsil_kit.errors import Interrupted

Array = NDArray[np.float64]
Tick = Callable[[], None]

SUBSAMPLED = ("composite", "micro", "macro")
FULL_SILHOUETTES = ("full-micro", "full-macro")
INDICES: dict[str, Callable[[Any, Any], float]] = {
    "calinski-harabasz": calinski_harabasz_score,
    "davies-bouldin": davies_bouldin_score,
}
NEED_POINTS = (*INDICES, "elbow", "gap")


@takes(CompareKeywords)
def compare(X: Any, **keywords: Unpack[CompareKeywords]) -> Comparison:
    """Compare the composite silhouette with the other criteria for the number of clusters.

    The clusterer serves every criterion. The metric is that of the silhouettes; the other criteria are Euclidean by
    definition.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    {keywords}

    Returns
    -------
    Comparison
        Values per k, the choice of each criterion, and who agrees with whom.

    Examples
    --------
    >>> from compsil_kit import compare
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> compare(X, ks=range(2, 8), criteria=["composite", "micro", "macro"]).choices
    {'composite': 5, 'micro': 2, 'macro': 5}
    """
    found = run_comparison(X, keywords)
    assert found is not None
    return found


def run_comparison(X: Any, keywords: Mapping[str, Any], stop: Event | None = None) -> Comparison | None:
    """Compare, until it is done or ``stop`` is set in another thread; then the finished criteria, None without any."""
    check_fixed(keywords, "a comparison")
    request = check_request(X, CompareKeywords, keywords, whole=True)
    settings = check_keywords(CompareKeywords, keywords)
    _check_points(request.data.matrix, request.job, settings["criteria"])
    work = _Work(request, settings)
    if work.run_seeds:
        work.workers = check_memory(
            request.plan, request.job.clusterer, work.workers, request.plan.n_rows, fewer=settings["n_jobs"] == AUTO
        )
    meter = make_meter(settings["progress"], work.n_steps)
    try:
        announce_compiling(request, meter)
        with warnings.catch_warnings():
            work.do(meter, Event() if stop is None else stop)
    except KeyboardInterrupt as stop:
        stopped = Interrupted(work.n_done, work.n_steps, "steps", "the finished criteria are in .result.")
        stopped.result = work.comparison()
        raise stopped from stop
    except BaseException as error:
        error.result = work.comparison()  # type: ignore[attr-defined]
        raise
    finally:
        meter.close()
    return work.comparison()


class _Work:
    """The three parts of a comparison, subsamples, runs on all the data and reference sets, and what is finished."""

    def __init__(self, request: Request, settings: Mapping[str, Any]) -> None:
        self.request, self.wanted, self.workers = request, settings["criteria"], n_workers(request.n_jobs)
        seeds = request.plan.seeds
        repeats = settings["n_repeats"] or request.plan.n_subsamples
        further = [derive_seed(seeds[0], i, stream=FURTHER_RUNS) for i in range(max(0, repeats - len(seeds)))]
        self.run_seeds = [*seeds, *further][:repeats] if set(self.wanted) - set(SUBSAMPLED) else []
        n_references = settings["n_references"] if "gap" in self.wanted else 0
        self.null_seeds = [derive_seed(seeds[0], i, stream=REFERENCES) for i in range(n_references)]
        self.subsampled = bool(set(self.wanted) & set(SUBSAMPLED))
        self.n_steps = self.subsampled * len(seeds) + len(self.run_seeds) + len(self.null_seeds)
        self.n_done = 0
        self.trials: list[Trial] = []
        self.runs: list[dict[str, Array]] = []
        self.nulls: list[dict[str, Array]] = []

    def do(self, meter: Meter, stop: Event) -> None:
        """Do one part after the other; a part that is not finished leaves nothing."""
        X, job = self.request.data.matrix, self.request.job

        def advance() -> None:
            self.n_done += 1
            meter.advance()

        if self.subsampled:
            trials = []
            for trial in run(X, job, self.request.n_jobs, stop=stop):
                trials.append(trial)
                advance()
            self.trials = trials if len(trials) == len(job.plan.seeds) else []
        in_order = partial(_in_order, workers=self.workers, advance=advance, stop=stop)
        self.runs = in_order(_full_run(X, job, self.wanted), self.run_seeds)
        if len(self.runs) == len(self.run_seeds):
            self.nulls = in_order(_null_run(X, job), self.null_seeds)

    def comparison(self) -> Comparison | None:
        """Return the criteria whose part is finished; None if there is none."""
        selection = self.request.result(self.trials) if self.trials else None
        found = [] if selection is None else subsample_criteria(selection, self.wanted)
        found += [*_full_criteria(self.runs, self.wanted), *_gap(self.runs, self.nulls)]
        lost = sum(int(row["failed"].sum()) for row in [*self.runs, *self.nulls])
        lost += sum(len(trial.failures) for trial in self.trials)
        counts = len(self.run_seeds), len(self.null_seeds)
        return Comparison(self.request.plan, selection, tuple(found), *counts, lost) if found else None


def _check_points(X: Any, job: Job, wanted: tuple[str, ...]) -> None:
    """Refuse criteria that need coordinates where there are only distances, or dense data where it is sparse."""
    needing = [name for name in wanted if name in NEED_POINTS]
    if needing and (job.metric.precomputed or sparse.issparse(X)):
        what = "distances alone" if job.metric.precomputed else "a sparse matrix"
        raise ValueError(
            f"criteria {', '.join(needing)} need dense points, but X is {what}. Leave them out of criteria."
        )


def _full_run(X: Any, job: Job, wanted: tuple[str, ...]) -> Callable[[int, int, Tick], dict[str, Array]]:
    """Return a function that clusters all the data under every k and says what each criterion makes of it."""
    measures = {name: measure for name, measure in INDICES.items() if name in wanted}
    if {"elbow", "gap"} & set(wanted):
        measures["dispersion"] = dispersion
    points = _read_only(X)

    def work(index: int, seed: int, tick: Tick) -> dict[str, Array]:
        labelings, *_ = cluster_under_all(points, index, seed, job, tick)
        found = {"failed": _failed(labelings, job)}
        if set(wanted) & set(FULL_SILHOUETTES):
            found["full-micro"], found["full-macro"] = score_labelings(points, labelings, job, tick)
        for name, measure in measures.items():
            found[name] = _per_k(labelings, job, partial(measure, points), tick)
        return found

    return work


def _null_run(X: Any, job: Job) -> Callable[[int, int, Tick], dict[str, Array]]:
    """Return a function that clusters uniform data in the box of X (Tibshirani's null)."""
    low, high = X.min(axis=0), X.max(axis=0)

    def work(index: int, seed: int, tick: Tick) -> dict[str, Array]:
        null = _read_only(np.random.default_rng(seed).uniform(low, high, size=X.shape).astype(X.dtype))
        labelings, *_ = cluster_under_all(null, index, seed, job, tick)
        return {
            "failed": _failed(labelings, job),
            "dispersion": _per_k(labelings, job, partial(dispersion, null), tick),
        }

    return work


def _read_only(X: Any) -> Any:
    """Return X so that a clusterer that writes into its input does not go unnoticed; of sparse data it gets a copy."""
    if sparse.issparse(X):
        return X
    view = X.view()
    view.setflags(write=False)
    return view


def _failed(labelings: dict[int, Any], job: Job) -> Array:
    """Return 1 for every k without a clustering."""
    return np.array([float(at not in labelings) for at in range(len(job.plan.ks))])


def _per_k(labelings: dict[int, Any], job: Job, value: Callable[[Any], float], tick: Tick) -> Array:
    values = np.full(len(job.plan.ks), np.nan)
    for at, codes in labelings.items():
        tick()
        values[at] = value(codes)
    return values


def dispersion(X: Any, codes: NDArray[Any]) -> float:
    """Return the sum of squared distances to the cluster means (k-means' inertia, for any clusterer)."""
    total = 0.0
    for c in range(int(codes.max()) + 1):
        members = X[codes == c].astype(np.float64, copy=False)
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total


def _in_order(
    work: Callable[[int, int, Tick], dict[str, Array]],
    seeds: list[int],
    *,
    workers: int,
    advance: Callable[[], None],
    stop: Event,
) -> list[dict[str, Array]]:
    """Run work on every seed, in threads with one native thread each; return the outcomes in the order of the seeds.

    Nothing is returned if ``stop`` is set before all are finished.
    """
    controller, config = ThreadpoolController(), sklearn.get_config()

    def limited(item: tuple[int, int], tick: Tick) -> tuple[int, dict[str, Array]]:
        with sklearn.config_context(**config), one_openmp_thread(controller):
            return item[0], work(*item, tick)

    found = {}
    with one_blas_thread():
        for index, outcome in in_threads(limited, list(enumerate(seeds)), workers, stop):
            found[index] = outcome
            advance()
    return [found[index] for index in range(len(seeds))] if len(found) == len(seeds) else []


def _full_criteria(runs: list[dict[str, Array]], wanted: tuple[str, ...]) -> list[Criterion]:
    found: list[Criterion] = []
    if not runs:
        return found
    for name in (*FULL_SILHOUETTES, *INDICES, "elbow"):
        if name in wanted:
            key = "dispersion" if name == "elbow" else name
            summary = summarise(np.array([row[key] for row in runs]).T, 1.0)
            found.append(Criterion(name, summary.mean, summary.sem))
    return found


def _gap(runs: list[dict[str, Array]], nulls: list[dict[str, Array]]) -> list[Criterion]:
    """Return the gap statistic with its standard error ``sd sqrt(1 + 1/n)`` over the n null sets, if there are any."""
    if not nulls:
        return []
    expected = summarise(_logs(nulls), 1.0)
    observed = summarise(_logs(runs), 1.0)
    # The standard error has n - 1 below the root; Tibshirani's spread has n.
    spread = expected.sem * np.sqrt(np.maximum(expected.count - 1, 0))
    return [
        Criterion("gap", expected.mean - observed.mean, spread * np.sqrt(1.0 + 1.0 / np.maximum(expected.count, 1)))
    ]


def _logs(runs: list[dict[str, Array]]) -> Array:
    """Return log dispersions, ks by runs; a dispersion of 0 (fewer distinct points than clusters) has none."""
    table = np.array([row["dispersion"] for row in runs]).T
    logs: Array = np.log(table, out=np.full_like(table, np.nan), where=table > 0)
    return logs
