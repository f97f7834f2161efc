"""Lloyd's steps: centres follow labels, labels follow centres, until scikit-learn would stop."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.arrays import UNIT, inlined, kept_fused, kept_reordered, kept_strict, strict
from compsil_kit._kmeans.assign import reassign, settle_alone
from compsil_kit._kmeans.distances import dot, double

# How a call of :func:`lloyd` ends: done, some labels are too close to call, a cluster has run empty, or it is too close
# to call whether the steps end.
DONE, SETTLE, EMPTY, UNSURE = 0, 1, 2, 3
# Places in the state: steps taken, moves since the sums are exact, points that move, points too close to call, and
# whether labels have just been settled outside, or the last assignment is under way.
STEPS, INEXACT, MOVED, OPEN, SETTLED, LAST = 0, 1, 2, 3, 4, 5


@kept_fused
def lloyd(points, known, centers, sums, counts, state, gamma, tol, max_iter, always_exact):
    """Take steps until they end, or until a label has to be settled outside.

    Sums of clusters follow the points that move. Their rounding is added to the bounds, and only where a label is too
    close to call they are added up anew, in scikit-learn's order, which gives its centres to the last bit. In single
    precision (``always_exact``) that is done at every step.
    """
    shifts, old = np.empty(centers.shape[0]), np.empty(centers.shape)
    reach = _largest(points.lengths)
    while True:
        if state[SETTLED] == 0:
            if _any_empty(counts):
                return EMPTY
            if always_exact:
                _recall(points, known, sums, counts, state)
            _copy(centers, old)
            _average(sums, counts, centers)
            state[STEPS] += 1
            if state[MOVED] == 0:
                return DONE
            # How far scikit-learn's centres may be from the means, and ours.
            drift = 0.0 if always_exact else 4.0 * UNIT * reach * (known.label.shape[0] + state[INEXACT] + 8.0)
            total = _measure_shifts(old, centers, 2.0 * drift, shifts)
            if _too_close(total, tol, drift, centers.shape[0], always_exact):
                return UNSURE
            state[LAST] = int(total <= tol or state[STEPS] == max_iter)
            _assign(points, known, centers, sums, counts, state, gamma, drift, reach, shifts)
            if state[OPEN] > 0:
                return SETTLE
        state[SETTLED] = 0
        _move(points.data, known, state[MOVED], sums, counts)
        state[INEXACT] += state[MOVED]
        if state[LAST] == 1:
            return DONE


@inlined
def _largest(values):
    most = values[0]
    for value in values:
        most = max(most, value)
    return most


@inlined
def _any_empty(counts):
    empty = False
    for count in counts:
        empty = empty or count == 0
    return empty


@inlined
def _copy(source, target):
    for j in range(source.shape[0]):
        for t in range(source.shape[1]):
            target[j, t] = source[j, t]


@inlined
def _assign(points, known, centers, sums, counts, state, gamma, drift, reach, shifts):
    """Find the points that move; what is too close to call is looked at again with exact centres."""
    rows, norms, gaps = np.empty(centers.shape), np.empty(centers.shape[0]), np.empty(centers.shape[0])
    furthest = double(centers, rows, norms)
    fixed = gamma * furthest * furthest + 4.0 * drift * furthest
    slope = 2.0 * gamma * furthest + 4.0 * drift
    _half_gaps(rows, norms, fixed + slope * furthest, gaps)
    slack = 16.0 * UNIT * reach * (state[STEPS] + 10.0)
    n_moved, n_open = reassign(points, known, rows, norms, shifts, gaps, fixed, slope, slack)
    if n_open > 0:
        if state[INEXACT] > 0:
            _recall(points, known, sums, counts, state)
            _average(sums, counts, centers)
            double(centers, rows, norms)
        n_moved, n_open = settle_alone(points, known, rows, norms, gamma, n_moved, n_open)
    state[MOVED], state[OPEN] = n_moved, n_open


@inlined
def _recall(points, known, sums, counts, state):
    """Make the sums exact again."""
    add_up(points.data, known.label, sums, counts)
    state[INEXACT] = 0


@inlined
def _too_close(total, tol, drift, k, always_exact):
    """Tell whether rounding might decide if the centres have moved by no more than the tolerance."""
    if always_exact:
        return abs(total - tol) <= 1e-3 * tol
    return abs(total - tol) <= 1e-9 * tol + 8.0 * drift * np.sqrt(k * total) + 16.0 * k * drift * drift


@kept_strict
def add_up(data, label, sums, counts):
    """Add up the points of each cluster in their order, as scikit-learn does with one thread."""
    d = data.shape[1]
    for j in range(sums.shape[0]):
        counts[j] = 0
        for t in range(d):
            sums[j, t] = 0
    for i in range(label.shape[0]):
        own = label[i]
        counts[own] += 1
        target, point = sums[own], data[i]
        for t in range(d):
            target[t] += point[t]


@strict
def _average(sums, counts, centers):
    """Write the means; scikit-learn multiplies by the inverse, in the type of the data."""
    for j in range(sums.shape[0]):
        alpha = sums.dtype.type(1.0 / counts[j])
        for t in range(sums.shape[1]):
            centers[j, t] = sums[j, t] * alpha


@inlined
def _measure_shifts(old, new, extra, shifts):
    """Write how far each centre may have moved; return the sum of the squared steps."""
    total = 0.0
    for j in range(old.shape[0]):
        here = 0.0
        for t in range(old.shape[1]):
            here += (new[j, t] - old[j, t]) ** 2
        total += here
        shifts[j] = np.sqrt(here) * (1.0 + 1e-12) + extra
    return total


@inlined
def _half_gaps(rows, norms, error, gaps):
    """Write half the distance from each centre to the nearest other one, rounded down."""
    for i in range(norms.shape[0]):
        gaps[i] = np.inf
        for j in range(i):
            # The rows are -2 c, so their product is 4 times that of the centres.
            squared = norms[i] + norms[j] - 0.5 * dot(rows[i], rows[j]) - error
            gap = 0.5 * np.sqrt(max(squared, 0.0))
            gaps[i] = min(gaps[i], gap)
            gaps[j] = min(gaps[j], gap)


@inlined
def _move(data, known, n_moved, sums, counts):
    """Give the points that move their new labels, and the clusters their new sums."""
    for index in range(n_moved):
        i = known.moved[index]
        old, new = known.label[i], known.to[index]
        known.label[i] = new
        counts[old] -= 1
        counts[new] += 1
        for t in range(data.shape[1]):
            sums[old, t] -= data[i, t]
        for t in range(data.shape[1]):
            sums[new, t] += data[i, t]


@kept_reordered
def inertia(rows, centers, label):
    """Return the sum of squared distances of the points to their centres."""
    total = 0.0
    for i in range(label.shape[0]):
        for t in range(rows.shape[1]):
            total += (rows[i, t] - centers[label[i], t]) ** 2
    return total
