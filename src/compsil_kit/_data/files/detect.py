"""Detect the layout of a text table: separator, decimal mark, comments and header.

CleverCSV (van den Burg, Nazabal and Sutton 2019) detects the separator. This module checks the result against the rows.
If a file is ambiguous, the error names the option that resolves the ambiguity.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from compsil_kit._data.files import FileFormatError
from compsil_kit._data.files.numeric import (
    DECIMAL_MARKS,
    MISSING_VALUES,
    detect_decimal,
    fraction_numeric,
    is_number,
)
from compsil_kit._data.files.rows import MAX_ROWS, MIN_ROWS, SEPARATORS, Row, columns_of, parse_rows, table_shape
from compsil_kit._util.format import quoted

_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}
_MAX_LINES = 1600
# CleverCSV would need 5 s for the whole sample; complete lines with this many characters suffice.
_HEAD_CHARACTERS = 1 << 14
_PLAIN = ", decimal point, encoding utf-8, header in line 1"
_EXCEL_LINE = re.compile(r'"?sep=.?"?\s*')
_ONE_OR_TWO_COLUMNS = "the separator is ambiguous: pass --sep ',' for two columns or --sep ';' for decimal commas."


@dataclass(frozen=True)
class CsvOptions:
    """The layout of a text table as specified by the user; None means that the value is detected."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    thousands: str | None = None
    na_values: Collection[str] = ()

    def __post_init__(self) -> None:
        """Validate the options, and replace named separators with their characters."""
        sep = None if self.sep is None else _NAMED_SEPARATORS.get(self.sep, self.sep)
        if sep is not None and (len(sep) != 1 or sep.isalnum() or sep in '"\r\n.+-'):
            raise ValueError(f"--sep must be one character such as ';' or '|', or the word tab or space; got {sep!r}.")
        if self.thousands is not None and self.thousands == self.decimal:
            raise ValueError(f"--thousands and --decimal must differ; both are {self.decimal!r}.")
        try:
            "a".encode(self.encoding or "utf-8")
        except (LookupError, ValueError):
            known = "utf-8, windows-1252 or utf-16"
            raise ValueError(
                f"--encoding must be an encoding known to Python, such as {known}; got {quoted(self.encoding)}."
            ) from None
        object.__setattr__(self, "sep", sep)
        object.__setattr__(self, "na_values", tuple(self.na_values))


@dataclass(frozen=True)
class Layout:
    """The layout of a text table."""

    sep: str
    decimal: str
    encoding: str
    # The line number of the header, or None if there is no header.
    header: int | None
    # Number of comment lines above the table.
    skipped: int
    # Number of cells in a row, including the row name and the empty cell after a trailing separator.
    width: int
    row_names: bool
    trailing: bool

    def __str__(self) -> str:
        """Describe the layout in one line."""
        parts = [
            "one column" if self.width == 1 else f"separator {_option(self.sep)}",
            f"decimal {DECIMAL_MARKS[self.decimal]}",
            f"encoding {self.encoding.removesuffix('-sig')}",
            f"header in line {self.header}" if self.header else "no header",
        ]
        parts += ["row names in the first column"] * self.row_names
        return ", ".join(parts)

    @property
    def is_plain(self) -> bool:
        """Whether the layout is the usual layout of a CSV file."""
        return str(self).removeprefix("separator ','").removeprefix("one column") == _PLAIN


def detect_layout(
    sample: str, options: CsvOptions, encoding: str = "utf-8", *, complete: bool = True, default_sep: str = ","
) -> Layout:
    """Detect the layout from the beginning of a file; ``complete`` means that the sample is the whole file.

    A ``default_sep`` other than the comma is used without detection if it occurs in the sample.
    """
    # Do not use str.splitlines, which also splits at characters that are not line endings in files.
    lines = list(islice(io.StringIO(sample, newline=""), _MAX_LINES))
    complete = complete and len(lines) < _MAX_LINES
    if not complete and len(lines) > 1:
        # The last line may be truncated.
        lines.pop()
    skipped = _count_comments(lines)
    body = "".join(lines[skipped:])
    if not body.strip(' \t\r\n"'):
        raise FileFormatError("not a readable table: it is empty.")
    if options.sep and options.sep not in lines[skipped]:
        _check_separator(options.sep, lines[skipped])
    sep = options.sep or detect_separator(body, default_sep)
    rows = parse_rows(body, sep, skipped + 1)
    if not complete and 2 < len(rows) < MAX_ROWS:
        # The sample may end inside quotes.
        rows.pop()
    missing = MISSING_VALUES | set(options.na_values)
    decimal = options.decimal or detect_decimal(columns_of(rows[1:] or rows, missing))
    header = detect_header(rows, decimal, missing)
    comment = lines[skipped - 1] if skipped else ""
    if options.header is not False and not header and comment.startswith("#"):
        commented = parse_rows(comment, sep, skipped)
        if len(commented[0][1]) == len(rows[0][1]):
            # Use the last comment line as the header.
            skipped, rows = skipped - 1, [*commented, *rows]
            header = detect_header(rows, decimal, missing)
    header = header if options.header is None else options.header
    if options.sep is None and sep == "," and all(len(row) == 2 and is_number(",".join(row), ",") for _, row in rows):
        # A line such as 1,2 could be two integers or one number with a decimal comma.
        raise FileFormatError(_ONE_OR_TWO_COLUMNS)
    if header is None:
        raise FileFormatError(f"cannot tell whether line {rows[0][0]} is a header. Pass --header or --no-header.")
    width, row_names, trailing = table_shape(rows, header)
    return Layout(sep, decimal, encoding, rows[0][0] if header else None, skipped, width, row_names, trailing)


def _count_comments(lines: Sequence[str]) -> int:
    """Return the number of lines above the table, up to the last comment (#) or Excel's sep=; line."""
    count = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or (number == 1 and _EXCEL_LINE.fullmatch(line)):
            count = number
        elif line.strip():
            break
    return count


def _check_separator(sep: str, first_line: str) -> None:
    others = [other for other in SEPARATORS if other in first_line]
    if others and not is_number(first_line, ","):
        raise FileFormatError(
            f"the separator {_option(sep)} (--sep) does not occur in the first line, which contains "
            f"{_shown(others[0])}."
        )


def _shown(sep: str) -> str:
    return "a tab" if sep == "\t" else repr(sep)


def _option(sep: str) -> str:
    return "tab" if sep == "\t" else repr(sep)


def detect_separator(text: str, default: str = ",") -> str:
    """Return the only separator in a string, or the separator found by CleverCSV; raise if another fits better."""
    candidates = [sep for sep in SEPARATORS if sep in text]
    if not candidates or (default != "," and default in candidates):
        return default
    from clevercsv import Detector

    # Take complete lines from the beginning: at least 8, and enough to reach the number of characters.
    lines = list(io.StringIO(text, newline=""))
    n_lines = 1 + sum(size < _HEAD_CHARACTERS for size in accumulate(map(len, lines)))
    head = "".join(lines[: max(n_lines, MIN_ROWS)])
    if candidates == [","] and _is_decimal_column(head):
        return ";"
    if len(candidates) == 1 and _fit(head, candidates[0])[1]:
        return candidates[0]
    dialect = Detector().detect(head, delimiters=candidates)
    found = dialect.delimiter if dialect and dialect.delimiter in candidates else ""
    fraction, uniform = _fit(head, found) if found else (0.0, False)
    for other in candidates:
        other_fraction, other_uniform = _fit(head, other, strict=True)
        if other != found and other_uniform and (not uniform or other_fraction > fraction):
            raise FileFormatError(
                f"the separator is ambiguous: {_shown(found) if found else 'none'} or {_shown(other)}? Pass, for "
                f"example, --sep {_option(other)}, and --decimal ',' if numbers have decimal commas."
            )
    return found or ","


def _fit(head: str, sep: str, *, strict: bool = False) -> tuple[float, bool]:
    """Return the fraction of numeric cells, and whether all rows have the same number of cells, at least two.

    Unless ``strict``, rows may have one more cell than the header: a row name, or an empty cell at the end.
    """
    rows = [cells for _, cells in parse_rows(head, sep)]
    cells = [cell for row in rows for cell in row]
    numbers = sum(is_number(cell, ".") or is_number(cell, ",") for cell in cells)
    widths = {len(row) for row in rows[1:]} or {len(rows[0])}
    extra = max(widths) - len(rows[0])
    return numbers / len(cells), len(widths) == 1 and max(widths) > 1 and extra in ((0,) if strict else (0, 1))


def _is_decimal_column(head: str) -> bool:
    """Return whether the text is one column of numbers with decimal commas, optionally below a one-word header."""
    first, *below = [line.strip() for line in io.StringIO(head, newline="") if line.strip()]
    if not below or not all(is_number(line, ",") for line in below):
        return False
    pairs = [line.split(",") for line in below]
    if "," in first and (not is_number(first, ",") or all(len(pair) == 2 for pair in pairs)):
        return False
    if [pair[0] for pair in pairs] in ([str(start + row) for row in range(len(pairs))] for start in (0, 1)):
        raise FileFormatError(_ONE_OR_TWO_COLUMNS)
    return True


def detect_header(rows: Sequence[Row], decimal: str, missing: Collection[str]) -> bool | None:
    """Return whether the first row is a header, or None if this is ambiguous.

    Words above numeric columns are a header. Numbers with a decimal mark or a sign are not a header. Integers above
    numeric columns may be column names, such as years.
    """
    first, columns = rows[0][1], columns_of(rows[1:], missing)
    numeric = [fraction_numeric(column, decimal) > 0.5 for column in columns]
    # The column of row names may have no name in the header.
    shift = 1 if len(columns) == len(first) + 1 and columns[-1] else 0
    above = [cell.strip() for cell, is_numeric in zip(first, numeric[shift:], strict=False) if is_numeric]
    numbers = [cell for cell in above if is_number(cell, decimal)]
    if not numbers:
        return True
    has_words, has_values = len(numbers) < len(above), not all(cell.isdigit() for cell in numbers)
    if has_words or has_values:
        return None if has_words and has_values else has_words
    # pandas writes 0, 1, 2, ... as the names of unnamed columns.
    if len(numbers) > 1 and numbers == [str(at) for at in range(len(numbers))]:
        return True
    cells = (cell for column, is_numeric in zip(columns, numeric, strict=True) if is_numeric for cell in column)
    if all(decimal in cell or "e" in cell.lower() for cell in cells):
        return True
    return False if len(set(numbers)) < len(numbers) else None
