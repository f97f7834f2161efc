"""Exceptions and warnings of the engine. Exceptions that end a run have the finished part as ``.result``."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult


# Warnings name the caller outside these; IPython runs magics on behalf of the cell.
PACKAGES = ("compsil_kit", "compsil_pandas", "compsil_jupyter", "compsil_airflow", "IPython")
# Unit of an interrupted pass over an out-of-core table.
ROWS_READ = "rows read"


class ScaleWarning(UserWarning):
    """The columns differ in scale and were not scaled."""


class ClusteringError(RuntimeError, ValueError):
    """A clusterer failed on a subsample, or returned labels that cannot be scored.

    ``result`` is the selection from the subsamples finished before, or None.
    """

    result: SelectionResult | None = None


class SelectionError(RuntimeError, ValueError):
    """No candidate k can be selected, because too many of its subsamples failed.

    ``result`` has the trials and the causes of the failures.
    """

    result: SelectionResult | None = None


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C or by an interrupt of the kernel.

    ``done`` of ``total`` ``unit`` ("subsamples", "groups" or "rows read") were finished. ``result`` is the partial
    selection from the finished subsamples, or None without any; for a selection per group, the ``GroupSelection`` of
    the finished groups. In a notebook, it is available as ``sys.last_value.result``.
    """

    result: Any = None

    def __init__(self, done: int = 0, total: int = 0, unit: str = "subsamples", where: str = "") -> None:
        """Store the progress, and where the finished part is."""
        self.done, self.total, self.unit = done, total, unit
        super().__init__(f"{self.summary}; {where}" if where else self.summary)

    @property
    def summary(self) -> str:
        """The progress in a few words."""
        form = "," if self.unit == ROWS_READ else ""
        return f"stopped after {self.done:{form}} of {self.total:{form}} {self.unit}"


def caller_level() -> int:
    """Return the ``stacklevel`` of the innermost caller outside these packages."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    return level


@dataclass
class Deprecated:
    """A former attribute name: reading it warns and returns the attribute ``now``.

    ``instead`` is the public expression to use; by default the new name.
    """

    now: str
    instead: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the former name."""
        self._name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type) -> Any:
        """Warn at the caller's line and return the value."""
        if instance is None:
            return self
        use = self.instead or self.now
        text = f"{self._name} is deprecated and will be removed in the next release; use {use} instead."
        warnings.warn(text, DeprecationWarning, stacklevel=caller_level())
        return getattr(instance, self.now)
