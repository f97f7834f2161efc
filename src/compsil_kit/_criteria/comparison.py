"""Several criteria side by side: their values per k, what each chooses, and who agrees with whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._criteria.criteria import KINDS, Criterion
from compsil_kit._method.selection import summarise
from compsil_kit._util.format import format_ks, number
from compsil_kit.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Criteria for the number of clusters, side by side.

    Attributes
    ----------
    ks : tuple of int
        The candidate counts.
    values, errors : DataFrame
        One row per k, one column per criterion: mean and its standard error.
    choices : dict
        The k that each criterion chooses, None where it cannot say.
    selection : SelectionResult or None
        The composite's selection, if it was asked for.
    n_repeats, n_references : int
        Runs on all the data, and reference sets of the gap statistic.
    n_failed : int
        Clusterings that failed and were left out, with ``on_failure="skip"``.
    """

    plan: Plan
    selection: SelectionResult | None
    criteria: tuple[Criterion, ...]
    n_repeats: int
    n_references: int
    n_failed: int = 0

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate counts."""
        return self.plan.ks

    @property
    def values(self) -> pd.DataFrame:
        """Mean value of each criterion per k."""
        import pandas as pd

        return pd.DataFrame({c.name: c.values for c in self.criteria}, index=pd.Index(self.ks, name="k"))

    @property
    def errors(self) -> pd.DataFrame:
        """Standard error of each criterion per k."""
        import pandas as pd

        return pd.DataFrame({c.name: c.errors for c in self.criteria}, index=pd.Index(self.ks, name="k"))

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion chooses."""
        found: dict[str, int | None] = {}
        for criterion in self.criteria:
            at = KINDS[criterion.name].choose(criterion.values, criterion.errors, self.ks)
            found[criterion.name] = None if at is None else self.ks[at]
        if self.selection is not None:
            # Ks that lost too many subsamples are out of the running there.
            found.update({name: k for name, k in self.selection.choices.items() if name in found})
        return found

    def explain(self) -> str:
        """Say in a few sentences who agrees with whom.

        Returns
        -------
        str
            The groups of criteria that choose the same k, largest first.
        """
        groups: dict[int, list[str]] = {}
        for name, k in self.choices.items():
            if k is not None:
                groups.setdefault(k, []).append(name)
        ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        total = len(self.choices)
        if len(ranked) == 1 and len(ranked[0][1]) == total:
            return (
                f"All {total} criteria choose k = {ranked[0][0]}."
                if total > 1
                else f"{ranked[0][1][0]}: k = {ranked[0][0]}."
            )
        parts = [f"{len(names)} of {total} choose k = {k}: {', '.join(names)}." for k, names in ranked]
        silent = [name for name, k in self.choices.items() if k is None]
        if silent:
            parts.append(f"No choice: {', '.join(silent)}.")
        return "\n".join([*parts, *self._side()])

    def _side(self) -> list[str]:
        composite = self.choices.get("composite")
        if composite is None or len(self.choices) < 2:
            return []
        allies = sum(k == composite for name, k in self.choices.items() if name != "composite")
        others = len(self.choices) - 1
        if allies == 0:
            return [f"No other criterion chooses k = {composite}. Inspect the clusterings before relying on it."]
        return [f"The composite's k = {composite} is also chosen by {allies} of the other {others} criteria."]

    def __repr__(self) -> str:
        """Show the values as a table, a star on each choice."""
        names = [criterion.name for criterion in self.criteria]
        width = [max(len(name), 11) for name in names]
        lines = ["    k " + " ".join(f"{name:>{w}}" for name, w in zip(names, width, strict=True))]
        for at, k in enumerate(self.ks):
            cells = [_cell(c.values[at], starred=self.choices[c.name] == k) for c in self.criteria]
            lines.append(f"{k:>5} " + " ".join(f"{cell:>{w}}" for cell, w in zip(cells, width, strict=True)))
        return "\n".join([f"Comparison over k in {format_ks(self.ks)}; * marks each choice", "", *lines])

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw a heat map of the criteria against k, a ring on each choice, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from compsil_kit._show.comparison_plot import plot_comparison

        return plot_comparison(self, ax=ax)

    def _repr_html_(self) -> str:
        """Show the comparison in a notebook."""
        from compsil_kit._show import card

        return card.comparison_card(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for strict JSON; what is undefined is None.

        Returns
        -------
        dict
            Values, errors and choices per criterion, and the settings.
        """
        return {
            "format": "compsil-kit/comparison",
            "version": 1,
            "ks": list(self.ks),
            "choices": dict(self.choices),
            "values": {c.name: _plain(c.values) for c in self.criteria},
            "errors": {c.name: _plain(c.errors) for c in self.criteria},
            "n_repeats": self.n_repeats,
            "n_references": self.n_references,
            "n_failed": self.n_failed,
            "selection": None if self.selection is None else self.selection.to_dict(),
        }


def _plain(values: Array) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _cell(value: float, *, starred: bool) -> str:
    text = f"{value:,.0f}" if abs(value) >= 100 else number(value)
    return ("*" if starred else "") + text


def subsample_criteria(selection: SelectionResult, names: tuple[str, ...]) -> list[Criterion]:
    """Return the criteria that come from the subsamples of a selection."""
    trials = {"composite": selection.composite, "micro": selection.micro, "macro": selection.macro}
    summaries = {name: summarise(values, selection.z) for name, values in trials.items() if name in names}
    return [Criterion(name, summary.mean, summary.sem) for name, summary in summaries.items()]
