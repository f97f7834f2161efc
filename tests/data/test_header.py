"""Whether the first line of a table names its columns, or may be both."""

import pytest

from compsil_kit._data.files.header import header_at
from compsil_kit._data.files.refused import RefusedError

WHOLE = [["1", "2", "3"], ["4", "5", "6"]]
DECIMALS = [["1.5", "2.5"], ["3.5", "4.5"]]
WORDS = [["Rome", "Oslo"], ["red", "blue"]]


def header(first, columns, *, refuse=True):
    return header_at(first, columns, ".", line=1, refuse=refuse)


@pytest.mark.parametrize(
    ("first", "columns", "expected"),
    [
        (["a", "b"], WHOLE, True),
        (["a", "b"], WORDS, True),
        (["", "b"], WHOLE, True),
        (["1.5", "2.5"], DECIMALS, False),
        (["-1", "2"], WHOLE, False),
        (["0", "1"], WHOLE, True),
        (["2019", "2020"], DECIMALS, True),
        (["7", "7"], WHOLE, False),
        (["a", "2020"], WHOLE, True),
        # Half of the cells are not most of them: the column is one of words.
        (["-7"], [["1", "x"]], True),
        (["-7"], [["1", "2", "x"]], False),
        # Exponents tell decimals, too, in either case.
        (["2019", "2020"], [["1e5", "2.5"], ["1E5", "3.5"]], True),
        # An empty last column is what a separator at the end of each line leaves, and no row has a name.
        (["-1.5", "red"], [["1", "2"], ["Rome", "Oslo"], []], False),
        (["-7", "b"], [["Rome", "Oslo"], ["1", "2"], ["3", "4"]], False),
    ],
)
def test_words_are_names_and_numbers_are_values(first, columns, expected):
    assert header(first, columns, refuse=False) is expected


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        (["2019", "2020"], WHOLE),
        (["a", "1.5"], WHOLE),
        (["city", "2020"], [WORDS[0], WHOLE[0]]),
        # One 0 is no numbering of columns as pandas writes it.
        (["0"], WHOLE[:1]),
    ],
)
def test_what_may_be_both_is_refused(first, columns):
    with pytest.raises(RefusedError, match=r"^line 1 may hold names of columns or numbers\. Pass --header"):
        header(first, columns)
    assert not header(first, columns, refuse=False)


def test_rows_may_begin_with_a_name_that_the_header_lacks():
    assert header(["a", "b"], [WORDS[0], *WHOLE])
    assert not header(["1.5", "2.5"], [WORDS[0], *DECIMALS])
