"""The result of a comparison: values per k of several criteria, what each selects, and which of them agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._result.records import plain
from compsil_kit._util.format import format_ks, number
from compsil_kit.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]

# Relative differences up to this are ties: rounding depends on the CPU.
MAX_RELATIVE_ROUNDING = 1e-12
# Absolute differences of slopes up to this are ties.
MAX_SLOPE_ROUNDING = 1e-9


def _largest(values: Array, *_: Any) -> int | None:
    """Return the position of the largest value, the first on ties; None without finite values."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    return int(np.argmax(np.isclose(values, finite.max(), rtol=MAX_RELATIVE_ROUNDING, atol=0.0)))


def _knee(values: Array, _: Array, ks: Sequence[int]) -> int | None:
    """Return the position where the slope of the curve's logarithm over k increases most, the first on ties.

    The slope does not change at the first and the last k. None if it increases nowhere, or a value is undefined.
    """
    if len(values) < 3 or not np.isfinite(values).all() or values.max() <= 0:
        return None
    # Inertia is 0 once every distinct point is a cluster; the floor keeps its logarithm finite.
    logs = np.log(np.maximum(values / values.max(), np.finfo(np.float64).eps))
    bends = np.diff(np.diff(logs) / np.diff(ks))
    if bends.max() <= MAX_SLOPE_ROUNDING:
        return None
    return int(np.flatnonzero(bends >= bends.max() - MAX_SLOPE_ROUNDING)[0]) + 1


def _gap_rule(values: Array, errors: Array, *_: Any) -> int | None:
    """Return the position of the smallest k with ``gap(k) >= gap(k+1) - error(k+1)`` (Tibshirani), or the largest."""
    for at in range(len(values) - 1):
        if values[at] >= values[at + 1] - errors[at + 1]:
            return at
    return _largest(values)


@dataclass(frozen=True)
class Kind:
    """Label of a criterion, and the rule that maps its values, errors and ks to the position of the selected k."""

    label: str
    choose: Callable[[Array, Array, Sequence[int]], int | None] = _largest
    lower_is_better: bool = False


KINDS = {
    "composite": Kind("composite silhouette"),
    "micro": Kind("micro silhouette, subsamples"),
    "macro": Kind("macro silhouette, subsamples"),
    "full-micro": Kind("micro silhouette, all data"),
    "full-macro": Kind("macro silhouette, all data"),
    "calinski-harabasz": Kind("Calinski–Harabasz"),
    "davies-bouldin": Kind("Davies–Bouldin (lower is better)", lambda values, *_: _largest(-values), True),
    "elbow": Kind("inertia (elbow)", _knee, lower_is_better=True),
    "gap": Kind("gap statistic", _gap_rule),
}


@dataclass(frozen=True)
class Criterion:
    """One criterion: mean values per k and their standard errors."""

    name: str
    values: Array
    errors: Array

    @property
    def kind(self) -> Kind:
        """Label and rule of the criterion."""
        return KINDS[self.name]

    def cells(self, digits: int = 4) -> list[str]:
        """Return the formatted values; numbers of 100 and more have no decimals."""
        return [f"{value:,.0f}" if 100 <= abs(value) < np.inf else number(value, digits) for value in self.values]


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
        groups: dict[int, list[str]] = {}
        for name, k in self.choices.items():
            if k is not None:
                groups.setdefault(k, []).append(name)
        undecided = [name for name, k in self.choices.items() if k is None]
        total, composite = len(self.choices), self.choices.get("composite")
        if len(groups) == 1 and not undecided:
            subject = f"All {total} criteria select" if total > 1 else f"{next(iter(self.choices))}:"
            return f"{subject} k = {next(iter(groups))}."
        ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        lines = [f"{len(names)} of {total} select k = {k}: {', '.join(names)}." for k, names in ranked]
        if undecided:
            lines.append(f"No choice: {', '.join(undecided)}.")
        if composite is not None:
            n_agree = len(groups[composite]) - 1
            lines.append(
                f"The composite's k = {composite} is also selected by {n_agree} of the other {total - 1} criteria."
                if n_agree
                else f"No other criterion selects k = {composite}. Inspect the clusterings before relying on it."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Show the values as a table, with a star on each choice."""
        table = [["k", *(c.name for c in self.criteria)]]
        for at, k in enumerate(self.ks):
            table.append([str(k), *("*" * (k == self.choices[c.name]) + c.cells()[at] for c in self.criteria)])
        widths = [5, *(max(len(c.name), 11) for c in self.criteria)]
        lines = [" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in table]
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
            "values": {each.name: plain(each.values) for each in self.criteria},
            "errors": {each.name: plain(each.errors) for each in self.criteria},
            "n_repeats": self.n_repeats,
            "n_references": self.n_references,
            "n_failed": self.n_failed,
            "selection": None if self.selection is None else self.selection.to_dict(),
        }
