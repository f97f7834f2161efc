"""A checked request: the data, what is to be computed on them, and how to choose. All mistakes surface here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compsil_kit.data.matrix import check_enough_distinct, read
from compsil_kit.data.table import Preparation
from compsil_kit.method.clusterers import check_input_kind, resolve_clusterer
from compsil_kit.method.metrics import check_metric_fits, resolve_metric
from compsil_kit.method.plan import Plan, make_plan
from compsil_kit.method.selection import RULES
from compsil_kit.method.weights import Transform, check_transform
from compsil_kit.result.result import SelectionResult
from compsil_kit.result.trials import Trial, Trials
from compsil_kit.run.checkpoint import check_checkpoint
from compsil_kit.run.engine import Job, n_workers
from compsil_kit.run.memory import check_memory
from compsil_kit.util.checks import check_choice, check_integer, check_real, describe, is_integer

ON_FAILURE = ("raise", "skip")


@dataclass(frozen=True)
class Request:
    """The data, the job, and how to choose from its trials."""

    X: Any
    job: Job
    transform: Transform
    rule: str
    z: float
    n_jobs: int | None
    preparation: Preparation | None
    checkpoint: Path | None = None

    def result(self, trials: Sequence[Trial]) -> SelectionResult:
        """Return the selection from the trials at hand."""
        choice = {"transform": self.transform, "rule": self.rule, "z": self.z}
        return collect(self.job.plan, trials, **choice, preparation=self.preparation)

    def partial(self, trials: Sequence[Trial]) -> SelectionResult | None:
        """Return what a run that ended early has to show, or None."""
        n_subsamples = self.job.plan.n_subsamples
        return self.result(trials) if any(trial.index < n_subsamples for trial in trials) else None


def collect(plan: Plan, trials: Sequence[Trial], **others: Any) -> SelectionResult:
    """Return the result of the trials, finished in any order, of a plan."""
    scored = [trial for trial in trials if trial.index < plan.n_subsamples]
    calibration = [trial for trial in trials if trial.index >= plan.n_subsamples]
    failures = sorted((f for trial in trials for f in trial.failures), key=lambda f: (f.subsample, f.k))
    return SelectionResult(
        plan=plan,
        trials=Trials.collect(scored, len(plan.ks)),
        calibration=Trials.collect(calibration, len(plan.ks)),
        failures=tuple(failures),
        **others,
    )


def check_rule(transform: Any, rule: Any, z: Any, n_subsamples: Any) -> dict[str, Any]:
    """Check how to choose, and return it as keywords of a result."""
    choice = {
        "transform": check_transform(transform),
        "rule": check_choice("rule", rule, RULES),
        "z": check_real("z", z, low=0.0, high=1e6),
    }
    if rule == "lcb" and is_integer(n_subsamples):
        check_integer("n_subsamples with rule='lcb'", n_subsamples, minimum=2)
    return choice


def check_request(
    X: Any, *, ks: Any, clusterer: Any, n_subsamples: Any, sample_size: Any, metric: Any, transform: Any, rule: Any,
    z: Any, n_calibration: Any, on_failure: Any, n_jobs: Any, random_state: Any,
    checkpoint: Any = None,
) -> Request:  # fmt: skip
    """Check everything that can be checked before computing; what a checkpoint holds is for the run to read."""
    choice = check_rule(transform, rule, z, n_subsamples)
    on_failure = check_choice("on_failure", on_failure, ON_FAILURE)
    check_n_jobs(n_jobs)
    measure = resolve_metric(metric)
    method = resolve_clusterer(clusterer, measure)
    path = check_checkpoint(checkpoint, random_state)
    names, matrix = read(X)
    decided = make_plan(
        matrix.shape, str(matrix.dtype), ks=ks, n_subsamples=n_subsamples, n_calibration=n_calibration,
        sample_size=sample_size, random_state=random_state, clusterer=method, metric=measure,
    )  # fmt: skip
    check_input_kind(method, matrix)
    check_metric_fits(measure, matrix)
    check_enough_distinct(matrix, decided.ks[-1])
    check_memory(decided, method, n_workers(n_jobs))
    job = Job(decided, method, measure, skip_failures=on_failure == "skip")
    preparation = None if names is None else Preparation(tuple(names))
    return Request(matrix, job, **choice, n_jobs=n_jobs, preparation=preparation, checkpoint=path)


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that joblib would not understand."""
    if n_jobs is None or (is_integer(n_jobs) and n_jobs != 0 and abs(n_jobs) < 10**6):
        return
    error = ValueError if is_integer(n_jobs) else TypeError
    raise error(f"n_jobs must be None, a number of workers, or -1 for all cores; got {describe(n_jobs)}.")
