"""The result of a selection: every trial, the score per candidate k, the choice and how certain it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._data.dataset import Preparation
from compsil_kit._method.selection import Guarantee, hoeffding_radius, subsamples_for_margin, transform_name
from compsil_kit._method.structure import Structure
from compsil_kit._result import records
from compsil_kit._result.scores import Scores
from compsil_kit._result.trials import Trial, Trials, current_versions
from compsil_kit._show import facts, html, plots, text
from compsil_kit._types import Criterion, PlotKind, Rule, Transform
from compsil_kit._util.checks import check_integer, check_real
from compsil_kit.config import SelectionConfig, settings_of
from compsil_kit.errors import Deprecated, SelectionError
from compsil_kit.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(Scores):
    """The result of a selection. All numbers derive from the stored trials, so another rule needs no new run.

    Attributes
    ----------
    plan : Plan
        The computations that were planned.
    trials, calibration : Trials
        Silhouettes of the scored subsamples, and of those used only to estimate the largest discrepancies.
    transform, rule, z, criterion : str or callable, str, float, str
        How trials are weighted, how k is selected, and which criterion is scored.
    failures : tuple of Failure
        Clusterings that failed, with the cause of each.
    versions : mapping of str to str
        Versions of Python and of the libraries that produced the trials.
    preparation : Preparation or None
        Columns, scaling and dropped rows of the input table; None for plain arrays.
    structure : Structure or None
        Outcome of the structure test (do the data contain any clusters?); None if it was not requested.
    """

    versions: Mapping[str, str] = field(default_factory=current_versions)
    preparation: Preparation | None = None
    structure: Structure | None = None
    # Whether the criterion was changed after the run, which chose the number of initialisations for another one.
    _reweighed: bool = False

    if not TYPE_CHECKING:
        # Type checkers report these names as unknown.
        probability = Deprecated("selection_probability")
        why_no_confidence = Deprecated("confidence_note")
        running = Deprecated("_running", "reweigh(n_subsamples=n)")
        lead = Deprecated("_lead", "guarantee().lead")
        best_index = Deprecated("_best_index", "ks.index(result.best_k)")
        runner_up = Deprecated("_runner_up", "curve")
        selectable = Deprecated("_selectable", "n_failed")
        n_run = Deprecated("_n_run", "curve['n_subsamples'] + n_failed")

    @property
    def partial(self) -> bool:
        """Whether some planned subsamples are missing."""
        return self.n_subsamples + len(self.calibration.subsamples) < len(self.plan.seeds)

    @property
    def best_k(self) -> int:
        """The selected number of clusters; raises SelectionError if no k can be selected."""
        return self.ks[self._chosen()]

    @property
    def best_score(self) -> float:
        """Score of the selected k."""
        return float(self.scores[self._chosen()])

    def _chosen(self) -> int:
        if self._best_index is not None:
            return self._best_index
        error = SelectionError(text.why_no_choice(self))
        error.result = self
        raise error

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as plain data, by keyword, with the value that ``"auto"`` resolved to."""
        plan = self.plan
        known = {**plan.config.to_dict(), **plan.to_dict(), "on_failure": plan.on_failure}
        known |= {name: getattr(self, name) for name in ("n_subsamples", "rule", "z", "criterion")}
        known["transform"] = transform_name(self.transform)
        return {name: known[name] for name in settings_of(SelectionConfig)}

    @property
    def warnings(self) -> list[str]:
        """Reasons to be careful with the choice, one text each; empty if there are none."""
        return facts.warnings(self)

    @property
    def curve(self) -> pd.DataFrame:
        """One row per k: score, sem, lcb, micro, macro, weight, stability, n_subsamples, n_failed, probability,
        confidence.
        """
        import pandas as pd

        columns = {
            "score": self.scores,
            "sem": self.sem,
            "lcb": self.lcb,
            **{name: self._summaries[name].mean for name in ("micro", "macro", "weight")},
            "stability": self.stability,
            "n_subsamples": self._summary.count,
            "n_failed": self.n_failed,
            "probability": self.selection_probability,
            "confidence": self.confidence,
        }
        return pd.DataFrame(columns, index=pd.Index(self.ks, name="k"))

    def to_frame(self) -> pd.DataFrame:
        """Return the trials as a tidy table, one row per k and subsample."""
        import pandas as pd

        index = pd.MultiIndex.from_product([self.ks, self.trials.subsamples], names=["k", "subsample"])
        columns = {"micro": self.micro, "macro": self.macro, "weight": self.weights, "composite": self.composite}
        columns |= {name: getattr(self.trials, name) for name in ("best_micro", "best_macro", "agreement")}
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)

    def explain(self) -> str:
        """Return a summary in plain text: the choice, its confidence and selection probability, and the warnings."""
        notes = [] if self._best_index is None else [f"Note: {warning}" for warning in self.warnings]
        return "\n".join([*text.sentences(self), *notes])

    __repr__ = text.table
    _repr_html_ = html.card

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """Return what Hoeffding's inequality guarantees about this run, with probability 1 - delta.

        That is how close the scores are to their expectations, and how many subsamples would prove the choice. The
        bounds apply to mean scores, so the lead is a difference of scores, also with the rule ``"lcb"``.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bounds do not hold.
        """
        best = self._chosen()
        delta = check_real("delta", delta, low=0.0, high=1.0, open_ends=True)
        others = self._selectable & (np.arange(len(self.ks)) != best)
        second = float(self.scores[others].max(initial=-np.inf))
        lead = self.best_score - second if np.isfinite(second) else float("nan")
        n = max(1, int(self._summary.count[self._selectable].min(initial=self.n_subsamples)))
        one, every = (hoeffding_radius(n, delta=delta, n_ks=n_ks) for n_ks in (1, len(self.ks)))
        needed = subsamples_for_margin(lead, n_ks=len(self.ks), delta=delta) if lead > 0 else None
        independent = self._largest is not None
        return Guarantee(delta, n, one, every, lead, needed, independent and lead > 2.0 * every, independent)

    def reweigh(
        self,
        *,
        transform: Transform | None = None,
        rule: Rule | None = None,
        z: float | None = None,
        n_subsamples: int | None = None,
        criterion: Criterion | None = None,
    ) -> SelectionResult:
        """Return the result with another transform, rule or criterion, or fewer subsamples, without a new run.

        Every parameter keeps its present value if None.

        Parameters
        ----------
        transform : str or callable, optional
            How discrepancies become weights.
        rule : {"max", "lcb"}, optional
            Select the largest score, or the largest lower confidence bound.
        z : float, optional
            Number of standard errors between the score and its lower confidence bound.
        n_subsamples : int, optional
            Use only the first ``n_subsamples``.
        criterion : {"composite", "micro", "macro", "stable", "likely"}, optional
            What to score. ``"stable"`` and ``"likely"`` normally use 5 initialisations per clustering; if the trials
            have fewer, ``warnings`` says so.
        """
        given = {"transform": transform, "rule": rule, "criterion": criterion, "z": z}
        given = {name: value for name, value in given.items() if value is not None}
        if self._saved is not None and transform is None and (given or n_subsamples is not None):
            raise ValueError(
                f"the transform {transform_name(self.transform)!r} was a function, and functions are not saved with a "
                "result: pass transform= as well."
            )
        known = settings_of(SelectionConfig)
        changes = {name: known[name].validate(value) for name, value in given.items()}
        if transform is not None:
            changes["_saved"] = None
        if criterion is not None:
            changes["_reweighed"] = True
        found = replace(self, **changes)
        if n_subsamples is None:
            return found
        n = check_integer("n_subsamples", n_subsamples, minimum=1)
        if n > self.n_subsamples:
            raise ValueError(f"n_subsamples must be at most the {self.n_subsamples} that were scored; got {n}.")
        return found._first(n)

    def _first(self, n: int) -> SelectionResult:
        """Keep the first n scored subsamples and renumber the calibration subsamples that follow them."""
        plan, trials, calibration = self.plan, self.trials.first(n), self.calibration
        kept = list(range(len(plan.seeds)))
        # The finished subsamples of a partial result may not be the first ones of its plan, which it keeps.
        if trials.subsamples == tuple(range(n)):
            kept = [*range(n), *range(plan.n_subsamples, len(plan.seeds))]
            plan = replace(plan, n_subsamples=n, seeds=tuple(plan.seeds[at] for at in kept))
        new = {old: at for at, old in enumerate(kept)}
        present = {*trials.subsamples, *calibration.subsamples}
        return replace(
            self,
            plan=plan,
            trials=trials,
            calibration=replace(calibration, subsamples=tuple(new[index] for index in calibration.subsamples)),
            failures=tuple(replace(f, subsample=new[f.subsample]) for f in self.failures if f.subsample in present),
        )

    def plot(self, kind: PlotKind = "curve", *, ax: Axes | None = None, delta: float = 0.05) -> Axes:
        """Draw the result and return the axes, without showing or saving the figure.

        Parameters
        ----------
        kind : {"curve", "weights", "convergence", "probability", "stability"}, default="curve"
            ``"curve"``: the criterion with its 95 % band, and the micro and macro averages. ``"weights"``:
            discrepancies and weights per k. ``"convergence"``: score and choice against the number of subsamples.
            ``"probability"``: selection probability and confidence per k. ``"stability"``: agreement between the
            clusterings of consecutive subsamples.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure if None.
        delta : float, default=0.05
            Probability that the Hoeffding band of ``"convergence"`` does not hold.
        """
        return plots.plot(self, kind, ax=ax, delta=delta)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML report and return its path.

        Parameters
        ----------
        path : str or path
            File to write; its folder must exist.
        """
        return html.write(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as versioned plain data for strict JSON, without NaN and NumPy types."""
        return records.dump_result(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SelectionResult:
        """Rebuild a result from :meth:`to_dict`; derived numbers are computed again from its trials.

        Parameters
        ----------
        data : mapping
            The return value of ``to_dict``, also after a round trip through JSON.
        """
        return cls(**records.load_result(data))


def collect(plan: Plan, trials: Sequence[Trial], *, finished: bool = False, **fields: Any) -> SelectionResult:
    """Build the result of trials that finished in any order; ``fields`` are further fields of the result.

    ``finished`` declares that no more subsamples follow: an adaptive plan is shortened to those that ran.
    """
    failures = sorted((f for trial in trials for f in trial.failures), key=lambda f: (f.subsample, f.k))
    # The scored subsamples come first in a plan.
    scored = Trials.collect((trial for trial in trials if trial.index < plan.n_subsamples), len(plan.ks))
    calibration = Trials.collect((trial for trial in trials if trial.index >= plan.n_subsamples), len(plan.ks))
    result = SelectionResult(plan, scored, calibration, failures=tuple(failures), **fields)
    return result._first(result.n_subsamples) if finished and plan.adaptive else result
