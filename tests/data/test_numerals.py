"""Which text is a number: under a decimal point, under a decimal comma, with grouped thousands."""

import pytest

from compsil_kit._data.files.numerals import (
    decimal_mark,
    is_grouped,
    is_number,
    is_surely_grouped,
    needs,
    present,
    share_of_numbers,
)


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "2.", " 3 ", "1e5", "1.5E-3", "inf", "-Infinity", "007"])
def test_numbers_with_a_point(text):
    assert is_number(text, ".")


@pytest.mark.parametrize("text", ["", "1,5", "1 2", "1.2.3", "0x1f", "one", "1e", ".", "-", "nan", "1_000", "٣"])
def test_what_is_no_number_with_a_point(text):
    assert not is_number(text, ".")


def test_numbers_with_a_comma():
    assert is_number("1,5", ",")
    assert not is_number("1.5", ",")
    assert is_number("15", ",")


@pytest.mark.parametrize(
    ("text", "grouped", "surely"),
    [
        ("1,234", True, False),
        ("1,234.5", True, True),
        ("1,234,567", True, True),
        ("-12,345", True, False),
        ("123", False, False),
        ("1234,567", False, False),
        ("0,123", False, False),
        ("1,23", False, False),
        ("1,2345", False, False),
    ],
)
def test_grouped_thousands(text, grouped, surely):
    assert is_grouped(text, ".", ",") is grouped
    assert is_surely_grouped(text, ".", ",") is surely


def test_missing_cells_are_left_out():
    assert present(["1", "", " NA ", "n/a", "na", "0"]) == ["1", "na", "0"]
    assert present(["1", "-", ""], frozenset({"-"})) == ["1", ""]


def test_shares():
    assert share_of_numbers(["1", "2.5", "x", "1,5"], ".") == 0.5
    assert share_of_numbers([], ".") == 0.0


@pytest.mark.parametrize(
    ("cells", "mark", "expected"),
    [
        (["1.5", "2.25"], ".", True),
        (["1", "2"], ".", False),
        (["1.234", "2.345"], ".", False),
        (["1.234", "2.34"], ".", True),
        (["1,5", "2,5"], ".", False),
        (["1,5"] * 9 + ["x"], ",", True),
        (["1,5"] * 8 + ["x"] * 2, ",", False),
    ],
)
def test_a_column_that_tells_its_decimal_mark(cells, mark, expected):
    assert needs(cells, mark) is expected


def test_the_mark_of_a_table():
    point, comma, whole = ["1.5", "2.5"], ["1,5", "2,5"], ["1", "2"]
    assert decimal_mark([point, whole]) == "."
    assert decimal_mark([comma, whole]) == ","
    assert decimal_mark([whole]) == "."
    # At least as many columns with a comma as with a point: in a file of commas, dates and versions have points.
    assert decimal_mark([point, comma]) == ","
    assert decimal_mark([point, point, comma]) == "."
