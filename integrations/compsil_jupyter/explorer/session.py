"""What the explorer knows and does, without any widget: settings, the run in its thread, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from scipy import sparse

from compsil_jupyter.data import Ready, make_ready
from compsil_jupyter.explorer.clusterings import Clusterings
from compsil_jupyter.explorer.settings import Reading, Settings, Status
from compsil_kit import Comparison, SelectionResult, compare
from compsil_kit.criteria.compare import CRITERIA, NEED_POINTS
from compsil_kit.result.trials import Trial
from compsil_kit.run.engine import run
from compsil_kit.run.request import Request, check_request
from compsil_kit.show.report import write


class Task:
    """A piece of work in a daemon thread that can be told to stop; ``stopped`` is what it looks at."""

    def __init__(self, work: Callable[[Task], None]) -> None:
        """Get ready; ``thread.start()`` begins."""
        self.stopped = Event()
        self.started = time.monotonic()
        self.thread = Thread(target=work, args=(self,), name="compsil-explorer", daemon=True)

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self.started


class Session:
    """The state of one explorer. Every change is told to the listeners by a word for what has changed.

    The words are ``"status"``, ``"result"``, ``"clusters"`` and ``"comparison"``; they may come from other threads.
    """

    def __init__(self, data: Any, settings: Settings, reading: Reading | None = None) -> None:
        """Take the data, which is never changed, and how to begin."""
        self.data = data
        self.settings = settings
        self.reading = Reading() if reading is None else reading
        self.status = Status()
        self.comparing = Status()
        self.comparison: Comparison | None = None
        self.clusterings: Clusterings | None = None
        # The settings that the result on show was computed with.
        self.shown: Settings | None = None
        self._raw: SelectionResult | None = None
        self._read: tuple[SelectionResult, Reading, SelectionResult] | None = None
        self._listeners: list[Callable[[str], None]] = []
        self._selecting: Task | None = None
        self._comparing: Task | None = None
        self._lock = Lock()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Tell this function what changes from now on."""
        self._listeners.append(listener)

    def _tell(self, what: str) -> None:
        for listener in list(self._listeners):
            listener(what)

    @property
    def running(self) -> bool:
        """Whether a selection is being computed."""
        return self.status.phase == "running"

    @property
    def stale(self) -> bool:
        """Whether the settings are no longer those of the result on show."""
        return self.shown is not None and self.shown != self.settings

    @property
    def n_finished(self) -> int:
        """How many subsamples have been scored."""
        return 0 if self._raw is None else self._raw.n_subsamples

    @property
    def result(self) -> SelectionResult | None:
        """The selection as it is read now, from all that is finished or from the first subsamples; None before."""
        raw, reading = self._raw, self.reading
        if raw is None:
            return None
        known = self._read
        if known is None or known[0] is not raw or known[1] != reading:
            first = None if reading.first is None else min(reading.first, raw.n_subsamples)
            read = raw.reweigh(transform=reading.transform, rule=reading.rule, z=reading.z, n_subsamples=first)
            known = self._read = (raw, reading, read)
        return known[2]

    def change(self, **settings: Any) -> None:
        """Take other settings; they count from the next run on."""
        changed = replace(self.settings, **settings)
        if changed != self.settings:
            self.settings = changed
            self._tell("status")

    def read(self, **reading: Any) -> None:
        """Read the finished trials otherwise, at once."""
        changed = replace(self.reading, **reading)
        if changed != self.reading:
            self.reading = changed
            self._tell("result")

    def start(self) -> None:
        """Begin a new run in the background; one that is under way is stopped."""
        settings = self.settings
        self._end(self._selecting)
        self.stop_comparing()
        self._close_clusterings()
        task = Task(lambda task: self._select(task, settings))
        with self._lock:
            self._selecting, self._raw, self.shown, self.comparison = task, None, None, None
            self.status = Status("running", total=settings.n_subsamples + settings.n_calibration)
            self.comparing = Status()
        self._tell("status")
        task.thread.start()

    def stop(self) -> None:
        """Stop the run and keep what is finished."""
        if self._end(self._selecting) and self.running:
            self._move(self._selecting, phase="stopped")

    def close(self) -> None:
        """Stop all work and forget the listeners."""
        self._listeners.clear()
        self.stop()
        self.stop_comparing()
        self._close_clusterings()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is being computed any more."""
        for task in (self._selecting, self._comparing):
            if task is not None:
                task.thread.join(timeout)

    def _end(self, task: Task | None) -> bool:
        if task is None:
            return False
        task.stopped.set()
        return True

    def _close_clusterings(self) -> None:
        if self.clusterings is not None:
            self.clusterings.close()
            self.clusterings = None

    def _move(self, task: Task | None, **changes: Any) -> None:
        """Change the status of a run, unless another one has taken its place."""
        with self._lock:
            if task is not self._selecting or task is None:
                return
            self.status = replace(self.status, seconds=task.seconds, **changes)
        self._tell("status")

    def _select(self, task: Task, settings: Settings) -> None:
        try:
            ready = make_ready(self.data, **settings.preparation)
            request = check_request(ready.matrix, transform="tanh", rule="max", z=1.0, **settings.engine)
            trials = self._collect(task, settings, ready, request)
        except Exception as error:  # noqa: BLE001  (anything the data or a clusterer raises is shown, not lost in a thread)
            self._move(task, phase="failed", error=in_words(error))
            return
        finished = len(trials) == len(request.job.plan.seeds)
        raw = self._raw
        if finished and raw is not None and raw.best_index is None:
            self._move(task, phase="failed", error=raw.explain())
        elif finished:
            self._move(task, phase="done")

    def _collect(self, task: Task, settings: Settings, ready: Ready, request: Request) -> list[Trial]:
        trials: list[Trial] = []
        for trial in run(request.X, request.job, request.n_jobs, stop=task.stopped):
            trials.append(trial)
            result = request.partial(trials)
            if result is not None and ready.preparation is not None:
                result = result.prepared(ready.preparation)
            with self._lock:
                if task is not self._selecting:
                    return trials
                if self.clusterings is None:
                    self.clusterings = Clusterings(request, lambda: self._tell("clusters"))
                self._raw, self.shown = result, settings
                self.status = replace(self.status, done=len(trials), seconds=task.seconds)
            self._tell("result")
        return trials

    def compare(self) -> None:
        """Compute the other criteria in the background, on the settings of the result on show."""
        settings = self.shown or self.settings
        self.stop_comparing()
        task = Task(lambda task: self._compare(task, settings))
        with self._lock:
            self._comparing, self.comparison, self.comparing = task, None, Status("running")
        self._tell("comparison")
        task.thread.start()

    def stop_comparing(self) -> None:
        """Stop computing the other criteria."""
        if self._end(self._comparing) and self.comparing.phase == "running":
            self._advance(self._comparing, phase="stopped")

    def _advance(self, task: Task | None, **changes: Any) -> None:
        with self._lock:
            if task is not self._comparing or task is None:
                return
            self.comparison = changes.pop("comparison", None)
            self.comparing = replace(self.comparing, seconds=task.seconds, **changes)
        self._tell("comparison")

    def _compare(self, task: Task, settings: Settings) -> None:
        def count(done: int, total: int) -> None:
            if task.stopped.is_set():
                raise _Left
            self._advance(task, done=done, total=total)

        keywords = {name: value for name, value in settings.engine.items() if name != "n_calibration"}
        try:
            ready = make_ready(self.data, **settings.preparation)
            found = compare(ready.matrix, criteria=fitting(self.data, settings), progress=count, **keywords)
        except _Left:
            return
        except Exception as error:  # noqa: BLE001  (shown in the explorer, not lost in a thread)
            self._advance(task, phase="failed", error=in_words(error))
            return
        if not task.stopped.is_set():
            self._advance(task, phase="done", comparison=found)

    def report(self, path: Path) -> Path:
        """Write the report of what is on show, with the comparison if there is one."""
        result = self.result
        if result is None:
            raise ValueError("there is no result yet. Press Run first.")
        return write(result, path, self.comparison)


def fitting(data: Any, settings: Settings) -> str | list[str]:
    """Return the criteria that can be computed: some need dense points."""
    if not sparse.issparse(data) and settings.metric != "precomputed":
        return "all"
    return [name for name in CRITERIA if name not in NEED_POINTS]


class _Left(Exception):
    """Nobody waits for the comparison any more."""


def in_words(error: BaseException) -> str:
    """Return an error for people: our own messages as they are, foreign ones with their kind."""
    text = " ".join(str(error).split())
    own = isinstance(error, ValueError | TypeError | RuntimeError | ImportError) and text
    return text if own else f"{type(error).__name__}: {text}".rstrip(": ")
