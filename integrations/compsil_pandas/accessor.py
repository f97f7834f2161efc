"""The accessor ``df.compsil``: prepare the frame, call the engine, return results on the index of the frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from compsil_kit import Comparison, PreparedTable, SelectionResult, compare, label_rows, prepare, select_k, silhouettes
from compsil_kit._show.cluster_plots import plot_map, plot_silhouettes
from compsil_kit._show.plots import KINDS
from compsil_kit._util.checks import check_choice
from compsil_kit._util.imports import require
from compsil_kit.adapters import CompareKeywords, Missing, Scale, SelectKeywords, takes
from compsil_kit.config import ComparisonConfig, Events, SelectionConfig, interactive_defaults
from compsil_pandas.groups import GroupSelection, key_names, select_groups
from compsil_pandas.profiles import align, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ColumnWarning(UserWarning):
    """A column that should probably be excluded from the clustering."""


CLUSTER_KINDS = ("silhouette", "map")


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
        if by is None:
            return _select(_table(self._frame, columns, scale, missing), keywords)
        if keywords.get("checkpoint") is not None:
            raise ValueError("checkpoint must be None with by=: groups cannot share it. Select each group separately.")
        keys = key_names(by) if columns is None else []
        # Check the columns of the whole frame first, so that each error and warning appears once.
        _table(_without(self._frame, keys), columns, scale, missing)
        settings: dict[str, Any] = {"columns": columns, "scale": scale, "missing": missing}
        return select_groups(self._frame, by, lambda part: _select(prepare(_without(part, keys), **settings), keywords))

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
            Number of clusters; selected if None.
        columns, scale, missing
            As in :meth:`select_k`.
        {keywords}

        Returns
        -------
        Series
            Categorical labels on the index of the frame, 0 for the largest cluster; NA for dropped rows.
        """
        table = _table(self._frame, columns, scale, missing)
        return self._series(table, _labels(table, k, keywords))

    def profile(
        self, labels: Any, *, columns: Any = None, scale: Scale | None = "standard", missing: Missing = "drop",
        metric: Any = "euclidean",
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
        return profile(_table(self._frame, columns, scale, missing), align(labels, self._frame), metric)

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
        return _compare(_table(self._frame, columns, scale, missing), keywords)

    def plot(
        self, kind: str = "curve", *, k: int | None = None, labels: Any = None, columns: Any = None,
        scale: Scale | None = "standard", missing: Missing = "raise", ax: Axes | None = None, **keywords: Any,
    ) -> Axes:  # fmt: skip
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
            As in :func:`compsil_kit.select_k` or :func:`compsil_kit.compare`.

        Returns
        -------
        Axes
            The axes with the plot.
        """
        check_choice("kind", kind, (*KINDS, "comparison", *CLUSTER_KINDS))
        table = _table(self._frame, columns, scale, missing if labels is None else "drop")
        if kind in KINDS:
            return _select(table, keywords).plot(kind, ax=ax)  # type: ignore[arg-type]  # validated above
        if kind == "comparison":
            return _compare(table, keywords).plot(ax=ax)
        if labels is None:
            labels = self._series(table, _labels(table, k, keywords))
        return _plot_clusters(kind, align(labels, self._frame), table, keywords.get("metric", "euclidean"), ax)

    def explore(self, columns: Any = None, **keywords: Any) -> Any:
        """Open the interactive explorer in a notebook.

        Parameters
        ----------
        columns : list of names, optional
            Columns that are used at first.
        **keywords
            As in ``compsil_jupyter.explore``.

        Returns
        -------
        widget
            The explorer.
        """
        require("ipywidgets", purpose="df.compsil.explore()")
        # Imported by name: compsil_jupyter needs the extra "jupyter".
        return import_module("compsil_jupyter").explore(self._frame, columns=columns, **keywords)

    def _series(self, table: PreparedTable, codes: np.ndarray[Any, Any]) -> pd.Series[Any]:
        spread = np.full(len(self._frame), -1)
        spread[table.kept] = codes
        values = pd.Categorical.from_codes(spread, categories=pd.RangeIndex(int(codes.max()) + 1))
        return pd.Series(values, index=self._frame.index, name="cluster")


def _table(frame: pd.DataFrame, columns: Any, scale: Scale | None, missing: Missing) -> PreparedTable:
    """Prepare the frame; warn about odd columns at the line that called the accessor."""
    table = prepare(frame, columns=columns, scale=scale, missing=missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def _select(table: PreparedTable, keywords: Mapping[str, Any]) -> SelectionResult:
    return select_k(table, **{**interactive_defaults(SelectionConfig), **keywords})


def _compare(table: PreparedTable, keywords: Mapping[str, Any]) -> Comparison:
    return compare(table, **{**interactive_defaults(ComparisonConfig), **keywords})


def _without(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the frame without some columns, by position because names may be duplicate or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def _labels(table: PreparedTable, k: int | None, keywords: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Cluster all rows into k clusters, or the selected number, and number them by decreasing size."""
    if k is None:
        found = _select(table, keywords)
        # CompositeSilhouette refits with the first of these seeds too.
        k, keywords = found.best_k, {**keywords, "random_state": found.plan.seeds}
    used = ("clusterer", "metric", "sample_size", "random_state")
    given: Any = {name: keywords[name] for name in used if name in keywords}
    return np.concatenate(list(label_rows(table, k, **given)))


def _plot_clusters(kind: str, labels: pd.Series[Any], table: PreparedTable, metric: Any, ax: Axes | None) -> Axes:
    known = labels.notna().to_numpy() & table.kept
    points, names = table.matrix[known[table.kept]], labels[known].to_numpy()
    if kind == "map":
        return plot_map(points, names, ax=ax)
    scores = silhouettes(points, names, metric=metric)
    assert not isinstance(scores, list)
    return plot_silhouettes(scores, names, ax=ax)
