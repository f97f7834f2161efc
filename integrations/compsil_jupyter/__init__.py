"""compsil-kit for notebooks: ``%load_ext compsil_jupyter`` gives ``%compsil``, ``explore(df)`` opens the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from compsil_jupyter.explorer.explorer import Explorer, explore

__all__ = ["Explorer", "explore", "load_ipython_extension", "unload_ipython_extension"]


def __getattr__(name: str) -> Any:
    """Load the explorer when it is first asked for: the magic works without widgets."""
    if name not in ("Explorer", "explore"):
        raise AttributeError(f"module 'compsil_jupyter' has no attribute {name!r}")
    from compsil_kit._util.imports import require

    require("ipywidgets", purpose="the explorer")
    from compsil_jupyter.explorer import explorer

    return getattr(explorer, name)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give the shell ``%compsil``, and frames ``df.compsil``.

    Parameters
    ----------
    shell : InteractiveShell
        What ``%load_ext`` hands over.
    """
    from compsil_jupyter.magic import magic

    magic.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take ``%compsil`` away again; frames keep their accessor.

    Parameters
    ----------
    shell : InteractiveShell
        What ``%unload_ext`` hands over.
    """
    from compsil_jupyter.magic import magic

    magic.unload(shell)
