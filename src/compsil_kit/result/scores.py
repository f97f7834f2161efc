"""The numbers of a selection, all derived from its kept trials: weights, composites, scores, the choice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compsil_kit.errors import SelectionError
from compsil_kit.method import selection
from compsil_kit.method.plan import Plan
from compsil_kit.method.weights import Transform, combine, weigh
from compsil_kit.result.trials import Saved, Trials

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ScoredTrials:
    """Trials, how to weigh them and how to choose; everything else follows."""

    plan: Plan
    trials: Trials
    calibration: Trials
    transform: Transform = "tanh"
    rule: str = "max"
    z: float = 1.0
    saved: Saved | None = None

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate counts."""
        return self.plan.ks

    @property
    def micro(self) -> Array:
        """Micro-averaged silhouettes, ks by subsamples."""
        return self.trials.micro

    @property
    def macro(self) -> Array:
        """Macro-averaged silhouettes, ks by subsamples."""
        return self.trials.macro

    @property
    def n_subsamples(self) -> int:
        """Number of scored subsamples."""
        return len(self.trials.subsamples)

    @property
    def partial(self) -> bool:
        """Whether some planned subsamples are missing."""
        return self.n_subsamples + len(self.calibration.subsamples) < len(self.plan.seeds)

    @cached_property
    def _largest(self) -> Array | None:
        return selection.independent_largest(self.calibration.micro, self.calibration.macro)

    @cached_property
    def weights(self) -> Array:
        """Weights of micro, ks by subsamples."""
        if self.saved is not None:
            return self.saved.weights
        return _frozen(weigh(self.micro, self.macro, self.transform, self._largest))

    @cached_property
    def composite(self) -> Array:
        """Composite silhouettes, ks by subsamples."""
        return _frozen(combine(self.micro, self.macro, self.weights))

    @cached_property
    def _summary(self) -> selection.Summary:
        return selection.summarise(self.composite, self.z)

    @property
    def scores(self) -> Array:
        """Mean composite per k."""
        return self._summary.mean

    @property
    def sem(self) -> Array:
        """Standard error of the score per k."""
        return self._summary.sem

    @property
    def lcb(self) -> Array:
        """Lower confidence bound per k: score - z * sem."""
        return self._summary.lcb

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Failed subsamples per k."""
        return self.n_subsamples - self._summary.count

    @cached_property
    def selectable(self) -> NDArray[np.bool_]:
        """Whether each k kept enough subsamples to be selected."""
        return selection.selectable(self.composite)

    @cached_property
    def best_index(self) -> int | None:
        """Position of the selected k in ``ks``, or None when no k can be selected."""
        return selection.choose(selection.criterion(self._summary, self.rule), self.selectable)

    @property
    def best_k(self) -> int:
        """The selected number of clusters."""
        return self.ks[self._chosen()]

    @property
    def best_score(self) -> float:
        """Score of the selected k."""
        return float(self.scores[self._chosen()])

    def _chosen(self) -> int:
        if self.best_index is None:
            raise self._no_choice()
        return self.best_index

    def _no_choice(self) -> SelectionError:
        return SelectionError("no k can be selected.")

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that the composite, micro alone and macro alone would choose."""
        means = {
            "composite": selection.criterion(self._summary, self.rule),
            "micro": selection.criterion(selection.summarise(self.micro, self.z), self.rule),
            "macro": selection.criterion(selection.summarise(self.macro, self.z), self.rule),
        }
        return selection.choices(means, self.selectable, self.ks)

    @cached_property
    def probability(self) -> Array:
        """How often a new run on the same data would choose each k, by estimate; NaN when it cannot be known."""
        if self.saved is not None:
            return self.saved.probability
        return _frozen(
            selection.selection_probability(
                self.micro,
                self.macro,
                transform=self.transform,
                rule=self.rule,
                z=self.z,
                largest=self._largest,
            )
        )

    @property
    def runner_up(self) -> int | None:
        """Position in ``ks`` of the second-best k, or None."""
        if self.best_index is None:
            return None
        rest = self.selectable.copy()
        rest[self.best_index] = False
        return selection.choose(selection.criterion(self._summary, self.rule), rest)

    @property
    def lead(self) -> float:
        """Lead of the best k over the second, in what the rule maximises; NaN when there is no second."""
        second = self.runner_up
        values = selection.criterion(self._summary, self.rule)
        return float("nan") if second is None else float(values[self._chosen()] - values[second])

    @cached_property
    def running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the choice, from the first 1, 2, ... subsamples."""
        scores, chosen = [], []
        for n in range(1, self.n_subsamples + 1):
            largest = self._largest
            part = combine(self.micro[:, :n], self.macro[:, :n], self._weigh_first(n, largest))
            summary = selection.summarise(part, self.z)
            at = selection.choose(selection.criterion(summary, self.rule), selection.selectable(part))
            scores.append(summary.mean)
            chosen.append(None if at is None else self.ks[at])
        return np.array(scores).reshape(-1, len(self.ks)).T, tuple(chosen)

    def _weigh_first(self, n: int, largest: Array | None) -> Array:
        if self.saved is not None:
            return self.saved.weights[:, :n]
        return weigh(self.micro[:, :n], self.macro[:, :n], self.transform, largest)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
