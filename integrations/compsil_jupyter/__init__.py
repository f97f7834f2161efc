"""compsil-kit for notebooks: ``%load_ext compsil_jupyter`` adds ``%compsil``; ``explore(df)`` opens the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from compsil_jupyter.explorer import Explorer, explore

__all__ = ["Explorer", "explore", "load_ipython_extension", "unload_ipython_extension"]


def __getattr__(name: str) -> Any:
    """Import the explorer on first use: the magic works without widgets."""
    if name not in ("Explorer", "explore"):
        raise AttributeError(f"module 'compsil_jupyter' has no attribute {name!r}")
    from compsil_kit.adapters import require

    require("ipywidgets", purpose="the explorer")
    from compsil_jupyter import explorer

    return getattr(explorer, name)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add ``%compsil`` to the shell and the accessor ``df.compsil`` to frames.

    Parameters
    ----------
    shell : InteractiveShell
        The shell, passed by ``%load_ext``.
    """
    from compsil_jupyter import magic

    magic.register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove ``%compsil`` from the shell; frames keep their accessor.

    Parameters
    ----------
    shell : InteractiveShell
        The shell, passed by ``%unload_ext``.
    """
    from compsil_jupyter import magic

    magic.unregister(shell)
