"""One pass over the rows: however they are cut into chunks and parts, it finds the same."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsil_kit._data.sources.moments import BLOCK_ROWS, joined, moments_of
from compsil_kit._data.sources.moments import blocks as blocks_of
from compsil_kit._data.sources.scan import NotFinite, Part, Work, gathered

N = 2 * BLOCK_ROWS + 500
MATRIX = np.random.default_rng(1).normal(size=(N, 2))
WANTED = np.unique(np.random.default_rng(2).integers(0, N, 300))


def cut(columns, start, stop, edges):
    """The rows from start to stop, in chunks that end at these edges."""
    inside = [edge for edge in sorted(set(edges)) if start < edge < stop]
    for low, high in zip((start, *inside), (*inside, stop), strict=True):
        yield [column[low:high] for column in columns]


def scanned(columns, work, parts=(), chunks=()):
    edges = [0, *sorted(set(parts) - {0, len(columns[0])}), len(columns[0])]
    passes = (work(cut(columns, low, high, chunks), low) for low, high in pairwise(edges))
    return gathered(passes, work)


places = st.lists(st.integers(1, N - 1) | st.sampled_from([1, BLOCK_ROWS, BLOCK_ROWS + 1, N - 1]), max_size=6)
WORK = Work(WANTED, "float64", moments=True, digest=True)
WHOLE = scanned(list(MATRIX.T), WORK)


@given(places, places)
def test_any_cut_finds_the_same(parts, chunks):
    seen = scanned(list(MATRIX.T), WORK, parts, chunks)
    assert (seen.n_rows, seen.digest, seen.bad, seen.rounded) == (N, WHOLE.digest, None, frozenset())
    assert np.array_equal(seen.found, MATRIX[WANTED])
    for name in ("mean", "squares", "low", "high"):
        assert (getattr(seen.moments, name) == getattr(WHOLE.moments, name)).all()


def test_moments_are_those_of_the_matrix_in_memory():
    expected = joined(moments_of(block) for block in blocks_of(MATRIX))
    assert (WHOLE.moments.squares == expected.squares).all()
    assert (WHOLE.moments.mean == expected.mean).all()


def test_the_digest_sees_a_single_cell():
    other = MATRIX.copy()
    other[N - 1, 1] += 1e-9
    assert scanned(list(other.T), WORK).digest != WHOLE.digest


def test_nothing_is_gathered_that_nobody_wants():
    seen = scanned(list(MATRIX.T), Work(WANTED, "float64"), parts=[300])
    assert seen.moments is None
    assert np.array_equal(seen.found, MATRIX[WANTED])
    part = Work(WANTED, "float64")(cut(list(MATRIX.T), 0, 300, []), 0)
    assert part.blocks == part.edges == []


@given(places, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_the_first_cell_that_is_not_finite_and_their_number(parts, value):
    columns = [column.copy() for column in MATRIX.T]
    columns[1][[400, BLOCK_ROWS, N - 1]] = value
    columns[0][[700, 400]] = np.nan
    bad = scanned(columns, WORK, parts, [333]).bad
    assert (bad.row, bad.column, bad.count) == (400, 0, 5)
    assert np.isnan(bad.value)


def test_the_value_is_told_apart():
    columns = [column.copy() for column in MATRIX.T]
    columns[1][3] = -np.inf
    assert scanned(columns, WORK).bad == NotFinite(3, 1, -np.inf, 1)


def test_a_sum_that_overflows_is_not_a_cell():
    """The quick look is a sum; where that is infinite, the cells decide."""
    assert scanned([np.full(10, 1e308), np.ones(10)], Work(np.array([1]), "float64")).bad is None
    # Infinities of both signs sum up to NaN, which is found as well.
    columns = [np.array([1.0, np.inf, -np.inf]), np.ones(3)]
    assert scanned(columns, Work(np.array([0]), "float64")).bad == NotFinite(1, 0, np.inf, 2)


def test_a_long_double_beyond_the_range_of_doubles_is_infinite():
    """Where long doubles are doubles, it is infinite from the beginning."""
    values = np.array([1.0, 2.0, 3.0], dtype=np.longdouble)
    with np.errstate(over="ignore"):
        values[1] = np.longdouble(10) ** 400
    seen = scanned([np.ones(3), values], Work(np.array([0, 2]), "float64"))
    assert seen.bad == NotFinite(1, 1, np.inf, 1)
    assert seen.found.tolist() == [[1.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("values", "rounded"),
    [
        (np.array([1, 2**53 + 1]), {1}),
        (np.array([1, 2**53]), set()),
        (np.array([2, 2**64 - 1], dtype=np.uint64), {1}),
        (np.array([True, False]), set()),
        (np.array([1, 127], dtype=np.int8), set()),
    ],
)
def test_whole_numbers_that_are_rounded(values, rounded):
    seen = scanned([np.ones(2), values], Work(np.array([0, 1]), "float64"), parts=[1])
    assert seen.rounded == rounded
    assert np.array_equal(seen.found[:, 1], values.astype(np.float64))


@pytest.mark.parametrize("cuts", [{"chunks": [1]}, {"parts": [1]}])
def test_a_rounded_number_is_remembered(cuts):
    seen = scanned([np.array([2**53 + 1, 1]), np.array([1, 2**53 + 1])], Work(np.array([0]), "float64"), **cuts)
    assert seen.rounded == {0, 1}


def test_the_type_of_the_rows():
    seen = scanned([np.ones(3, np.float32), np.zeros(3, np.float32)], Work(np.array([2]), "float32"))
    assert seen.found.dtype == np.float32


@pytest.mark.parametrize("n_rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS])
def test_few_rows(n_rows):
    seen = scanned(list(MATRIX[:n_rows].T), Work(np.empty(0, np.int64), "float64", moments=True))
    assert (seen.n_rows, len(seen.found)) == (n_rows, 0)
    assert (seen.moments is None) == (n_rows == 0)


def test_parts_without_rows():
    work = Work(WANTED, "float64", moments=True, digest=True)
    several = [work(iter(()), 0), work(cut(list(MATRIX.T), 0, N, []), 0), work(iter(()), N)]
    assert gathered(several, work).digest == WHOLE.digest


def test_parts_out_of_order_are_an_error():
    with pytest.raises(RuntimeError, match="a pass must hand over rows in order; 5 came after 0"):
        gathered([Part(5, 9, np.empty((0, 0)))], WORK)
