"""The result of a comparison: values per k of several criteria, what each selects, and which of them agree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._criteria.criteria import Criterion
from compsil_kit._method.selection import summarise
from compsil_kit._util.format import format_ks
from compsil_kit.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several criteria for the number of clusters, side by side.

    Attributes
    ----------
    ks : tuple of int
        The candidate numbers of clusters.
    values, errors : DataFrame
        Mean and standard error, with one row per k and one column per criterion.
    choices : dict
        The k that each criterion selects; None if it cannot select any.
    selection : SelectionResult or None
        The selection on the subsamples, if criteria on subsamples were requested.
    n_repeats, n_references : int
        Number of runs on all the data, and of reference data sets of the gap statistic.
    n_failed : int
        Number of failed clusterings that were skipped (``on_failure="skip"``).
    """

    plan: Plan
    selection: SelectionResult | None
    criteria: tuple[Criterion, ...]
    n_repeats: int
    n_references: int
    n_failed: int = 0

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate numbers of clusters, ascending."""
        return self.plan.ks

    @property
    def values(self) -> pd.DataFrame:
        """Mean value of each criterion per k."""
        return self._frame("values")

    @property
    def errors(self) -> pd.DataFrame:
        """Standard error of each criterion per k."""
        return self._frame("errors")

    def _frame(self, attribute: str) -> pd.DataFrame:
        import pandas as pd

        columns = {criterion.name: getattr(criterion, attribute) for criterion in self.criteria}
        return pd.DataFrame(columns, index=pd.Index(self.ks, name="k"))

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion selects; None if it cannot select any."""
        positions = {c.name: c.kind.choose(c.values, c.errors, self.ks) for c in self.criteria}
        found = {name: None if at is None else self.ks[at] for name, at in positions.items()}
        if self.selection is not None:
            # The selection excludes ks with too many failures.
            found.update({name: k for name, k in self.selection.choices.items() if name in found})
        return found

    def explain(self) -> str:
        """Return a summary in plain text: the criteria that select the same k, the largest group first."""
        total, selected = len(self.choices), set(self.choices.values())
        if len(selected) == 1 and None not in selected:
            subject = f"All {total} criteria select" if total > 1 else f"{next(iter(self.choices))}:"
            return f"{subject} k = {selected.pop()}."
        groups: dict[int, list[str]] = {}
        for name, k in self.choices.items():
            if k is not None:
                groups.setdefault(k, []).append(name)
        ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        parts = [f"{len(names)} of {total} select k = {k}: {', '.join(names)}." for k, names in ranked]
        undecided = [name for name, k in self.choices.items() if k is None]
        parts += [f"No choice: {', '.join(undecided)}."] if undecided else []
        return "\n".join([*parts, *self._agreement()])

    def _agreement(self) -> list[str]:
        composite, others = self.choices.get("composite"), len(self.choices) - 1
        if composite is None or not others:
            return []
        n_agree = sum(k == composite for name, k in self.choices.items() if name != "composite")
        if not n_agree:
            return [f"No other criterion selects k = {composite}. Inspect the clusterings before relying on it."]
        return [f"The composite's k = {composite} is also selected by {n_agree} of the other {others} criteria."]

    def __repr__(self) -> str:
        """Show the values as a table, with a star on each choice."""
        columns = [["k", *map(str, self.ks)]]
        for c in self.criteria:
            starred = [
                f"*{cell}" if k == self.choices[c.name] else cell for k, cell in zip(self.ks, c.cells(), strict=True)
            ]
            columns.append([c.name, *starred])
        widths = [5, *(max(len(criterion.name), 11) for criterion in self.criteria)]
        rows = zip(*columns, strict=True)
        lines = [" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([f"Comparison over k in {format_ks(self.ks)}; * marks the selected k", "", *lines])

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw a heat map of the criteria against k, with a ring on each choice, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure if None.
        """
        from compsil_kit._show.plots import plot_comparison

        return plot_comparison(self, ax=ax)

    def _repr_html_(self) -> str:
        from compsil_kit._show.html import comparison_card

        return comparison_card(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for strict JSON, with None for undefined values."""
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


def subsample_criteria(selection: SelectionResult, names: tuple[str, ...]) -> list[Criterion]:
    """Return the criteria that come from the subsamples of a selection."""
    trials = {"composite": selection.composite, "micro": selection.micro, "macro": selection.macro}
    summaries = {name: summarise(values, selection.z) for name, values in trials.items() if name in names}
    return [Criterion(name, summary.mean, summary.sem) for name, summary in summaries.items()]
