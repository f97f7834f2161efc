"""Numbers as text: which cells are numbers under a decimal mark, and which have their thousands grouped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

# What pandas takes for a missing value.
MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
DECIMALS = {".": "point", ",": "comma"}
# Comma, point, apostrophe, and the spaces that typesetters use.
GROUPS = (",", ".", "'", "’", " ", "\u00a0", "\u202f", "\u2009")


@cache
def _number(decimal: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    return re.compile(rf"\s*[+-]?(?:(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*")


@cache
def _grouped(decimal: str, group: str) -> re.Pattern[str]:
    mark, between = re.escape(decimal), re.escape(group)
    return re.compile(rf"\s*[+-]?[1-9][0-9]{{0,2}}((?:{between}[0-9]{{3}})+)({mark}[0-9]*)?\s*")


def is_number(text: str, decimal: str) -> bool:
    """Tell whether a cell is a number, its thousands not grouped."""
    return _number(decimal).fullmatch(text) is not None


def is_grouped(text: str, decimal: str, group: str) -> bool:
    """Tell whether a cell is a number whose thousands are grouped by a mark, as in 1,234.5."""
    return _grouped(decimal, group).fullmatch(text) is not None


def is_surely_grouped(text: str, decimal: str, group: str) -> bool:
    """Tell whether the mark can only be that of the thousands: it occurs twice, or before a decimal mark."""
    found = _grouped(decimal, group).fullmatch(text)
    return found is not None and (len(found[1]) > 4 or bool(found[2]))


def present(cells: Iterable[str], missing: frozenset[str] = MISSING) -> list[str]:
    """Return the cells that are not missing."""
    return [cell for cell in cells if cell.strip() not in missing]


def share_of_numbers(cells: Sequence[str], decimal: str) -> float:
    """Return how many of the cells are numbers, as a fraction; 0 without cells."""
    return sum(is_number(cell, decimal) for cell in cells) / len(cells) if cells else 0.0


def needs(cells: Sequence[str], decimal: str) -> bool:
    """Tell whether a column is one of numbers with this decimal mark: nearly all are, and the mark tells something."""
    if share_of_numbers(cells, decimal) < 0.9:
        return False
    other = "," if decimal == "." else "."
    marked = [cell for cell in cells if decimal in cell and is_number(cell, decimal)]
    return any(not is_grouped(cell, other, decimal) for cell in marked)


def decimal_mark(columns: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of a table: the comma if at least as many columns need it as need the point."""
    found = list(columns)
    commas, points = (sum(needs(column, mark) for column in found) for mark in ",.")
    return "," if commas and commas >= points else "."
