"""What a worker hands over of one subsample, and the agreement of its clusterings with those of the one before."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.agreement import agreement, shared_rows
from compsil_kit._method.plan import Plan
from compsil_kit._result.trials import Trial

Array = NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """One subsample: its labels by position in ks, the rows that they are of, and its trial.

    The rows are None if they are those that all subsamples label. There is no trial if only the labels were wanted.
    """

    index: int
    rows: Array | None
    labelings: dict[int, Array]
    trial: Trial | None = None


def with_predecessors(wanted: Collection[int], plan: Plan) -> list[int]:
    """Return the subsamples to cluster: those that are wanted, and ahead of each the one before it."""
    known, order = set(wanted), []
    for index in wanted:
        if plan.before(index) is not None and index - 1 not in known:
            known.add(index - 1)
            order.append(index - 1)
        order.append(index)
    return order


def paired(outcomes: Iterable[Outcome], plan: Plan, wanted: Collection[int]) -> Generator[Trial, None, None]:
    """Yield the trials with their agreements, each as soon as its own labels and those of the one before are there.

    Where the run ends early, those that still wait are yielded last, as they are.
    """
    known: dict[int, Outcome] = {}
    missing = set(wanted)
    try:
        for arrived in outcomes:
            known[arrived.index] = arrived
            for index in (arrived.index, arrived.index + 1):
                trial = _ready(known, index, plan) if index in missing else None
                if trial is not None:
                    missing.remove(index)
                    yield trial
            # Labels are kept no longer than they are needed.
            known = {
                index: kept
                for index, kept in known.items()
                if index in missing or (index + 1 in missing and plan.before(index + 1) is not None)
            }
    except (Exception, KeyboardInterrupt):
        yield from _waiting(known, missing, plan)
        raise
    yield from _waiting(known, missing, plan)


def _waiting(known: Mapping[int, Outcome], missing: Collection[int], plan: Plan) -> list[Trial]:
    """Return the trials that have not been handed over: what was computed is not lost.

    The predecessor of most never came, so they lack their agreements; only if the comparison itself was interrupted,
    it is made now.
    """
    outcomes = [known[index] for index in sorted(known) if index in missing]
    return [
        _ready(known, outcome.index, plan) or replace(outcome.trial, whole=False)
        for outcome in outcomes
        if outcome.trial is not None
    ]


def _ready(known: Mapping[int, Outcome], index: int, plan: Plan) -> Trial | None:
    """Return the trial of a subsample with its agreements, or None as long as something of it is missing."""
    here, before = known.get(index), known.get(index - 1)
    if here is None or here.trial is None:
        return None
    if plan.before(index) is None:
        return here.trial
    return None if before is None else replace(here.trial, agreement=_agreements(before, here, plan))


def _agreements(before: Outcome, here: Outcome, plan: Plan) -> tuple[float, ...]:
    in_both: tuple[Any, Any] = slice(None), slice(None)
    if before.rows is not None and here.rows is not None:
        in_both = shared_rows(before.rows, here.rows)
    return tuple(
        agreement(before.labelings[at][in_both[0]], here.labelings[at][in_both[1]], k)
        if at in before.labelings and at in here.labelings
        else float(np.nan)
        for at, k in enumerate(plan.ks)
    )
