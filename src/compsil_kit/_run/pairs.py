"""The clusterings of one subsample, and their agreement with those of the previous subsample."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.agreement import agreement, shared_rows
from compsil_kit._result.trials import Trial
from compsil_kit.plan import Plan

Array = NDArray[Any]


@dataclass(frozen=True)
class Clustered:
    """One subsample: its labels by position in ks, the labelled rows, and its trial.

    The rows are None if they are the common rows, which every subsample labels. There is no trial if only the labels
    were requested.
    """

    index: int
    rows: Array | None
    labelings: dict[int, Array]
    trial: Trial | None = None


def with_predecessors(wanted: Collection[int], plan: Plan) -> list[int]:
    """Return the subsamples to cluster: the wanted ones, each preceded by its predecessor."""
    known, order = set(wanted), []
    for index in wanted:
        if plan.before(index) is not None and index - 1 not in known:
            known.add(index - 1)
            order.append(index - 1)
        order.append(index)
    return order


class Pairs:
    """Collect clustered subsamples, and yield each trial with its agreements once its predecessor is known."""

    def __init__(self, plan: Plan, wanted: Collection[int]) -> None:
        self._plan = plan
        self._missing = set(wanted)
        self._known: dict[int, Clustered] = {}

    def add(self, clustered: Clustered) -> Iterator[Trial]:
        """Add a subsample, and yield the trials that are complete with it."""
        self._known[clustered.index] = clustered
        for index in (clustered.index, clustered.index + 1):
            trial = self._complete(index) if index in self._missing else None
            if trial is not None:
                self._missing.remove(index)
                yield trial
        # Labels are kept only as long as they are needed.
        self._known = {index: kept for index, kept in self._known.items() if self._is_needed(index)}

    def incomplete(self) -> list[Trial]:
        """Return the trials that are left when a run ends early, most of them without agreements."""
        left = [self._known[index] for index in sorted(self._known) if index in self._missing]
        self._missing.clear()
        return [
            self._complete(each.index) or replace(each.trial, whole=False) for each in left if each.trial is not None
        ]

    def _is_needed(self, index: int) -> bool:
        follows = index + 1 in self._missing and self._plan.before(index + 1) is not None
        return index in self._missing or follows

    def _complete(self, index: int) -> Trial | None:
        """Return the trial of a subsample with its agreements, or None as long as a part is missing."""
        here, before = self._known.get(index), self._known.get(index - 1)
        if here is None or here.trial is None:
            return None
        if self._plan.before(index) is None:
            return here.trial
        return None if before is None else replace(here.trial, agreement=_agreements(before, here, self._plan))


def _agreements(before: Clustered, here: Clustered, plan: Plan) -> tuple[float, ...]:
    in_both: tuple[Any, Any] = slice(None), slice(None)
    if before.rows is not None and here.rows is not None:
        in_both = shared_rows(before.rows, here.rows)
    return tuple(
        agreement(before.labelings[at][in_both[0]], here.labelings[at][in_both[1]], k)
        if at in before.labelings and at in here.labelings
        else float(np.nan)
        for at, k in enumerate(plan.ks)
    )
