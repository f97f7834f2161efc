"""The outcome of a selection: all trials, the curve, the choice and its selection probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import Preparation
from compsil_kit._method.guarantees import Guarantee
from compsil_kit._method.plan import Plan
from compsil_kit._method.structure import Structure
from compsil_kit._method.weights import Transform
from compsil_kit._result import serialization
from compsil_kit._result.derived import Derived
from compsil_kit._result.reweigh import changed_fields
from compsil_kit._result.scores import Scores
from compsil_kit._result.trials import Failure, Saved, Trial, Trials, current_versions
from compsil_kit._show import notes, text
from compsil_kit._util.checks import check_real
from compsil_kit.errors import SelectionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(Derived):
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
    structure : Structure or None
        Outcome of the test whether the data have clusters at all; None if it was not asked for.
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
    structure: Structure | None = None

    @cached_property
    def _numbers(self) -> Scores:
        how = self.transform, self.rule, self.z, self.criterion, self.saved
        return Scores(self.plan, self.trials, self.calibration, *how, self.n_run if self.plan.adaptive else None)

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate counts."""
        return self.plan.ks

    @property
    def n_subsamples(self) -> int:
        """Number of scored subsamples."""
        return self._numbers.n_subsamples

    @property
    def n_run(self) -> NDArray[np.int64]:
        """Subsamples on which each k was run: with ``n_subsamples="auto"``, ks that could not win were left out."""
        scored = set(self.trials.subsamples)
        failed = Counter(failure.k for failure in self.failures if failure.subsample in scored)
        counted = np.isfinite(self.trials.micro).sum(axis=1) + np.array([failed[k] for k in self.ks])
        return counted if self.plan.adaptive else np.full(len(self.ks), self.n_subsamples)

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
    def warnings(self) -> list[str]:
        """What should be known before the choice is trusted."""
        return notes.warnings(self)

    def explain(self) -> str:
        """Return how often such an answer was right, the choice, its selection probability, and the warnings."""
        return text.explain(self)

    def __repr__(self) -> str:
        """Show the choice and the curve as a table."""
        return text.table(self)

    def _repr_html_(self) -> str:
        """Show a card in a notebook."""
        from compsil_kit._show import card

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
        kind : {"curve", "weights", "convergence", "probability", "stability"}, default="curve"
            What to draw: the criterion with its 95 % band beside micro and macro; discrepancies and weights per k;
            score and choice against the number of subsamples; selection probability and confidence of each k; how well
            clusterings of neighbouring subsamples agree.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        delta : float, default=0.05
            Probability that the Hoeffding band of ``"convergence"`` misses.
        """
        from compsil_kit._show import plots

        return plots.plot(self, kind, ax=ax, delta=delta)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write everything into one HTML file that needs no network, and return its path.

        Parameters
        ----------
        path : str or path
            Where to write; the folder must exist.
        """
        from compsil_kit._show.report import write

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
