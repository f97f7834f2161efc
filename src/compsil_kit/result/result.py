"""The outcome of a selection: all trials, the curve, the choice and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit.data.table import Preparation
from compsil_kit.errors import SelectionError
from compsil_kit.method import selection
from compsil_kit.method.guarantees import Guarantee, achieved
from compsil_kit.method.weights import Transform, check_transform, transform_name
from compsil_kit.result import serialization
from compsil_kit.result.scores import ScoredTrials
from compsil_kit.result.trials import Failure, current_versions
from compsil_kit.show import text
from compsil_kit.util.checks import check_choice, check_integer, check_real

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(ScoredTrials):
    """What a selection found. Everything is derived from the kept trials, so changing the rule costs nothing.

    Attributes
    ----------
    best_k : int
        The selected number of clusters.
    best_score : float
        Its composite silhouette.
    ks : tuple of int
        The candidate counts.
    micro, macro, weights, composite : ndarray of shape (n_ks, n_subsamples)
        Per candidate and subsample: the two silhouettes, the weight of micro, and the composite. NaN where a clustering
        failed.
    scores, sem, lcb : ndarray of shape (n_ks,)
        Mean composite, its standard error (NaN below two subsamples), and the lower confidence bound.
    probability : ndarray of shape (n_ks,)
        How often a new run on the same data would choose each k, estimated from the spread of the subsamples.
    plan : Plan
        What was to be computed.
    preparation : Preparation or None
        What was done to the table the data came from: columns, scale, rows left out. None for plain arrays.
    failures : tuple of Failure
        Clusterings that failed, with their causes.
    partial : bool
        Whether the run was stopped before all subsamples were finished.
    """

    failures: tuple[Failure, ...] = ()
    versions: Mapping[str, str] = field(default_factory=current_versions)
    preparation: Preparation | None = None

    def _no_choice(self) -> SelectionError:
        error = SelectionError(text.why_no_choice(self))
        error.result = self
        return error

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """Return what the finished run guarantees, with probability 1 - delta (Hoeffding).

        The bounds are about mean scores, so the lead here is one of scores, also under the rule ``"lcb"``.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of being wrong.

        Returns
        -------
        Guarantee
            Radii, the lead, and the subsamples that would prove the choice.
        """
        others = np.where(self.selectable, self.scores, -np.inf)
        others[self._chosen()] = -np.inf
        second = float(others.max())
        return achieved(
            self.best_score - second if np.isfinite(second) else float("nan"),
            n_subsamples=max(1, int(self._summary.count[self.selectable].min(initial=self.n_subsamples))),
            n_ks=len(self.ks),
            delta=check_real("delta", delta, low=0.0, high=1.0, open_ends=True),
            independent=self._largest is not None,
        )

    @property
    def warnings(self) -> list[str]:
        """What should be known before the choice is trusted, in plain words."""
        return text.warnings_of(self)

    def explain(self) -> str:
        """Return a paragraph: the choice, the runner-up, how sure, what micro and macro alone say, and warnings."""
        return text.explain(self)

    def __repr__(self) -> str:
        """Show the choice and the curve as a table."""
        return text.table(self)

    @property
    def curve(self) -> pd.DataFrame:
        """One row per k: score, sem, lcb, micro, macro, weight, n_subsamples, n_failed, probability."""
        import pandas as pd

        columns = {
            "score": self.scores,
            "sem": self.sem,
            "lcb": self.lcb,
            "micro": selection.summarise(self.micro, self.z).mean,
            "macro": selection.summarise(self.macro, self.z).mean,
            "weight": selection.summarise(self.weights, self.z).mean,
            "n_subsamples": self._summary.count,
            "n_failed": self.n_failed,
            "probability": self.probability,
        }
        return pd.DataFrame(columns, index=pd.Index(self.ks, name="k"))

    def to_frame(self) -> pd.DataFrame:
        """Return the trials as a tidy table, one row per k and subsample."""
        import pandas as pd

        index = pd.MultiIndex.from_product([self.ks, self.trials.subsamples], names=["k", "subsample"])
        columns = ("micro", "macro", "weights", "composite")
        return pd.DataFrame({name.rstrip("s"): getattr(self, name).ravel() for name in columns}, index=index)

    def reweigh(
        self,
        *,
        transform: Transform | None = None,
        rule: str | None = None,
        z: float | None = None,
        n_subsamples: int | None = None,
    ) -> SelectionResult:
        """Return the result under another transformation or rule, or from fewer subsamples, without recomputing.

        Parameters
        ----------
        transform : str or callable, optional
            Another transformation; the present one if None.
        rule : {"max", "lcb"}, optional
            Another rule; the present one if None.
        z : float, optional
            Another width of the lower confidence bound; the present one if None.
        n_subsamples : int, optional
            Use only the first so many subsamples; all if None.

        Returns
        -------
        SelectionResult
            A new result; this one does not change.
        """
        changes: dict[str, Any] = {}
        if transform is not None:
            changes.update(transform=check_transform(transform), saved=None)
        elif self.saved is not None and (rule, z, n_subsamples) != (None, None, None):
            raise ValueError(
                f"the transformation {transform_name(self.transform)!r} was a function, which is not saved with a "
                "result: pass transform= as well."
            )
        if rule is not None:
            changes["rule"] = check_choice("rule", rule, selection.RULES)
        if z is not None:
            changes["z"] = check_real("z", z, low=0.0, high=1e6)
        if n_subsamples is not None:
            changes.update(self._prefix(check_integer("n_subsamples", n_subsamples, minimum=1)))
        return replace(self, **changes)

    def _prefix(self, n: int) -> dict[str, Any]:
        if n > self.n_subsamples:
            raise ValueError(f"n_subsamples must be at most the {self.n_subsamples} that were scored; got {n}.")
        kept = set(self.trials.subsamples[:n]) | set(self.calibration.subsamples)
        seeds = self.plan.seeds[:n] + self.plan.seeds[self.plan.n_subsamples :]
        # In a partial result the first n that are finished need not be 0 .. n-1; the plan then stays as it was.
        whole = self.trials.subsamples[:n] == tuple(range(n))
        if whole:
            shift = self.plan.n_subsamples - n
            calibration = replace(self.calibration, subsamples=tuple(b - shift for b in self.calibration.subsamples))
        return {
            "trials": self.trials.first(n),
            "failures": tuple(failure for failure in self.failures if failure.subsample in kept),
            **({"plan": replace(self.plan, n_subsamples=n, seeds=seeds), "calibration": calibration} if whole else {}),
        }

    def prepared(self, preparation: Preparation) -> SelectionResult:
        """Return the result with a note of what was done to the data before.

        Parameters
        ----------
        preparation : Preparation
            Columns, scale and rows left out.

        Returns
        -------
        SelectionResult
            The same result, which remembers them.
        """
        return replace(self, preparation=preparation)

    def plot(self, kind: str = "curve", *, ax: Axes | None = None, delta: float = 0.05) -> Axes:
        """Draw the result and return the axes; nothing is shown or saved.

        Parameters
        ----------
        kind : {"curve", "weights", "convergence", "probability"}, default="curve"
            What to draw: the composite with its confidence band beside micro and macro; discrepancies and weights per
            k; score and choice against the number of subsamples; how often a new run would choose each k.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        delta : float, default=0.05
            Probability that the Hoeffding band of ``"convergence"`` misses.

        Returns
        -------
        Axes
            The axes drawn on; ``.figure`` is the figure.
        """
        from compsil_kit.show import plots

        return plots.plot(self, kind, ax=ax, delta=delta)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write everything into one HTML file that needs no network, to be mailed or stored.

        Parameters
        ----------
        path : str or path
            Where to write; the folder must exist.

        Returns
        -------
        Path
            The file written.
        """
        from compsil_kit.show.report import write

        return write(self, path)

    def _repr_html_(self) -> str:
        """Show a card in a notebook."""
        from compsil_kit.show import card

        return card.card(self)

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

        Returns
        -------
        SelectionResult
            Equal to the saved one.
        """
        return serialization.from_dict(data)
