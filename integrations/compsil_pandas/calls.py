"""Calls of the engine for the methods of the accessor."""

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
    SelectKeywords,
    check_names,
    load,
    make_plan,
    open_data,
    plot_map,
    plot_silhouettes,
    run_selection,
)
from compsil_kit.config import (
    ComparisonConfig,
    Events,
    SelectionConfig,
    TableConfig,
    build,
    interactive_defaults,
    settings_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ColumnWarning(UserWarning):
    """A column that should probably be excluded from the clustering."""


class PlotKeywords(SelectKeywords, CompareKeywords, total=False):
    """Keywords of the plots: those of a selection or those of a comparison."""


ClusterPlotKind = Literal["silhouette", "map"]
# The settings that have an effect on a clustering into a given k.
CLUSTER_SETTINGS = ("clusterer", "metric", "random_state")


def prepare_frame(frame: pd.DataFrame, config: TableConfig) -> PreparedTable:
    """Prepare the frame; warn about odd columns at the line that called the accessor."""
    table = prepare(frame, columns=config.columns, scale=config.scale, missing=config.missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def split_keywords(keywords: Mapping[str, Any]) -> tuple[SelectionConfig, Events]:
    """Return the settings of a selection with interactive defaults, and what accompanies its run."""
    events = {name: keywords[name] for name in settings_of(Events) if name in keywords}
    settings = {name: value for name, value in keywords.items() if name not in events}
    return build(SelectionConfig, {**interactive_defaults(SelectionConfig), **settings}), Events(**events)


def run_select(table: PreparedTable, config: SelectionConfig, events: Events) -> SelectionResult:
    """Run a selection on a prepared table."""
    opened = open_data(table)
    plan = make_plan(opened, config)
    return run_selection(plan, load(opened, plan, events), events)


def run_compare(table: PreparedTable, keywords: Mapping[str, Any]) -> Comparison:
    """Run a comparison on a prepared table, with interactive defaults."""
    return compare(table, **{**interactive_defaults(ComparisonConfig), **keywords})


def drop_columns(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the frame without some columns, by position because names may be duplicate or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def label_frame(table: PreparedTable, k: int | None, keywords: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Cluster all rows into k clusters, or the selected number, and number them by decreasing size."""
    used = dict(keywords)
    if k is None:
        result = run_select(table, *split_keywords(keywords))
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
    (labels,) = label_rows(table, k, **used)
    return labels


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


def label_series(frame: pd.DataFrame, table: PreparedTable, codes: np.ndarray[Any, Any]) -> pd.Series[Any]:
    """Return labels of the kept rows as a categorical series on the index of the frame."""
    spread = np.full(len(frame), -1)
    spread[table.kept] = codes
    values = pd.Categorical.from_codes(spread, categories=pd.RangeIndex(int(codes.max()) + 1))
    return pd.Series(values, index=frame.index, name="cluster")
