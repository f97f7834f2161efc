"""Warnings that point to the user's line of code, and deprecated attribute names."""

from __future__ import annotations

import sys
import warnings
from typing import Any

# IPython runs magics on behalf of the cell.
PACKAGES = ("compsil_kit", "compsil_pandas", "compsil_jupyter", "compsil_airflow", "IPython")


def caller_level() -> int:
    """Return the ``stacklevel`` of the innermost caller outside these packages."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    return level


class Deprecated:
    """A former attribute name: reading it warns and returns the attribute ``now``.

    ``instead`` is the public expression to use; by default the new name.
    """

    def __init__(self, now: str, instead: str = "") -> None:
        self._now, self._instead = now, instead or now

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the former name for the message."""
        self._name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type) -> Any:
        """Warn at the caller's line and return the value."""
        if instance is None:
            return self
        text = f"{self._name} is deprecated and will be removed in the next release; use {self._instead} instead."
        warnings.warn(text, DeprecationWarning, stacklevel=caller_level())
        return getattr(instance, self._now)
