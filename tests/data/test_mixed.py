"""Columns of text that are numbers but for a few cells: read, left as text, or refused with the lines."""

import pandas as pd
import pytest

from compsil_kit._data.files.mixed import settle_columns
from compsil_kit._data.files.refused import RefusedError


def settle(*cells, decimal=".", thousands=None, used=lambda name: True):
    frame = pd.DataFrame({"x": cells, "y": range(len(cells))})
    return settle_columns(frame, decimal, thousands, used, lambda rows: [at + 2 for at in sorted(rows)])


def test_grouped_thousands_are_read():
    assert settle("1,234.5", "12", "1,234,567")["x"].tolist() == [1234.5, 12.0, 1234567.0]
    assert settle("1.234,5", "12", decimal=",")["x"].tolist() == [1234.5, 12.0]
    assert settle("1,234", "2,345", thousands=",")["x"].tolist() == [1234, 2345]
    found = settle("1'234'567", None, "3")["x"]
    assert found.isna().tolist() == [False, True, False]


def test_text_stays_text():
    cells = ("Rome", "Oslo", "3", "Lima", "Bern")
    assert settle(*cells)["x"].tolist() == list(cells)


def test_a_column_that_is_not_used_is_left_alone():
    cells = ("1", "2", "unknown", "4")
    assert settle(*cells, used=lambda name: name != "x")["x"].tolist() == list(cells)


def test_a_few_cells_are_named_by_their_lines():
    with pytest.raises(
        RefusedError, match=r"column 'x' is numeric except in 1 of 5 cells \(line 4\)\..*--na-values"
    ) as told:
        settle("1", "2", "s3cret", "4", "5")
    assert "s3cret" not in str(told.value)
    assert "--exclude 'x'" in str(told.value)
    with pytest.raises(RefusedError, match=r"5 of 15 cells \(lines 12, 13, 14, 15, 16\)\."):
        settle(*["1"] * 10, *["none so far"] * 5)
    with pytest.raises(RefusedError, match=r"6 of 16 cells \(lines 12, 13, 14, 15, 16, \.\.\.\)"):
        settle(*["1"] * 10, *["none so far"] * 6)
    # Half of the cells are enough to make it a column of numbers, and true is no number.
    with pytest.raises(RefusedError, match=r"2 of 4 cells \(lines 4, 5\)"):
        settle("1", "2", "x", True)


@pytest.mark.parametrize("cells", [["x"] * 2500 + ["1"] * 7500, [None, "1", None, "1", None, "x", None, "1"] * 1250])
def test_cells_from_all_of_a_long_column_tell_what_it_is(cells):
    with pytest.raises(RefusedError, match=r"column 'x' is numeric except in"):
        settle(*cells)


def test_marks_that_may_be_either_are_refused():
    with pytest.raises(RefusedError, match=r"marks are not clear\. Pass --thousands ',' if it groups thousands"):
        settle("1,234", "2,345")
    with pytest.raises(RefusedError, match=r"has numbers with a decimal comma, where the file has decimal points"):
        settle("1,5", "2,25")
    with pytest.raises(RefusedError, match=r"has numbers with a decimal point, where the file has decimal commas"):
        settle("1.5", "2.25", decimal=",")
    # The decimal mark groups nothing, even where it occurs twice.
    with pytest.raises(RefusedError, match=r"column 'x' is numeric except in 1 of 3 cells \(line 2\)"):
        settle("1.234.567", "2.5", "3.5")
    # An apostrophe is no decimal mark.
    with pytest.raises(RefusedError, match=r"Pass --thousands ''' if it groups thousands\. To leave"):
        settle("1'234", "2'345")


def test_the_given_frame_is_not_changed():
    frame = pd.DataFrame({"x": ["1,234.5", "2"]})
    settle_columns(frame, ".", None, lambda name: True, list)
    assert frame["x"].tolist() == ["1,234.5", "2"]
