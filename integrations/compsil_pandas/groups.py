"""One selection per group of rows, as a tidy table and the results behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from compsil_kit import ClusteringError, Interrupted, SelectionError, SelectionResult


@dataclass(frozen=True, eq=False, repr=False)
class GroupSelection(Mapping[Any, SelectionResult]):
    """The selections of several groups; ``selection[group]`` is the result of one.

    Attributes
    ----------
    frame : DataFrame
        One row per group: n_rows, best_k, score, sem, probability, runner_up, lead, and why a group has no answer.
    results : dict
        The result of each group that has one.
    problems : dict
        Why each other group has none.
    """

    frame: pd.DataFrame
    results: dict[Any, SelectionResult]
    problems: dict[Any, str]

    def __getitem__(self, group: Any) -> SelectionResult:
        """Return the result of a group, or say why it has none."""
        key = _key(group)
        if key in self.problems:
            raise KeyError(f"group {group!r} has no answer: {self.problems[key]}")
        return self.results[key]

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
        """Show the table in a notebook, with whole sentences; pandas escapes it."""
        with pd.option_context("display.max_colwidth", None):
            return str(self.frame.to_html())


def select_groups(frame: pd.DataFrame, by: Any, select: Callable[[pd.DataFrame], SelectionResult]) -> GroupSelection:
    """Run a selection on every group; a group that cannot be clustered is reported, not dropped.

    An interrupt carries what was finished: the groups before it, and the finished part of the one it met.
    """
    grouped = frame.groupby(by, sort=True, observed=True, dropna=False)
    index = grouped.size().index
    rows, results, problems = [], {}, {}
    stop: KeyboardInterrupt | None = None
    for key, (_, part) in zip(map(_key, index.tolist()), grouped, strict=True):
        found, problem = None, "not started: the run was interrupted."
        if stop is None:
            try:
                found, problem = select(part), ""
            except (ValueError, ClusteringError, SelectionError) as error:
                problem = str(error)
            except KeyboardInterrupt as error:
                stop, problem = error, "interrupted."
                found = _answer(error)
        if found is None:
            problems[key] = problem
            rows.append({"n_rows": len(part), "problem": problem})
        else:
            results[key] = found
            rows.append({**_row(len(part), found), "problem": problem})
    selection = GroupSelection(_table(rows, index), results, problems)
    if stop is not None:
        raise _interrupted(selection) from stop
    if problems:
        _warn(problems, len(rows))
    return selection


def _answer(stop: KeyboardInterrupt) -> SelectionResult | None:
    """Return the finished part of the selection that was interrupted, if there is enough of it for a choice."""
    result: SelectionResult | None = getattr(stop, "result", None)
    return result if result is not None and result._best_index is not None else None


def _interrupted(selection: GroupSelection) -> Interrupted:
    whole = sum(not result.partial for result in selection.values())
    stopped = Interrupted(whole, len(selection.frame), "groups", "the finished ones are in .result.")
    stopped.result = selection
    return stopped


def _table(rows: list[dict[str, Any]], index: pd.Index[Any]) -> pd.DataFrame:
    columns = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]
    table = pd.DataFrame(rows, columns=columns, index=index)
    table[["best_k", "runner_up"]] = table[["best_k", "runner_up"]].astype("Int64")
    return table


def _warn(problems: dict[Any, str], n_groups: int) -> None:
    """Name the groups without an answer at the line that called the accessor."""
    first, why = next(iter(problems.items()))
    some = ", ".join(str(key) for key in list(problems)[:10]) + (
        f" and {len(problems) - 10} more" if len(problems) > 10 else ""
    )
    warnings.warn(
        f"{len(problems)} of {n_groups} groups have no answer: {some}. The column 'problem' says why; for {first}: "
        f"{why}",
        stacklevel=4,
    )


def key_names(by: Any) -> list[Any]:
    """Return the names that rows are grouped by: constant within a group, such columns take no part in clustering."""
    keys = [getattr(key, "key", key) for key in (by if isinstance(by, list) else [by])]
    return [key for key in keys if isinstance(key, Hashable)]


def _key(group: Any) -> Any:
    """Return a group's key so that a dict finds it again, with ``numpy.nan`` for whatever is missing."""
    if isinstance(group, tuple):
        return tuple(_key(part) for part in group)
    return np.nan if pd.api.types.is_scalar(group) and pd.isna(group) else group


def _row(n_rows: int, result: SelectionResult) -> dict[str, Any]:
    at, second = result._best_index, result._runner_up
    assert at is not None
    return {
        "n_rows": n_rows,
        "best_k": result.best_k,
        "score": result.best_score,
        "sem": float(result.sem[at]),
        "probability": float(result.selection_probability[at]),
        "runner_up": pd.NA if second is None else result.ks[second],
        "lead": result._lead if np.isfinite(result._lead) else np.nan,
    }
