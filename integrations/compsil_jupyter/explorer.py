"""The ``explore`` function and the widget it returns."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import as_frame, load_numeric, resolve_scale, validate_sparse
from compsil_jupyter.session import Session
from compsil_jupyter.shown import selected_k
from compsil_jupyter.view import View
from compsil_kit import Comparison, SelectionResult
from compsil_kit.adapters import (
    LIKELY,
    Missing,
    Scale,
    SelectionKeywords,
    choose_columns,
    format_ks,
    number,
    percent,
    takes,
)
from compsil_kit.config import SelectionConfig, TableConfig, interactive_defaults


@takes(SelectionConfig, interactive=True)
def explore(
    data: Any,
    columns: Any = None,
    *,
    scale: Scale | Literal["auto"] | None = "auto",
    missing: Missing = "raise",
    **keywords: Unpack[SelectionKeywords],
) -> Explorer:
    """Open the explorer on a table, an array or a sparse matrix.

    The keywords are the initial settings, most of which can be changed interactively.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix or other table
        The data, which are never modified. Out-of-core tables, such as Parquet files, are loaded into memory.
    columns : list of names, optional
        Columns to use; all numeric and boolean columns if None. Array columns are numbered from 0.
    scale : {"auto", "standard", "robust", "minmax"} or None, default="auto"
        How to scale the columns. ``"auto"`` means ``"standard"`` for tables and None for arrays.
    missing : {"raise", "drop"}, default="raise"
        Whether to raise an error for rows with missing values or drop them.
    {keywords}

    Returns
    -------
    Explorer
        The widget; its ``result`` attribute is the displayed selection.

    Raises
    ------
    ValueError, TypeError
        If a keyword or combination of keywords is invalid.

    Examples
    --------
    >>> from compsil_jupyter import explore
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> explorer = explore(imbalanced_blobs()[0], ks=range(2, 8))
    >>> explorer.run()
    >>> explorer.wait()
    >>> explorer.result.best_k
    5
    """
    config = SelectionConfig.from_dict({**interactive_defaults(SelectionConfig), **keywords})
    data = load_numeric(data)
    table = TableConfig(scale=resolve_scale(scale, data, config.metric), missing=missing)
    return Explorer(View(Session(data, table.changed(columns=_resolve_columns(data, columns, table.scale)), config)))


def _resolve_columns(data: Any, columns: Any, scale: str | None) -> list[Any] | None:
    """Return the names of the columns to use, or None for all columns; raise an error for unknown names."""
    if sparse.issparse(data):
        validate_sparse(columns, scale)
        return None
    frame = as_frame(data)
    positions, _ = choose_columns(frame, columns)
    return None if columns is None else list(dict.fromkeys(frame.columns[at] for at in positions))


class Explorer(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The explorer widget, which can be embedded in other layouts.

    Parameters
    ----------
    view : View
        The widgets and their session.

    Attributes
    ----------
    session : Session
        The state behind the widgets: settings, status and results.
    result : SelectionResult or None
        The displayed selection: partial during a run, None before the first run. A failed run keeps the previous
        result.
    comparison : Comparison or None
        The comparison with other criteria, or None if it has not been computed.
    expression : str or None
        The Python expression for the data in the Code tab. If None, the tab uses a variable that holds the data.
    """

    def __init__(self, view: View) -> None:
        """Create the widget from a view."""
        # Set these first, because close() runs on garbage collection even if the constructor failed.
        self.view, self.session = view, view.session
        super().__init__([view.body])
        self.add_class("compsil-explorer")

    def __repr__(self) -> str:
        """Return the displayed selection on one line."""
        result = self.result
        if result is None:
            return "Explorer: no result yet"
        best, score = "no k", ""
        if (k := selected_k(result)) is not None:
            confidence = result.criterion == LIKELY
            value = f"confidence {percent(result.best_score)}" if confidence else f"score {number(result.best_score)}"
            best, score = f"k* = {k}", f", {value}"
        planned = f" of {result.plan.n_subsamples}" if result.partial else ""
        return f"Explorer: {best} of {format_ks(result.ks)}{score}, {result.n_subsamples}{planned} subsamples"

    @property
    def result(self) -> SelectionResult | None:
        """The displayed selection."""
        return self.session.result

    @property
    def comparison(self) -> Comparison | None:
        """The comparison with other criteria."""
        return self.session.shown.comparison

    @property
    def expression(self) -> str | None:
        """The Python expression for the data."""
        return self.session.expression

    @expression.setter
    def expression(self, text: str | None) -> None:
        self.session.expression = text

    def run(self) -> None:
        """Start a run, like the Run button."""
        self.session.start()

    def stop(self) -> None:
        """Stop the run and keep the finished subsamples, like the Stop button."""
        self.session.stop()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the run and the comparison to end.

        Parameters
        ----------
        timeout : float, optional
            Maximum number of seconds to wait for each; no limit if None.
        """
        self.session.wait(timeout)

    def close(self) -> None:
        """Stop all work and remove the explorer from the page."""
        self.session.close()
        self.view.close()
        super().close()
