"""The progress bar: shown in terminals and notebooks by default."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from compsil_kit._util.imports import has

ProgressLike = bool | Callable[[int, int], None] | None


class Meter:
    """Counts finished steps; this one shows nothing."""

    done = 0

    def resume(self, done: int) -> None:
        """Start from the steps that an earlier run finished."""

    def advance(self, n: int = 1) -> None:
        """Add finished steps."""
        self.done += n

    def announce(self, text: str) -> None:
        """Show a line of text, unless it is empty."""

    def close(self) -> None:
        """Remove the bar."""


def make_row_meter(progress: ProgressLike, n_rows: int) -> Meter:
    """Return the meter of a pass over rows; a function receives them by its attribute ``rows``, if it has one."""
    progress = getattr(progress, "rows", False) if callable(progress) else progress
    return make_meter(progress, n_rows, desc="reading", unit="row", unit_scale=True)


def make_meter(
    progress: ProgressLike, total: int, *, desc: str = "compsil", unit: str = "subsample", unit_scale: bool = False
) -> Meter:
    """Return the meter for the user's choice and the environment."""
    if callable(progress):
        return _Callback(progress, total)
    if progress is None:
        # Programs without a console have no stderr.
        progress = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return _Bar(total=total, desc=desc, unit=unit, unit_scale=unit_scale) if progress else Meter()


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this code, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return hasattr(shell, "kernel")


class _Callback(Meter):
    def __init__(self, function: Callable[[int, int], None], total: int) -> None:
        self._function, self._total = function, total

    def resume(self, done: int) -> None:
        self.advance(done)

    def advance(self, n: int = 1) -> None:
        super().advance(n)
        self._function(self.done, self._total)


class _Bar(Meter):
    def __init__(self, **settings: Any) -> None:
        self._shown: Any = None
        settings["leave"] = False
        if _in_notebook() and has("ipywidgets"):
            notebook: Any = import_module("tqdm.notebook")
            self._bar: Any = notebook.tqdm_notebook(**settings, display=False)
            self._shown = notebook.display(self._bar.container, display_id=True)
        else:
            from tqdm import tqdm

            self._bar = tqdm(**settings)

    def resume(self, done: int) -> None:
        # As the initial value: these steps took no time, and would distort the estimate of the remaining time.
        self._bar.n = self._bar.initial = done
        self._bar.refresh()

    def advance(self, n: int = 1) -> None:
        super().advance(n)
        self._bar.update(n)

    def announce(self, text: str) -> None:
        if text:
            self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()
        if self._shown is not None:
            # A saved notebook would otherwise refer to a widget that no longer exists.
            self._shown.update({"text/plain": "", "text/html": ""}, raw=True)
