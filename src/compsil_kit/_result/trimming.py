"""A plan of as many subsamples as it takes, once it is known how many that were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compsil_kit._method.plan import Plan
from compsil_kit._result.trials import Trial


def trimmed(plan: Plan, trials: Sequence[Trial]) -> tuple[Plan, list[Trial]]:
    """Return the plan without the subsamples that were not needed, and the trials under their numbers in it."""
    n = sum(trial.index < plan.n_subsamples for trial in trials)
    shift = plan.n_subsamples - n
    shorter = replace(plan, n_subsamples=n, seeds=plan.seeds[:n] + plan.seeds[plan.n_subsamples :])
    return shorter, [trial if trial.index < n else _moved(trial, shift) for trial in trials]


def _moved(trial: Trial, shift: int) -> Trial:
    failures = tuple(replace(failure, subsample=failure.subsample - shift) for failure in trial.failures)
    return replace(trial, index=trial.index - shift, failures=failures)
