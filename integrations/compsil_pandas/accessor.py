"""The ``df.compsil`` accessor: prepare the frame, call the engine, and return results with the frame's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

import pandas as pd

from compsil_kit import Comparison, SelectionResult, prepare
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
    takes,
)
from compsil_kit.config import ComparisonConfig, SelectionConfig
from compsil_kit.events import Events
from compsil_pandas.calls import (
    ClusterPlotKind,
    GroupSelection,
    PlotKeywords,
    align,
    cluster_frame,
    drop_columns,
    key_names,
    plot_clusters,
    prepare_frame,
    profile,
    run_compare,
    run_select,
    select_groups,
    split_keywords,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from compsil_jupyter import Explorer


def register() -> None:
    """Register the accessor if it is missing; pandas would warn about a replacement, for example after autoreload."""
    if not hasattr(pd.DataFrame, "compsil"):
        pd.api.extensions.register_dataframe_accessor("compsil")(CompsilAccessor)


class CompsilAccessor:
    """Select the number of clusters for a DataFrame, cluster its rows, and describe the clusters.

    Every method accepts ``columns`` (a list of names; all numeric and boolean columns if None), ``scale``
    (``"standard"``, ``"robust"``, ``"minmax"`` or None) and ``missing`` (``"raise"`` an error for missing values, or
    ``"drop"`` the rows). All other keywords are passed to the engine. Nothing is cached.

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
            Columns to use; all numeric and boolean columns if None.
        scale : {"standard", "robust", "minmax"} or None, default="standard"
            How to scale the columns.
        missing : {"raise", "drop"}, default="raise"
            Whether to raise an error for rows with missing values or drop them.
        by : name, list of names, or other ``groupby`` key, optional
            Run one selection per group. Key columns are not used for clustering unless listed in ``columns``.
        {keywords}

        Returns
        -------
        SelectionResult or GroupSelection
            The result, or with ``by`` one result per group. The ``preparation`` attribute of a result records
            the columns, the scale and the number of dropped rows.
        """
        config, events = split_keywords(keywords)
        if by is None:
            return run_select(prepare_frame(self._frame, columns, scale, missing), config, events)
        if events.checkpoint is not None:
            raise ValueError(
                "checkpoint cannot be combined with by=, because groups cannot share a checkpoint file. Run select_k "
                "on each group separately."
            )
        keys = key_names(by) if columns is None else []
        # Check the columns of the whole frame first, so that each error and warning appears only once.
        prepare_frame(drop_columns(self._frame, keys), columns, scale, missing)

        def select(part: pd.DataFrame) -> SelectionResult:
            table = prepare(drop_columns(part, keys), columns=columns, scale=scale, missing=missing)
            return run_select(table, config, events)

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
        """Cluster the rows into k clusters, or into the selected number of clusters.

        Parameters
        ----------
        k : int, optional
            Number of clusters; selected automatically if None. Only ``clusterer``, ``metric`` and ``random_state``
            can be combined with k.
        columns, scale, missing
            As in :meth:`select_k`.
        {keywords}

        Returns
        -------
        Series
            Categorical labels with the frame's index: 0 for the largest cluster, NA for dropped rows.
        """
        return cluster_frame(self._frame, prepare_frame(self._frame, columns, scale, missing), k, keywords)

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
            As in :meth:`select_k`. Means and standard deviations are in the original units.
        metric : str or callable, default="euclidean"
            Distance metric for the silhouettes.

        Returns
        -------
        DataFrame
            One row per cluster, with two column levels.
        """
        return profile(prepare_frame(self._frame, columns, scale, missing), align(labels, self._frame), metric)

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
            Values for each k, the k selected by each criterion, and which criteria agree.
        """
        return run_compare(prepare_frame(self._frame, columns, scale, missing), keywords)

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
            ``"comparison"`` plots a comparison, ``"silhouette"`` and ``"map"`` plot ``labels`` or a new clustering.
        k : int, optional
            Number of clusters for ``"silhouette"`` and ``"map"``; selected automatically if None.
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
        table = prepare_frame(self._frame, columns, scale, missing if labels is None else "drop")
        if kind == "comparison":
            return run_compare(table, keywords).plot(ax=ax)
        if kind != "silhouette" and kind != "map":
            return run_select(table, *split_keywords(keywords)).plot(kind, ax=ax)
        metric = keywords.get("metric", "euclidean")
        if labels is None:
            labels = cluster_frame(self._frame, table, k, keywords)
        return plot_clusters(kind, align(labels, self._frame), table, metric, ax)

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
            As in :meth:`select_k`. These and the following keywords are the initial settings.
        {keywords}

        Returns
        -------
        Explorer
            The widget.
        """
        # The explorer needs the "jupyter" extra.
        from compsil_jupyter import explore

        return explore(self._frame, columns, scale=scale, missing=missing, **keywords)
