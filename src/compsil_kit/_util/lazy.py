"""Modules whose public names are imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module whose names are defined in other modules of the package.

    Importing the package then costs next to nothing, which matters where a scheduler parses files that only mention it.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        # Imported here, so that importing the package itself imports nothing.
        from compsil_kit._util.garbage import collector_at_rest

        with collector_at_rest():
            return getattr(importlib.import_module(f"compsil_kit.{homes[name]}"), name)

    return load, lambda: sorted(homes)
