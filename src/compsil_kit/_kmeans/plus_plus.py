"""Initial centres: greedy k-means++ with the random numbers that scikit-learn would draw."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.points import BLOCK, cached_fused, compare_block, fused, inlined, keep_three, reordered


@cached_fused
def plus_plus(points, bounds, first, draws, n_trials, centers, gamma, share):
    """Choose the centres; return False where rounding might make scikit-learn choose another one.

    ``gamma`` bounds the rounding error of a squared distance, ``share`` that of adding them up, both relative. Also
    store the two nearest centres of every point in ``bounds``, and |c|² - 2 x·c of the three nearest.
    """
    n_blocks, k = points.blocks.shape[0], centers.shape[0]
    best, second, third = _infinite(n_blocks), _infinite(n_blocks), _infinite(n_blocks)
    nearest, second_nearest = np.zeros((n_blocks, BLOCK), np.int64), np.zeros((n_blocks, BLOCK), np.int64)
    room = (n_trials + 3) // 4 * 4
    values, sums, totals = np.empty((n_blocks, room, BLOCK)), np.empty((room, n_blocks)), np.empty(room)
    rows, norms, ids = np.empty((room, centers.shape[1])), np.empty(room), np.empty(room, np.int64)
    rounding = _rounding_of_sum(points, gamma)
    ids[0] = first
    n, total = 1, 0.0
    for c in range(k):
        if c > 0:
            n = n_trials
            drawn = draws[(c - 1) * n : c * n]
            if not _draw_candidates(drawn, total, 2.0 * (rounding + share * total), sums[0], best, points.squares, ids):
                return False
        _evaluate(points, best, ids, n, rows, norms, values, sums, totals)
        chosen = _choose_best(points.data, ids, totals, n, rounding, share)
        if chosen < 0:
            return False
        for t in range(centers.shape[1]):
            centers[c, t] = points.rows[ids[chosen], t]
        total = totals[chosen]
        for i in range(n_blocks):
            sums[0, i] = sums[chosen, i]
            keep_three(values[i, chosen], c, best[i], second[i], third[i], nearest[i], second_nearest[i])
    _store(bounds, best, second, third, nearest, second_nearest)
    return True


@inlined
def _infinite(n_blocks):
    values = np.empty((n_blocks, BLOCK))
    for i in range(n_blocks):
        for p in range(BLOCK):
            values[i, p] = np.inf
    return values


@inlined
def _draw_candidates(drawn, total, error, sums, best, squares, ids):
    """Find the points that the random numbers select; return whether all of them are certain."""
    certain = True
    for r in range(drawn.shape[0]):
        ids[r] = _find_drawn(sums, best, squares, drawn[r] * total, error)
        certain = certain and ids[r] >= 0
    return certain


@inlined
def _store(bounds, best, second, third, nearest, second_nearest):
    for i in range(bounds.label.shape[0]):
        block, p = i // BLOCK, i % BLOCK
        bounds.label[i], bounds.second[i] = nearest[block, p], second_nearest[block, p]
        bounds.upper[i], bounds.lower[i], bounds.others[i] = (
            best[block, p],
            second[block, p],
            third[block, p],
        )


@reordered
def _rounding_of_sum(points, gamma):
    """Return a bound on the rounding error of a sum of squared distances, the additions not included."""
    longest, total = 0.0, 0.0
    for i in range(points.squares.shape[0]):
        longest = max(longest, points.lengths[i])
        total += points.squares[i]
    return gamma * 2.0 * (total + points.squares.shape[0] * longest * longest)


@inlined
def _evaluate(points, best, ids, n, rows, norms, values, sums, totals):
    """Compute the sum of squared distances that each of n candidate points would leave as the next centre."""
    for r in range(n):
        norms[r] = 0.0
        for t in range(rows.shape[1]):
            x = points.rows[ids[r], t]
            rows[r, t] = -2.0 * x
            norms[r] += x * x
    for i in range(points.blocks.shape[0]):
        squares = points.squares[i * BLOCK : (i + 1) * BLOCK]
        for r in range(0, n, 4):
            compare_block(points.blocks[i], rows, norms, r, min(4, n - r), values[i, r : r + 4])
        for r in range(n):
            sums[r, i] = _sum_nearest(values[i, r], best[i], squares)
    for r in range(n):
        totals[r] = 0.0
        for i in range(points.blocks.shape[0]):
            totals[r] += sums[r, i]


@reordered
def _sum_nearest(values, best, squares):
    total = 0.0
    for p in range(squares.shape[0]):
        total += max(min(values[p], best[p]) + squares[p], 0.0)
    return total


@fused
def _find_drawn(sums, best, squares, drawn, error):
    """Return the first point at which the running sum reaches the drawn value; -1 if rounding might change it."""
    below = 0.0
    for i in range(sums.shape[0]):
        if below + sums[i] + error >= drawn:
            running = below
            for p in range(min(BLOCK, squares.shape[0] - i * BLOCK)):
                after = running + max(best[i, p] + squares[i * BLOCK + p], 0.0)
                if after >= drawn:
                    return i * BLOCK + p if drawn - running > error and after - drawn > error else -1
                if after + error >= drawn:
                    return -1
                running = after
        below += sums[i]
    return -1


@inlined
def _choose_best(data, ids, totals, n, rounding, share):
    """Return which of n candidates leaves the smallest sum; -1 if rounding might decide between different points."""
    chosen = 0
    for r in range(1, n):
        if totals[r] < totals[chosen]:
            chosen = r
    for r in range(n):
        close = totals[r] - totals[chosen] <= 2.0 * (rounding + share * totals[r])
        # Equal rows give the same centre.
        if r != chosen and close and _differ(data[ids[r]], data[ids[chosen]]):
            return -1
    return chosen


@inlined
def _differ(a, b):
    different = False
    for t in range(a.shape[0]):
        different = different or a[t] != b[t]
    return different
