"""Some rows of a matrix, under the numbers that they have in it."""

import numpy as np
import pytest

from compsil_kit._data.sources.fetched import FetchedRows, known_rows

MATRIX = np.arange(40.0).reshape(20, 2)
NUMBERS = np.array([1, 4, 5, 19])
FETCHED = FetchedRows(20, NUMBERS, MATRIX[NUMBERS])


@pytest.mark.parametrize("rows", [[4], [19, 1], [5, 5, 4], []])
def test_rows_by_their_numbers(rows):
    asked = np.array(rows, dtype=np.int64)
    np.testing.assert_array_equal(FETCHED[asked], MATRIX[asked])


@pytest.mark.parametrize("rows", [[0], [1, 2], [4, 18], [20]])
def test_other_rows_are_an_error(rows):
    with pytest.raises(IndexError, match="some of these rows were not fetched"):
        FETCHED[np.array(rows)]


def test_what_is_asked_for_may_be_written_to():
    FETCHED[np.array([4])][:] = -1
    assert FETCHED[np.array([4])].tolist() == [[8.0, 9.0]]


def test_it_has_the_size_of_the_whole():
    assert FETCHED.shape == (20, 2)
    assert len(FETCHED) == 20
    assert FETCHED.dtype == np.float64


def test_known_rows():
    np.testing.assert_array_equal(known_rows(FETCHED), MATRIX[NUMBERS])
    assert known_rows(MATRIX) is MATRIX
