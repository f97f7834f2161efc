"""The outcome of a selection: all trials, the curve, the choice and its selection probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit.data.dataset import Preparation
from compsil_kit.errors import SelectionError
from compsil_kit.method.guarantees import Guarantee
from compsil_kit.method.plan import Plan
from compsil_kit.method.weights import Transform
from compsil_kit.result import serialization
from compsil_kit.result.reweigh import changed_fields
from compsil_kit.result.scores import Scores
from compsil_kit.result.trials import Failure, Saved, Trial, Trials, current_versions
from compsil_kit.show import text
from compsil_kit.util.checks import check_real

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult:
    """What a selection found. Everything is derived from the kept trials, so changing the rule costs nothing.

    Attributes
    ----------
    plan : Plan
        What was to be computed.
    trials, calibration : Trials
        Silhouettes of the scored subsamples, and of those that only estimate the largest discrepancies.
    transform, rule, z, criterion : str or callable, str, float, str
        How the trials are weighed, how k is chosen, and what is scored.
    failures : tuple of Failure
        Clusterings that failed, with their causes.
    preparation : Preparation or None
        What was done to the table the data came from: columns, scale, rows left out. None for plain arrays.
    """

    plan: Plan
    trials: Trials
    calibration: Trials
    transform: Transform = "tanh"
    rule: str = "max"
    z: float = 1.0
    criterion: str = "composite"
    saved: Saved | None = None
    failures: tuple[Failure, ...] = ()
    versions: Mapping[str, str] = field(default_factory=current_versions)
    preparation: Preparation | None = None

    @cached_property
    def _numbers(self) -> Scores:
        return Scores(
            self.plan, self.trials, self.calibration, self.transform, self.rule, self.z, self.criterion, self.saved
        )

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate counts."""
        return self.plan.ks

    @property
    def n_subsamples(self) -> int:
        """Number of scored subsamples."""
        return self._numbers.n_subsamples

    @property
    def partial(self) -> bool:
        """Whether some planned subsamples are missing."""
        return self.n_subsamples + len(self.calibration.subsamples) < len(self.plan.seeds)

    @property
    def best_k(self) -> int:
        """The selected number of clusters."""
        return self.ks[self._chosen()]

    @property
    def best_score(self) -> float:
        """Score of the selected k."""
        return float(self.scores[self._chosen()])

    @property
    def best_index(self) -> int | None:
        """Position of the selected k in ``ks``, or None when no k can be selected."""
        return self._numbers.best_index

    def _chosen(self) -> int:
        if self.best_index is not None:
            return self.best_index
        error = SelectionError(text.why_no_choice(self))
        error.result = self
        raise error

    @property
    def micro(self) -> Array:
        """Micro-averaged silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self.trials.micro

    @property
    def macro(self) -> Array:
        """Macro-averaged silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self.trials.macro

    @property
    def weights(self) -> Array:
        """Weights of micro, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.weights

    @property
    def composite(self) -> Array:
        """Composite silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.composite

    @property
    def stability(self) -> Array:
        """How well clusterings of neighbouring subsamples agree, per k: the mean adjusted Rand index on shared rows.

        NaN with one subsample, or where neighbours share too few rows.
        """
        return self._numbers.stability

    @property
    def scores(self) -> Array:
        """Score per k: the mean over subsamples of the criterion, the composite silhouette unless told otherwise."""
        return self._numbers.summary.mean

    @property
    def sem(self) -> Array:
        """Standard error of the score per k; NaN below two subsamples."""
        return self._numbers.summary.sem

    @property
    def lcb(self) -> Array:
        """Lower confidence bound per k: score - z * sem."""
        return self._numbers.summary.lcb

    @property
    def probability(self) -> Array:
        """Selection probability per k: how often a new run on these data would choose it, by estimate, or NaN."""
        return self._numbers.probability

    @property
    def confidence(self) -> Array:
        """Confidence per k: on data like these, how often such a k was the true one. NaN where this is not known.

        It comes from a model fitted on generated data sets. Unlike ``probability``, which is about another run, it is
        about being right. The candidates share what ``confidence_none`` leaves.
        """
        return self._numbers.chances[:-1]

    @property
    def confidence_none(self) -> float:
        """Confidence that none of the candidates is right, for instance because the data have no clusters."""
        return float(self._numbers.chances[-1])

    @property
    def why_no_confidence(self) -> str:
        """Why the confidence is not known for this selection; an empty text if it is."""
        return self._numbers.why_no_confidence

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Failed subsamples per k."""
        return self._numbers.n_failed

    @property
    def selectable(self) -> NDArray[np.bool_]:
        """Whether each k kept enough subsamples to be selected."""
        return self._numbers.selectable

    @property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion chooses; None where there is none."""
        return self._numbers.choices

    @property
    def runner_up(self) -> int | None:
        """Position in ``ks`` of the second-best k, or None."""
        return self._numbers.runner_up

    @property
    def lead(self) -> float:
        """Lead of the best k over the second, in what the rule maximises; NaN when there is no second."""
        return self._numbers.lead

    @property
    def running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the choice, from the first 1, 2, ... subsamples."""
        return self._numbers.running

    @property
    def curve(self) -> pd.DataFrame:
        """One row per k: score, sem, lcb, micro, macro, weight, stability, n_subsamples, n_failed, probability,
        confidence.
        """
        return self._numbers.curve()

    def to_frame(self) -> pd.DataFrame:
        """Return the trials as a tidy table, one row per k and subsample."""
        return self._numbers.frame()

    @property
    def warnings(self) -> list[str]:
        """What should be known before the choice is trusted."""
        return text.warnings(self)

    def explain(self) -> str:
        """Return the choice, its selection probability, what micro and macro alone choose, and the warnings."""
        return text.explain(self)

    def __repr__(self) -> str:
        """Show the choice and the curve as a table."""
        return text.table(self)

    def _repr_html_(self) -> str:
        """Show a card in a notebook."""
        from compsil_kit.show import card

        return card.card(self)

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """Return what the finished run guarantees, with probability 1 - delta (Hoeffding).

        That is: how close the scores are to their expectations, and how many subsamples would prove the choice. The
        bounds are about mean scores, so the lead here is one of scores, also under the rule ``"lcb"``.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of being wrong.
        """
        return self._numbers.guarantee(self._chosen(), check_real("delta", delta, low=0.0, high=1.0, open_ends=True))

    def reweigh(
        self,
        *,
        transform: Transform | None = None,
        rule: str | None = None,
        z: float | None = None,
        n_subsamples: int | None = None,
        criterion: str | None = None,
    ) -> SelectionResult:
        """Return the result under another transform, rule or criterion, or from fewer subsamples, without recomputing.

        Parameters
        ----------
        transform : str or callable, optional
            Another transformation; the present one if None.
        rule : {"max", "lcb"}, optional
            Another rule; the present one if None.
        z : float, optional
            Another number of standard errors below the score for ``"lcb"``; the present one if None.
        n_subsamples : int, optional
            Use only the first ``n_subsamples``; all if None.
        criterion : {"composite", "micro", "macro", "stable", "likely"}, optional
            Another criterion; the present one if None.
        """
        return replace(self, **changed_fields(self, transform, rule, z, n_subsamples, criterion))

    def plot(self, kind: str = "curve", *, ax: Axes | None = None, delta: float = 0.05) -> Axes:
        """Draw the result and return the axes; nothing is shown or saved.

        Parameters
        ----------
        kind : {"curve", "weights", "convergence", "probability"}, default="curve"
            What to draw: the composite with its confidence band beside micro and macro; discrepancies and weights per
            k; score and choice against the number of subsamples; the selection probability of each k.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        delta : float, default=0.05
            Probability that the Hoeffding band of ``"convergence"`` misses.
        """
        from compsil_kit.show import plots

        return plots.plot(self, kind, ax=ax, delta=delta)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write everything into one HTML file that needs no network, and return its path.

        Parameters
        ----------
        path : str or path
            Where to write; the folder must exist.
        """
        from compsil_kit.show.report import write

        return write(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for strict JSON: no NaN, no NumPy types, versioned."""
        return serialization.to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SelectionResult:
        """Rebuild a result from :meth:`to_dict`; the derived numbers are computed again from its trials.

        Parameters
        ----------
        data : mapping
            What ``to_dict`` returned, or what JSON made of it.
        """
        return serialization.from_dict(cls, data)


def collect(plan: Plan, trials: Sequence[Trial], **others: Any) -> SelectionResult:
    """Return the result of a plan's trials, finished in any order; ``others`` are further fields of the result."""
    failures = sorted((f for trial in trials for f in trial.failures), key=lambda f: (f.subsample, f.k))
    scored, calibration = Trials.split(trials, len(plan.ks), plan.n_subsamples)
    return SelectionResult(plan, scored, calibration, failures=tuple(failures), **others)
