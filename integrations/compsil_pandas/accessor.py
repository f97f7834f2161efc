"""The accessor ``df.compsil``: it prepares the frame, calls the engine, and puts the answer on the frame's index."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from compsil_kit import Comparison, PreparedTable, SelectionResult, compare, prepare, select_k, silhouettes
from compsil_kit._method.labels import number_by_size
from compsil_kit._run.refit import cluster_rows
from compsil_kit._settings.keywords import CompareKeywords, SelectKeywords, interactive_defaults
from compsil_kit._settings.surfaces import takes
from compsil_kit._show.cluster_plots import plot_map, plot_silhouettes
from compsil_kit._show.plots import KINDS
from compsil_kit._util.checks import check_choice
from compsil_kit._util.imports import require
from compsil_pandas.groups import GroupSelection, key_names, select_groups
from compsil_pandas.profiles import align, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ColumnWarning(UserWarning):
    """A column that should probably not take part in the clustering."""


CLUSTER_KINDS = ("silhouette", "map")


def register() -> None:
    """Give frames the accessor, once: registering anew (as autoreload does) would warn."""
    if not hasattr(pd.DataFrame, "compsil"):
        pd.api.extensions.register_dataframe_accessor("compsil")(CompsilAccessor)


class CompsilAccessor:
    """How many clusters does this frame have, and what are they like? It keeps nothing but the frame.

    Every method takes ``columns`` (a list of names; the numeric and boolean ones if None), ``scale`` (``"standard"``,
    ``"robust"``, ``"minmax"`` or None) and ``missing`` (``"raise"`` or ``"drop"`` rows with missing values); all other
    keywords are those of the engine.

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
        """Take the frame; it is never changed."""
        self._frame = frame

    @takes(SelectKeywords, interactive=True)
    def select_k(
        self,
        columns: Any = None,
        *,
        scale: str | None = "standard",
        missing: str = "raise",
        by: Any = None,
        **keywords: Unpack[SelectKeywords],
    ) -> SelectionResult | GroupSelection:
        """Select the number of clusters, of the whole frame or of each group.

        Parameters
        ----------
        columns : list of names, optional
            Columns to use; all numeric and boolean ones if None.
        scale : {"standard", "robust", "minmax"} or None, default="standard"
            How to scale the columns.
        missing : {"raise", "drop"}, default="raise"
            Rows with missing values: refuse them, or leave them out.
        by : name, list of names, or what ``groupby`` takes, optional
            Make one selection per group. What groups by takes no part in the clustering, unless ``columns`` names it.
        {keywords}

        Returns
        -------
        SelectionResult or GroupSelection
            The result, which remembers columns, scale and dropped rows; with ``by``, one per group.
        """
        if by is None:
            return _select(_table(self._frame, columns, scale, missing), keywords)
        if keywords.get("checkpoint") is not None:
            raise ValueError("checkpoint cannot be shared by groups. Leave out by=, or select each group by itself.")
        keys = key_names(by) if columns is None else []
        # Wrong columns, missing values and odd columns are told once, for the whole frame.
        _table(_without(self._frame, keys), columns, scale, missing)
        settings: dict[str, Any] = {"columns": columns, "scale": scale, "missing": missing}
        return select_groups(self._frame, by, lambda part: _select(prepare(_without(part, keys), **settings), keywords))

    @takes(SelectKeywords, interactive=True)
    def cluster(
        self,
        k: int | None = None,
        *,
        columns: Any = None,
        scale: str | None = "standard",
        missing: str = "raise",
        **keywords: Unpack[SelectKeywords],
    ) -> pd.Series[Any]:
        """Cluster the rows, into k* clusters if k is not given.

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
            Categorical labels on the frame's index, 0 for the largest cluster; NA where a row was dropped.
        """
        table = _table(self._frame, columns, scale, missing)
        return self._series(table, _labels(table, k, keywords))

    def profile(
        self, labels: Any, *, columns: Any = None, scale: str | None = "standard", missing: str = "drop",
        metric: Any = "euclidean",
    ) -> pd.DataFrame:  # fmt: skip
        """Describe each cluster: size, share, silhouette, and per column its mean and standard deviation.

        Parameters
        ----------
        labels : Series or array
            A label per row, as :meth:`cluster` returns; rows with NA are left out.
        columns, scale, missing
            As in :meth:`select_k`. Means and deviations are in the columns' own units, whatever the scale.
        metric : str or callable, default="euclidean"
            Distance of the silhouettes.

        Returns
        -------
        DataFrame
            One row per cluster; columns in two levels.
        """
        return profile(_table(self._frame, columns, scale, missing), align(labels, self._frame), metric)

    @takes(CompareKeywords, interactive=True)
    def compare(
        self,
        columns: Any = None,
        *,
        scale: str | None = "standard",
        missing: str = "raise",
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
            Values per k, choices, and who agrees with whom.
        """
        return _compare(_table(self._frame, columns, scale, missing), keywords)

    def plot(
        self, kind: str = "curve", *, k: int | None = None, labels: Any = None, columns: Any = None,
        scale: str | None = "standard", missing: str = "raise", ax: Axes | None = None, **keywords: Any,
    ) -> Axes:  # fmt: skip
        """Draw a picture: of the selection, of the comparison, or of one clustering.

        Parameters
        ----------
        kind : str, default="curve"
            ``"curve"``, ``"weights"``, ``"convergence"``, ``"probability"`` and ``"stability"`` draw a selection,
            ``"comparison"`` a comparison, ``"silhouette"`` and ``"map"`` the clustering into k (or k*), or the labels.
        k : int, optional
            Number of clusters for ``"silhouette"`` and ``"map"``; selected if None.
        labels : Series or array, optional
            Labels to draw instead of clustering.
        columns, scale, missing
            As in :meth:`select_k`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **keywords
            As in :func:`compsil_kit.select_k` or :func:`compsil_kit.compare`.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        check_choice("kind", kind, (*KINDS, "comparison", *CLUSTER_KINDS))
        table = _table(self._frame, columns, scale, missing if labels is None else "drop")
        if kind in KINDS:
            return _select(table, keywords).plot(kind, ax=ax)
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
            Columns to start with.
        **keywords
            As in ``compsil_jupyter.explore``.

        Returns
        -------
        widget
            The explorer.
        """
        require("ipywidgets", purpose="df.compsil.explore()")
        # By name: pandas users without the extra never load it.
        return import_module("compsil_jupyter").explore(self._frame, columns=columns, **keywords)

    def _series(self, table: PreparedTable, codes: np.ndarray[Any, Any]) -> pd.Series[Any]:
        spread = np.full(len(self._frame), -1)
        spread[table.kept] = codes
        values = pd.Categorical.from_codes(spread, categories=pd.RangeIndex(int(codes.max()) + 1))
        return pd.Series(values, index=self._frame.index, name="cluster")


def _table(frame: pd.DataFrame, columns: Any, scale: str | None, missing: str) -> PreparedTable:
    """Prepare the frame; what is odd about a column is a warning at the line that called the accessor."""
    table = prepare(frame, columns=columns, scale=scale, missing=missing)
    for note in table.preparation.notes:
        warnings.warn(note, ColumnWarning, stacklevel=3)
    return table


def _select(table: PreparedTable, keywords: Mapping[str, Any]) -> SelectionResult:
    return select_k(table, **{**interactive_defaults(SelectKeywords), **keywords})


def _compare(table: PreparedTable, keywords: Mapping[str, Any]) -> Comparison:
    return compare(table, **{**interactive_defaults(CompareKeywords), **keywords})


def _without(frame: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the frame without some columns; by position, as names may occur twice or have levels."""
    return frame.iloc[:, [at for at, name in enumerate(frame.columns) if name not in names]]


def _labels(table: PreparedTable, k: int | None, keywords: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Cluster all rows into k, or k*, and number the clusters from the largest to the smallest."""
    if k is None:
        found = _select(table, keywords)
        # The seed with which CompositeSilhouette refits too.
        k, keywords = found.best_k, {**keywords, "random_state": found.plan.seeds}
    return number_by_size(cluster_rows(table, k, keywords)[1])


def _plot_clusters(kind: str, labels: pd.Series[Any], table: PreparedTable, metric: Any, ax: Axes | None) -> Axes:
    known = labels.notna().to_numpy() & table.kept
    points, names = table.matrix[known[table.kept]], labels[known].to_numpy()
    if kind == "map":
        return plot_map(points, names, ax=ax)
    scores = silhouettes(points, names, metric=metric)
    assert not isinstance(scores, list)
    return plot_silhouettes(scores, names, ax=ax)
