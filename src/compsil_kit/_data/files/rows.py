"""Split the text of a table into rows and cells, and check the number of cells in each row."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from compsil_kit._data.files import FileFormatError

SEPARATORS = (",", ";", "\t", "|")
# Maximum number of rows that are examined; to detect a header, at most this many cells and at least this many rows.
MAX_ROWS, _MAX_CELLS, MIN_ROWS = 400, 4000, 8
_UNCLOSED_QUOTE = "not a readable table: line {} opens a quote that is never closed. Fix this line."
# The number of the line in which a row begins, counted from 1, and the cells of the row.
Row = tuple[int, list[str]]


def iterate_rows(lines: Iterable[str], sep: str, first_line: int = 1) -> Iterator[Row]:
    """Yield the rows; like pandas, skip blank lines."""
    reader = csv.reader(lines, delimiter=sep)
    line = first_line
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield line, cells
            line = first_line + reader.line_num
    except csv.Error:
        # An unclosed quote makes a field longer than the csv module allows.
        raise FileFormatError(_UNCLOSED_QUOTE.format(line)) from None


def parse_rows(text: str, sep: str, first_line: int = 1) -> list[Row]:
    """Return the first rows of a string."""
    return list(islice(iterate_rows(io.StringIO(text, newline=""), sep, first_line), MAX_ROWS))


def check_widths(rows: Iterable[Row], width: int, header: int | None) -> None:
    """Raise for the first row with too many or too few cells; the header may have fewer cells."""
    first = None
    for line, cells in rows:
        first = first or (line, len(cells))
        if len(cells) == width or line == header:
            continue
        if "\n" in cells[-1]:
            # The last cell contains the following lines, so its quote is unclosed.
            raise FileFormatError(_UNCLOSED_QUOTE.format(line))
        raise FileFormatError(
            f"not a readable table: line {line} has {len(cells)} field{'s' * (len(cells) != 1)}, but line {first[0]} "
            f"has {first[1]}. Fix this line, or pass --sep if the separator is wrong."
        )


def table_shape(rows: Sequence[Row], header: bool) -> tuple[int, bool, bool]:
    """Return the width of the rows and whether they have row names or trailing separators; raise for ragged rows."""
    first_line, first = rows[0]
    below = rows[1:]
    longer = header and {len(cells) for _, cells in below} == {len(first) + 1}
    width = len(first) + longer
    if longer and any(sep in cell for cell in first for sep in SEPARATORS):
        raise FileFormatError(f"line {first_line} has a different separator from the lines below it. Fix this line.")
    check_widths(rows, width, first_line if header else None)
    open_end = width > 1 and bool(below) and all(not cells[-1].strip() for _, cells in below)
    trailing = open_end and (longer or not first[-1].strip())
    return width, longer and not trailing, trailing


def columns_of(rows: Sequence[Row], missing: Collection[str]) -> list[list[str]]:
    """Return the non-missing cells of each column, from a limited number of rows."""
    width = max((len(cells) for _, cells in rows), default=1)
    rows = rows[: max(MIN_ROWS, _MAX_CELLS // width)]
    return [
        [cells[at] for _, cells in rows if at < len(cells) and cells[at].strip() not in missing] for at in range(width)
    ]
