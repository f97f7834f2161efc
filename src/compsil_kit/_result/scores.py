"""The numbers of a selection, all derived from its kept trials: weights, composites, scores, the choice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method import likelihood, selection
from compsil_kit._method.criterion import (
    CRITERIA,
    LIKELY,
    STABLE,
    criterion_values,
    mean_known,
    second_criterion,
)
from compsil_kit._method.guarantees import Guarantee, achieved
from compsil_kit._method.plan import Plan
from compsil_kit._method.weights import Transform, combine, weigh
from compsil_kit._result.trials import Saved, Trials

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Trials, how to weigh them and how to choose; everything else is computed when it is first asked for.

    ``saved`` replaces the weights and the probability where the transformation was a function of an earlier session.
    """

    plan: Plan
    trials: Trials
    calibration: Trials
    transform: Transform
    rule: str
    z: float
    criterion: str = "composite"
    saved: Saved | None = None
    # Subsamples on which each k was run, where some ks were left out on the way.
    n_run: NDArray[np.int64] | None = None

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate counts."""
        return self.plan.ks

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
    def stability(self) -> Array:
        """Mean agreement of clusterings of neighbouring subsamples, per k; NaN where it is unknown."""
        return _frozen(mean_known(self.trials.agreement))

    def _values(self, criterion: str, at: Any, weights: Array | None = None) -> Array:
        """Return what some subsamples, or redraws of them, say of each k under a criterion."""

        def take(name: str) -> Array:
            values: Array = getattr(self.trials, name)[:, at]
            return values

        def composite() -> Array:
            micro, macro = take("micro"), take("macro")
            fixed = self.largest if self.largest is None or micro.ndim == 2 else self.largest[:, None, :]
            return combine(micro, macro, weigh(micro, macro, self.transform, fixed) if weights is None else weights)

        return criterion_values(criterion, take, composite)

    @cached_property
    def why_no_confidence(self) -> str:
        """Why nothing can be said of the chance of being right, or an empty text."""
        reason = likelihood.why_unknown(self.plan, self.n_subsamples)
        if not reason and not all(np.isfinite(values).all() for values in self._means(slice(None)).values()):
            return "it needs dense points, and clusterings under every k"
        return reason

    def _means(self, at: Any) -> dict[str, Array]:
        """Return means over some subsamples, or over redraws of them, ks last."""
        # The first subsample has none before it to agree with.
        means = likelihood.means({name: getattr(self.trials, name)[:, at] for name in likelihood.NUMBERS})
        return {name: np.moveaxis(values, 0, -1) for name, values in means.items()}

    @cached_property
    def chances(self) -> Array:
        """The chance of being right of every k and, last, of none of them; NaN where nothing is known."""
        if self.why_no_confidence:
            return np.full(len(self.ks) + 1, np.nan)
        return _frozen(likelihood.likelihood(self._means(slice(None)), self.plan))

    def _summary(self, criterion: str, at: Any, weights: Array | None = None) -> selection.Summary:
        """Return mean, standard error and lower bound per k of a criterion on some subsamples, or on redraws."""
        if criterion != LIKELY:
            return selection.summarise(self._values(criterion, at, weights), self.z)
        known = selection.summarise(self.trials.micro[:, at], self.z)
        if self.why_no_confidence:
            chances = np.full(known.mean.shape, np.nan)
        else:
            chances = np.moveaxis(likelihood.likelihood(self._means(at), self.plan)[..., :-1], -1, 0)
        unknown = np.full(chances.shape, np.nan)
        return selection.Summary(chances, unknown, unknown, known.count)

    @cached_property
    def summaries(self) -> dict[str, selection.Summary]:
        """Mean, standard error and lower bound per k of every criterion, and of the weights."""
        found = {name: self._summary(name, slice(None), self.weights) for name in CRITERIA}
        return {**found, "weight": selection.summarise(self.weights, self.z)}

    @property
    def summary(self) -> selection.Summary:
        """Score, standard error and lower bound per k."""
        return self.summaries[self.criterion]

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Failed subsamples per k."""
        return (self.n_subsamples if self.n_run is None else self.n_run) - self.summary.count

    @cached_property
    def selectable(self) -> NDArray[np.bool_]:
        """Whether each k kept enough of the subsamples on which it was run to be selected."""
        return self._selectable(self.criterion)

    def _selectable(self, criterion: str) -> NDArray[np.bool_]:
        """Tell which ks a criterion can select: not those that were left out because of what it said of them.

        Their composites from fewer subsamples would compare with the others' only roughly.
        """
        kept = selection.selectable(self.trials.micro, self.n_run)
        return (
            kept if self.n_run is None or criterion != self.plan.adaptive else kept & (self.n_run == self.n_run.max())
        )

    @property
    def maximised(self) -> Array:
        """What the rule maximises, per k."""
        return selection.maximised(self.summary, self.rule)

    @cached_property
    def best_index(self) -> int | None:
        """Position of the selected k, or None when no k can be selected."""
        return selection.choose(self.maximised, self.selectable)

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion chooses."""
        # The chance of being right has no lower bound of its own.
        rules = {name: "max" if name == LIKELY else self.rule for name in CRITERIA}
        lines = {name: selection.maximised(self.summaries[name], rule) for name, rule in rules.items()}
        found = {name: selection.choose(line, self._selectable(name)) for name, line in lines.items()}
        return {name: None if at is None else self.ks[at] for name, at in found.items()}

    @cached_property
    def second_opinion(self) -> tuple[str, int] | None:
        """The best other criterion and its k, where that is another one; else None."""
        if self.best_index is None:
            return None
        other = second_criterion(self.criterion, confidence_known=not self.why_no_confidence)
        if other == STABLE and not np.isfinite(self.stability[self.selectable]).all():
            # Without stability it would be no more than the micro average.
            return None
        k = self.choices[other]
        return None if k is None or k == self.ks[self.best_index] else (other, k)

    @cached_property
    def probability(self) -> Array:
        """Selection probability per k; NaN where it cannot be estimated."""
        if self.saved is not None:
            return self.saved.probability

        def values_of(draws: NDArray[np.int64]) -> Array:
            return selection.maximised(self._summary(self.criterion, draws), self.rule)

        return _frozen(selection.selection_probability(self.n_subsamples, self.selectable, values_of))

    @property
    def runner_up(self) -> int | None:
        """Position of the second-best k, or None."""
        if self.best_index is None:
            return None
        rest = self.selectable.copy()
        rest[self.best_index] = False
        return selection.choose(self.maximised, rest)

    @property
    def lead(self) -> float:
        """Lead of the best k over the second, in what the rule maximises; NaN when there is no second."""
        best, second = self.best_index, self.runner_up
        if best is None or second is None:
            return float("nan")
        return float(self.maximised[best] - self.maximised[second])

    @cached_property
    def running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the choice, from the first 1, 2, ... subsamples."""
        scores, chosen = [], []
        for n in range(1, self.n_subsamples + 1):
            summary = self._summary(self.criterion, slice(n), self._weigh(n))
            kept = selection.selectable(
                self.trials.micro[:, :n], None if self.n_run is None else np.minimum(self.n_run, n)
            )
            at = selection.choose(selection.maximised(summary, self.rule), kept)
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
        """Return one row per k: scores and errors, the two averages, the weight, stability, failures, chances."""
        import pandas as pd

        columns = {
            "score": self.summary.mean,
            "sem": self.summary.sem,
            "lcb": self.summary.lcb,
            "micro": self.summaries["micro"].mean,
            "macro": self.summaries["macro"].mean,
            "weight": self.summaries["weight"].mean,
            "stability": self.stability,
            "n_subsamples": self.summary.count,
            "n_failed": self.n_failed,
            "probability": self.probability,
            "confidence": self.chances[:-1],
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
            "best_micro": self.trials.best_micro,
            "best_macro": self.trials.best_macro,
            "agreement": self.trials.agreement,
        }
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
