"""The result of a selection: the trials, the score per candidate k, and the choice with its confidence."""

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
    """The result of a selection. All numbers are derived from the stored trials, so changing the rule needs no new run.

    Attributes
    ----------
    plan : Plan
        The planned computations.
    trials, calibration : Trials
        Silhouettes of the scored subsamples, and of those used only to estimate the largest discrepancies.
    transform, rule, z, criterion : str or callable, str, float, str
        How trials are weighted, how k is selected, and which criterion is used.
    failures : tuple of Failure
        Failed clusterings, with their causes.
    versions : mapping of str to str
        Versions of Python and of the libraries that produced the trials.
    preparation : Preparation or None
        Columns, scaling and dropped rows of the input table; None for plain arrays.
    structure : Structure or None
        Outcome of the structure test (whether the data contain any clusters); None if not requested.
    """

    versions: Mapping[str, str] = field(default_factory=current_versions)
    preparation: Preparation | None = None
    structure: Structure | None = None
    # Whether the criterion was changed after the run, whose number of initialisations suited the original criterion.
    _reweighed: bool = False

    if not TYPE_CHECKING:
        # Hidden from type checkers, which then report these names as unknown.
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
        """All settings as plain data, by keyword, with ``"auto"`` replaced by the value used."""
        plan = self.plan
        known = {**plan.config.to_dict(), **plan.to_dict(), "on_failure": plan.on_failure}
        known |= {name: getattr(self, name) for name in ("n_subsamples", "rule", "z", "criterion")}
        known["transform"] = transform_name(self.transform)
        return {name: known[name] for name in settings_of(SelectionConfig)}

    @property
    def warnings(self) -> list[str]:
        """Reasons to be careful with the choice, as a list of strings."""
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
        """Return the trials as a tidy table with one row per k and subsample."""
        import pandas as pd

        index = pd.MultiIndex.from_product([self.ks, self.trials.subsamples], names=["k", "subsample"])
        columns = {"micro": self.micro, "macro": self.macro, "weight": self.weights, "composite": self.composite}
        columns |= {name: getattr(self.trials, name) for name in ("best_micro", "best_macro", "agreement")}
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)

    def explain(self) -> str:
        """Return a plain-text summary of the choice, its confidence and selection probability, and the warnings."""
        notes = [] if self._best_index is None else [f"Note: {warning}" for warning in self.warnings]
        return "\n".join([*text.sentences(self), *notes])

    __repr__ = text.table
    _repr_html_ = html.card

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """Return the guarantees that Hoeffding's inequality gives for this run, with probability 1 - delta.

        The guarantees bound the distance of the scores from their expectations, and the number of subsamples that would
        prove the choice. The bounds apply to mean scores, so the lead is a difference between scores even with
        ``rule="lcb"``.

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
        """Return the result for another transform, rule or criterion, or for fewer subsamples, without a new run.

        Parameters that are None keep their current values.

        Parameters
        ----------
        transform : str or callable, optional
            Function that maps the normalised discrepancy to the weight of the micro average.
        rule : {"max", "lcb"}, optional
            Select the largest score, or the largest lower confidence bound.
        z : float, optional
            Distance of the lower confidence bound below the score, in standard errors.
        n_subsamples : int, optional
            Use only the first ``n_subsamples`` subsamples.
        criterion : {"composite", "micro", "macro", "stable", "likely"}, optional
            Criterion to maximise. ``"stable"`` and ``"likely"`` normally use 5 initialisations per clustering;
            ``warnings`` has an entry if the trials have only one.
        """
        given = {"transform": transform, "rule": rule, "criterion": criterion, "z": z}
        given = {name: value for name, value in given.items() if value is not None}
        if self._saved is not None and transform is None and (given or n_subsamples is not None):
            raise ValueError(
                f"transform {transform_name(self.transform)!r} was a function, and functions are not saved with a "
                "result. Pass transform= as well."
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
            raise ValueError(
                f"n_subsamples must be at most {self.n_subsamples}, the number of scored subsamples; got {n}."
            )
        return found._first(n)

    def _first(self, n: int) -> SelectionResult:
        """Keep the first n scored subsamples, and renumber the calibration subsamples after them."""
        plan, trials, calibration = self.plan, self.trials.first(n), self.calibration
        kept = list(range(len(plan.seeds)))
        # A partial result keeps its plan, because its finished subsamples may not be the first ones of the plan.
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
            discrepancies and weights per k. ``"convergence"``: score and choice by number of subsamples.
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
        """Return the result as a dict that can be written as strict JSON, without NaN or NumPy types."""
        return records.dump_result(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SelectionResult:
        """Rebuild a result from the output of :meth:`to_dict`; derived numbers are recomputed from its trials.

        Parameters
        ----------
        data : mapping
            The return value of ``to_dict``, which may have been written to JSON and read back.
        """
        return cls(**records.load_result(data))


def collect(plan: Plan, trials: Sequence[Trial], *, finished: bool = False, **fields: Any) -> SelectionResult:
    """Build a result from trials in any order; ``fields`` are additional fields of the result.

    If ``finished``, no more subsamples follow, and an adaptive plan is shortened to the subsamples that ran.
    """
    failures = sorted((f for trial in trials for f in trial.failures), key=lambda f: (f.subsample, f.k))
    # The scored subsamples come first in a plan.
    scored = Trials.collect((trial for trial in trials if trial.index < plan.n_subsamples), len(plan.ks))
    calibration = Trials.collect((trial for trial in trials if trial.index >= plan.n_subsamples), len(plan.ks))
    result = SelectionResult(plan, scored, calibration, failures=tuple(failures), **fields)
    return result._first(result.n_subsamples) if finished and plan.adaptive else result
