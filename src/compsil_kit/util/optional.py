"""The one place where optional packages are imported; the error names the extra to install."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType


def has(module: str) -> bool:
    """Tell whether a module is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ImportError(
            f"{purpose} needs the package {module.partition('.')[0]!r}. "
            f"Install it with: pip install 'compsil-kit[{extra}]'"
        ) from error
