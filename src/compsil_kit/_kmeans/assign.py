"""Assign points to the nearest centre with Hamerly's bounds, which show that most points keep their centre.

Any other point is compared with its two nearest centres and, if a third centre could be nearer, with all centres.
Points whose label might depend on rounding are ambiguous.
"""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.points import (
    BLOCK,
    cached_fused,
    compare_block,
    compare_point,
    dot,
    fused,
    inlined,
    keep_three,
    prepare_centers,
)

# If at least this many points of a block are pending, all points of the block are compared.
MIN_DENSE = 32
# Outcomes when a point is compared with its two nearest centres.
STAYS, MOVES, AMBIGUOUS, COMPARE_ALL = 0, 1, 2, 3


@inlined
def reassign(points, bounds, rows, norms, shifts, gaps, fixed, slope, slack):
    """Find the nearest centre of every point after the centres have moved by ``shifts``.

    ``fixed + slope * |x|`` limits the rounding error of a comparison; ``slack`` limits the rounding error of the
    bounds. Return the number of points that move and the number that are too close to call.
    """
    n_pending = _move_bounds(points.lengths, bounds, shifts, gaps, fixed, slope, slack)
    own, second = bounds.scratch[0, :n_pending], bounds.scratch[1, :n_pending]
    rest, error = bounds.scratch[2, :n_pending], bounds.scratch[3, :n_pending]
    for index in range(n_pending):
        i = bounds.pending[index]
        a, b = bounds.label[i], bounds.second[i]
        own[index] = points.squares[i] + (norms[a] + dot(rows[a], points.rows[i]))
        second[index] = points.squares[i] + (norms[b] + dot(rows[b], points.rows[i]))
        rest[index] = bounds.others[i]
        error[index] = fixed + slope * points.lengths[i]
    _classify(own, second, rest, error, slack, bounds.outcome)
    # With literal zeros instead of np.int64, Numba would compile another version of the callee.
    n_moved, n_ambiguous, n_left = np.int64(0), np.int64(0), np.int64(0)
    for index in range(n_pending):
        i = bounds.pending[index]
        bounds.upper[i], bounds.lower[i] = own[index], second[index]
        outcome = bounds.outcome[index]
        if outcome == MOVES:
            bounds.moved[n_moved], bounds.target[n_moved] = i, bounds.second[i]
            bounds.second[i] = bounds.label[i]
            n_moved += 1
        elif outcome == AMBIGUOUS:
            bounds.ambiguous[n_ambiguous] = i
            n_ambiguous += 1
        elif outcome == COMPARE_ALL:
            bounds.pending[n_left] = i
            n_left += 1
    return compare_listed(points, bounds, rows, norms, fixed, slope, n_left, n_moved, n_ambiguous)


@inlined
def _move_bounds(lengths, bounds, shifts, gaps, fixed, slope, slack):
    """Adjust the bounds to the moved centres; list the points whose label may change and return their number."""
    n, largest = 0, shifts.max()
    for i in range(lengths.shape[0]):
        own = bounds.label[i]
        upper = bounds.upper[i] + shifts[own]
        second = bounds.lower[i] - shifts[bounds.second[i]]
        rest = bounds.others[i] - largest
        bounds.upper[i], bounds.lower[i], bounds.others[i] = upper, second, rest
        # The distance between centres gives another bound; ``gaps`` contains half of this distance.
        lower = max(min(second, rest), 2.0 * gaps[own] - upper)
        bounds.pending[n] = i
        n += int((lower - upper - slack) * (lower + upper) <= fixed + slope * lengths[i])
    return n


@inlined
def _classify(own, second, rest, error, slack, outcome):
    """Classify pairs of squared distances and convert them to bounds; the loop has no branches, so it vectorises."""
    for index in range(own.shape[0]):
        a, b, e = own[index], second[index], error[index]
        smaller, larger = min(a, b), max(a, b)
        third = max(rest[index] - slack, 0.0)
        found = MOVES if b < a else STAYS
        found = AMBIGUOUS if larger - smaller <= e else found
        outcome[index] = COMPARE_ALL if third * third - smaller <= e else found
        own[index] = np.sqrt(max(smaller, 0.0) + e)
        second[index] = np.sqrt(max(larger - e, 0.0))


@fused
def compare_listed(points, bounds, rows, norms, fixed, slope, n_pending, n_moved, n_ambiguous):
    """Compare the pending points with all centres, block by block; return the same counts as :func:`reassign`."""
    at = 0
    three, two, buffer = np.empty((3, BLOCK)), np.empty((2, BLOCK), np.int64), np.empty((4, BLOCK))
    while at < n_pending:
        start = bounds.pending[at] // BLOCK * BLOCK
        stop = min(start + BLOCK, points.squares.shape[0])
        until = at
        while until < n_pending and bounds.pending[until] < stop:
            until += 1
        dense = until - at >= MIN_DENSE
        if dense:
            _compare_whole_block(points, bounds, rows, norms, fixed, slope, start, stop, three, two, buffer)
        for index in range(at, until):
            i = bounds.pending[index]
            error = fixed + slope * points.lengths[i]
            if dense:
                own, best, second = two[0, i - start], three[0, i - start], three[1, i - start]
            else:
                own, bounds.second[i], best, second, third = compare_point(points.rows[i], rows, norms)
                set_bounds(bounds, i, best, second, third, points.squares[i], error)
            if second - best <= error:
                bounds.ambiguous[n_ambiguous] = i
                n_ambiguous += 1
            elif own != bounds.label[i]:
                bounds.moved[n_moved], bounds.target[n_moved] = i, own
                n_moved += 1
        at = until
    return n_moved, n_ambiguous


@inlined
def _compare_whole_block(points, bounds, rows, norms, fixed, slope, start, stop, three, two, buffer):
    """Compare all points of a block with all centres; this tightens the bounds of points that are not pending."""
    k = norms.shape[0]
    three[:], two[:] = np.inf, 0
    for j in range(0, k, 4):
        n = min(4, k - j)
        compare_block(points.blocks[start // BLOCK], rows, norms, j, n, buffer)
        for r in range(n):
            keep_three(buffer[r], j + r, three[0], three[1], three[2], two[0], two[1])
    for p in range(stop - start):
        i = start + p
        bounds.second[i] = two[1, p]
        set_bounds(
            bounds, i, three[0, p], three[1, p], three[2, p], points.squares[i], fixed + slope * points.lengths[i]
        )


@fused
def set_bounds(bounds, i, first, second, third, square, error):
    """Derive bounds on distances from the values |c|² - 2 x·c for the three nearest centres."""
    bounds.upper[i] = np.sqrt(max(first + square, 0.0) + error)
    bounds.lower[i] = np.sqrt(max(second + square - error, 0.0))
    bounds.others[i] = np.sqrt(max(third + square - error, 0.0))


@fused
def resolve_ambiguous(points, bounds, rows, norms, gamma, n_moved, n_ambiguous):
    """Reassign ambiguous points, using the exact centres and an error bound for each centre.

    Return the number of points that move and the number that remain ambiguous.
    """
    n_left = 0
    for index in range(n_ambiguous):
        i = bounds.ambiguous[index]
        # Reset the bounds, so that the next iteration compares the point again.
        bounds.upper[i], bounds.lower[i], bounds.others[i] = np.inf, 0.0, 0.0
        own, _, best, _, _ = compare_point(points.rows[i], rows, norms)
        best += gamma * (norms[own] + 2.0 * np.sqrt(norms[own]) * points.lengths[i])
        certain = True
        for j in range(norms.shape[0]):
            error = gamma * (norms[j] + 2.0 * np.sqrt(norms[j]) * points.lengths[i])
            certain = certain and (j == own or norms[j] + dot(rows[j], points.rows[i]) - error > best)
        if not certain:
            bounds.ambiguous[n_left] = i
            n_left += 1
        elif own != bounds.label[i]:
            bounds.moved[n_moved], bounds.target[n_moved] = i, own
            n_moved += 1
    return n_moved, n_left


@cached_fused
def assign_all(points, bounds, centers, gamma, compared):
    """Assign every point to its nearest initial centre; return the number of points that are too close to call.

    ``compared`` means that k-means++ has already stored the comparisons in ``bounds``.
    """
    rows, norms, furthest = prepare_centers(centers)
    fixed, slope = gamma * furthest * furthest, 2.0 * gamma * furthest
    n_moved, n_ambiguous, n_pending = np.int64(0), np.int64(0), np.int64(points.squares.shape[0])
    if compared:
        for i in range(points.squares.shape[0]):
            error = fixed + slope * points.lengths[i]
            bounds.ambiguous[n_ambiguous] = i
            n_ambiguous += int(bounds.lower[i] - bounds.upper[i] <= error)
            set_bounds(bounds, i, bounds.upper[i], bounds.lower[i], bounds.others[i], points.squares[i], error)
    else:
        bounds.label[:], bounds.pending[:] = -1, np.arange(n_pending)
        n_moved, n_ambiguous = compare_listed(
            points, bounds, rows, norms, fixed, slope, n_pending, n_moved, n_ambiguous
        )
    n_moved, n_ambiguous = resolve_ambiguous(points, bounds, rows, norms, gamma, n_moved, n_ambiguous)
    for index in range(n_moved):
        bounds.label[bounds.moved[index]] = bounds.target[index]
    return n_ambiguous
