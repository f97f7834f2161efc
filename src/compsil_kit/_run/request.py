"""A checked request: the data, what is to be computed on them, and how to choose. All mistakes surface here."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from compsil_kit._data.dataset import MOST_RATIO, Dataset, scale_ratio
from compsil_kit._data.distinct import check_enough_distinct
from compsil_kit._data.given import as_dataset, as_given
from compsil_kit._data.sources.fetched import known_rows
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._method.clusterers import Clusterer, check_input_kind, resolve_clusterer
from compsil_kit._method.likelihood import why_unknown
from compsil_kit._method.metrics import Metric, check_metric_fits, resolve_metric
from compsil_kit._method.plan import Plan, make_plan
from compsil_kit._method.selection import LIKELY
from compsil_kit._method.structure import Structure, check_testable
from compsil_kit._method.weights import Transform
from compsil_kit._result.trials import Trial
from compsil_kit._run.backends import is_elsewhere
from compsil_kit._run.engine import n_workers
from compsil_kit._run.fetching import fetch
from compsil_kit._run.fingerprint import Fingerprint, fingerprint
from compsil_kit._run.memory import check_memory, fetched_bytes
from compsil_kit._run.one_subsample import Job
from compsil_kit._settings.keywords import SelectKeywords, defaults_of
from compsil_kit._settings.rules import AUTO
from compsil_kit._settings.surfaces import check_keywords
from compsil_kit._util.warn import caller_level
from compsil_kit.errors import ScaleWarning, SelectionError
from compsil_kit.result import SelectionResult, collect


@dataclass(frozen=True)
class Choice:
    """How to choose from trials."""

    transform: Transform
    rule: str
    z: float
    criterion: str = "composite"


@dataclass(frozen=True)
class Request:
    """The data, what is to be computed on them, how to choose from the trials, and how to run."""

    data: Dataset
    job: Job
    choice: Choice
    n_jobs: int | None = None
    checkpoint: Path | None = None

    @property
    def plan(self) -> Plan:
        """What will be computed."""
        return self.job.plan

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """All that decides the trials."""
        return fingerprint(self.data, self.job, vars(self.choice))

    def result(
        self, trials: Sequence[Trial], structure: Structure | None = None, *, finished: bool = False
    ) -> SelectionResult:
        """Return the selection from the trials at hand, with the outcome of the test for clusters if it is known.

        ``finished`` where nothing more is to come, though fewer subsamples were needed than planned.
        """
        others = {"preparation": self.data.preparation, "structure": structure}
        return collect(self.plan, trials, finished=finished, **vars(self.choice), **others)

    def partial(self, trials: Sequence[Trial]) -> SelectionResult | None:
        """Return what a run that ended early has to show, or None."""
        return self.result(trials) if any(trial.index < self.plan.n_subsamples for trial in trials) else None


@dataclass(frozen=True)
class _Planned:
    """What is known before the data are looked at."""

    settings: Mapping[str, Any]
    given: Dataset | SourceTable
    plan: Plan
    clusterer: Clusterer
    metric: Metric

    def workers(self) -> int:
        """Return the number of workers, if what they need fits into memory."""
        n_jobs = self.settings["n_jobs"]
        held = fetched_bytes(self.plan) if isinstance(self.given, SourceTable) else 0
        workers = n_workers(n_jobs)
        # What the machines of a cluster have free is not known here; each of them runs a worker at least.
        here = 1 if is_elsewhere() else workers
        fitting = check_memory(self.plan, self.clusterer, here, held=held, fewer=n_jobs == AUTO)
        return workers if is_elsewhere() else fitting


def check_request(
    X: Any,
    group: type,
    given: Mapping[str, Any],
    *,
    warn: bool = True,
    whole: bool = False,
    indices: Collection[int] | None = None,
    digest: bool = False,
) -> Request:
    """Check everything that can be checked before computing; what a checkpoint holds is for the run to read.

    ``group`` is the group of keywords that the caller takes; those it does not take have their defaults. Of a large
    table outside memory the rows of all subsamples are read, or of those in ``indices``, and on request a digest of
    all rows is taken; ``whole`` loads it.
    """
    known = _planned(X, group, given, whole=whole)
    return _looked_at(known, isinstance(X, Dataset) or not warn, indices, digest=digest)


def check_plan(X: Any, group: type, given: Mapping[str, Any]) -> Plan:
    """Return the plan; of a large table outside memory only the size and the columns are looked at."""
    known = _planned(X, group, given)
    if isinstance(known.given, SourceTable):
        known.workers()
    else:
        _looked_at(known, isinstance(X, Dataset))
    return known.plan


def _looked_at(
    known: _Planned, prepared: bool, indices: Collection[int] | None = None, *, digest: bool = False
) -> Request:
    """Return the request once its data have been checked; columns of different scales are no mistake if prepared."""
    settings, plan, clusterer, metric = known.settings, known.plan, known.clusterer, known.metric
    workers, data = known.workers(), known.given
    if isinstance(data, SourceTable):
        prepared = prepared or data.prepared
        digest = digest or settings["checkpoint"] is not None
        data = fetch(data, plan, indices, settings["progress"], digest=digest)
    matrix = known_rows(data.matrix)
    check_input_kind(clusterer, matrix)
    check_metric_fits(metric, matrix)
    if plan.structure:
        check_testable(clusterer, metric, matrix)
    check_enough_distinct(matrix, plan.ks[-1], whole=matrix is data.matrix)
    if not prepared and not metric.precomputed:
        warn_of_scale(matrix, "prepare(df, scale='standard') or StandardScaler; or pass prepare(df, scale=None)")
    job = Job(plan, clusterer, metric, skip_failures=settings["on_failure"] == "skip")
    choice = Choice(settings["transform"], settings["rule"], settings["z"], settings["criterion"])
    by_itself = settings["n_jobs"] == AUTO
    return Request(data, job, choice, workers if by_itself else settings["n_jobs"], settings["checkpoint"])


def _planned(X: Any, group: type, given: Mapping[str, Any], *, whole: bool = False) -> _Planned:
    settings = {**defaults_of(SelectKeywords), **check_keywords(group, given)}
    metric = resolve_metric(settings["metric"])
    clusterer = resolve_clusterer(settings["clusterer"], metric)
    data = as_dataset(X) if whole else as_given(X)
    outside = isinstance(data, SourceTable)
    if outside and metric.precomputed:
        raise ValueError("metric='precomputed' needs the matrix of distances in memory. Load it first.")
    plan = make_plan(data.shape, str(data.dtype), settings, clusterer, metric)
    if isinstance(data, SourceTable):
        plan = replace(plan, scanned_bytes=data.n_bytes)
    _check_criterion(settings["criterion"], plan)
    return _Planned(settings, data, plan, clusterer, metric)


def _check_criterion(criterion: str, plan: Plan) -> None:
    """Refuse a criterion that has nothing to say of this selection before it is computed, not after."""
    reason = why_unknown(plan, plan.n_subsamples) if criterion == LIKELY else ""
    if reason:
        raise ValueError(
            f"criterion='likely' selects k by the confidence, which is not known here: {reason}. Pass "
            "criterion='stable' or another."
        )


def warn_of_scale(matrix: Any, means: str) -> None:
    """Say in one line, at the line that called, that columns of a large scale would decide the clusters."""
    ratio = scale_ratio(matrix)
    if ratio > MOST_RATIO:
        warnings.warn(
            f"the columns of X differ in scale by a factor of {ratio:,.0f}, and X is used as it is: columns of a large "
            f"scale decide the clusters. Scale them first, with {means} if this is meant.",
            ScaleWarning,
            stacklevel=caller_level(),
        )


def chosen(result: SelectionResult) -> SelectionResult:
    """Return the result if it has a choice, or say why it has none."""
    if result._best_index is None:
        error = SelectionError(result.explain())
        error.result = result
        raise error
    return result
