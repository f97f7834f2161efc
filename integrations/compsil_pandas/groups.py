"""One selection per group of rows: a table and the results behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from compsil_kit import ClusteringError, Interrupted, SelectionError, SelectionResult

COLUMNS = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]
MAX_NAMED_GROUPS = 10


@dataclass(frozen=True, eq=False, repr=False)
class GroupSelection(Mapping[Any, SelectionResult]):
    """A mapping from groups to their results, with a table of all groups.

    Attributes
    ----------
    frame : DataFrame
        One row per group: n_rows, best_k, score, sem, probability, runner_up, lead, and the error of a failed group.
    results : dict
        The result of each group that did not fail.
    problems : dict
        The error of each failed group.
    """

    frame: pd.DataFrame
    results: dict[Any, SelectionResult]
    problems: dict[Any, str]

    def __getitem__(self, group: Any) -> SelectionResult:
        """Return the result of a group; for a failed group, raise with its error."""
        key = _key(group)
        if key in self.problems:
            raise KeyError(f"group {group!r} has no result: {self.problems[key]}")
        return self.results[key]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the groups that have a result."""
        return iter(self.results)

    def __len__(self) -> int:
        """Count the groups that have a result."""
        return len(self.results)

    def __repr__(self) -> str:
        """Return the table as text."""
        return f"GroupSelection of {len(self.frame)} groups\n\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        """Return the table as HTML without truncated texts; pandas escapes it."""
        with pd.option_context("display.max_colwidth", None):
            return str(self.frame.to_html())


def select_groups(frame: pd.DataFrame, by: Any, select: Callable[[pd.DataFrame], SelectionResult]) -> GroupSelection:
    """Run a selection on every group; a failed group stays in the table, with its error.

    After an interrupt, the exception holds the finished groups and the finished part of the interrupted one.
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
                found = _partial_result(error)
        rows.append({"n_rows": len(part), "problem": problem})
        if found is None:
            problems[key] = problem
        else:
            results[key] = found
            rows[-1] |= _row(found)
    table = pd.DataFrame(rows, columns=COLUMNS, index=index).astype({"best_k": "Int64", "runner_up": "Int64"})
    selection = GroupSelection(table, results, problems)
    if stop is not None:
        complete = sum(not result.partial for result in results.values())
        interrupted = Interrupted(complete, len(rows), "groups", "the finished ones are in .result.")
        interrupted.result = selection
        raise interrupted from stop
    if problems:
        _warn(problems, len(rows))
    return selection


def _partial_result(stop: KeyboardInterrupt) -> SelectionResult | None:
    """Return the finished part of the interrupted selection, if k can be selected from it."""
    result: SelectionResult | None = getattr(stop, "result", None)
    return result if result is not None and result._best_index is not None else None


def _warn(problems: dict[Any, str], n_groups: int) -> None:
    """Warn about failed groups at the line that called the accessor."""
    group, problem = next(iter(problems.items()))
    more = len(problems) - MAX_NAMED_GROUPS
    names = ", ".join(map(str, list(problems)[:MAX_NAMED_GROUPS])) + (f" and {more} more" if more > 0 else "")
    warnings.warn(
        f"{len(problems)} of {n_groups} groups have no result: {names}. The column 'problem' holds the errors; for "
        f"{group}: {problem}",
        stacklevel=4,
    )


def key_names(by: Any) -> list[Any]:
    """Return the names of the key columns, which are constant within a group."""
    keys = [getattr(key, "key", key) for key in (by if isinstance(by, list) else [by])]
    return [key for key in keys if isinstance(key, Hashable)]


def drop_columns(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the frame without some columns, by position because names may be duplicate or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def _key(group: Any) -> Any:
    """Return the key of a group with ``numpy.nan`` for every missing value, so that a dict finds it."""
    if isinstance(group, tuple):
        return tuple(_key(part) for part in group)
    return np.nan if pd.api.types.is_scalar(group) and pd.isna(group) else group


def _row(result: SelectionResult) -> dict[str, Any]:
    at, second = result._best_index, result._runner_up
    assert at is not None
    return {
        "best_k": result.best_k,
        "score": result.best_score,
        "sem": float(result.sem[at]),
        "probability": float(result.selection_probability[at]),
        "runner_up": pd.NA if second is None else result.ks[second],
        "lead": result._lead if np.isfinite(result._lead) else np.nan,
    }
