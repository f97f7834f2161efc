"""Calls of the engine for the methods of the accessor, and what they return on the index of the frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from compsil_kit import Comparison, PreparedTable, SelectionResult, compare, label_rows, prepare, silhouettes
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
from compsil_kit.config import ComparisonConfig, Events, SelectionConfig, interactive_defaults, settings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ColumnWarning(UserWarning):
    """A column that should probably be excluded from the clustering."""


class PlotKeywords(SelectKeywords, CompareKeywords, total=False):
    """Keywords of the plots: those of a selection or those of a comparison."""


ClusterPlotKind = Literal["silhouette", "map"]
# The settings that have an effect on a clustering into a given k.
CLUSTER_SETTINGS = ("clusterer", "metric", "random_state")


def prepare_frame(frame: pd.DataFrame, columns: Any, scale: Scale | None, missing: Missing) -> PreparedTable:
    """Prepare the frame; warn about odd columns at the line that called the accessor."""
    table = prepare(frame, columns=columns, scale=scale, missing=missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def split_keywords(keywords: Mapping[str, Any]) -> tuple[SelectionConfig, Events]:
    """Return the settings of a selection with interactive defaults, and what accompanies its run."""
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


def label_rows_of(frame: pd.DataFrame, table: PreparedTable, k: int | None, used: Mapping[str, Any]) -> pd.Series[Any]:
    """Cluster the kept rows into k clusters, or the selected number; return labels on the index of the frame."""
    if k is None:
        result = run_select(table, *split_keywords(used))
        config = result.plan.config
        # CompositeSilhouette refits with the first of these seeds too.
        used = {"clusterer": config.clusterer, "metric": config.metric, "random_state": result.plan.seeds}
        k = result.best_k
    check_names(used, settings_of(SelectionConfig, Events))
    if without_effect := [name for name in used if name not in CLUSTER_SETTINGS]:
        raise TypeError(
            f"{', '.join(without_effect)} cannot be passed with k={k!r}: only {', '.join(CLUSTER_SETTINGS)} affect the "
            "clustering into a given k. Leave k out to select the number of clusters with these settings."
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
    """Return labels on the frame's index, one per row; NA is allowed."""
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise TypeError(f"labels must contain one label per row, as a Series or an array; got {describe(labels)}.")
    if isinstance(labels, pd.Series) and not labels.index.equals(frame.index):
        raise ValueError("labels must have the index of the frame. Pass a Series with this index, or an array.")
    if len(labels) != len(frame):
        raise ValueError(f"labels must contain one label for each of the {len(frame)} rows; got {len(labels)}.")
    if isinstance(labels, pd.Series):
        return labels
    # pandas arrays keep their dtype: NumPy would convert integers with NA to floats.
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
