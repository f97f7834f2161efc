"""What changes in a result under another transformation or rule, or with fewer subsamples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compsil_kit._method import selection
from compsil_kit._method.criterion import CRITERIA
from compsil_kit._method.weights import Transform, check_transform, transform_name
from compsil_kit._util.checks import check_choice, check_integer, check_real

if TYPE_CHECKING:
    from compsil_kit._result.result import SelectionResult


def changed_fields(
    result: SelectionResult,
    transform: Transform | None,
    rule: str | None,
    z: float | None,
    n_subsamples: int | None,
    criterion: str | None,
) -> dict[str, Any]:
    """Return the fields that differ from those of ``result``; None keeps what it has."""
    fields: dict[str, Any] = {}
    if transform is not None:
        fields.update(transform=check_transform(transform), saved=None)
    elif result.saved is not None and (rule, z, n_subsamples, criterion) != (None,) * 4:
        raise ValueError(
            f"the transformation {transform_name(result.transform)!r} was a function, which is not saved with a "
            "result: pass transform= as well."
        )
    if rule is not None:
        fields["rule"] = check_choice("rule", rule, selection.RULES)
    if criterion is not None:
        fields["criterion"] = check_choice("criterion", criterion, CRITERIA)
    if z is not None:
        fields["z"] = check_real("z", z, low=0.0, high=1e6)
    if n_subsamples is not None:
        fields.update(_first(result, check_integer("n_subsamples", n_subsamples, minimum=1)))
    return fields


def _first(result: SelectionResult, n: int) -> dict[str, Any]:
    """Return the fields of a result from the first n of its subsamples."""
    if n > result.n_subsamples:
        raise ValueError(f"n_subsamples must be at most the {result.n_subsamples} that were scored; got {n}.")
    plan, calibration = result.plan, result.calibration
    kept = set(result.trials.subsamples[:n]) | set(calibration.subsamples)
    fields: dict[str, Any] = {
        "trials": result.trials.first(n),
        "failures": tuple(failure for failure in result.failures if failure.subsample in kept),
    }
    # In a partial result the first n that are finished need not be 0 .. n-1; the plan then stays as it was.
    if result.trials.subsamples[:n] == tuple(range(n)):
        shift = plan.n_subsamples - n
        seeds = plan.seeds[:n] + plan.seeds[plan.n_subsamples :]
        fields["plan"] = replace(plan, n_subsamples=n, seeds=seeds)
        fields["calibration"] = replace(calibration, subsamples=tuple(b - shift for b in calibration.subsamples))
        fields["failures"] = tuple(
            failure if failure.subsample < n else replace(failure, subsample=failure.subsample - shift)
            for failure in fields["failures"]
        )
    return fields
