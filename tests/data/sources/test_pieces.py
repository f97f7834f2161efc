"""Pieces of a table that are passed over where they are."""

from itertools import pairwise

import numpy as np
import pytest
from tables import columns_of

from compsil_kit._data.sources.pieces import as_counted, pass_over, shares
from compsil_kit._data.sources.scan import Work, gathered

COLUMNS = list(columns_of(20_000).values())
WORK = Work(np.array([3, 50, 8_999, 9_000, 19_999]), "float64", moments=True, digest=True)


def pieces(lengths):
    edges = np.cumsum([0, *lengths])
    return [[[column[low:high] for column in COLUMNS]] for low, high in pairwise(edges)]


def test_each_piece_gets_its_rows_and_no_others():
    found = shares(WORK, [40, 0, 8_960, 11_000])
    assert [start for _, start in found] == [0, 40, 40, 9_000]
    assert [work.rows.tolist() for work, _ in found] == [[3], [], [50, 8_999], [9_000, 19_999]]
    assert {(work.dtype, work.moments, work.digest) for work, _ in found} == {("float64", True, True)}


@pytest.mark.parametrize("lengths", [[20_000], [40, 0, 8_960, 11_000], [0, 20_000, 0], [1] * 9 + [19_991]])
def test_pieces_find_what_one_pass_finds(lengths):
    told = []
    parts = [pass_over(piece, share) for piece, share in zip(pieces(lengths), shares(WORK, lengths), strict=True)]
    seen = gathered(as_counted(parts, lengths, "a table", told.append), WORK)
    whole = gathered([WORK([COLUMNS], 0)], WORK)
    assert told == lengths
    assert seen.digest == whole.digest
    np.testing.assert_array_equal(seen.found, np.column_stack(COLUMNS)[WORK.rows])
    np.testing.assert_array_equal(seen.moments.squares, whole.moments.squares)


def test_a_piece_that_changed_is_told():
    parts = [pass_over(piece, share) for piece, share in zip(pieces([9, 5]), shares(WORK, [9, 4]), strict=True)]
    message = r"X has changed: partition 1 of a table had 4 rows when they were counted, and 5 when .* Parquet files\."
    with pytest.raises(ValueError, match=message):
        list(as_counted(parts, [9, 4], "a table", lambda _: None))
