"""The one place where optional packages are imported; the error names the package to install."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def has(module: str) -> bool:
    """Tell whether a module is installed, without importing it."""
    # One that is imported need not be looked for on the disk; and None there says that it must not be imported.
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def require(module: str, *, purpose: str) -> ModuleType:
    """Import an optional module, or say what it is needed for and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs the package {package!r}. Install it with: pip install {package}") from error
