"""The explorer as users meet it: ``explore(df)``, and the widget that it returns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import AUTO, as_frame, check_sparse, default_scale
from compsil_jupyter.state import Session, initial
from compsil_jupyter.view import View
from compsil_kit import Comparison, SelectionResult
from compsil_kit._checks import check_choice, check_integer
from compsil_kit.plan import check_ks
from compsil_kit.selection import RULES
from compsil_kit.tabular import MISSING, SCALERS, choose_columns
from compsil_kit.weights import check_transform


def explore(
    data: Any, columns: Any = None, *, scale: str | None = AUTO, missing: str = "raise", **settings: Any
) -> Any:
    """Open the explorer on a frame, an array or a sparse matrix.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix or other table
        The data; it is never changed.
    columns : list of names, optional
        Columns to start with; all numeric ones if None. Those of an array are numbered from 0.
    scale : {"auto", "standard", "robust", "minmax"} or None, default="auto"
        How to scale the columns; ``"auto"`` is ``"standard"`` for tables and None for arrays.
    missing : {"raise", "drop"}, default="raise"
        Rows with missing values: refuse them, or leave them out.
    **settings
        As in :func:`compsil_kit.select_k`: ``ks``, ``clusterer``, ``n_subsamples``, ``rule`` and so on.

    Returns
    -------
    Explorer
        A widget; ``.result`` is the selection on show.
    """
    if scale not in (AUTO, None):
        check_choice("scale", scale, tuple(SCALERS))
    check_choice("missing", missing, MISSING)
    if "ks" in settings:
        settings["ks"] = check_ks(settings["ks"])
    if "rule" in settings:
        check_choice("rule", settings["rule"], RULES)
    if "transform" in settings:
        check_transform(settings["transform"])
    if "n_subsamples" in settings:
        check_integer("n_subsamples", settings["n_subsamples"], minimum=1)
    scaled = default_scale(data) if scale == AUTO else scale
    table = {"columns": _names(data, columns, scaled), "scale": scaled, "missing": missing}
    return Explorer(View(Session(data, *initial({**table, **settings}))))


def _names(data: Any, columns: Any, scale: str | None) -> tuple[Hashable, ...] | None:
    """Return the names of the columns to start with, None for all; wrong ones are told now, not at the first run."""
    if sparse.issparse(data):
        check_sparse(columns, scale)
        return None
    frame = as_frame(data)
    positions, _ = choose_columns(frame, columns)
    return None if columns is None else tuple(dict.fromkeys(frame.columns[at] for at in positions))


class Explorer(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The explorer as a widget, to be shown by itself or inside other layouts.

    Parameters
    ----------
    view : View
        The parts, bound to a session.

    Attributes
    ----------
    session : Session
        The state behind the widgets: settings, status, what is finished.
    result : SelectionResult or None
        The selection on show: partial while it runs, None before.
    comparison : Comparison or None
        The other criteria, once they have been computed.
    """

    def __init__(self, view: View) -> None:
        """Show a view."""
        # First of all: a widget is closed when it is thrown away, even if it could not be built.
        self.view = view
        super().__init__([view.body])
        self.add_class("compsil-explorer")

    def __repr__(self) -> str:
        """Say in a line what is on show."""
        result = self.result
        return f"Explorer: {'nothing computed yet' if result is None else repr(result).partition(chr(10))[0]}"

    @property
    def session(self) -> Session:
        """The state behind the widgets."""
        return self.view.session

    @property
    def result(self) -> SelectionResult | None:
        """The selection on show."""
        return self.session.result

    @property
    def comparison(self) -> Comparison | None:
        """The other criteria."""
        return self.session.comparison

    def run(self) -> None:
        """Begin a run, as the button does."""
        self.session.start()

    def stop(self) -> None:
        """Stop the run and keep what is finished, as the button does."""
        self.session.stop()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is being computed any more.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; as long as it takes if None.
        """
        self.session.wait(timeout)

    def close(self) -> None:
        """Stop all work and remove the explorer from the page."""
        self.session.close()
        self.view.close()
        super().close()
