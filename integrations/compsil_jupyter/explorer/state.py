"""What a session knows: the settings, the reading, the status of its tasks, and the result shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from compsil_jupyter.explorer.clusterings import Clusterings
from compsil_kit import Comparison, SelectionResult
from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.plan import resolve_starts
from compsil_kit._method.stopping import AUTO
from compsil_kit._settings.keywords import ChoiceKeywords, ExploreKeywords, defaults_of
from compsil_kit._util.checks import is_integer

# What is computed: keywords of the table and of the plan, and n_jobs, by name.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """How to choose from the finished subsamples; a change takes effect at once and computes nothing."""

    choice: Mapping[str, Any] = field(default_factory=lambda: defaults_of(ChoiceKeywords))
    delta: float = 0.05
    # Use only the first so many subsamples; all if None.
    first: int | None = None


@dataclass(frozen=True)
class Status:
    """The state of a run: idle, running, done, stopped or failed."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    error: str = ""
    # What there is to say before the first step is finished.
    words: str = ""

    @property
    def seconds_left(self) -> float | None:
        """Estimated remaining time, from the time per step so far; None before the first step."""
        return self.seconds / self.done * (self.total - self.done) if self.done else None


class Task:
    """Work in a daemon thread; it ends soon after ``stop`` is set."""

    def __init__(self, settings: Settings, work: Callable[[Task], None]) -> None:
        """Prepare the thread; ``thread.start()`` starts it."""
        self.settings = settings
        self.stop = Event()
        self.started = time.monotonic()
        self.thread = Thread(target=work, args=(self,), name="compsil-explorer", daemon=True)

    @property
    def seconds(self) -> float:
        """Time since it was created."""
        return time.monotonic() - self.started


@dataclass(frozen=True)
class Shown:
    """A result as the engine returned it, the task and settings it comes from, and what was computed beside it."""

    settings: Settings
    task: Task | None = None
    result: SelectionResult | None = None
    clusterings: Clusterings | None = None
    comparison: Comparison | None = None

    def starts(self, criterion: str) -> int:
        """Return the number of starts that a run with these settings takes under a criterion."""
        given = self.settings
        clusterer = resolve_clusterer(given["clusterer"], resolve_metric(given["metric"]))
        return resolve_starts(given["n_starts"], criterion, clusterer)

    @property
    def n_subsamples(self) -> int:
        """The number of subsamples: the one given or, where that was left open, as many as there were."""
        name = "n_subsamples"
        given = self.settings[name]
        if given != AUTO:
            return int(given)
        return int(defaults_of(ExploreKeywords)[name]) if self.result is None else self.result.n_subsamples

    @property
    def random_state(self) -> Any:
        """A value that repeats the subsamples: the integer given, or else the seeds that were used."""
        given = self.settings["random_state"]
        return given if self.result is None or is_integer(given) else self.result.plan.seeds
