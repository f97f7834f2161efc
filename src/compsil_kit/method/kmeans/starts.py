"""The starting centres: greedy k-means++ with the draws that scikit-learn would make."""

from __future__ import annotations

import numpy as np

from compsil_kit.method.kmeans.arrays import WIDTH, fused, reordered
from compsil_kit.method.kmeans.distances import compare_block, keep_three


@fused
def plus_plus(points, known, first, draws, n_trials, centers, gamma, share):
    """Choose the centres; return False where rounding might make scikit-learn choose another one.

    ``gamma`` bounds the rounding of a squared distance, ``share`` that of adding them up, both relative. On the way
    every point learns its two nearest centres, and ``known`` holds |c|² - 2 x·c of the three nearest.
    """
    n_points, n_blocks, k = points.squares.shape[0], points.blocks.shape[0], centers.shape[0]
    best = np.full((n_blocks, WIDTH), np.inf)
    second, third = best.copy(), best.copy()
    nearest, next_ = np.zeros((n_blocks, WIDTH), np.int64), np.zeros((n_blocks, WIDTH), np.int64)
    room = (n_trials + 3) // 4 * 4
    values, sums, totals = np.empty((n_blocks, room, WIDTH)), np.empty((room, n_blocks)), np.empty(room)
    rows, norms, ids = np.empty((room, centers.shape[1])), np.empty(room), np.empty(room, np.int64)
    longest = points.lengths.max()
    rounding = gamma * 2.0 * (points.squares.sum() + n_points * longest * longest)
    ids[0] = first
    n, total = 1, 0.0
    for c in range(k):
        if c > 0:
            n, error = n_trials, 2.0 * (rounding + share * total)
            for r in range(n):
                ids[r] = _locate(sums[0], best, points.squares, draws[(c - 1) * n_trials + r] * total, error)
            if ids[:n].min() < 0:
                return False
        _try(points, best, ids, n, rows, norms, values, sums, totals)
        chosen = _choose(points.data, ids, totals, n, rounding, share)
        if chosen < 0:
            return False
        centers[c] = points.rows[ids[chosen]]
        total = totals[chosen]
        sums[0] = sums[chosen]
        for i in range(n_blocks):
            keep_three(values[i, chosen], c, best[i], second[i], third[i], nearest[i], next_[i])
    for i in range(n_points):
        block, p = i // WIDTH, i % WIDTH
        known.label[i], known.other[i] = nearest[block, p], next_[block, p]
        known.upper[i], known.near[i], known.rest[i] = best[block, p], second[block, p], third[block, p]
    return True


@fused
def _try(points, best, ids, n, rows, norms, values, sums, totals):
    """Measure what the sum of squared distances would be with each of n points as a further centre."""
    for r in range(n):
        norms[r] = 0.0
        for t in range(rows.shape[1]):
            x = points.rows[ids[r], t]
            rows[r, t] = -2.0 * x
            norms[r] += x * x
    for i in range(points.blocks.shape[0]):
        squares = points.squares[i * WIDTH : (i + 1) * WIDTH]
        for r in range(0, n, 4):
            compare_block(points.blocks[i], rows, norms, r, min(4, n - r), values[i, r : r + 4])
        for r in range(n):
            sums[r, i] = _sum_nearest(values[i, r], best[i], squares)
    for r in range(n):
        totals[r] = sums[r].sum()


@reordered
def _sum_nearest(values, best, squares):
    total = 0.0
    for p in range(squares.shape[0]):
        total += max(min(values[p], best[p]) + squares[p], 0.0)
    return total


@fused
def _locate(sums, best, squares, drawn, error):
    """Return the first point at which the running sum reaches the drawn value; -1 if rounding might name another."""
    below = 0.0
    for i in range(sums.shape[0]):
        if below + sums[i] + error >= drawn:
            running = below
            for p in range(min(WIDTH, squares.shape[0] - i * WIDTH)):
                after = running + max(best[i, p] + squares[i * WIDTH + p], 0.0)
                if after >= drawn:
                    return i * WIDTH + p if drawn - running > error and after - drawn > error else -1
                if after + error >= drawn:
                    return -1
                running = after
        below += sums[i]
    return -1


@fused
def _choose(data, ids, totals, n, rounding, share):
    """Return which of n points leaves the smallest sum; -1 if rounding might name one at another place."""
    chosen = 0
    for r in range(1, n):
        if totals[r] < totals[chosen]:
            chosen = r
    for r in range(n):
        close = totals[r] - totals[chosen] <= 2.0 * (rounding + share * totals[r])
        if r != chosen and close and (data[ids[r]] != data[ids[chosen]]).any():
            return -1
    return chosen
