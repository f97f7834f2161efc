"""What the sub-commands of ``%compsil`` do: they make the data ready, call the engine, and return what comes back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compsil_jupyter.data import Ready, make_ready, resolve_scale
from compsil_kit import Comparison, Interrupted, SelectionResult, select_k
from compsil_kit import compare as compare_criteria
from compsil_kit.show.report import write

_ONLY_SELECTING = ("transform", "rule", "z", "n_calibration", "checkpoint")


class Stopped(KeyboardInterrupt):
    """An interrupt that left nothing to show; notebooks print it as one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Task:
    """The data, what is to be done to it before, and the engine's keywords."""

    data: Any
    columns: Any
    scale: str | None
    missing: str
    settings: dict[str, Any]
    quiet: bool = False
    target: Path | None = None
    with_comparison: bool = False

    @property
    def preparation(self) -> dict[str, Any]:
        """The keywords that concern the table."""
        scale = resolve_scale(self.scale, self.data, self.settings.get("metric"))
        return {"columns": self.columns, "scale": scale, "missing": self.missing}

    def make_ready(self) -> Ready:
        """Return the matrix to cluster."""
        return make_ready(self.data, **self.preparation)


@dataclass(frozen=True)
class Outcome:
    """What a sub-command returns, and what looked odd about the columns where its card does not say so."""

    value: Any
    notes: tuple[str, ...] = ()


def select(task: Task) -> Outcome:
    """Select k; an interrupt keeps what is finished."""
    ready = task.make_ready()
    return Outcome(_select(task, ready), _notes(ready))


def compare(task: Task) -> Outcome:
    """Compare the criteria; an interrupt keeps nothing, as a criterion without all its runs says little."""
    ready = task.make_ready()
    try:
        return Outcome(_compare(task, ready), _notes(ready))
    except KeyboardInterrupt as stop:
        raise Stopped("the comparison was stopped before its end, and a part of it says little.") from stop


def explore(task: Task) -> Outcome:
    """Open the explorer."""
    from compsil_jupyter import explore as open_explorer

    return Outcome(open_explorer(task.data, **task.preparation, **task.settings))


def report(task: Task) -> Outcome:
    """Select k, compare if asked to, and write both into a file that appears whole or not at all."""
    assert task.target is not None
    ready = task.make_ready()
    result = _select(task, ready)
    if not result.partial:
        try:
            write(result, task.target, _compare(task, ready) if task.with_comparison else None)
            print(f"Report: {task.target}")
            return Outcome(result, _notes(ready))
        except KeyboardInterrupt:
            # The selection itself is finished, so it is worth returning.
            pass
    _say("stopped, so no report was written.")
    return Outcome(result, _notes(ready))


COMMANDS: dict[str, Callable[[Task], Outcome]] = {
    "select": select,
    "compare": compare,
    "explore": explore,
    "report": report,
}


def _notes(ready: Ready) -> tuple[str, ...]:
    return () if ready.preparation is None else ready.preparation.notes


def _say(text: str) -> None:
    print(f"compsil: {text}", file=sys.stderr)


def _progress(task: Task) -> dict[str, Any]:
    return {"progress": False if task.quiet else None}


def _select(task: Task, ready: Ready) -> SelectionResult:
    try:
        result = select_k(ready.matrix, **task.settings, **_progress(task))
    except Interrupted as stop:
        if stop.result is None:
            raise Stopped("stopped before the first subsample was finished.") from stop
        result = stop.result
        _say(f"{str(stop).partition(';')[0]}; the result is that of the finished part.")
    return result if ready.preparation is None else result.prepared(ready.preparation)


def _compare(task: Task, ready: Ready) -> Comparison:
    settings = {name: value for name, value in task.settings.items() if name not in _ONLY_SELECTING}
    found = compare_criteria(ready.matrix, **settings, **_progress(task))
    if found.selection is None or ready.preparation is None:
        return found
    return replace(found, selection=found.selection.prepared(ready.preparation))
