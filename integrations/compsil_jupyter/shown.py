"""The displayed result of the explorer, how k is chosen from it, and the settings that reproduce it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from compsil_jupyter.clusterings import Clusterings
from compsil_kit import Comparison, SelectionError, SelectionResult
from compsil_kit.adapters import NEED_POINTS, is_integer, resolve_starts
from compsil_kit.config import ComparisonConfig, SelectionConfig, settings_of

# The settings of the table and of the selection by name, except those of the choice. Users edit them one by one, so
# they are validated only when a run builds the configs.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """How to choose k from the finished subsamples; a change takes effect at once, without a run."""

    choice: Mapping[str, Any]
    delta: float = 0.05
    # Number of subsamples to use, from the first; None for all.
    first: int | None = None


@dataclass(frozen=True)
class Shown:
    """A result, the task and settings that produced it, and what was computed in addition."""

    settings: Settings
    # The run of a session.
    task: object = None
    result: SelectionResult | None = None
    clusterings: Clusterings | None = None
    comparison: Comparison | None = None

    def n_starts(self, criterion: str) -> int | None:
        """Return the number of initialisations that a new run under a criterion would have; None without a result."""
        return None if self.result is None else resolve_starts(self.result.plan.config, criterion)

    @property
    def random_state(self) -> Any:
        """A value that reproduces the subsamples: the integer seed, otherwise the seeds in use."""
        seed = self.settings["random_state"]
        return seed if self.result is None or is_integer(seed) else self.result.plan.seeds


def pick(settings: Settings, config: type) -> dict[str, Any]:
    """Return those settings that a config class has."""
    return {name: settings[name] for name in settings_of(config) if name in settings}


def selected_k(result: SelectionResult) -> int | None:
    """Return the selected k, None if no k can be selected."""
    try:
        return result.best_k
    except SelectionError:
        return None


def comparison_settings(data: Any, shown: Shown) -> dict[str, Any]:
    """Return the settings of a comparison on the subsamples of the displayed result."""
    n_subsamples, seeds = shown.settings["n_subsamples"], shown.random_state
    if n_subsamples == "auto":
        n_subsamples = SelectionConfig().max_subsamples if shown.result is None else shown.result.n_subsamples
    if hasattr(seeds, "__len__"):
        # A comparison has no calibration subsamples; their seeds come last.
        seeds = seeds[:n_subsamples]
    given = {**pick(shown.settings, ComparisonConfig), "n_subsamples": n_subsamples, "random_state": seeds}
    if sparse.issparse(data) or given["metric"] == "precomputed":
        names = settings_of(ComparisonConfig)["criteria"].choices
        given["criteria"] = [name for name in names if name not in ("all", *NEED_POINTS)]
    return given
