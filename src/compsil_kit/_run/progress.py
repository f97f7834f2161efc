"""The progress bar: shown in terminals and notebooks by default."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from compsil_kit._util.imports import has

ProgressLike = bool | Callable[[int, int], None] | None


class Meter(Protocol):
    """Receives every finished step."""

    def resume(self, done: int) -> None:
        """Start from the steps that an earlier run finished."""

    def advance(self, n: int = 1) -> None:
        """Add finished steps."""

    def announce(self, text: str) -> None:
        """Show a line of text."""

    def close(self) -> None:
        """Remove the bar."""


def make_meter(progress: ProgressLike, total: int) -> Meter:
    """Return the meter for the user's choice and the environment."""
    if callable(progress):
        return _Callback(progress, total)
    if progress is False or (progress is None and not _is_interactive()):
        return _Silent()
    return _Bar(total=total, desc="compsil", unit="subsample")


def make_row_meter(progress: ProgressLike, n_rows: int) -> Meter:
    """Return the meter of a pass over rows; a function receives them by its attribute ``rows``, if it has one."""
    if callable(progress):
        report = getattr(progress, "rows", None)
        return _Silent() if report is None else _Callback(report, n_rows)
    if progress is False or (progress is None and not _is_interactive()):
        return _Silent()
    return _Bar(total=n_rows, desc="reading", unit="row", unit_scale=True)


def _is_interactive() -> bool:
    # Programs without a console have no stderr.
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this code, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and hasattr(shell, "kernel")


class _Silent:
    def resume(self, done: int) -> None: ...

    def advance(self, n: int = 1) -> None: ...

    def announce(self, text: str) -> None: ...

    def close(self) -> None: ...


class _Callback:
    def __init__(self, function: Callable[[int, int], None], total: int) -> None:
        self._function, self._total, self._done = function, total, 0

    def resume(self, done: int) -> None:
        self._done = done
        self._function(self._done, self._total)

    def advance(self, n: int = 1) -> None:
        self._done += n
        self._function(self._done, self._total)

    def announce(self, text: str) -> None: ...

    def close(self) -> None: ...


class _Bar:
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
        self._bar.update(n)

    def announce(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()
        if self._shown is not None:
            # A saved notebook would otherwise refer to a widget that no longer exists.
            self._shown.update({"text/plain": "", "text/html": ""}, raw=True)
