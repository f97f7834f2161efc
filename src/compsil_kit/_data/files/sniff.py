"""How a text table is written: separator, decimal mark, encoding and header, found in its first part.

The separator is found by CleverCSV (van den Burg, Nazabal and Sutton 2019). What it finds is checked against the lines;
what stays ambiguous is refused with the option that settles it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from compsil_kit._data.files.encoding import decoded, find_encoding, known_encoding
from compsil_kit._data.files.header import header_at
from compsil_kit._data.files.numerals import DECIMALS, MISSING, decimal_mark, is_number, present
from compsil_kit._data.files.refused import RefusedError

SAMPLE = 1 << 20
SEPARATORS = (",", ";", "\t", "|")
# CleverCSV takes 5 s for the whole sample; this many characters of whole lines, or this many lines, tell as much.
_CHARACTERS, _LINES = 1 << 14, 8
_ROWS, _CELLS = 400, 4000

_EXCEL = re.compile(r'"?sep=.?"?\s*')

# A row of the table and the line of the file in which it begins, counted from 1.
Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Given:
    """What the user says about a file; None is found out."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    thousands: str | None = None
    na_values: tuple[str, ...] = ()

    @property
    def missing(self) -> frozenset[str]:
        """The texts that mean a missing value."""
        return MISSING | set(self.na_values)


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    sep: str
    decimal: str
    encoding: str
    # The line of the header, None without one; the lines above it, all of them comments.
    header: int | None
    skipped: int
    # The fields of a row; one more than there are names where rows have names, or end in a separator.
    width: int
    row_names: bool = False
    trailing: bool = False

    def __str__(self) -> str:
        """Say in one line how the file is written."""
        parts = [
            "one column" if self.width == 1 else f"separator {'tab' if self.sep == chr(9) else repr(self.sep)}",
            f"decimal {DECIMALS[self.decimal]}",
            f"encoding {self.encoding.removesuffix('-sig')}",
            f"header in line {self.header}" if self.header else "no header",
        ]
        if self.row_names:
            parts.append("row names in the first column")
        return ", ".join(parts)

    @property
    def is_plain(self) -> bool:
        """Whether the file is what a CSV file usually is, so that there is nothing to say about it."""
        return str(self) in (f"{first}, decimal point, encoding utf-8, header in line 1" for first in _PLAIN)


_PLAIN = ("separator ','", "one column")


def sniff(sample: bytes, given: Given, *, whole: bool, usual: str = ",") -> Layout:
    """Return how a table is written, from its first bytes; ``whole`` if these are all.

    A separator other than the comma that is usual for the file's ending needs no detection where it occurs.
    """
    encoding = known_encoding(given.encoding) if given.encoding else find_encoding(sample)
    text = decoded(sample, encoding)
    lines = lines_of(text, 4 * _ROWS)
    whole = whole and len(lines) < 4 * _ROWS
    if not whole and len(lines) > 1:
        # The last line may be cut.
        lines.pop()
    comments = _comments(lines)
    body = "".join(lines[comments:])
    if not body.strip():
        raise RefusedError("not a readable table: it is empty.")
    sep = _agreed(given.sep, lines[comments]) if given.sep else usual if usual != "," and usual in body else ""
    sep = sep or find_separator(body)
    rows = parsed(body, sep)
    if not whole and 2 < len(rows) < _ROWS:
        # The sample may end within a quote.
        rows.pop()
    decimal = given.decimal or decimal_mark(columns_of(rows[1:] or rows, given.missing))
    if comments and _is_name_line(lines[comments - 1], rows, sep, decimal, given):
        comments, rows = comments - 1, parsed("".join(lines[comments - 1 :]), sep)
    if given.sep is None:
        _refuse_pairs(rows, sep)
    header = _has_header(rows, decimal, given)
    rows = [(line + comments, cells) for line, cells in rows]
    return _laid_out(rows, Layout(sep, decimal, encoding, rows[0][0] if header else None, comments, 0))


def _agreed(sep: str, first: str) -> str:
    """Return the separator that was given, unless the first line has another one."""
    others = [other for other in SEPARATORS if other != sep and other in first]
    if sep not in first and others and not is_number(first, ","):
        raise RefusedError(f"--sep {_shown(sep)} does not occur in the first line, which has {_shown(others[0])}.")
    return sep


def lines_of(text: str, most: int | None = None) -> list[str]:
    """Return the first lines with their ends; unlike str.splitlines it knows only those that files have."""
    return list(islice(io.StringIO(text, newline=""), most))


def parsed(text: str, sep: str) -> list[Row]:
    """Return the rows of a sample as pandas sees them: blank lines are no rows."""
    rows: list[Row] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    line = 1
    try:
        for cells in reader:
            if not is_blank(cells):
                rows.append((line, cells))
            line = reader.line_num + 1
            if len(rows) == _ROWS:
                break
    except csv.Error:
        # A field that is longer than the library allows: a quote that is not closed.
        raise RefusedError(unclosed(line)) from None
    return rows


def is_blank(cells: Sequence[str]) -> bool:
    """Tell whether a line is one that pandas passes over."""
    return not cells or (len(cells) == 1 and not cells[0].strip())


def unclosed(line: int) -> str:
    """Say that a quote does not end."""
    return f"not a readable table: line {line} opens a quote that is never closed. Mend this line."


def columns_of(rows: Sequence[Row], missing: frozenset[str]) -> list[list[str]]:
    """Return the cells of each column that are not missing, of so many rows as tell enough."""
    width = max((len(cells) for _, cells in rows), default=1)
    rows = rows[: max(_LINES, _CELLS // width)]
    return [present((cells[at] for _, cells in rows if at < len(cells)), missing) for at in range(width)]


def find_separator(text: str) -> str:
    """Return the only separator there is or the one that CleverCSV finds, unless the lines speak for another one."""
    candidates = [sep for sep in SEPARATORS if sep in text]
    head = _head(text)
    if not candidates:
        return ","
    if candidates == [","] and _is_one_column(head):
        return ";"
    if len(candidates) == 1 and _quality(head, candidates[0])[1]:
        return candidates[0]
    found = _detected(head, candidates)
    share, uniform = _quality(head, found) if found else (0.0, False)
    for other in candidates:
        if other != found:
            its_share, its_uniform = _quality(head, other, strict=True)
            if its_uniform and (not uniform or its_share > share):
                spelled = "tab" if other == "\t" else repr(other)
                raise RefusedError(
                    f"the separator is not clear: {_shown(found)} or {_shown(other)}? Pass --sep {spelled}, for "
                    "example, and --decimal ',' if numbers have commas."
                )
    return found or ","


def _detected(head: str, candidates: list[str]) -> str:
    from clevercsv import Detector

    dialect = Detector().detect(head, delimiters=candidates)
    return dialect.delimiter if dialect is not None and dialect.delimiter in candidates else ""


def _shown(sep: str) -> str:
    return "none" if not sep else "a tab" if sep == "\t" else repr(sep)


def _head(text: str) -> str:
    lines = lines_of(text)
    size = 0
    for count, line in enumerate(lines, 1):
        size += len(line)
        if size >= _CHARACTERS and count >= _LINES:
            return "".join(lines[:count])
    return text


def _quality(head: str, sep: str, *, strict: bool = False) -> tuple[float, bool]:
    """Return which part of the cells are numbers, and whether all rows have the same number of fields, two or more."""
    rows = [cells for _, cells in parsed(head, sep)]
    cells = [cell for row in rows for cell in row]
    numbers = sum(is_number(cell, ".") or is_number(cell, ",") for cell in cells)
    widths = {len(row) for row in rows[1:]} or {len(rows[0])}
    # A row may have one field more than the header: its name, or nothing after a last separator.
    uniform = len(widths) == 1 and max(widths) > 1 and max(widths) - len(rows[0]) in ((0,) if strict else (0, 1))
    return numbers / len(cells), uniform


def _is_one_column(head: str) -> bool:
    """Tell whether every line is one number with a decimal comma, under a header that is one word."""
    lines = [line.strip() for line in lines_of(head) if line.strip()]
    if not all(is_number(line, ",") for line in lines[1:]) or len(lines) < 2:
        return False
    pairs = [line.split(",") for line in lines[1:]]
    if "," in lines[0] and (not is_number(lines[0], ",") or all(len(pair) == 2 for pair in pairs)):
        return False
    if [pair[0] for pair in pairs] in ([str(at + first) for at in range(len(pairs))] for first in (0, 1)):
        raise RefusedError("the separator is not clear: pass --sep ',' for two columns, --sep ';' for decimal commas.")
    return True


def _refuse_pairs(rows: Sequence[Row], sep: str) -> None:
    """Refuse lines such as 1,2 without a header: two whole numbers, or one with a decimal comma."""
    pairs = all(len(cells) == 2 and is_number(",".join(cells), ",") for _, cells in rows)
    if sep == "," and pairs and not any("." in cell for _, cells in rows for cell in cells):
        raise RefusedError("the separator is not clear: pass --sep ',' for two columns, --sep ';' for decimal commas.")


def _comments(lines: Sequence[str]) -> int:
    """Return how many lines at the top are blank, start with #, or tell Excel the separator."""
    count = 0
    for at, line in enumerate(lines, 1):
        if line.startswith("#") or (at == 1 and _EXCEL.fullmatch(line)):
            count = at
        elif line.strip():
            break
    return count


def _is_name_line(line: str, rows: Sequence[Row], sep: str, decimal: str, given: Given) -> bool:
    """Tell whether the last line with # is the header: as wide as the rows, which have no header of their own."""
    fields = next(csv.reader([line], delimiter=sep), [])
    if given.header is False or len(fields) != len(rows[0][1]):
        return False
    return not _has_header(rows, decimal, Given(header=None, na_values=given.na_values), refuse=False)


def _has_header(rows: Sequence[Row], decimal: str, given: Given, *, refuse: bool = True) -> bool:
    if given.header is not None:
        return given.header
    columns = columns_of(rows[1:], given.missing)
    return header_at(rows[0][1], columns, decimal, line=rows[0][0], refuse=refuse)


def _laid_out(rows: Sequence[Row], layout: Layout) -> Layout:
    """Return the layout with its width, or name the first line that has another one."""
    first, below = len(rows[0][1]), rows[1:]
    longer = bool(layout.header and below and {len(cells) for _, cells in below} == {first + 1})
    width = first + longer
    if longer and any(sep in cell for cell in rows[0][1] for sep in SEPARATORS):
        raise RefusedError(f"line {rows[0][0]} and the lines below it have different separators. Mend the first one.")
    for line, cells in below:
        if len(cells) != width:
            raise RefusedError(ragged(line, cells, len(cells), rows[0][0], first))
    open_end = width > 1 and bool(below) and all(not cells[-1].strip() for _, cells in below)
    trailing = open_end and (longer or not rows[0][1][-1].strip())
    return replace(layout, width=width, row_names=longer and not trailing, trailing=trailing)


def ragged(line: int, cells: Sequence[str] | None, fields: int, first: int, width: int) -> str:
    """Say that a line has another number of fields than the first one; it may open a quote that swallows others."""
    if cells and "\n" in cells[-1]:
        return unclosed(line)
    return (
        f"not a readable table: line {line} has {fields} {'field' if fields == 1 else 'fields'}, line {first} has "
        f"{width}. Mend this line, or pass --sep if the separator is another one."
    )
