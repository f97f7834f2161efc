"""Parse numbers in text: decimal marks, grouped thousands, and columns that are numeric except in a few cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from compsil_kit._data.files import FileFormatError
from compsil_kit._util.format import quoted

if TYPE_CHECKING:
    import pandas as pd

# The strings that pandas reads as missing values.
MISSING_VALUES = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
DECIMAL_MARKS = {".": "point", ",": "comma"}
_OTHER_MARK = {".": ",", ",": "."}
# The comma, the point, apostrophes and the spaces used in typesetting.
THOUSANDS_MARKS = (",", ".", "'", "’", " ", "\u00a0", "\u202f", "\u2009")

# A column is converted or rejected only if more than a fifth of its cells are numbers, in a sample of about this size.
_PROBE_SIZE = 2000
_MAX_LINES_SHOWN = 5
_NUMBERS = {
    mark: re.compile(
        rf"\s*[+-]?(?:(?:[0-9]+(?:[{mark}][0-9]*)?|[{mark}][0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*"
    )
    for mark in DECIMAL_MARKS
}


@cache
def _grouped_pattern(decimal: str, group: str) -> re.Pattern[str]:
    mark, between = re.escape(decimal), re.escape(group)
    return re.compile(rf"\s*[+-]?[1-9][0-9]{{0,2}}((?:{between}[0-9]{{3}})+)({mark}[0-9]*)?\s*")


def is_number(text: str, decimal: str) -> bool:
    """Return whether a cell is a number without grouped thousands."""
    return _NUMBERS[decimal].fullmatch(text) is not None


def is_grouped(text: str, decimal: str, group: str, *, certain: bool = False) -> bool:
    """Return whether a cell is a number with grouped thousands, as in 1,234.5.

    With ``certain``, the mark must occur twice or precede a decimal mark, because in 1,234 the comma could be either.
    """
    found = _grouped_pattern(decimal, group).fullmatch(text)
    return found is not None and (not certain or len(found[1]) > 4 or bool(found[2]))


def fraction_numeric(cells: Sequence[str], decimal: str) -> float:
    return sum(is_number(cell, decimal) for cell in cells) / len(cells) if cells else 0.0


def detect_decimal(columns: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of a table: the comma if at least as many columns need the comma as need the point."""
    columns = list(columns)
    commas, points = (sum(_needs_mark(column, mark) for column in columns) for mark in ",.")
    return "," if commas and commas >= points else "."


def _needs_mark(cells: Sequence[str], decimal: str) -> bool:
    """Return whether a column contains numbers with this decimal mark that cannot be grouped thousands."""
    if fraction_numeric(cells, decimal) < 0.9:
        return False
    marked = (cell for cell in cells if decimal in cell and is_number(cell, decimal))
    return any(not is_grouped(cell, _OTHER_MARK[decimal], decimal) for cell in marked)


def convert_columns(
    frame: pd.DataFrame,
    decimal: str,
    thousands: str | None,
    columns: Collection[Any] | None,
    find_lines: Callable[[set[int]], list[int]],
) -> pd.DataFrame:
    """Convert text columns with grouped thousands to numbers, and raise for columns with a few non-numeric cells.

    If ``columns`` is given, only these are examined. ``find_lines`` converts row positions to line numbers in the file.
    """
    frame = frame.copy(deep=False)
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if column.dtype.kind in "OTU" and (columns is None or name in columns) and _may_be_numeric(column, decimal):
            frame.isetitem(position, _converted(column, decimal, thousands, find_lines))
    return frame


def _may_be_numeric(column: pd.Series[Any], decimal: str) -> bool:
    step = max(1, len(column) // _PROBE_SIZE)
    strings = _as_strings(column.iloc[::step].dropna()) or _as_strings(column.dropna().iloc[:_PROBE_SIZE])
    return sum(_is_any_number(text, decimal) for text in strings) > 0.2 * len(strings)


def _as_strings(column: pd.Series[Any]) -> list[str]:
    return ["" if isinstance(cell, bool) else str(cell) for cell in column]


def _is_any_number(text: str, decimal: str) -> bool:
    return any(is_number(text, mark) for mark in DECIMAL_MARKS) or any(
        is_grouped(text, decimal, mark) for mark in THOUSANDS_MARKS
    )


def _converted(
    column: pd.Series[Any], decimal: str, thousands: str | None, find_lines: Callable[[set[int]], list[int]]
) -> Any:
    strings = _as_strings(column.dropna())
    marks = (mark for mark in THOUSANDS_MARKS if mark != decimal)
    certain = (mark for mark in marks if any(is_grouped(text, decimal, mark, certain=True) for text in strings))
    group = thousands or next(certain, None)
    plain = [is_number(text, decimal) for text in strings]
    valid = [ok or bool(group and is_grouped(text, decimal, group)) for ok, text in zip(plain, strings, strict=True)]
    if group and all(valid) and not all(plain):
        import pandas as pd

        cells = column.astype(object).map(lambda cell: str(cell).replace(group, "").replace(decimal, "."), "ignore")
        return pd.to_numeric(cells.where(column.notna()))
    numeric = [_is_any_number(text, decimal) for text in strings]
    if sum(numeric) < 0.5 * len(strings):
        return column
    invalid = [position for position, ok in enumerate(valid) if not ok]
    if not invalid:
        problem = "contains integers of more than 19 digits, which are usually identifiers."
    elif len(invalid) > 0.5 * len(strings):
        problem = _describe_marks(strings, decimal)
    else:
        rows = column.notna().to_numpy().nonzero()[0]
        lines = find_lines({int(rows[position]) for position in invalid[:_MAX_LINES_SHOWN]})
        shown = ", ".join(map(str, lines)) + (", ..." if len(invalid) > _MAX_LINES_SHOWN else "")
        plural = "s" * (len(invalid) > 1)
        problem = f"is numeric except in {len(invalid):,} of {len(strings):,} cells (line{plural} {shown}). "
        if all(numeric):
            problem += f"It {_describe_marks([strings[position] for position in invalid], decimal)}"
        else:
            problem += "If these cells are missing values, pass their text to --na-values, and pass --missing drop."
    name = quoted(str(column.name))
    raise FileFormatError(f"column {name} {problem} To leave the column out, pass --exclude {name}.")


def _describe_marks(strings: Sequence[str], decimal: str) -> str:
    """Describe numbers whose decimal or thousands mark differs from the rest of the file."""
    other = _OTHER_MARK[decimal]
    marks = [mark for mark in THOUSANDS_MARKS if mark != decimal]
    groups = [mark for mark in marks if any(is_grouped(text, decimal, mark) for text in strings)]
    if other not in groups and any(other in text for text in strings):
        return (
            f"contains numbers with a decimal {DECIMAL_MARKS[other]}, but the rest of the file has decimal "
            f"{DECIMAL_MARKS[decimal]}s. Pass --decimal '{other}' if all numbers have decimal {DECIMAL_MARKS[other]}s."
        )
    if not groups:
        options = f"--thousands {decimal!r} and --decimal {other!r}"
        return f"contains numbers with the thousands separator {decimal!r}. Pass {options}."
    mark = groups[0]
    readings, options = "a thousands separator", f"--thousands {mark!r}"
    if mark in DECIMAL_MARKS:
        readings, options = "a decimal or a thousands separator", f"--decimal {mark!r} or {options}"
    return f"contains ambiguous numbers: cannot tell whether {mark!r} is {readings}. Pass {options}."
