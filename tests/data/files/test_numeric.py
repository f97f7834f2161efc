"""Tests of parsing numbers in text, and of columns that are numeric except in a few cells."""

import pandas as pd
import pytest

from compsil_kit._data.files import FileFormatError
from compsil_kit._data.files.numeric import convert_columns, detect_decimal, is_grouped, is_number


def test_is_number_accepts_numbers_only():
    for text in ("1", "-1.5", "+.5", "2.", " 3 ", "1e5", "1.5E-3", "inf", "-Infinity", "007"):
        assert is_number(text, "."), text
        assert is_number(text.replace(".", ","), ","), text
        assert is_number(text, ",") is ("." not in text)
    for text in ("", "1,5", "1 2", "1.2.3", "0x1f", "one", "1e", ".", "-", "nan", "1_000", "٣"):
        assert not is_number(text, "."), text


@pytest.mark.parametrize(
    ("text", "grouped", "certain"),
    [
        ("1,234", True, False), ("1,234.5", True, True), ("1,234,567", True, True), ("-12,345", True, False),
        ("123", False, False), ("1234,567", False, False), ("0,123", False, False), ("1,23", False, False),
        ("1,2345", False, False),
    ],
)  # fmt: skip
def test_is_grouped_recognises_thousands_separators(text, grouped, certain):
    assert is_grouped(text, ".", ",") is grouped
    assert is_grouped(text, ".", ",", certain=True) is certain


POINT, COMMA, WHOLE = ["1.5", "2.5"], ["1,5", "2,5"], ["1", "2"]


@pytest.mark.parametrize(
    ("columns", "mark"),
    [
        ([POINT, WHOLE], "."), ([COMMA, WHOLE], ","), ([WHOLE], "."), ([POINT, POINT, COMMA], "."),
        # In a file with decimal commas, dates and versions contain points.
        ([POINT, COMMA], ","),
        # Nine in ten cells must be numbers, and the mark must occur in a number that cannot be grouped thousands.
        ([["1,5"] * 9 + ["x"]], ","), ([["1,5"] * 8 + ["x"] * 2], "."),
        ([["1,234", "2,345"]], "."), ([["1,234", "2,34"]], ","), ([COMMA, ["1.234", "2.345"], POINT], ","),
    ],
)  # fmt: skip
def test_detect_decimal_finds_the_decimal_mark(columns, mark):
    assert detect_decimal(columns) == mark


FEW = "column 'x' is numeric except in "
GROUPED = "contains numbers with the thousands separator '.'."
AMBIGUOUS = "column 'x' contains ambiguous numbers: cannot tell whether "


@pytest.mark.parametrize(
    ("cells", "decimal", "message"),
    [
        (
            ["1", "2", "s3cret", "4", "5"], ".",
            f"{FEW}1 of 5 cells (line 4). If these cells are missing values, pass their text to --na-values, and pass "
            "--missing drop. To leave the column out, pass --exclude 'x'.",
        ),
        (["1"] * 10 + ["none"] * 5, ".", f"{FEW}5 of 15 cells (lines 12, 13, 14, 15, 16). If"),
        (["1"] * 10 + ["none"] * 6, ".", f"{FEW}6 of 16 cells (lines 12, 13, 14, 15, 16, ...). If"),
        # A column is numeric if half of its cells are numbers; True is not a number; missing cells are not counted.
        (["1", None, "2", "x", True], ".", f"{FEW}2 of 4 cells (lines 5, 6). If"),
        # The sample covers the whole column, even if the cells at regular intervals are missing.
        (["x"] * 2500 + ["1"] * 7500, ".", FEW),
        ([None, "1", None, "1", None, "x", None, "1"] * 1250, ".", FEW),
        (["1.234.567", "2.5", "3.5"], ".", f"{FEW}1 of 3 cells (line 2). It {GROUPED} Pass"),
        (["1.234.567"], ".", f"column 'x' {GROUPED} Pass --thousands '.' and --decimal ','. To"),
        (["1,234", "2", "3"], ".", f"{FEW}1 of 3 cells (line 2). It contains ambiguous numbers"),
        (
            ["1,234", "2,345"], ".",
            f"{AMBIGUOUS}',' is a decimal or a thousands separator. Pass --decimal ',' or --thousands ','. To leave",
        ),
        (["1'234", "2'345"], ".", f"{AMBIGUOUS}\"'\" is a thousands separator. Pass --thousands \"'\". To leave"),
        (
            ["1,5", "2,25"], ".",
            "column 'x' contains numbers with a decimal comma, but the rest of the file has decimal points. Pass "
            "--decimal ',' if all numbers have decimal commas.",
        ),
        (["1.5", "2.25"], ",", "column 'x' contains numbers with a decimal point, but the rest of the file has"),
        (["9" * 23, "8" * 23], ".", "column 'x' contains integers of more than 19 digits, which are usually"),
    ],
)  # fmt: skip
def test_columns_with_unclear_numbers_raise(cells, decimal, message):
    frame = pd.DataFrame({"x": cells})
    with pytest.raises(FileFormatError) as caught:
        convert_columns(frame, decimal, None, None, lambda rows: [row + 2 for row in sorted(rows)])
    assert str(caught.value).startswith(message)
    assert "s3cret" not in str(caught.value)
