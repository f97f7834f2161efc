"""Exceptions and warnings raised by the engine. Exceptions that end a run provide the partial result as ``.result``."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult


# Warnings point to the innermost caller outside these packages; IPython calls magics on behalf of a cell.
PACKAGES = ("compsil_kit", "compsil_pandas", "compsil_jupyter", "compsil_airflow", "IPython")
# Unit of progress during a pass over an out-of-core table.
ROWS_READ = "rows read"


class ScaleWarning(UserWarning):
    """The columns have very different scales and were not scaled."""


class ClusteringError(RuntimeError, ValueError):
    """A clusterer failed on a subsample, or returned labels that cannot be scored.

    ``result`` is the selection from the subsamples that had finished, or None.
    """

    result: SelectionResult | None = None


class SelectionError(RuntimeError, ValueError):
    """No k can be selected, because too many subsamples failed for every candidate.

    ``result`` contains the trials and the causes of the failures.
    """

    result: SelectionResult | None = None


class Interrupted(KeyboardInterrupt):
    """The run was interrupted, by Ctrl-C or by a kernel interrupt.

    ``done`` and ``total`` count in ``unit`` ("subsamples", "groups" or "rows read"). ``result`` is the selection from
    the finished subsamples, or None if there are none. For a selection per group, it is the ``GroupSelection`` of the
    finished groups. In a notebook, the result is available as ``sys.last_value.result``.
    """

    result: Any = None

    def __init__(self, done: int = 0, total: int = 0, unit: str = "subsamples", where: str = "") -> None:
        """Store the progress; ``where`` tells the user how to get the partial result."""
        self.done, self.total, self.unit = done, total, unit
        super().__init__(f"{self.summary}; {where}" if where else self.summary)

    @property
    def summary(self) -> str:
        """The progress as a phrase, such as "stopped after 3 of 30 subsamples"."""
        form = "," if self.unit == ROWS_READ else ""
        return f"stopped after {self.done:{form}} of {self.total:{form}} {self.unit}"


def caller_level() -> int:
    """Return the ``stacklevel`` that points to the innermost caller outside ``PACKAGES``."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    return level


@dataclass
class Deprecated:
    """Descriptor for a renamed attribute.

    Reading the attribute emits a DeprecationWarning and returns the attribute named by ``new_name``. ``suggestion`` is
    the public expression to recommend in the warning; it defaults to the new name.
    """

    new_name: str
    suggestion: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the old name."""
        self._name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type) -> Any:
        """Emit the warning at the caller's line and return the value."""
        if instance is None:
            return self
        use = self.suggestion or self.new_name
        text = f"{self._name} is deprecated and will be removed in the next release; use {use} instead."
        warnings.warn(text, DeprecationWarning, stacklevel=caller_level())
        return getattr(instance, self.new_name)
