"""A checked request: the data, what is to be computed on them, and how to choose. All mistakes surface here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from compsil_kit.data.dataset import MOST_RATIO, Dataset, as_dataset, scale_ratio
from compsil_kit.data.matrix import check_enough_distinct
from compsil_kit.errors import ScaleWarning, SelectionError
from compsil_kit.method.clusterers import check_input_kind, resolve_clusterer
from compsil_kit.method.criterion import LIKELY
from compsil_kit.method.likelihood import why_unknown
from compsil_kit.method.metrics import check_metric_fits, resolve_metric
from compsil_kit.method.plan import Plan, make_plan
from compsil_kit.method.structure import Structure, check_testable
from compsil_kit.method.weights import Transform
from compsil_kit.result.result import SelectionResult, collect
from compsil_kit.result.trials import Trial
from compsil_kit.run.engine import Job, n_workers
from compsil_kit.run.fingerprint import Fingerprint, fingerprint
from compsil_kit.run.memory import check_memory
from compsil_kit.settings.keywords import SelectKeywords, defaults_of
from compsil_kit.settings.rules import AUTO
from compsil_kit.settings.surfaces import check_keywords
from compsil_kit.util.callers import caller_level


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
        return fingerprint(self.data, self.job)

    def result(self, trials: Sequence[Trial], structure: Structure | None = None) -> SelectionResult:
        """Return the selection from the trials at hand, with the outcome of the test for clusters if it is known."""
        others = {"preparation": self.data.preparation, "structure": structure}
        return collect(self.plan, trials, **vars(self.choice), **others)

    def partial(self, trials: Sequence[Trial]) -> SelectionResult | None:
        """Return what a run that ended early has to show, or None."""
        return self.result(trials) if any(trial.index < self.plan.n_subsamples for trial in trials) else None


def check_request(X: Any, group: type, given: Mapping[str, Any], *, warn: bool = True) -> Request:
    """Check everything that can be checked before computing; what a checkpoint holds is for the run to read.

    ``group`` is the group of keywords that the caller takes; those it does not take have their defaults.
    """
    settings = {**defaults_of(SelectKeywords), **check_keywords(group, given)}
    metric = resolve_metric(settings["metric"])
    clusterer = resolve_clusterer(settings["clusterer"], metric)
    data = as_dataset(X)
    plan = make_plan(data.matrix.shape, str(data.matrix.dtype), settings, clusterer, metric)
    check_input_kind(clusterer, data.matrix)
    _check_criterion(settings["criterion"], plan)
    check_metric_fits(metric, data.matrix)
    if plan.structure:
        check_testable(clusterer, metric, data.matrix)
    check_enough_distinct(data.matrix, plan.ks[-1])
    if warn and not isinstance(X, Dataset) and not metric.precomputed:
        warn_of_scale(data.matrix, "prepare(df, scale='standard') or StandardScaler; or pass prepare(df, scale=None)")
    by_itself = settings["n_jobs"] == AUTO
    workers = check_memory(plan, clusterer, n_workers(settings["n_jobs"]), fewer=by_itself)
    job = Job(plan, clusterer, metric, skip_failures=settings["on_failure"] == "skip")
    choice = Choice(settings["transform"], settings["rule"], settings["z"], settings["criterion"])
    return Request(data, job, choice, workers if by_itself else settings["n_jobs"], settings["checkpoint"])


def _check_criterion(criterion: str, plan: Plan) -> None:
    """Refuse a criterion that has nothing to say of this selection before it is computed, not after."""
    reason = why_unknown(plan, plan.n_subsamples) if criterion == LIKELY else ""
    if reason:
        raise ValueError(f"criterion='likely' chooses by the confidence: {reason}. Pass criterion='stable' or another.")


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
    if result.best_index is None:
        error = SelectionError(result.explain())
        error.result = result
        raise error
    return result
