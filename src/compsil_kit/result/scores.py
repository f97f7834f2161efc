"""The numbers of a selection, all derived from its kept trials: weights, composites, scores, the choice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit.method import selection
from compsil_kit.method.guarantees import Guarantee, achieved
from compsil_kit.method.weights import Transform, combine, weigh
from compsil_kit.result.trials import Saved, Trials

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Trials, how to weigh them and how to choose; everything else is computed when it is first asked for.

    ``saved`` replaces the weights and the probability where the transformation was a function of an earlier session.
    """

    ks: tuple[int, ...]
    trials: Trials
    calibration: Trials
    transform: Transform
    rule: str
    z: float
    saved: Saved | None = None

    @property
    def n_subsamples(self) -> int:
        """Number of scored subsamples."""
        return len(self.trials.subsamples)

    @cached_property
    def largest(self) -> Array | None:
        """Largest discrepancy per k from the calibration subsamples, or None without any."""
        return selection.independent_largest(self.calibration.micro, self.calibration.macro)

    @cached_property
    def weights(self) -> Array:
        """Weights of micro, ks by subsamples."""
        return self.saved.weights if self.saved is not None else _frozen(self._weigh(self.n_subsamples))

    @cached_property
    def composite(self) -> Array:
        """Composite silhouettes, ks by subsamples."""
        return _frozen(combine(self.trials.micro, self.trials.macro, self.weights))

    @cached_property
    def summaries(self) -> dict[str, selection.Summary]:
        """Mean, standard error and lower bound per k of the composite, of micro and macro alone, and of the weights."""
        values = {
            "composite": self.composite,
            "micro": self.trials.micro,
            "macro": self.trials.macro,
            "weight": self.weights,
        }
        return {name: selection.summarise(rows, self.z) for name, rows in values.items()}

    @property
    def summary(self) -> selection.Summary:
        """Score, standard error and lower bound per k."""
        return self.summaries["composite"]

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Failed subsamples per k."""
        return self.n_subsamples - self.summary.count

    @cached_property
    def selectable(self) -> NDArray[np.bool_]:
        """Whether each k kept enough subsamples to be selected."""
        return selection.selectable(self.composite)

    @property
    def criterion(self) -> Array:
        """What the rule maximises, per k."""
        return selection.criterion(self.summary, self.rule)

    @cached_property
    def best_index(self) -> int | None:
        """Position of the selected k, or None when no k can be selected."""
        return selection.choose(self.criterion, self.selectable)

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that the composite, micro alone and macro alone choose."""
        lines = {name: selection.criterion(self.summaries[name], self.rule) for name in ("composite", "micro", "macro")}
        return selection.choices(lines, self.selectable, self.ks)

    @cached_property
    def probability(self) -> Array:
        """Selection probability per k; NaN where it cannot be estimated."""
        if self.saved is not None:
            return self.saved.probability
        return _frozen(
            selection.selection_probability(
                self.trials.micro,
                self.trials.macro,
                transform=self.transform,
                rule=self.rule,
                z=self.z,
                largest=self.largest,
            )
        )

    @property
    def runner_up(self) -> int | None:
        """Position of the second-best k, or None."""
        if self.best_index is None:
            return None
        rest = self.selectable.copy()
        rest[self.best_index] = False
        return selection.choose(self.criterion, rest)

    @property
    def lead(self) -> float:
        """Lead of the best k over the second, in what the rule maximises; NaN when there is no second."""
        best, second = self.best_index, self.runner_up
        if best is None or second is None:
            return float("nan")
        return float(self.criterion[best] - self.criterion[second])

    @cached_property
    def running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the choice, from the first 1, 2, ... subsamples."""
        scores, chosen = [], []
        for n in range(1, self.n_subsamples + 1):
            part = combine(self.trials.micro[:, :n], self.trials.macro[:, :n], self._weigh(n))
            summary = selection.summarise(part, self.z)
            at = selection.choose(selection.criterion(summary, self.rule), selection.selectable(part))
            scores.append(summary.mean)
            chosen.append(None if at is None else self.ks[at])
        return np.array(scores).reshape(-1, len(self.ks)).T, tuple(chosen)

    def _weigh(self, n: int) -> Array:
        """Return the weights that the first n subsamples give."""
        if self.saved is not None:
            return self.saved.weights[:, :n]
        return weigh(self.trials.micro[:, :n], self.trials.macro[:, :n], self.transform, self.largest)

    def guarantee(self, best: int, delta: float) -> Guarantee:
        """Return what Hoeffding's inequality says about the lead of the k at ``best``, in scores."""
        others = np.where(self.selectable, self.summary.mean, -np.inf)
        others[best] = -np.inf
        second = float(others.max())
        return achieved(
            float(self.summary.mean[best]) - second if np.isfinite(second) else float("nan"),
            n_subsamples=max(1, int(self.summary.count[self.selectable].min(initial=self.n_subsamples))),
            n_ks=len(self.ks),
            delta=delta,
            independent=self.largest is not None,
        )

    def curve(self) -> pd.DataFrame:
        """Return one row per k: scores and their errors, the two averages, the weight, failures, probability."""
        import pandas as pd

        columns = {
            "score": self.summary.mean,
            "sem": self.summary.sem,
            "lcb": self.summary.lcb,
            "micro": self.summaries["micro"].mean,
            "macro": self.summaries["macro"].mean,
            "weight": self.summaries["weight"].mean,
            "n_subsamples": self.summary.count,
            "n_failed": self.n_failed,
            "probability": self.probability,
        }
        return pd.DataFrame(columns, index=pd.Index(self.ks, name="k"))

    def frame(self) -> pd.DataFrame:
        """Return one row per k and subsample."""
        import pandas as pd

        index = pd.MultiIndex.from_product([self.ks, self.trials.subsamples], names=["k", "subsample"])
        columns = {
            "micro": self.trials.micro,
            "macro": self.trials.macro,
            "weight": self.weights,
            "composite": self.composite,
        }
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
