"""The progress bar: shown in terminals and notebooks by default."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from compsil_kit._types import Progress
from compsil_kit._util.imports import has


class Meter:
    """Counts finished steps, and shows them in a bar or passes them to the user's function."""

    def __init__(
        self,
        progress: Progress,
        total: int,
        *,
        desc: str = "compsil",
        unit: str = "subsample",
        unit_scale: bool = False,
    ) -> None:
        self.done = 0
        self._function, self._total = progress if callable(progress) else None, total
        self._bar: Any = None
        self._shown: Any = None
        if progress is None:
            # Programs without a console have no stderr.
            progress = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        if callable(progress) or not progress:
            return
        settings: dict[str, Any] = {
            "total": total,
            "desc": desc,
            "unit": unit,
            "unit_scale": unit_scale,
            "leave": False,
        }
        if _in_notebook() and has("ipywidgets"):
            notebook: Any = import_module("tqdm.notebook")
            self._bar = notebook.tqdm_notebook(**settings, display=False)
            self._shown = notebook.display(self._bar.container, display_id=True)
        else:
            from tqdm import tqdm

            self._bar = tqdm(**settings)

    def resume(self, done: int) -> None:
        """Start from the steps that an earlier run finished."""
        if self._bar is None:
            self.advance(done)
            return
        # As the initial value: these steps took no time, and would distort the estimate of the remaining time.
        self._bar.n = self._bar.initial = done
        self._bar.refresh()

    def advance(self, n: int = 1) -> None:
        """Add finished steps."""
        self.done += n
        if self._function is not None:
            self._function(self.done, self._total)
        if self._bar is not None:
            self._bar.update(n)

    def announce(self, text: str) -> None:
        """Show a line of text above the bar, unless it is empty."""
        if text and self._bar is not None:
            self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
        if self._shown is not None:
            # A saved notebook would otherwise refer to a widget that no longer exists.
            self._shown.update({"text/plain": "", "text/html": ""}, raw=True)


def make_row_meter(progress: Progress, n_rows: int) -> Meter:
    """Return the meter of a pass over rows; a function receives them by its attribute ``rows``, if it has one."""
    progress = getattr(progress, "rows", False) if callable(progress) else progress
    return Meter(progress, n_rows, desc="reading", unit="row", unit_scale=True)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this code, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return hasattr(shell, "kernel")
