"""Which centre is nearest: bounds spare most comparisons, and each decision is certain or listed as unsure.

A point whose nearest centre is closer than all others by more than rounding keeps it unseen (Hamerly). Otherwise it is
compared with the two centres that were nearest, and only if a third might count, with all of them.
"""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.arrays import WIDTH, fused, inlined, kept_fused
from compsil_kit._kmeans.distances import compare_block, compare_point, dot, double, keep_three

# From so many points on, a block is compared as a whole.
DENSE = 32
STAYS, MOVES, UNSURE, OTHERS = 0, 1, 2, 3


@inlined
def reassign(points, known, rows, norms, shifts, gaps, fixed, slope, slack):
    """Find the nearest centre of every point after the centres have moved by ``shifts``.

    ``fixed + slope * |x|`` bounds the rounding of a comparison, ``slack`` that of the bounds. Returns how many points
    move, and how many are too close to call.
    """
    n_todo = _follow(points.lengths, known, shifts, gaps, fixed, slope, slack)
    own, second = known.values[0, :n_todo], known.values[1, :n_todo]
    rest, error = known.values[2, :n_todo], known.values[3, :n_todo]
    for index in range(n_todo):
        i = known.todo[index]
        a, b = known.label[i], known.other[i]
        own[index] = points.squares[i] + (norms[a] + dot(rows[a], points.rows[i]))
        second[index] = points.squares[i] + (norms[b] + dot(rows[b], points.rows[i]))
        rest[index] = known.rest[i]
        error[index] = fixed + slope * points.lengths[i]
    _judge(own, second, rest, error, slack, known.outcome)
    # Typed, or each of the zeros would be compiled as a case of its own.
    n_moved, n_unsure, n_left = np.int64(0), np.int64(0), np.int64(0)
    for index in range(n_todo):
        i = known.todo[index]
        known.upper[i], known.near[i] = own[index], second[index]
        outcome = known.outcome[index]
        if outcome == MOVES:
            known.moved[n_moved], known.to[n_moved] = i, known.other[i]
            known.other[i] = known.label[i]
            n_moved += 1
        elif outcome == UNSURE:
            known.unsure[n_unsure] = i
            n_unsure += 1
        elif outcome == OTHERS:
            known.todo[n_left] = i
            n_left += 1
    return compare_listed(points, known, rows, norms, fixed, slope, n_left, n_moved, n_unsure)


@inlined
def _follow(lengths, known, shifts, gaps, fixed, slope, slack):
    """Let the bounds follow the centres; list the points whose label they leave open, and return their number."""
    n, most = 0, 0.0
    for shift in shifts:
        most = max(most, shift)
    for i in range(lengths.shape[0]):
        own = known.label[i]
        upper = known.upper[i] + shifts[own]
        near = known.near[i] - shifts[known.other[i]]
        rest = known.rest[i] - most
        known.upper[i], known.near[i], known.rest[i] = upper, near, rest
        # Half the gap to the next centre is a bound as well.
        lower = max(min(near, rest), 2.0 * gaps[own] - upper)
        known.todo[n] = i
        n += int((lower - upper - slack) * (lower + upper) <= fixed + slope * lengths[i])
    return n


@inlined
def _judge(own, second, rest, error, slack, outcome):
    """Judge pairs of squared distances, which become bounds; a loop without branches, four points at a time."""
    for index in range(own.shape[0]):
        a, b, e = own[index], second[index], error[index]
        least, more = min(a, b), max(a, b)
        far = max(rest[index] - slack, 0.0)
        found = MOVES if b < a else STAYS
        found = UNSURE if more - least <= e else found
        outcome[index] = OTHERS if far * far - least <= e else found
        own[index] = np.sqrt(max(least, 0.0) + e)
        second[index] = np.sqrt(max(more - e, 0.0))


@fused
def compare_listed(points, known, rows, norms, fixed, slope, n_todo, n_moved, n_unsure):
    """Compare the listed points with all centres, block by block; return as :func:`reassign` does."""
    at = 0
    three, two, buffer = np.empty((3, WIDTH)), np.empty((2, WIDTH), np.int64), np.empty((4, WIDTH))
    while at < n_todo:
        start = known.todo[at] // WIDTH * WIDTH
        stop = min(start + WIDTH, points.squares.shape[0])
        until = at
        while until < n_todo and known.todo[until] < stop:
            until += 1
        dense = until - at >= DENSE
        if dense:
            _compare_whole(points, known, rows, norms, fixed, slope, start, stop, three, two, buffer)
        for index in range(at, until):
            i = known.todo[index]
            error = fixed + slope * points.lengths[i]
            if dense:
                own, best, second = two[0, i - start], three[0, i - start], three[1, i - start]
            else:
                own, known.other[i], best, second, third = compare_point(points.rows[i], rows, norms)
                bound(known, i, best, second, third, points.squares[i], error)
            if second - best <= error:
                known.unsure[n_unsure] = i
                n_unsure += 1
            elif own != known.label[i]:
                known.moved[n_moved], known.to[n_moved] = i, own
                n_moved += 1
        at = until
    return n_moved, n_unsure


@inlined
def _compare_whole(points, known, rows, norms, fixed, slope, start, stop, three, two, buffer):
    """Compare all points of a block with all centres; points that are not listed only get closer bounds."""
    k = norms.shape[0]
    for p in range(WIDTH):
        three[0, p] = three[1, p] = three[2, p] = np.inf
        two[0, p] = two[1, p] = 0
    for j in range(0, k, 4):
        n = min(4, k - j)
        compare_block(points.blocks[start // WIDTH], rows, norms, j, n, buffer)
        for r in range(n):
            keep_three(buffer[r], j + r, three[0], three[1], three[2], two[0], two[1])
    for p in range(stop - start):
        i = start + p
        known.other[i] = two[1, p]
        bound(known, i, three[0, p], three[1, p], three[2, p], points.squares[i], fixed + slope * points.lengths[i])


@fused
def bound(known, i, first, second, third, square, error):
    """Turn |c|² - 2 x·c of the three nearest centres into bounds on distances."""
    known.upper[i] = np.sqrt(max(first + square, 0.0) + error)
    known.near[i] = np.sqrt(max(second + square - error, 0.0))
    known.rest[i] = np.sqrt(max(third + square - error, 0.0))


@fused
def settle_alone(points, known, rows, norms, gamma, n_moved, n_unsure):
    """Decide unsure points for exact centres, with a bound for each centre; return the moves, and what stays open."""
    left = 0
    for index in range(n_unsure):
        i = known.unsure[index]
        # The next step looks at them again.
        known.upper[i], known.near[i], known.rest[i] = np.inf, 0.0, 0.0
        own, _, best, _, _ = compare_point(points.rows[i], rows, norms)
        best += gamma * (norms[own] + 2.0 * np.sqrt(norms[own]) * points.lengths[i])
        certain = True
        for j in range(norms.shape[0]):
            error = gamma * (norms[j] + 2.0 * np.sqrt(norms[j]) * points.lengths[i])
            certain = certain and (j == own or norms[j] + dot(rows[j], points.rows[i]) - error > best)
        if not certain:
            known.unsure[left] = i
            left += 1
        elif own != known.label[i]:
            known.moved[n_moved], known.to[n_moved] = i, own
            n_moved += 1
    return n_moved, left


@kept_fused
def begin(points, known, centers, gamma, compared):
    """Assign every point to its nearest starting centre; return how many are too close to call.

    ``compared`` says that k-means++ has compared them already.
    """
    rows, norms = np.empty(centers.shape), np.empty(centers.shape[0])
    furthest = double(centers, rows, norms)
    fixed, slope = gamma * furthest * furthest, 2.0 * gamma * furthest
    n_moved, n_unsure, n_todo = np.int64(0), np.int64(0), np.int64(points.squares.shape[0])
    if compared:
        for i in range(points.squares.shape[0]):
            known.unsure[n_unsure] = i
            n_unsure += int(known.near[i] - known.upper[i] <= fixed + slope * points.lengths[i])
        for i in range(points.squares.shape[0]):
            error = fixed + slope * points.lengths[i]
            bound(known, i, known.upper[i], known.near[i], known.rest[i], points.squares[i], error)
    else:
        for i in range(points.squares.shape[0]):
            known.label[i], known.todo[i] = -1, i
        n_moved, n_unsure = compare_listed(points, known, rows, norms, fixed, slope, n_todo, n_moved, n_unsure)
    n_moved, n_unsure = settle_alone(points, known, rows, norms, gamma, n_moved, n_unsure)
    for index in range(n_moved):
        known.label[known.moved[index]] = known.to[index]
    return n_unsure
