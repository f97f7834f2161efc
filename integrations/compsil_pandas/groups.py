"""One selection per group of rows, as a tidy table and the results behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from compsil_kit import ClusteringError, SelectionError, SelectionResult


@dataclass(frozen=True, repr=False)
class GroupSelection(Mapping[Any, SelectionResult]):
    """The selections of several groups; ``selection[group]`` is the result of one.

    Attributes
    ----------
    frame : DataFrame
        One row per group: rows, best_k, score, sem, probability, runner_up, lead, and why a group has no answer.
    results : dict
        The result of each group that has one.
    """

    frame: pd.DataFrame
    results: dict[Any, SelectionResult]

    def __getitem__(self, group: Any) -> SelectionResult:
        """Return the result of a group, or say why it has none."""
        if group not in self.results and group in self.frame.index:
            raise KeyError(f"group {group!r} has no answer: {self.frame.loc[group, 'problem']}")
        return self.results[group]

    def __iter__(self) -> Iterator[Any]:
        """Go through the groups that have a result."""
        return iter(self.results)

    def __len__(self) -> int:
        """Count the groups that have a result."""
        return len(self.results)

    def __repr__(self) -> str:
        """Show the table."""
        return f"GroupSelection of {len(self.frame)} groups\n\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        """Show the table in a notebook; pandas escapes it."""
        return str(self.frame.to_html())


def select_groups(frame: pd.DataFrame, by: Any, select: Callable[[pd.DataFrame], SelectionResult]) -> GroupSelection:
    """Run a selection on every group; a group that cannot be clustered is reported, not dropped."""
    rows, results = {}, {}
    for group, part in frame.groupby(by, sort=True, observed=True, dropna=False):
        name = group[0] if isinstance(group, tuple) and len(group) == 1 else group
        try:
            results[name] = select(part.drop(columns=_keys_of(frame, by)))
            rows[name] = _row(len(part), results[name])
        except (ValueError, ClusteringError, SelectionError) as error:
            rows[name] = {"n_rows": len(part), "problem": str(error)}
    columns = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]
    index = pd.MultiIndex.from_tuples(rows) if any(isinstance(name, tuple) for name in rows) else pd.Index(list(rows))
    table = pd.DataFrame(list(rows.values()), columns=columns, index=index.set_names(_names(by, index)))
    table[["best_k", "runner_up"]] = table[["best_k", "runner_up"]].astype("Int64")
    lost = [str(name) for name in rows if name not in results]
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(rows)} groups have no answer: {', '.join(lost[:10])}. The column 'problem' says why.",
            stacklevel=3,
        )
    return GroupSelection(table, results)


def _keys_of(frame: pd.DataFrame, by: Any) -> list[Any]:
    """Return the grouping columns: constant within a group, they have no part in its clustering."""
    keys = by if isinstance(by, list) else [by]
    return [key for key in keys if isinstance(key, str | int | tuple) and key in frame.columns]


def _names(by: Any, index: pd.Index[Any]) -> list[Any]:
    keys = by if isinstance(by, list) else [by]
    return [key if isinstance(key, str) else None for key in keys][: index.nlevels]


def _row(n_rows: int, result: SelectionResult) -> dict[str, Any]:
    at, second = result.best_index, result.runner_up
    assert at is not None
    return {
        "n_rows": n_rows,
        "best_k": result.best_k,
        "score": result.best_score,
        "sem": float(result.sem[at]),
        "probability": float(result.probability[at]),
        "runner_up": pd.NA if second is None else result.ks[second],
        "lead": result.lead if np.isfinite(result.lead) else np.nan,
        "problem": "",
    }
