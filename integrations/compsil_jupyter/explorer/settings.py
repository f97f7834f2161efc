"""What an explorer's run depends on, how its trials are read, and where it stands."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compsil_kit.method.weights import Transform


@dataclass(frozen=True)
class Settings:
    """What a run depends on: another value asks for another run."""

    columns: tuple[Hashable, ...] | None = None
    scale: str | None = "standard"
    missing: str = "raise"
    ks: tuple[int, ...] = tuple(range(2, 11))
    clusterer: Any = "kmeans"
    n_subsamples: int = 30
    sample_size: str | int | float = "auto"
    metric: Any = "euclidean"
    n_calibration: int = 0
    on_failure: str = "raise"
    n_jobs: int | None = None
    random_state: Any = 42

    @cached_property
    def preparation(self) -> dict[str, Any]:
        """The settings that concern the table."""
        chosen = None if self.columns is None else list(self.columns)
        return {"columns": chosen, "scale": self.scale, "missing": self.missing}

    @cached_property
    def engine(self) -> dict[str, Any]:
        """The settings that go to the engine."""
        return {name: value for name, value in vars(self).items() if name in _ENGINE}


_ENGINE = frozenset(Settings.__dataclass_fields__) - {"columns", "scale", "missing"}


@dataclass(frozen=True)
class Reading:
    """How finished trials are read: another value acts at once."""

    transform: Transform = "tanh"
    rule: str = "max"
    z: float = 1.0
    delta: float = 0.05
    # Use the first so many subsamples; all if None.
    first: int | None = None


@dataclass(frozen=True)
class Status:
    """Where a run stands: idle, running, done, stopped or failed."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at the pace so far; None while there is no pace yet."""
        return self.seconds / self.done * (self.total - self.done) if self.done else None
