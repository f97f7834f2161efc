"""Initial centres: greedy k-means++ with the same random numbers as scikit-learn."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.points import (
    BLOCK,
    cached_fused,
    compare_block,
    fused,
    inlined,
    keep_three,
    prepare_centers,
    reordered,
)


@cached_fused
def plus_plus(points, bounds, first, draws, n_trials, centers, rounding, share):
    """Choose the centres by greedy k-means++; return False if rounding might make scikit-learn choose other centres.

    ``first`` is the first centre, and ``draws`` contains the random numbers that scikit-learn would draw after choosing
    it. ``rounding`` bounds the rounding error of a sum of squared distances; ``share`` bounds the relative error of the
    additions. For every point, also store in ``bounds`` the two nearest centres, and |c|² - 2 x·c for the three
    nearest.
    """
    n_points, n_blocks = points.squares.shape[0], points.blocks.shape[0]
    shape, room = (n_blocks, BLOCK), (n_trials + 3) // 4 * 4
    best, second, third = np.full(shape, np.inf), np.full(shape, np.inf), np.full(shape, np.inf)
    nearest, second_nearest = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    values, sums, totals = np.empty((n_blocks, room, BLOCK)), np.empty((room, n_blocks)), np.empty(room)
    ids = np.full(room, first, np.int64)
    n, total = 1, 0.0
    for c in range(centers.shape[0]):
        if c > 0:
            n, error = n_trials, 2.0 * (rounding + share * total)
            for r in range(n):
                ids[r] = _find_drawn(sums[0], best, points.squares, draws[(c - 1) * n + r] * total, error)
                if ids[r] < 0:
                    return False
        _evaluate(points, best, ids[:n], values, sums, totals)
        chosen = _choose_best(points.data, ids, totals, n, rounding, share)
        if chosen < 0:
            return False
        centers[c] = points.rows[ids[chosen]]
        total = totals[chosen]
        sums[0] = sums[chosen]
        for i in range(n_blocks):
            keep_three(values[i, chosen], c, best[i], second[i], third[i], nearest[i], second_nearest[i])
    bounds.label[:], bounds.second[:] = nearest.ravel()[:n_points], second_nearest.ravel()[:n_points]
    bounds.upper[:], bounds.lower[:] = best.ravel()[:n_points], second.ravel()[:n_points]
    bounds.others[:] = third.ravel()[:n_points]
    return True


@inlined
def _evaluate(points, best, ids, values, sums, totals):
    """Compute the sum of squared distances that would remain if each candidate became the next centre."""
    n = ids.shape[0]
    rows, norms, _ = prepare_centers(points.rows[ids])
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
    """Return the first point where the running sum reaches the drawn value, or -1 if it might depend on rounding."""
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
    """Return the candidate with the smallest remaining sum, or -1 if rounding might make another point the best."""
    chosen = 0
    for r in range(1, n):
        if totals[r] < totals[chosen]:
            chosen = r
    for r in range(n):
        close = totals[r] - totals[chosen] <= 2.0 * (rounding + share * totals[r])
        # Identical rows give the same centre.
        if r != chosen and close and np.any(data[ids[r]] != data[ids[chosen]]):
            return -1
    return chosen
