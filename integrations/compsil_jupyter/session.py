"""The state and the background tasks of the explorer, without widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from compsil_jupyter.data import load_table
from compsil_jupyter.shown import Clusterings, Reading, Settings, Shown, comparison_settings, pick, selected_k
from compsil_kit import SelectionResult, SourceTable
from compsil_kit.adapters import (
    Dataset,
    compile_notice,
    load,
    make_plan,
    one_line,
    resolve_starts,
    run_comparison,
    stream_selection,
    write,
)
from compsil_kit.config import CHOICE, ComparisonConfig, SelectionConfig, TableConfig, settings_of
from compsil_kit.events import Events


@dataclass(frozen=True)
class Status:
    """The status of a task: idle, running, done, stopped or failed."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    error: str = ""
    # Shown until the first step is finished.
    note: str = ""

    @property
    def seconds_left(self) -> float | None:
        """Estimated remaining time, from the time per step so far; None before the first step."""
        return self.seconds / self.done * (self.total - self.done) if self.done else None


class Task:
    """A run or a comparison in a daemon thread that ends soon after ``stop`` is set."""

    def __init__(self, change: str, settings: Settings, work: Callable[[Task], None], total: int = 0) -> None:
        """Create the thread; ``change`` is passed to the listeners when the status changes."""
        self.change, self.settings = change, settings
        self.status = Status("running", total=total)
        self.stop = Event()
        self.thread = Thread(target=work, args=(self,), name="compsil-explorer", daemon=True)
        self._started = time.monotonic()

    def update(self, **changes: Any) -> None:
        """Update the status and the elapsed time."""
        self.status = replace(self.status, seconds=time.monotonic() - self._started, **changes)


class Session:
    """The state of one explorer, which notifies listeners of changes.

    A listener is called with ``"status"``, ``"result"``, ``"clusters"`` or ``"comparison"``, from any thread.
    """

    def __init__(self, data: Any, table: TableConfig, config: SelectionConfig, expression: str | None = None) -> None:
        """Open a session; ``expression`` is the Python expression for the data, if known."""
        self.data, self.expression = data, expression
        given = {**vars(table), **vars(config)}
        self.settings = {name: given[name] for name in settings_of(TableConfig, SelectionConfig) if name not in CHOICE}
        self.reading = Reading(config.choice)
        self.shown = Shown(self.settings)
        # The state shown when the current run started, restored if the run fails.
        self._before = self.shown
        self._cached: tuple[SelectionResult, Reading, SelectionResult] | None = None
        self._listeners: list[Callable[[str], None]] = []
        self._selecting: Task | None = None
        self._comparing: Task | None = None
        self._lock = Lock()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def _notify(self, change: str) -> None:
        for listener in list(self._listeners):
            listener(change)

    @property
    def status(self) -> Status:
        """The status of the run."""
        return Status() if self._selecting is None else self._selecting.status

    @property
    def comparing(self) -> Status:
        """The status of the comparison."""
        return Status() if self._comparing is None else self._comparing.status

    @property
    def running(self) -> bool:
        """Whether a selection is in progress."""
        return self.status.phase == "running"

    @property
    def stale(self) -> bool:
        """Whether the settings have changed since the last run started."""
        return self._selecting is not None and self._selecting.settings != self.settings

    @property
    def needs_initialisations(self) -> bool:
        """Whether the criterion uses more initialisations than the displayed result has."""
        plan = None if self.shown.result is None else self.shown.result.plan
        return plan is not None and resolve_starts(plan.config, self.reading.choice["criterion"]) > plan.n_starts

    @property
    def shows_previous(self) -> bool:
        """Whether the displayed result is from an earlier run, because the latest run failed or has no result yet."""
        return self.shown.result is not None and self.shown.task is not self._selecting

    @property
    def n_finished(self) -> int:
        """Number of scored subsamples in the displayed result."""
        return 0 if self.shown.result is None else self.shown.result.n_subsamples

    @property
    def result(self) -> SelectionResult | None:
        """The selection from the subsamples in use with the current choice settings; None before the first run."""
        raw, reading = self.shown.result, self.reading
        if raw is None:
            return None
        cached = self._cached
        if cached is None or cached[0] is not raw or cached[1] != reading:
            first = None if reading.first is None else min(reading.first, raw.n_subsamples)
            cached = self._cached = (raw, reading, raw.reweigh(**reading.choice, n_subsamples=first))
        return cached[2]

    def change(self, **settings: Any) -> None:
        """Change settings for the next run, which validates them."""
        changed = {**self.settings, **settings}
        if changed != self.settings:
            self.settings = changed
            self._notify("status")

    def read(self, **reading: Any) -> None:
        """Change settings for choosing k: ``criterion``, ``transform``, ``rule``, ``z``, ``delta`` or ``first``."""
        choice = {name: reading.pop(name, value) for name, value in self.reading.choice.items()}
        changed = replace(self.reading, choice=choice, **reading)
        if changed != self.reading:
            self.reading = changed
            self._notify("result")

    def start(self) -> None:
        """Start a run in the background; stop any run in progress."""
        if self._selecting is not None:
            self._selecting.stop.set()
        self.stop_comparing()
        if self.shown.clusterings is not None:
            self.shown.clusterings.pause()
        settings, choice = self.settings, self.reading.choice
        total = SelectionConfig(n_subsamples=settings["n_subsamples"]).max_subsamples + settings["n_calibration"]
        task = Task("status", settings, lambda task: self._select(task, choice), total)
        with self._lock:
            self._selecting, self._before = task, self.shown
            self._comparing = None
        self._notify("status")
        task.thread.start()

    def stop(self) -> None:
        """Stop the run and keep the finished subsamples."""
        self._stop(self._selecting)

    def compare(self) -> None:
        """Compute the other criteria in the background, with the settings of the displayed result."""
        self.stop_comparing()
        settings = self.settings if self.shown.result is None else self.shown.settings
        with self._lock:
            self.shown = replace(self.shown, settings=settings, comparison=None)
            given = comparison_settings(self.data, self.shown)
            self._comparing = task = Task("comparison", settings, lambda task: self._compare(task, given))
        self._notify("comparison")
        task.thread.start()

    def stop_comparing(self) -> None:
        """Stop the comparison and keep the finished criteria."""
        self._stop(self._comparing)

    def close(self) -> None:
        """Stop all work and remove the listeners."""
        self._listeners.clear()
        self.stop()
        self.stop_comparing()
        if self.shown.clusterings is not None:
            self.shown.clusterings.close()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the run and the comparison to end, at most ``timeout`` seconds each."""
        for task in (self._selecting, self._comparing):
            if task is not None:
                task.thread.join(timeout)

    def report(self, path: Path) -> Path:
        """Write a report on the displayed result, including the comparison if there is one."""
        result = self.result
        if result is None:
            raise ValueError("there is no result yet. Press Run first.")
        return write(result, path, self.shown.comparison)

    def _stop(self, task: Task | None) -> None:
        if task is not None:
            task.stop.set()
            if task.status.phase == "running":
                self._update(task, phase="stopped")

    def _is_current(self, task: Task) -> bool:
        """Return whether a task is the latest of its kind; a replaced task must not change the session."""
        return task is self._selecting or task is self._comparing

    def _update(self, task: Task, **changes: Any) -> None:
        with self._lock:
            task.update(**changes)
            is_current = self._is_current(task)
        if is_current:
            self._notify(task.change)

    def _select(self, task: Task, choice: Mapping[str, Any]) -> None:
        result = None
        try:
            config = SelectionConfig(**pick(task.settings, SelectionConfig), **choice)
            events, table = Events(stop=task.stop), self._load(task.settings)
            plan = make_plan(table, config)
            data = load(table, plan, events)
            self._update(task, note=compile_notice(plan, data))
            clusterings = Clusterings(plan, data, lambda: self._notify("clusters"))
            with closing(stream_selection(plan, data, events)) as growing:
                for result in growing:
                    if not self._show(task, result, clusterings):
                        return
        except Exception as error:  # noqa: BLE001  (a thread would lose the error; the explorer shows it)
            with self._lock:
                if self._is_current(task) and self.shown.task is task and self._before.result is not None:
                    self.shown = self._before
            self._update(task, phase="failed", error=describe_error(error))
            return
        if result is None or result.partial:
            return
        if selected_k(result) is None:
            # The complete result is still shown, because its table lists the failed clusterings.
            self._update(task, phase="failed", error=result.explain())
        else:
            self._update(task, phase="done")

    def _load(self, settings: Settings) -> Dataset | SourceTable:
        return load_table(self.data, TableConfig(**pick(settings, TableConfig)))

    def _show(self, task: Task, result: SelectionResult, clusterings: Clusterings) -> bool:
        """Show a result, unless a newer run has started; return whether it was shown."""
        with self._lock:
            if not self._is_current(task):
                return False
            if self._comparing is not None and self._comparing.settings != task.settings:
                self._comparing.stop.set()
                self._comparing = None
            comparison = self.shown.comparison if self.shown.settings == task.settings else None
            self.shown = Shown(task.settings, task, result, clusterings, comparison)
            done = result.n_subsamples + len(result.calibration.subsamples)
            task.update(done=done, total=len(result.plan.seeds))
        self._notify("result")
        return True

    def _compare(self, task: Task, settings: Settings) -> None:
        def count(done: int, total: int) -> None:
            self._update(task, done=done, total=total)

        try:
            config, events = ComparisonConfig(**settings), Events(progress=count, stop=task.stop)
            found = run_comparison(self._load(task.settings), config, events)
        except Exception as error:  # noqa: BLE001  (a thread would lose the error; the explorer shows it)
            self._update(task, phase="failed", error=describe_error(error))
            return
        with self._lock:
            if found is not None and self._is_current(task):
                self.shown = replace(self.shown, comparison=found)
        self._update(task, phase="stopped" if task.stop.is_set() else "done")


def describe_error(error: Exception) -> str:
    """Return an error message on one line; errors of types that the engine does not raise start with their type."""
    text, kind = one_line(error), type(error).__name__
    clear = isinstance(error, ValueError | TypeError | RuntimeError | ImportError | OSError) or text == kind
    return text if clear else f"{kind}: {text}"
