"""The explorer as users meet it: ``explore(df)``, and the widget that it returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import AUTO, as_frame, check_sparse, resolve_scale
from compsil_jupyter.explorer.session import Session
from compsil_jupyter.explorer.settings import Reading, Settings
from compsil_jupyter.explorer.view import View
from compsil_kit import Comparison, SelectionResult
from compsil_kit.api import DEFAULT_KS, Clustering, Random
from compsil_kit.data.table import MISSING, SCALERS, choose_columns
from compsil_kit.method.plan import check_ks
from compsil_kit.method.selection import RULES
from compsil_kit.method.weights import Transform, check_transform
from compsil_kit.util.checks import check_choice, check_integer


def explore(
    data: Any,
    columns: Any = None,
    *,
    scale: str | None = AUTO,
    missing: str = "raise",
    ks: Any = DEFAULT_KS,
    clusterer: Clustering = "kmeans",
    n_subsamples: int = 30,
    sample_size: str | int | float = "auto",
    metric: str | Callable[..., float] = "euclidean",
    transform: Transform = "tanh",
    rule: str = "max",
    z: float = 1.0,
    n_calibration: int = 0,
    on_failure: str = "raise",
    n_jobs: int | None = None,
    random_state: Random = 42,
) -> Explorer:
    """Open the explorer on a frame, an array or a sparse matrix.

    Every setting is where the explorer starts; most can be changed in it.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix or other table
        The data; it is never changed.
    columns : list of names, optional
        Columns to use; all numeric ones if None. Those of an array are numbered from 0.
    scale : {"auto", "standard", "robust", "minmax"} or None, default="auto"
        How to scale the columns; ``"auto"`` is ``"standard"`` for tables and None for arrays.
    missing : {"raise", "drop"}, default="raise"
        Rows with missing values: refuse them, or leave them out.
    ks, clusterer, n_subsamples, sample_size, metric, transform, rule, z, n_calibration, on_failure, n_jobs, \
    random_state
        As in :func:`compsil_kit.select_k`.

    Returns
    -------
    Explorer
        A widget; ``.result`` is the selection on show.

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
    scaled = resolve_scale(scale, data, metric)
    if scaled is not None:
        check_choice("scale", scaled, tuple(SCALERS))
    settings = Settings(
        columns=_names(data, columns, scaled), scale=scaled, missing=check_choice("missing", missing, MISSING),
        ks=check_ks(ks), clusterer=clusterer, n_subsamples=check_integer("n_subsamples", n_subsamples, minimum=1),
        sample_size=sample_size, metric=metric, n_calibration=n_calibration, on_failure=on_failure, n_jobs=n_jobs,
        random_state=random_state,
    )  # fmt: skip
    reading = Reading(check_transform(transform), check_choice("rule", rule, RULES), z)
    return Explorer(View(Session(data, settings, reading)))


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
