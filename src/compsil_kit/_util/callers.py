"""Where in the user's code a warning belongs."""

from __future__ import annotations

import sys

# IPython calls a magic on behalf of the cell.
PACKAGES = ("compsil_kit", "compsil_pandas", "compsil_jupyter", "compsil_airflow", "IPython")


def caller_level() -> int:
    """Return the ``stacklevel`` that makes a warning point to the line outside these packages that called them."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    return level
