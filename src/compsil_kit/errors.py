"""The exceptions of the engine. Each that ends a run carries what was finished, as ``.result``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult


class ScaleWarning(UserWarning):
    """The columns differ in scale, and nothing was said about scaling them."""


class ClusteringError(RuntimeError, ValueError):
    """A clusterer failed on a subsample, or gave labels that cannot be scored.

    ``result`` holds the selection from the subsamples that were finished before, or None.
    """

    result: SelectionResult | None = None


class SelectionError(RuntimeError, ValueError):
    """No candidate k can be selected, because too many of its subsamples failed.

    ``result`` holds the trials and the causes of the failures.
    """

    result: SelectionResult | None = None


# What an interrupted pass over a table outside memory counts.
ROWS_READ = "rows read"


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C or by the kernel's interrupt.

    ``done`` of ``total`` ``unit`` ("subsamples", "groups" or "rows read") were finished. ``result`` holds the selection
    from the finished subsamples, marked partial, or None if none was finished; of a selection per group, the
    ``GroupSelection`` of what was finished. In a notebook, ``sys.last_value.result`` reaches it after the fact.
    """

    result: Any = None

    def __init__(self, done: int = 0, total: int = 0, unit: str = "subsamples", where: str = "") -> None:
        """Say how far the run got, and where the finished part is."""
        self.done, self.total, self.unit = done, total, unit
        super().__init__(f"{self.summary}; {where}" if where else self.summary)

    @property
    def summary(self) -> str:
        """How far the run got, in a few words."""
        form = "," if self.unit == ROWS_READ else ""
        return f"stopped after {self.done:{form}} of {self.total:{form}} {self.unit}"
