"""The state of a session: settings, reading, the status of its tasks, and the displayed result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from compsil_jupyter.clusterings import Clusterings
from compsil_kit import Comparison, SelectionError, SelectionResult
from compsil_kit.adapters import is_integer, resolve_starts
from compsil_kit.config import CHOICE, SelectionConfig, TableConfig, settings_of

AUTO = "auto"
# The settings of the table and of the selection by name, except those of the choice. Users edit them one by one, so
# they are validated only when a run builds the configs.
Settings = Mapping[str, Any]


def collect_settings(table: TableConfig, config: SelectionConfig) -> dict[str, Any]:
    """Return the settings of both configs by name."""
    found = {name: getattr(each, name) for each in (table, config) for name in settings_of(type(each))}
    return {name: value for name, value in found.items() if name not in CHOICE}


def pick(settings: Settings, config: type) -> dict[str, Any]:
    """Return those settings that a config class has."""
    return {name: settings[name] for name in settings_of(config) if name in settings}


def selected_k(result: SelectionResult) -> int | None:
    """Return the selected k, None if no k can be selected."""
    try:
        return result.best_k
    except SelectionError:
        return None


@dataclass(frozen=True)
class Reading:
    """How to choose k from the finished subsamples; a change takes effect at once, without a run."""

    choice: Mapping[str, Any]
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

    def n_starts(self, criterion: str) -> int | None:
        """Return the number of initialisations that a new run under a criterion would have; None without a result."""
        return None if self.result is None else resolve_starts(self.result.plan.config, criterion)

    @property
    def n_subsamples(self) -> int:
        """The number of subsamples; if adaptive, that of the result."""
        given = self.settings["n_subsamples"]
        if given != AUTO:
            return int(given)
        return SelectionConfig().max_subsamples if self.result is None else self.result.n_subsamples

    @property
    def random_state(self) -> Any:
        """A value that reproduces the subsamples: the integer seed, otherwise the seeds in use."""
        seed = self.settings["random_state"]
        return seed if self.result is None or is_integer(seed) else self.result.plan.seeds
