"""Whether the first line of a table names its columns."""

from __future__ import annotations

from collections.abc import Sequence

from compsil_kit._data.files.numerals import is_number, share_of_numbers
from compsil_kit._data.files.refused import RefusedError


def header_at(first: Sequence[str], columns: Sequence[Sequence[str]], decimal: str, *, line: int, refuse: bool) -> bool:
    """Tell whether a first line is a header, or refuse what may be both.

    ``columns`` hold the cells below it that are not missing. Words above numbers make a header, numbers with a decimal
    mark or a sign above numbers make none. Whole numbers above numbers may be names, such as years.
    """
    # Rows may begin with a name that the header lacks.
    shift = 1 if len(columns) == len(first) + 1 and columns[-1] else 0
    above = [
        cell.strip()
        for cell, column in zip(first, columns[shift:], strict=False)
        if column and share_of_numbers(column, decimal) > 0.5
    ]
    below = [column for column in columns if column and share_of_numbers(column, decimal) > 0.5]
    numbers = [cell for cell in above if is_number(cell, decimal)]
    words = len(above) - len(numbers)
    values = any(not cell.isdigit() for cell in numbers)
    if not numbers or (words and not values):
        return True
    if values and not words:
        return False
    if not words and _are_names(numbers, below, decimal):
        return True
    if not words and len(set(numbers)) < len(numbers):
        return False
    if refuse:
        raise RefusedError(
            f"line {line} may hold names of columns or numbers. Pass --header if it names the columns, --no-header if "
            "it is the first row."
        )
    return False


def _are_names(numbers: Sequence[str], below: Sequence[Sequence[str]], decimal: str) -> bool:
    """Tell whether whole numbers are names: 0, 1, 2, ... as pandas writes them, or above nothing but decimals."""
    if len(numbers) > 1 and list(numbers) == [str(at) for at in range(len(numbers))]:
        return True
    return all(decimal in cell or "e" in cell.lower() for column in below for cell in column)
