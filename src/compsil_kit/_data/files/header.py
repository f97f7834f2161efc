"""Detect whether the first line of a file is a header."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from compsil_kit._data.files.numeric import (
    MISSING_VALUES,
    fraction_numeric,
    is_number,
)

# Cells that are examined, and the smallest number of rows.
_MAX_CELLS, MIN_ROWS = 4000, 8
# The line of the file in which a row begins, counted from 1, and the cells of the row.
Row = tuple[int, list[str]]


def columns_of(rows: Sequence[Row], missing: Collection[str]) -> list[list[str]]:
    """Return the cells of each column that are not missing, from a limited number of rows."""
    width = max((len(cells) for _, cells in rows), default=1)
    rows = rows[: max(MIN_ROWS, _MAX_CELLS // width)]
    return [
        [cells[at] for _, cells in rows if at < len(cells) and cells[at].strip() not in missing] for at in range(width)
    ]


def detect_header(rows: Sequence[Row], decimal: str, missing: Collection[str] = MISSING_VALUES) -> bool | None:
    """Tell whether the first row names the columns; None if that is ambiguous.

    Words above numbers are a header. Numbers with a decimal mark or a sign above numbers are not. Whole numbers above
    numbers may be names, such as years.
    """
    first, columns = rows[0][1], columns_of(rows[1:], missing)
    numeric = [fraction_numeric(column, decimal) > 0.5 for column in columns]
    # The header may lack a name for the column of row names.
    shift = 1 if len(columns) == len(first) + 1 and columns[-1] else 0
    above = [cell.strip() for cell, is_numeric in zip(first, numeric[shift:], strict=False) if is_numeric]
    numbers = [cell for cell in above if is_number(cell, decimal)]
    if not numbers:
        return True
    has_words, has_values = len(numbers) < len(above), not all(cell.isdigit() for cell in numbers)
    if has_words or has_values:
        return None if has_words and has_values else has_words
    # pandas names columns 0, 1, 2, ...
    if len(numbers) > 1 and numbers == [str(at) for at in range(len(numbers))]:
        return True
    cells = (cell for column, is_numeric in zip(columns, numeric, strict=True) if is_numeric for cell in column)
    if all(decimal in cell or "e" in cell.lower() for cell in cells):
        return True
    return False if len(set(numbers)) < len(numbers) else None
