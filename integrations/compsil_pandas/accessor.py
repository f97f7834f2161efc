"""The accessor ``df.compsil``: prepare the frame, call the engine, return results on the index of the frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

import numpy as np
import pandas as pd

from compsil_kit import Comparison, PreparedTable, SelectionResult, compare, label_rows, prepare, silhouettes
from compsil_kit.adapters import (
    ClustererLike,
    CompareKeywords,
    MetricLike,
    Missing,
    PlotKind,
    Scale,
    Seeds,
    SelectionKeywords,
    SelectKeywords,
    check_choice,
    check_names,
    load,
    make_plan,
    open_data,
    plot_map,
    plot_silhouettes,
    require,
    run_selection,
    takes,
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
from compsil_pandas.groups import GroupSelection, key_names, select_groups
from compsil_pandas.profiles import align, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_jupyter import Explorer


class ColumnWarning(UserWarning):
    """A column that should probably be excluded from the clustering."""


class PlotKeywords(SelectKeywords, CompareKeywords, total=False):
    """Keywords of the plots: those of a selection or those of a comparison."""


ClusterPlotKind = Literal["silhouette", "map"]
# The settings that have an effect on a clustering into a given k.
CLUSTER_SETTINGS = ("clusterer", "metric", "random_state")


def register() -> None:
    """Register the accessor once: pandas warns when an accessor is replaced, for example by autoreload."""
    if not hasattr(pd.DataFrame, "compsil"):
        pd.api.extensions.register_dataframe_accessor("compsil")(CompsilAccessor)


class CompsilAccessor:
    """Select the number of clusters of a frame, cluster its rows, and describe the clusters.

    Every method takes ``columns`` (a list of names; all numeric and boolean columns if None), ``scale``
    (``"standard"``, ``"robust"``, ``"minmax"`` or None) and ``missing`` (``"raise"`` an error for missing values, or
    ``"drop"`` the rows); all other keywords are those of the engine. Nothing is cached.

    Parameters
    ----------
    frame : DataFrame
        The data.

    Examples
    --------
    >>> import pandas as pd
    >>> import compsil_pandas
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> df = pd.DataFrame(imbalanced_blobs()[0], columns=["x", "y"])
    >>> df.compsil.select_k(ks=range(2, 8)).best_k
    5
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        """Store the frame, which is never modified."""
        self._frame = frame

    @overload
    def select_k(
        self, columns: Any = None, *, scale: Scale | None = ..., missing: Missing = ..., by: None = None,
        **keywords: Unpack[SelectKeywords],
    ) -> SelectionResult: ...  # fmt: skip
    @overload
    def select_k(
        self, columns: Any = None, *, scale: Scale | None = ..., missing: Missing = ..., by: Any,
        **keywords: Unpack[SelectKeywords],
    ) -> GroupSelection: ...  # fmt: skip
    @takes(SelectionConfig, Events, interactive=True)
    def select_k(
        self,
        columns: Any = None,
        *,
        scale: Scale | None = "standard",
        missing: Missing = "raise",
        by: Any = None,
        **keywords: Unpack[SelectKeywords],
    ) -> SelectionResult | GroupSelection:
        """Select the number of clusters for the whole frame or for each group.

        Parameters
        ----------
        columns : list of names, optional
            Columns to use. All numeric and boolean ones if None.
        scale : {"standard", "robust", "minmax"} or None, default="standard"
            How to scale the columns.
        missing : {"raise", "drop"}, default="raise"
            Rows with missing values: raise an error, or drop them.
        by : name, list of names, or another argument of ``groupby``, optional
            Run one selection per group. Key columns are excluded from the clustering unless ``columns`` names them.
        {keywords}

        Returns
        -------
        SelectionResult or GroupSelection
            The result, with ``preparation`` for columns, scale and dropped rows; with ``by``, one result per group.
        """
        config, events = _selection(keywords)
        table = TableConfig(columns=columns, scale=scale, missing=missing)
        if by is None:
            return _select(_prepare(self._frame, table), config, events)
        if events.checkpoint is not None:
            raise ValueError("checkpoint must be None with by=: groups cannot share it. Select each group separately.")
        keys = key_names(by) if columns is None else []
        # Check the columns of the whole frame first, so that each error and warning appears once.
        _prepare(_without(self._frame, keys), table)

        def select(part: pd.DataFrame) -> SelectionResult:
            return _select(prepare(_without(part, keys), **vars(table)), config, events)

        return select_groups(self._frame, by, select)

    @overload
    def cluster(
        self, k: int, *, columns: Any = None, scale: Scale | None = ..., missing: Missing = ...,
        clusterer: ClustererLike = ..., metric: MetricLike = ..., random_state: Seeds = ...,
    ) -> pd.Series[Any]: ...  # fmt: skip
    @overload
    def cluster(
        self, k: None = None, *, columns: Any = None, scale: Scale | None = ..., missing: Missing = ...,
        **keywords: Unpack[SelectKeywords],
    ) -> pd.Series[Any]: ...  # fmt: skip
    @takes(SelectionConfig, Events, interactive=True)
    def cluster(
        self,
        k: int | None = None,
        *,
        columns: Any = None,
        scale: Scale | None = "standard",
        missing: Missing = "raise",
        **keywords: Unpack[SelectKeywords],
    ) -> pd.Series[Any]:
        """Cluster the rows into k clusters, or into the selected number.

        Parameters
        ----------
        k : int, optional
            Number of clusters; selected if None. With k, the only other settings are ``clusterer``, ``metric`` and
            ``random_state``.
        columns, scale, missing
            As in :meth:`select_k`.
        {keywords}

        Returns
        -------
        Series
            Categorical labels on the index of the frame, 0 for the largest cluster; NA for dropped rows.
        """
        table = _prepare(self._frame, TableConfig(columns=columns, scale=scale, missing=missing))
        return self._series(table, _labels(table, k, keywords))

    def profile(
        self, labels: Any, *, columns: Any = None, scale: Scale | None = "standard", missing: Missing = "drop",
        metric: MetricLike = "euclidean",
    ) -> pd.DataFrame:  # fmt: skip
        """Describe each cluster by size, share, silhouette, and the mean and standard deviation of each column.

        Parameters
        ----------
        labels : Series or array
            One label per row, as returned by :meth:`cluster`; rows with NA are skipped.
        columns, scale, missing
            As in :meth:`select_k`. Means and deviations are in the original units, regardless of the scale.
        metric : str or callable, default="euclidean"
            Distance used by the silhouettes.

        Returns
        -------
        DataFrame
            One row per cluster, with two column levels.
        """
        table = _prepare(self._frame, TableConfig(columns=columns, scale=scale, missing=missing))
        return profile(table, align(labels, self._frame), metric)

    @takes(ComparisonConfig, Events, leave_out=("checkpoint",), interactive=True)
    def compare(
        self,
        columns: Any = None,
        *,
        scale: Scale | None = "standard",
        missing: Missing = "raise",
        **keywords: Unpack[CompareKeywords],
    ) -> Comparison:
        """Compare the composite silhouette with the other criteria.

        Parameters
        ----------
        columns, scale, missing
            As in :meth:`select_k`.
        {keywords}

        Returns
        -------
        Comparison
            Values per k, the chosen k of each criterion, and which criteria agree.
        """
        return _compare(_prepare(self._frame, TableConfig(columns=columns, scale=scale, missing=missing)), keywords)

    def plot(
        self,
        kind: PlotKind | Literal["comparison"] | ClusterPlotKind = "curve",
        *,
        k: int | None = None,
        labels: Any = None,
        columns: Any = None,
        scale: Scale | None = "standard",
        missing: Missing = "raise",
        ax: Axes | None = None,
        **keywords: Unpack[PlotKeywords],
    ) -> Axes:
        """Plot the selection, the comparison or one clustering.

        Parameters
        ----------
        kind : str, default="curve"
            ``"curve"``, ``"weights"``, ``"convergence"``, ``"probability"`` and ``"stability"`` plot a selection,
            ``"comparison"`` a comparison; ``"silhouette"`` and ``"map"`` plot ``labels``, or a clustering into ``k``.
        k : int, optional
            Number of clusters for ``"silhouette"`` and ``"map"``; selected if None.
        labels : Series or array, optional
            Labels to plot. The rows are clustered if None.
        columns, scale, missing
            As in :meth:`select_k`.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure if None.
        **keywords
            As in :meth:`select_k`, :meth:`compare` or :meth:`cluster`.

        Returns
        -------
        Axes
            The axes with the plot.
        """
        check_choice("kind", kind, (*get_args(PlotKind), "comparison", *get_args(ClusterPlotKind)))
        config = TableConfig(columns=columns, scale=scale, missing=missing if labels is None else "drop")
        table = _prepare(self._frame, config)
        if kind == "comparison":
            return _compare(table, keywords).plot(ax=ax)
        if kind != "silhouette" and kind != "map":
            return _select(table, *_selection(keywords)).plot(kind, ax=ax)
        metric = keywords.get("metric", "euclidean")
        if labels is None:
            labels = self._series(table, _labels(table, k, keywords))
        return _plot_clusters(kind, align(labels, self._frame), table, metric, ax)

    @takes(SelectionConfig, interactive=True)
    def explore(
        self,
        columns: Any = None,
        *,
        scale: Scale | Literal["auto"] | None = "auto",
        missing: Missing = "raise",
        **keywords: Unpack[SelectionKeywords],
    ) -> Explorer:
        """Open the interactive explorer in a notebook.

        Parameters
        ----------
        columns, scale, missing
            As in :meth:`select_k`. Like the following keywords, these are the initial settings.
        {keywords}

        Returns
        -------
        Explorer
            The widget.
        """
        require("ipywidgets", purpose="df.compsil.explore()")
        # Imported by name: compsil_jupyter needs the extra "jupyter".
        explore = import_module("compsil_jupyter").explore
        explorer: Explorer = explore(self._frame, columns, scale=scale, missing=missing, **keywords)
        return explorer

    def _series(self, table: PreparedTable, codes: np.ndarray[Any, Any]) -> pd.Series[Any]:
        spread = np.full(len(self._frame), -1)
        spread[table.kept] = codes
        values = pd.Categorical.from_codes(spread, categories=pd.RangeIndex(int(codes.max()) + 1))
        return pd.Series(values, index=self._frame.index, name="cluster")


def _prepare(frame: pd.DataFrame, config: TableConfig) -> PreparedTable:
    """Prepare the frame; warn about odd columns at the line that called the accessor."""
    table = prepare(frame, columns=config.columns, scale=config.scale, missing=config.missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def _selection(keywords: Mapping[str, Any]) -> tuple[SelectionConfig, Events]:
    """Return the settings of a selection with interactive defaults, and what accompanies its run."""
    events = {name: keywords[name] for name in settings_of(Events) if name in keywords}
    settings = {name: value for name, value in keywords.items() if name not in events}
    return build(SelectionConfig, {**interactive_defaults(SelectionConfig), **settings}), Events(**events)


def _select(table: PreparedTable, config: SelectionConfig, events: Events) -> SelectionResult:
    opened = open_data(table)
    plan = make_plan(opened, config)
    return run_selection(plan, load(opened, plan, events), events)


def _compare(table: PreparedTable, keywords: Mapping[str, Any]) -> Comparison:
    return compare(table, **{**interactive_defaults(ComparisonConfig), **keywords})


def _without(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the frame without some columns, by position because names may be duplicate or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def _labels(table: PreparedTable, k: int | None, keywords: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Cluster all rows into k clusters, or the selected number, and number them by decreasing size."""
    used = dict(keywords)
    if k is None:
        result = _select(table, *_selection(keywords))
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


def _plot_clusters(
    kind: ClusterPlotKind, labels: pd.Series[Any], table: PreparedTable, metric: MetricLike, ax: Axes | None
) -> Axes:
    known = labels.notna().to_numpy() & table.kept
    points, names = table.matrix[known[table.kept]], labels[known].to_numpy()
    if kind == "map":
        return plot_map(points, names, ax=ax)
    scores = silhouettes(points, names, metric=metric)
    assert not isinstance(scores, list)
    return plot_silhouettes(scores, names, ax=ax)
