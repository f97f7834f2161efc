"""compsil-kit for notebooks: ``%load_ext compsil_jupyter`` adds ``%compsil``; ``explore(df)`` opens the explorer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_jupyter.explorer import Explorer, explore
    from compsil_jupyter.magic import load_ipython_extension, unload_ipython_extension

__all__ = ["Explorer", "explore", "load_ipython_extension", "unload_ipython_extension"]


def __getattr__(name: str) -> Any:
    """Import public names lazily, so that the magic works without ipywidgets."""
    if name not in __all__:
        raise AttributeError(f"module 'compsil_jupyter' has no attribute {name!r}")
    if name.endswith("_ipython_extension"):
        return getattr(import_module("compsil_jupyter.magic"), name)
    from compsil_kit.adapters import require

    require("ipywidgets", purpose="the explorer")
    return getattr(import_module("compsil_jupyter.explorer"), name)
