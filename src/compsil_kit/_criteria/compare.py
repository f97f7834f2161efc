"""``compare``: the composite silhouette and other criteria for the number of clusters, on the same clusterings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from compsil_kit._config.setting import takes
from compsil_kit._criteria.comparison import KINDS, Comparison, Criterion
from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import load_data
from compsil_kit._method.labels import read_only
from compsil_kit._method.selection import summarise
from compsil_kit._method.subsample import REFERENCE_STREAM, REPEAT_STREAM, derive_seed
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import run
from compsil_kit._run.planning import load, make_plan, resolve_workers
from compsil_kit._run.progress import Meter
from compsil_kit._run.select import compile_notice
from compsil_kit._run.subsample import cluster_all, score_labelings
from compsil_kit._run.workers import Tick, in_threads
from compsil_kit._types import CompareKeywords
from compsil_kit.config import ComparisonConfig
from compsil_kit.errors import Interrupted
from compsil_kit.events import Events
from compsil_kit.plan import Plan
from compsil_kit.result import collect

Array = NDArray[np.float64]
# Measures by name, each of shape (n_ks, n_runs).
Measured = dict[str, Array]


def dispersion(X: Any, codes: NDArray[Any]) -> float:
    """Return the sum of squared distances to the cluster means (the inertia, for any clusterer)."""
    total = 0.0
    for c in range(int(codes.max()) + 1):
        members = X[codes == c].astype(np.float64, copy=False)
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total


SUBSAMPLED = ("composite", "micro", "macro")
FULL_SILHOUETTES = ("full-micro", "full-macro")
MEASURES: dict[str, Callable[[Any, Any], float]] = {
    "calinski-harabasz": calinski_harabasz_score,
    "davies-bouldin": davies_bouldin_score,
    "elbow": dispersion,
}
NEED_POINTS = (*MEASURES, "gap")


@takes(ComparisonConfig, Events, leave_out=("checkpoint",))
def compare(X: Any, **keywords: Unpack[CompareKeywords]) -> Comparison:
    """Compare the composite silhouette with other criteria for the number of clusters.

    All criteria use the same clusterer. The metric applies only to the silhouettes; the other criteria are Euclidean by
    definition.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    {keywords}

    Returns
    -------
    Comparison
        Values per k, and the k selected by each criterion.

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
    """Compare until all criteria are done or ``events.stop`` is set, and return the finished criteria (None if none).

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data.
    config : ComparisonConfig
        The settings.
    events : Events
        Progress reporting and the stop event.
    """
    table = load_data(X)
    plan = make_plan(table, config.selection)
    data = load(table, plan, events)
    precomputed = plan.config.resolved_metric.precomputed
    needing = [name for name in config.criteria if name in NEED_POINTS]
    if needing and (precomputed or sparse.issparse(data.matrix)):
        what = "a distance matrix" if precomputed else "a sparse matrix"
        raise ValueError(
            f"criteria {', '.join(needing)} need dense points, but X is {what}. Remove them from criteria."
        )
    work = _Work(data.matrix, plan, config, events)
    meter = Meter(events.progress, work.n_steps)
    try:
        meter.announce(compile_notice(plan, data))
        with warnings.catch_warnings():
            for _ in work.steps():
                work.n_done += 1
                meter.advance()
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
    """The three parts of a comparison (subsamples, runs on the full data, reference sets) and the finished work."""

    def __init__(self, X: Any, plan: Plan, config: ComparisonConfig, events: Events) -> None:
        self.X, self.plan, self.events, self.wanted = X, plan, events, set(config.criteria)
        seeds = plan.seeds
        repeats = config.n_repeats or plan.n_subsamples
        further = [derive_seed(seeds[0], i, stream=REPEAT_STREAM) for i in range(max(0, repeats - len(seeds)))]
        self.run_seeds = [*seeds, *further][:repeats] if self.wanted.difference(SUBSAMPLED) else []
        n_references = config.n_references if "gap" in self.wanted else 0
        self.null_seeds = [derive_seed(seeds[0], i, stream=REFERENCE_STREAM) for i in range(n_references)]
        self.subsampled = bool(self.wanted.intersection(SUBSAMPLED))
        self.n_steps = self.subsampled * len(seeds) + len(self.run_seeds) + len(self.null_seeds)
        self.n_done = 0
        self.workers = resolve_workers(plan, plan.n_rows) if self.run_seeds else 0
        self.trials: list[Trial] = []
        self.runs: Measured = {}
        self.nulls: Measured = {}

    def steps(self) -> Generator[None, None, None]:
        """Run the parts in turn and yield after each step; results of an unfinished part are discarded."""
        if self.subsampled:
            trials = []
            for trial in run(self.X, self.plan, self.events):
                trials.append(trial)
                yield
            self.trials = trials if len(trials) == len(self.plan.seeds) else []
        points = read_only(self.X)
        if self.run_seeds:
            names = self.wanted | ({"elbow"} if "gap" in self.wanted else set())
            self.runs = yield from self._measure(lambda _: points, self.run_seeds, names)
        if self.runs and self.null_seeds:
            self.nulls = yield from self._measure(lambda seed: _null(points, seed), self.null_seeds, {"elbow"})

    def _measure(
        self, points_of: Callable[[int], Any], seeds: list[int], names: set[str]
    ) -> Generator[None, None, Measured]:
        """Cluster the points for every seed in threads; return the measures, or an empty dict if stopped."""
        plan = self.plan

        def work(item: tuple[int, int], tick: Tick) -> tuple[int, Measured]:
            index, seed = item
            points = points_of(seed)
            labelings, _, failures = cluster_all(points, index, plan, tick, seed=seed)
            found = {"failed": np.array(len(failures))}
            if names.intersection(FULL_SILHOUETTES):
                found["full-micro"], found["full-macro"] = score_labelings(points, labelings, plan, tick)
            for name in (name for name in MEASURES if name in names):
                found[name] = np.full(len(plan.ks), np.nan)
                for at, codes in labelings.items():
                    tick()
                    found[name][at] = MEASURES[name](points, codes)
            return index, found

        outcomes = {}
        for index, outcome in in_threads(work, list(enumerate(seeds)), self.workers, self.events.stop):
            outcomes[index] = outcome
            yield
        if len(outcomes) < len(seeds):
            return {}
        return {name: np.array([outcomes[index][name] for index in range(len(seeds))]).T for name in outcomes[0]}

    def comparison(self, preparation: Preparation | None) -> Comparison | None:
        """Return the finished criteria, or None if no part is finished."""
        choice = self.plan.config.choice
        selection = collect(self.plan, self.trials, **choice, preparation=preparation) if self.trials else None
        tables = {} if selection is None else {name: getattr(selection, name) for name in SUBSAMPLED}
        tables |= self.runs
        names = [name for name in KINDS if name in self.wanted and name in tables]
        summaries = [summarise(tables[name], 1.0) for name in names]
        found = [Criterion(name, each.mean, each.sem) for name, each in zip(names, summaries, strict=True)]
        if self.nulls:
            found.append(_gap(self.runs["elbow"], self.nulls["elbow"]))
        lost = sum(int(part["failed"].sum()) for part in (self.runs, self.nulls) if part)
        lost += sum(len(trial.failures) for trial in self.trials)
        counts = len(self.run_seeds), len(self.null_seeds)
        return Comparison(self.plan, selection, tuple(found), *counts, lost) if found else None


def _null(X: Any, seed: int) -> Any:
    """Return data drawn uniformly from the bounding box of X (Tibshirani's null)."""
    null = np.random.default_rng(seed).uniform(X.min(axis=0), X.max(axis=0), size=X.shape).astype(X.dtype)
    return read_only(null)


def _gap(*dispersions: Array) -> Criterion:
    """Return the gap statistic from the dispersions of the data and of n null sets, each of shape (n_ks, n_runs).

    The standard error is ``sd sqrt(1 + 1/n)``. A dispersion of 0 (fewer distinct points than clusters) is ignored.
    """
    logs = (np.log(each, out=np.full_like(each, np.nan), where=each > 0) for each in dispersions)
    observed, expected = (summarise(each, 1.0) for each in logs)
    # The standard error divides by n - 1; Tibshirani's spread divides by n.
    spread = expected.sem * np.sqrt(np.maximum(expected.count - 1, 0))
    errors = spread * np.sqrt(1.0 + 1.0 / np.maximum(expected.count, 1))
    return Criterion("gap", expected.mean - observed.mean, errors)
