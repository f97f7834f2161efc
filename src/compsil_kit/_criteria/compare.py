"""``compare``: the composite silhouette and other criteria for the number of clusters, on the same clusterings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from compsil_kit._config.setting import takes
from compsil_kit._criteria.comparison import Comparison, subsample_criteria
from compsil_kit._criteria.criteria import Criterion
from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import load_data
from compsil_kit._method.selection import summarise
from compsil_kit._method.subsample import REFERENCE_STREAM, REPEAT_STREAM, derive_seed
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import run
from compsil_kit._run.planning import load, make_plan, resolve_workers
from compsil_kit._run.progress import Meter, make_meter
from compsil_kit._run.select import compile_notice
from compsil_kit._run.subsample import Labelings, cluster_all, score_labelings
from compsil_kit._run.workers import Tick, in_threads, n_workers
from compsil_kit._types import CompareKeywords
from compsil_kit.config import ComparisonConfig, Events
from compsil_kit.errors import Interrupted
from compsil_kit.plan import Plan
from compsil_kit.result import collect

Array = NDArray[np.float64]

SUBSAMPLED = ("composite", "micro", "macro")
FULL_SILHOUETTES = ("full-micro", "full-macro")
INDICES: dict[str, Callable[[Any, Any], float]] = {
    "calinski-harabasz": calinski_harabasz_score,
    "davies-bouldin": davies_bouldin_score,
}
NEED_POINTS = (*INDICES, "elbow", "gap")


@takes(ComparisonConfig, Events, leave_out=("checkpoint",))
def compare(X: Any, **keywords: Unpack[CompareKeywords]) -> Comparison:
    """Compare the composite silhouette with other criteria for the number of clusters.

    All criteria use the same clusterer. The metric is that of the silhouettes; the other criteria are Euclidean by
    definition.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    {keywords}

    Returns
    -------
    Comparison
        Values per k, the choice of each criterion, and which criteria agree.

    Examples
    --------
    >>> from compsil_kit import compare
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> compare(X, ks=range(2, 8), criteria=["composite", "micro", "macro"]).choices
    {'composite': 5, 'micro': 2, 'macro': 5}
    """
    events = Events(progress=keywords.pop("progress", None))
    found = run_comparison(X, ComparisonConfig.from_dict(keywords), events)
    assert found is not None
    return found


def run_comparison(X: Any, config: ComparisonConfig, events: Events) -> Comparison | None:
    """Compare until all criteria are done or ``events.stop`` is set; return the finished criteria, None without any.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    config : ComparisonConfig
        The settings.
    events : Events
        Progress and stop.
    """
    table = load_data(X)
    plan = make_plan(table, config.selection())
    data = load(table, plan, events)
    _check_points(data.matrix, plan, config)
    work = _Work(data.matrix, plan, config, events)
    if work.run_seeds:
        work.workers = resolve_workers(plan, plan.n_rows)
    meter = make_meter(events.progress, work.n_steps)
    try:
        meter.announce(compile_notice(plan, data))
        with warnings.catch_warnings():
            work.do(meter)
    except KeyboardInterrupt as stop:
        stopped = Interrupted(work.n_done, work.n_steps, "steps", "the finished criteria are in .result.")
        stopped.result = work.comparison(data.preparation)
        raise stopped from stop
    except BaseException as error:
        error.result = work.comparison(data.preparation)  # type: ignore[attr-defined]
        raise
    finally:
        meter.close()
    return work.comparison(data.preparation)


class _Work:
    """The three parts of a comparison (subsamples, runs on all the data, reference sets), and what is finished."""

    def __init__(self, X: Any, plan: Plan, config: ComparisonConfig, events: Events) -> None:
        self.X, self.plan, self.events = X, plan, events
        self.wanted, self.workers = tuple(config.criteria), n_workers(config.n_jobs)
        seeds = plan.seeds
        repeats = config.n_repeats or plan.n_subsamples
        further = [derive_seed(seeds[0], i, stream=REPEAT_STREAM) for i in range(max(0, repeats - len(seeds)))]
        self.run_seeds = [*seeds, *further][:repeats] if set(self.wanted) - set(SUBSAMPLED) else []
        n_references = config.n_references if "gap" in self.wanted else 0
        self.null_seeds = [derive_seed(seeds[0], i, stream=REFERENCE_STREAM) for i in range(n_references)]
        self.subsampled = bool(set(self.wanted) & set(SUBSAMPLED))
        self.n_steps = self.subsampled * len(seeds) + len(self.run_seeds) + len(self.null_seeds)
        self.n_done = 0
        self.trials: list[Trial] = []
        self.runs: list[dict[str, Array]] = []
        self.nulls: list[dict[str, Array]] = []

    def do(self, meter: Meter) -> None:
        """Run the parts in turn; an unfinished part leaves nothing."""

        def advance() -> None:
            self.n_done += 1
            meter.advance()

        if self.subsampled:
            trials = []
            for trial in run(self.X, self.plan, self.events):
                trials.append(trial)
                advance()
            self.trials = trials if len(trials) == len(self.plan.seeds) else []
        self.runs = self._in_order(_full_run(self.X, self.plan, self.wanted), self.run_seeds, advance)
        if len(self.runs) == len(self.run_seeds):
            self.nulls = self._in_order(_null_run(self.X, self.plan), self.null_seeds, advance)

    def _in_order(
        self, work: Callable[[int, int, Tick], dict[str, Array]], seeds: list[int], advance: Callable[[], None]
    ) -> list[dict[str, Array]]:
        """Run the work on every seed in threads; return the outcomes in the order of the seeds, or none if stopped."""

        def numbered(item: tuple[int, int], tick: Tick) -> tuple[int, dict[str, Array]]:
            return item[0], work(*item, tick)

        found = {}
        for index, outcome in in_threads(numbered, list(enumerate(seeds)), self.workers, self.events.stop):
            found[index] = outcome
            advance()
        return [found[index] for index in range(len(seeds))] if len(found) == len(seeds) else []

    def comparison(self, preparation: Preparation | None) -> Comparison | None:
        """Return the criteria whose part is finished; None if there is none."""
        choice = self.plan.config.choice
        selection = collect(self.plan, self.trials, **choice, preparation=preparation) if self.trials else None
        found = [] if selection is None else subsample_criteria(selection, self.wanted)
        found += [*_full_criteria(self.runs, self.wanted), *_gap(self.runs, self.nulls)]
        lost = sum(int(row["failed"].sum()) for row in [*self.runs, *self.nulls])
        lost += sum(len(trial.failures) for trial in self.trials)
        counts = len(self.run_seeds), len(self.null_seeds)
        return Comparison(self.plan, selection, tuple(found), *counts, lost) if found else None


def _check_points(X: Any, plan: Plan, config: ComparisonConfig) -> None:
    """Raise for criteria that need dense points if X is a distance matrix or sparse."""
    needing = [name for name in config.criteria if name in NEED_POINTS]
    precomputed = plan.config.resolved_metric.precomputed
    if needing and (precomputed or sparse.issparse(X)):
        what = "a distance matrix" if precomputed else "a sparse matrix"
        raise ValueError(
            f"criteria {', '.join(needing)} need dense points, but X is {what}. Leave them out of criteria."
        )


def _full_run(X: Any, plan: Plan, wanted: tuple[str, ...]) -> Callable[[int, int, Tick], dict[str, Array]]:
    """Return a function that clusters all the data under every k and computes each criterion."""
    measures = {name: measure for name, measure in INDICES.items() if name in wanted}
    if {"elbow", "gap"} & set(wanted):
        measures["dispersion"] = dispersion
    points = _read_only(X)

    def work(index: int, seed: int, tick: Tick) -> dict[str, Array]:
        labelings, *_ = cluster_all(points, index, plan, tick, seed=seed)
        found = {"failed": _failed(labelings, plan)}
        if set(wanted) & set(FULL_SILHOUETTES):
            found["full-micro"], found["full-macro"] = score_labelings(points, labelings, plan, tick)
        for name, measure in measures.items():
            found[name] = _per_k(labelings, plan, partial(measure, points), tick)
        return found

    return work


def _null_run(X: Any, plan: Plan) -> Callable[[int, int, Tick], dict[str, Array]]:
    """Return a function that clusters uniform data in the box of X (Tibshirani's null)."""
    low, high = X.min(axis=0), X.max(axis=0)

    def work(index: int, seed: int, tick: Tick) -> dict[str, Array]:
        null = _read_only(np.random.default_rng(seed).uniform(low, high, size=X.shape).astype(X.dtype))
        labelings, *_ = cluster_all(null, index, plan, tick, seed=seed)
        return {
            "failed": _failed(labelings, plan),
            "dispersion": _per_k(labelings, plan, partial(dispersion, null), tick),
        }

    return work


def _read_only(X: Any) -> Any:
    """Return a read-only view of X, so that a clusterer that writes into it fails; sparse data are copied later."""
    if sparse.issparse(X):
        return X
    view = X.view()
    view.setflags(write=False)
    return view


def _failed(labelings: Labelings, plan: Plan) -> Array:
    """Return 1 for every k without a clustering."""
    return np.array([float(at not in labelings) for at in range(len(plan.ks))])


def _per_k(labelings: Labelings, plan: Plan, value: Callable[[Any], float], tick: Tick) -> Array:
    values = np.full(len(plan.ks), np.nan)
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
