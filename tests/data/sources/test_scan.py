"""Tests that a pass gives the same result however the rows are split into chunks, parts and partitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsil_kit._data.columns import BLOCK_ROWS
from compsil_kit._data.sources.source import NotFinite, Part, Work

N = 2 * BLOCK_ROWS + 500
MATRIX = np.random.default_rng(1).normal(size=(N, 2))
WANTED = np.unique(np.random.default_rng(2).integers(0, N, 300))
WORK = Work(WANTED, "float64", moments=True, digest=True)


def split(columns, start, stop, edges):
    """Yield the rows from start to stop in chunks that end at these edges."""
    inside = [edge for edge in sorted(set(edges)) if start < edge < stop]
    for low, high in zip((start, *inside), (*inside, stop), strict=True):
        yield [column[low:high] for column in columns]


def scan(columns, work, parts=(), chunks=()):
    edges = [0, *sorted(set(parts) - {0, len(columns[0])}), len(columns[0])]
    return work.merge(work(split(columns, low, high, chunks), low) for low, high in pairwise(edges))


def fetched(part):
    return np.concatenate(part.found)


def same(one, other):
    names = ("n", "mean", "squares", "low", "high")
    moments = ([[getattr(block, name) for name in names] for block in part.moments] for part in (one, other))
    equal = all(np.array_equal(a, b) for x, y in zip(*moments, strict=True) for a, b in zip(x, y, strict=True))
    return equal and one.digests == other.digests and np.array_equal(fetched(one), fetched(other))


EDGES = st.lists(st.integers(1, N - 1) | st.sampled_from([1, BLOCK_ROWS, BLOCK_ROWS + 1, N - 1]), max_size=6)
WHOLE = scan(list(MATRIX.T), WORK)


@given(EDGES, EDGES)
def test_results_do_not_depend_on_chunks_or_parts(parts, chunks):
    found = scan(list(MATRIX.T), WORK, parts, chunks)
    assert (found.stop, found.not_finite, found.rounded) == (N, [], set())
    assert np.array_equal(fetched(found), MATRIX[WANTED])
    assert same(found, WHOLE)


@pytest.mark.parametrize("lengths", [[N], [40, 0, 8_960, N - 9_000], [0, N, 0], [1] * 9 + [N - 9]])
def test_split_assigns_each_partition_its_rows(lengths):
    shares = WORK.split(lengths)
    edges = np.cumsum([0, *lengths])
    assert [start for _, start in shares] == edges[:-1].tolist()
    for (work, _), (low, high) in zip(shares, pairwise(edges), strict=True):
        assert work.rows.tolist() == WANTED[(low <= WANTED) & (high > WANTED)].tolist()
    parts = [
        work(split(list(MATRIX.T), start, start + n, []), start)
        for (work, start), n in zip(shares, lengths, strict=True)
    ]
    assert same(WORK.merge(parts), WHOLE)


def test_the_digest_depends_on_every_cell():
    other = MATRIX.copy()
    other[N - 1, 1] += 1e-9
    assert scan(list(other.T), WORK).digests != WHOLE.digests


def test_moments_and_digests_are_computed_only_on_request():
    work = Work(WANTED, "float64")
    assert scan(list(MATRIX.T), work, parts=[300]).moments == []
    part = work(split(list(MATRIX.T), 0, N, []), 0)
    assert (part.moments, part.digests, part.head, part.tail) == ([], [], None, [])


@given(EDGES, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_the_first_non_finite_value_and_the_number_of_others_are_reported(parts, value):
    columns = [column.copy() for column in MATRIX.T]
    columns[1][[400, BLOCK_ROWS, N - 1]] = value
    columns[0][[700, 400]] = np.nan
    first, *others = scan(columns, WORK, parts, [333]).not_finite
    assert (first.row, first.column, first.count + sum(found.count for found in others)) == (400, 0, 5)
    assert np.isnan(first.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, -np.inf, 3.0], [NotFinite(1, 1, -np.inf, 1)]),
        # Infinities of opposite signs add up to NaN.
        ([1.0, np.inf, -np.inf], [NotFinite(1, 1, np.inf, 2)]),
        # The values are finite, but their sum overflows.
        ([1e308, 1e308, 1e308], []),
    ],
)
def test_infinite_values_are_found(values, expected):
    assert scan([np.ones(3), np.array(values)], Work(np.array([1]), "float64")).not_finite == expected


def test_the_first_cell_that_is_not_finite_is_found_by_row():
    columns = [np.array([1.0, 2.0, np.inf]), np.array([1.0, -np.inf, 3.0])]
    assert scan(columns, Work(np.array([1]), "float64")).not_finite == [NotFinite(1, 1, -np.inf, 2)]


def test_a_long_double_out_of_range_becomes_infinite():
    values = np.array([1.0, 2.0, 3.0], dtype=np.longdouble)
    with np.errstate(over="ignore"):
        values[1] = np.longdouble(10) ** 400
    found = scan([np.ones(3), values], Work(np.array([0, 2]), "float64"))
    assert found.not_finite == [NotFinite(1, 1, np.inf, 1)]
    assert fetched(found).tolist() == [[1.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("values", "rounded"),
    [
        (np.array([1, 2**53 + 1]), {1}),
        (np.array([2**53 + 1, 1]), {1}),
        (np.array([1, 2**53]), set()),
        (np.array([1, 127], dtype=np.int8), set()),
    ],
)
@pytest.mark.parametrize("edges", [{"parts": [1]}, {"chunks": [1]}])
def test_columns_with_rounded_integers_are_reported(values, rounded, edges):
    found = scan([np.ones(2), values], Work(np.array([0, 1]), "float64"), **edges)
    assert found.rounded == rounded
    assert np.array_equal(fetched(found)[:, 1], values.astype(np.float64))


@pytest.mark.parametrize("n_rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS])
def test_tables_with_less_than_one_block_are_scanned(n_rows):
    found = scan(list(MATRIX[:n_rows].T), Work(np.empty(0, np.int64), "float64", moments=True))
    assert (found.stop, sum(map(len, found.found))) == (n_rows, 0)
    assert [block.n for block in found.moments] == [n_rows] * (n_rows > 0)


def test_empty_parts_are_merged():
    parts = [WORK(iter(()), 0), WORK(split(list(MATRIX.T), 0, N, []), 0), WORK(iter(()), N)]
    assert same(WORK.merge(parts), WHOLE)


def test_parts_out_of_order_raise():
    with pytest.raises(RuntimeError, match="a pass must return rows in order; row 5 came after row 0"):
        WORK.merge([Part(5, 9)])
