"""Lazy public names, optional packages, and a paused garbage collector for large imports."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def lazy_names(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a module whose names are defined in other modules.

    The module's stub file, which type checkers also read, lists the names with one import per line. Lazy imports keep
    the module fast to import for schedulers that parse files often.
    """
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:
        imports = [line.split() for line in stub if line.startswith("from ")]
    homes = {name: home for _, home, _, name, *_ in imports}
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        with gc_paused():
            return getattr(importlib.import_module(homes[name]), name)

    return load, lambda: names, names


def has(module: str) -> bool:
    """Return whether a module is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def require(module: str, *, purpose: str) -> ModuleType:
    """Import an optional module; if it is missing, raise an error with its purpose and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs the {package!r} package. Install it with: pip install {package}") from error


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection, which halves the time needed to import Numba.

    The import creates hundreds of thousands of permanent objects, which are moved to the oldest generation afterwards.
    If pauses overlap, collection resumes when the first pause ends.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # Keep objects frozen if the application froze them, for example to share them with child processes.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
