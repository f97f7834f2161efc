"""The state of a session: settings, reading, the status of its tasks, and the displayed result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from compsil_jupyter.clusterings import Clusterings
from compsil_kit import Comparison, SelectionResult
from compsil_kit.adapters import is_integer, resolve_starts
from compsil_kit.config import CHOICE, SelectionConfig, settings_of

AUTO = "auto"
_SETTINGS = settings_of(SelectionConfig)

# What to compute: keywords of the table and of the plan, and n_jobs, by name.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """How to choose k from the finished subsamples; a change takes effect at once, without a run."""

    choice: Mapping[str, Any] = field(default_factory=lambda: {name: _SETTINGS[name].default for name in CHOICE})
    delta: float = 0.05
    # Number of subsamples to use, from the first; None for all.
    first: int | None = None


@dataclass(frozen=True)
class Status:
    """The status of a run: idle, running, done, stopped or failed."""

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
    """Work in a daemon thread, which ends soon after ``stop`` is set."""

    def __init__(self, settings: Settings, work: Callable[[Task], None]) -> None:
        """Create the thread; ``thread.start()`` starts it."""
        self.settings = settings
        self.stop = Event()
        self.started = time.monotonic()
        self.thread = Thread(target=work, args=(self,), name="compsil-explorer", daemon=True)

    @property
    def seconds(self) -> float:
        """Time since creation."""
        return time.monotonic() - self.started


@dataclass(frozen=True)
class Shown:
    """A result, the task and settings that produced it, and what was computed in addition."""

    settings: Settings
    task: Task | None = None
    result: SelectionResult | None = None
    clusterings: Clusterings | None = None
    comparison: Comparison | None = None

    def n_starts(self, criterion: str) -> int:
        """Return the number of initialisations of a run with these settings under a criterion."""
        names = ("clusterer", "metric", "n_starts")
        return resolve_starts(SelectionConfig(**{name: self.settings[name] for name in names}), criterion)

    @property
    def n_subsamples(self) -> int:
        """The number of subsamples; if adaptive, that of the result."""
        name = "n_subsamples"
        if self.settings[name] != AUTO:
            return int(self.settings[name])
        return int(_SETTINGS[name].default) if self.result is None else self.result.n_subsamples

    @property
    def random_state(self) -> Any:
        """A value that reproduces the subsamples: the integer seed, otherwise the seeds in use."""
        seed = self.settings["random_state"]
        return seed if self.result is None or is_integer(seed) else self.result.plan.seeds
