"""Columns of text that are numbers but for a few cells: their thousands are grouped, or a cell says "unknown"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compsil_kit._data.files.numerals import DECIMALS, GROUPS, is_grouped, is_number, is_surely_grouped
from compsil_kit._data.files.refused import RefusedError
from compsil_kit._util.format import quoted

if TYPE_CHECKING:
    import pandas as pd

# A column is looked at as a whole only if one of these cells in five is a number.
_PROBED = 2000
_SHOWN = 5


def settle_columns(
    frame: pd.DataFrame,
    decimal: str,
    thousands: str | None,
    used: Callable[[Any], bool],
    lines: Callable[[set[int]], list[int]],
) -> pd.DataFrame:
    """Return the frame with grouped numbers read, or refuse a column that is numeric but for a few cells."""
    changed: dict[int, Any] = {}
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        if column.dtype.kind in "OTU" and used(name) and _is_suspect(column, decimal):
            found = _settled(column, decimal, thousands, lines)
            if found is not None:
                changed[at] = found
    if changed:
        frame = frame.copy()
        for at, values in changed.items():
            frame.isetitem(at, values)
    return frame


def _texts(column: Any) -> list[str]:
    return ["" if isinstance(cell, bool) else str(cell) for cell in column]


def _counts(text: str, decimal: str) -> bool:
    """Tell whether a cell is a number in any way of writing."""
    other = "," if decimal == "." else "."
    return is_number(text, decimal) or is_number(text, other) or any(is_grouped(text, decimal, mark) for mark in GROUPS)


def _is_suspect(column: pd.Series[Any], decimal: str) -> bool:
    probed = _texts(column.iloc[:: max(1, len(column) // _PROBED)].dropna()) or _texts(column.dropna().iloc[:_PROBED])
    return bool(probed) and sum(_counts(text, decimal) for text in probed) > 0.2 * len(probed)


def _settled(
    column: pd.Series[Any], decimal: str, thousands: str | None, lines: Callable[[set[int]], list[int]]
) -> pd.Series[Any] | None:
    """Return the column as numbers, None if it is text, or say why it is neither."""
    cells = column.dropna()
    texts = _texts(cells)
    plain = [is_number(text, decimal) for text in texts]
    group = thousands or _group_of(texts, decimal)
    fits = [
        ok or (group is not None and is_grouped(text, decimal, group)) for ok, text in zip(plain, texts, strict=True)
    ]
    if all(fits) and not all(plain) and group is not None:
        return _ungrouped(column, decimal, group)
    other = "," if decimal == "." else "."
    counted = [_counts(text, decimal) for text in texts]
    if sum(counted) < 0.5 * len(texts):
        return None
    name = f"column {quoted(str(column.name))}"
    if sum(fits) < 0.5 * len(texts):
        raise RefusedError(f"{name} {_unclear(texts, decimal, other)} {_leave_out(column)}.")
    if all(fits):
        raise RefusedError(
            f"{name} holds whole numbers of more than 19 digits, as identifiers do. {_leave_out(column)}."
        )
    wrong = [at for at, ok in enumerate(fits) if not ok]
    positions = column.notna().to_numpy().nonzero()[0]
    where = lines({int(positions[at]) for at in wrong[:_SHOWN]})
    listed = ", ".join(map(str, where)) + (", ..." if len(wrong) > _SHOWN else "")
    help_ = "If these mean a missing value, pass --na-values with what they say, and --missing drop."
    if all(counted):
        help_ = f"It {_unclear([texts[at] for at in wrong], decimal, other)}"
    raise RefusedError(
        f"{name} is numeric except in {len(wrong):,} of {len(texts):,} cells (line{'s' * (len(wrong) > 1)} {listed}). "
        f"{help_} {_leave_out(column)}."
    )


def _leave_out(column: pd.Series[Any]) -> str:
    return f"To leave the column out, pass --exclude {quoted(str(column.name))}"


def _group_of(texts: list[str], decimal: str) -> str | None:
    """Return the mark between thousands if a cell leaves no doubt that it is one."""
    for group in GROUPS:
        if group != decimal and any(is_surely_grouped(text, decimal, group) for text in texts):
            return group
    return None


def _unclear(texts: list[str], decimal: str, other: str) -> str:
    groups = [mark for mark in GROUPS if mark != decimal and any(is_grouped(text, decimal, mark) for text in texts)]
    if other not in groups and any(other in text for text in texts):
        return (
            f"has numbers with a decimal {DECIMALS[other]}, where the file has decimal {DECIMALS[decimal]}s. Pass "
            f"--decimal '{other}' if that is the file's mark."
        )
    mark = groups[0] if groups else other
    decimals = f", --decimal '{mark}' if it is the decimal mark" if mark in DECIMALS else ""
    return f"has numbers whose marks are not clear. Pass --thousands '{mark}' if it groups thousands{decimals}."


def _ungrouped(column: pd.Series[Any], decimal: str, group: str) -> pd.Series[Any]:
    import pandas as pd

    texts = column.astype(object).map(
        lambda cell: str(cell).replace(group, "").replace(decimal, "."), na_action="ignore"
    )
    return pd.to_numeric(texts.where(column.notna()))
