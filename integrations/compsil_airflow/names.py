"""Names of columns that are values: a file without a header has its first row there."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# pandas appends .1, .2 and so on to a name that occurs again.
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?(\.\d+)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")


def hide_values(frame: pd.DataFrame, known: Collection[str]) -> tuple[pd.DataFrame, int]:
    """Return the frame with columns named by position if their names look like values, and how many there are.

    Names that the DAG mentions are ``known`` and stay. If one name is a value, all are: text in a first row looks like
    a name.
    """
    names = [str(name) for name in frame.columns]
    if not _are_values([name for name in names if name not in known]):
        return frame, 0
    shown = [name if name in known else f"column {at}" for at, name in enumerate(names, 1)]
    return frame.set_axis(shown, axis=1), sum(name not in known for name in names)


def _are_values(names: Sequence[Any]) -> bool:
    """Tell whether some of the names are numbers or dates, other than whole numbers in steps of one."""
    found = [name for name in names if _NUMBER.fullmatch(name) or _DATE.fullmatch(name)]
    if not found:
        return False
    if all(name.isdecimal() for name in found) and len(found) > 1:
        # Positions and years are names.
        return [int(name) for name in found] != list(range(int(found[0]), int(found[0]) + len(found)))
    return True
