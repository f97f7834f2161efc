"""Engine calls behind the accessor methods; results are returned with the frame's index."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from compsil_kit import (
    ClusteringError,
    Comparison,
    Interrupted,
    PreparedTable,
    SelectionError,
    SelectionResult,
    compare,
    label_rows,
    prepare,
    silhouettes,
)
from compsil_kit.adapters import (
    CompareKeywords,
    MetricLike,
    Missing,
    Scale,
    SelectKeywords,
    check_names,
    describe,
    load,
    make_plan,
    open_data,
    plot_map,
    plot_silhouettes,
    run_selection,
)
from compsil_kit.config import ComparisonConfig, SelectionConfig, interactive_defaults, settings_of
from compsil_kit.events import Events

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ColumnWarning(UserWarning):
    """Warning about a column that should probably be excluded from the clustering."""


class PlotKeywords(SelectKeywords, CompareKeywords, total=False):
    """Keywords for plots: selection keywords or comparison keywords."""


ClusterPlotKind = Literal["silhouette", "map"]
# The settings that affect a clustering with a given k.
CLUSTER_SETTINGS = ("clusterer", "metric", "random_state")
GROUP_COLUMNS = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]
MAX_NAMED_GROUPS = 10


def prepare_frame(frame: pd.DataFrame, columns: Any, scale: Scale | None, missing: Missing) -> PreparedTable:
    """Prepare the frame; column warnings point to the line that called the accessor."""
    table = prepare(frame, columns=columns, scale=scale, missing=missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def split_keywords(keywords: Mapping[str, Any]) -> tuple[SelectionConfig, Events]:
    """Split keywords into selection settings, with interactive defaults, and event settings."""
    events = {name: keywords[name] for name in settings_of(Events) if name in keywords}
    settings = {name: value for name, value in keywords.items() if name not in events}
    return SelectionConfig.from_dict({**interactive_defaults(SelectionConfig), **settings}), Events(**events)


def run_select(table: PreparedTable, config: SelectionConfig, events: Events) -> SelectionResult:
    """Run a selection on a prepared table."""
    opened = open_data(table)
    plan = make_plan(opened, config)
    return run_selection(plan, load(opened, plan, events), events)


def run_compare(table: PreparedTable, keywords: Mapping[str, Any]) -> Comparison:
    """Run a comparison on a prepared table, with interactive defaults."""
    return compare(table, **{**interactive_defaults(ComparisonConfig), **keywords})


def cluster_frame(frame: pd.DataFrame, table: PreparedTable, k: int | None, used: Mapping[str, Any]) -> pd.Series[Any]:
    """Cluster the kept rows into k clusters, or the selected number; return labels with the frame's index."""
    if k is None:
        result = run_select(table, *split_keywords(used))
        config = result.plan.config
        # CompositeSilhouette also refits with the first of these seeds.
        used = {"clusterer": config.clusterer, "metric": config.metric, "random_state": result.plan.seeds}
        k = result.best_k
    check_names(used, settings_of(SelectionConfig, Events))
    if without_effect := [name for name in used if name not in CLUSTER_SETTINGS]:
        raise TypeError(
            f"{', '.join(without_effect)} cannot be passed with k={k!r}, because only {', '.join(CLUSTER_SETTINGS)} "
            "affect a clustering with a given k. Omit k to select the number of clusters with these settings."
        )
    (codes,) = label_rows(table, k, **used)
    spread = np.full(len(frame), -1)
    spread[table.kept] = codes
    values = pd.Categorical.from_codes(spread, categories=pd.RangeIndex(int(codes.max()) + 1))
    return pd.Series(values, index=frame.index, name="cluster")


def plot_clusters(
    kind: ClusterPlotKind, labels: pd.Series[Any], table: PreparedTable, metric: MetricLike, ax: Axes | None
) -> Axes:
    """Plot one clustering of the kept rows, as silhouettes or as a map."""
    known = labels.notna().to_numpy() & table.kept
    points, names = table.matrix[known[table.kept]], labels[known].to_numpy()
    if kind == "map":
        return plot_map(points, names, ax=ax)
    scores = silhouettes(points, names, metric=metric)
    assert not isinstance(scores, list)
    return plot_silhouettes(scores, names, ax=ax)


def align(labels: Any, frame: pd.DataFrame) -> pd.Series[Any]:
    """Return labels with the frame's index, one per row; NA is allowed."""
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise TypeError(f"labels must contain one label per row, as a Series or an array; got {describe(labels)}.")
    if isinstance(labels, pd.Series) and not labels.index.equals(frame.index):
        raise ValueError("labels must have the same index as the frame. Pass a Series with that index, or an array.")
    if len(labels) != len(frame):
        raise ValueError(f"labels must contain one label for each of the {len(frame)} rows; got {len(labels)}.")
    if isinstance(labels, pd.Series):
        return labels
    # Keep the dtype of pandas arrays, because NumPy would convert integers with NA to floats.
    is_pandas = isinstance(labels, pd.api.extensions.ExtensionArray)
    return pd.Series(labels if is_pandas else np.asarray(labels), frame.index)


def profile(table: PreparedTable, labels: pd.Series[Any], metric: Any) -> pd.DataFrame:
    """Describe each cluster in the original units; silhouettes are computed on the scaled columns."""
    known = labels.notna().to_numpy() & table.kept
    codes, names = pd.factorize(labels[known], sort=True)
    if len(names) < 2:
        raise ValueError(f"labels must contain at least 2 clusters; got {len(names)}.")
    scores = silhouettes(table.matrix[known[table.kept]], codes, metric=metric)
    assert not isinstance(scores, list)
    sizes = np.bincount(codes)
    summary = {"size": sizes, "share": sizes / sizes.sum(), "silhouette": scores.per_cluster}
    parts = [pd.DataFrame(summary, index=pd.Index(names, name="cluster"))]
    values = table.raw[known].astype("float64")
    groups = values.set_axis(range(values.shape[1]), axis=1).groupby(codes)
    keys = ["cluster"]
    for at, name in enumerate(table.preparation.columns):
        parts.append(
            pd.DataFrame({"mean": groups[at].mean().to_numpy(), "std": groups[at].std().to_numpy()}, parts[0].index)
        )
        keys.append(name)
    return pd.concat(parts, axis=1, keys=keys)


@dataclass(frozen=True, eq=False, repr=False)
class GroupSelection(Mapping[Any, SelectionResult]):
    """A mapping from groups to their results, with a table of all groups.

    Attributes
    ----------
    frame : DataFrame
        One row per group: n_rows, best_k, score, sem, probability, runner_up, lead, and problem (error message).
    results : dict
        The result for each successful group.
    problems : dict
        The error message for each failed group.
    """

    frame: pd.DataFrame
    results: dict[Any, SelectionResult]
    problems: dict[Any, str]

    def __getitem__(self, group: Any) -> SelectionResult:
        """Return the result for a group; for a failed group, raise KeyError with the group's error."""
        key = _normalise_key(group)
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
        """Return the table as plain text."""
        return f"GroupSelection of {len(self.frame)} groups\n\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        """Return the table as HTML without truncating strings; pandas escapes the content."""
        with pd.option_context("display.max_colwidth", None):
            return str(self.frame.to_html())


def select_groups(frame: pd.DataFrame, by: Any, select: Callable[[pd.DataFrame], SelectionResult]) -> GroupSelection:
    """Run a selection for every group; the table lists failed groups with their errors.

    After an interrupt, the exception contains the finished groups and the partial result of the interrupted group.
    """
    grouped = frame.groupby(by, sort=True, observed=True, dropna=False)
    index = grouped.size().index
    rows, results, problems = [], {}, {}
    stop: KeyboardInterrupt | None = None
    for key, (_, part) in zip(map(_normalise_key, index.tolist()), grouped, strict=True):
        found, problem = None, "not started because the run was interrupted."
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
    table = pd.DataFrame(rows, columns=GROUP_COLUMNS, index=index).astype({"best_k": "Int64", "runner_up": "Int64"})
    selection = GroupSelection(table, results, problems)
    if stop is not None:
        complete = sum(not result.partial for result in results.values())
        interrupted = Interrupted(complete, len(rows), "groups", "the finished groups are in .result.")
        interrupted.result = selection
        raise interrupted from stop
    if problems:
        _warn(problems, len(rows))
    return selection


def _partial_result(stop: KeyboardInterrupt) -> SelectionResult | None:
    """Return the partial result of the interrupted selection, if k can be selected from it."""
    result: SelectionResult | None = getattr(stop, "result", None)
    return result if result is not None and result._best_index is not None else None


def _warn(problems: dict[Any, str], n_groups: int) -> None:
    """Warn about failed groups at the line that called the accessor."""
    group, problem = next(iter(problems.items()))
    more = len(problems) - MAX_NAMED_GROUPS
    names = ", ".join(map(str, list(problems)[:MAX_NAMED_GROUPS])) + (f" and {more} more" if more > 0 else "")
    warnings.warn(
        f"{len(problems)} of {n_groups} groups have no result: {names}. The 'problem' column contains the errors. "
        f"Error for {group}: {problem}",
        stacklevel=4,
    )


def key_names(by: Any) -> list[Any]:
    """Return the names of the key columns, which are constant within a group."""
    keys = [getattr(key, "key", key) for key in (by if isinstance(by, list) else [by])]
    return [key for key in keys if isinstance(key, Hashable)]


def drop_columns(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Drop columns by name; the selection is positional, because names may be duplicated or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def _normalise_key(group: Any) -> Any:
    """Replace missing values in a group key with ``numpy.nan``, so that it can be looked up in a dict."""
    if isinstance(group, tuple):
        return tuple(_normalise_key(part) for part in group)
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
