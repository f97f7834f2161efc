"""Lloyd's iterations: recompute centres and labels until scikit-learn would stop."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.assign import reassign, resolve_unsure
from compsil_kit._kmeans.points import (
    UNIT_ROUNDOFF,
    cached_fused,
    cached_reordered,
    cached_strict,
    dot,
    inlined,
    prepare_centers,
    strict,
)

# Return values of :func:`lloyd`: converged, labels to be resolved by the caller, a cluster became empty, or rounding
# might decide whether it converged.
DONE, RESOLVE, EMPTY, UNDECIDED = 0, 1, 2, 3
# Positions in ``state``: iterations, moves since the sums were exact, points that move, unsure points, whether the
# caller has just resolved them, and whether this is the last assignment.
N_ITERATIONS, N_INEXACT, N_MOVED, N_UNSURE, RESOLVED, LAST = 0, 1, 2, 3, 4, 5


@cached_fused
def lloyd(points, bounds, centers, sums, counts, state, gamma, tol, max_iter, always_exact):
    """Iterate until convergence, or until the caller has to resolve unsure labels.

    Cluster sums are updated by the points that move, and their rounding error widens the bounds. Only where a label is
    too close to call the sums are recomputed in scikit-learn's order, which gives its centres to the last bit. In
    single precision (``always_exact``) they are recomputed in every iteration.
    """
    shifts, old = np.empty(centers.shape[0]), np.empty(centers.shape)
    reach = _largest(points.lengths)
    while True:
        if state[RESOLVED] == 0:
            if _any_empty(counts):
                return EMPTY
            if always_exact:
                _recompute_sums(points, bounds, sums, counts, state)
            _copy(centers, old)
            _average(sums, counts, centers)
            state[N_ITERATIONS] += 1
            if state[N_MOVED] == 0:
                return DONE
            # Bound on the distance of scikit-learn's centres, and of these, from the exact means.
            n_terms = bounds.label.shape[0] + state[N_INEXACT] + 8.0
            drift = 0.0 if always_exact else 4.0 * UNIT_ROUNDOFF * reach * n_terms
            total = _measure_shifts(old, centers, 2.0 * drift, shifts)
            if _is_undecided(total, tol, drift, centers.shape[0], always_exact):
                return UNDECIDED
            state[LAST] = int(total <= tol or state[N_ITERATIONS] == max_iter)
            _reassign(points, bounds, centers, sums, counts, state, gamma, drift, reach, shifts)
            if state[N_UNSURE] > 0:
                return RESOLVE
        state[RESOLVED] = 0
        _apply_moves(points.data, bounds, state[N_MOVED], sums, counts)
        state[N_INEXACT] += state[N_MOVED]
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
def _reassign(points, bounds, centers, sums, counts, state, gamma, drift, reach, shifts):
    """Find the points that move; compare unsure points again with exact centres."""
    rows, norms, gaps = np.empty(centers.shape), np.empty(centers.shape[0]), np.empty(centers.shape[0])
    furthest = prepare_centers(centers, rows, norms)
    fixed = gamma * furthest * furthest + 4.0 * drift * furthest
    slope = 2.0 * gamma * furthest + 4.0 * drift
    _half_gaps(rows, norms, fixed + slope * furthest, gaps)
    slack = 16.0 * UNIT_ROUNDOFF * reach * (state[N_ITERATIONS] + 10.0)
    n_moved, n_unsure = reassign(points, bounds, rows, norms, shifts, gaps, fixed, slope, slack)
    if n_unsure > 0:
        if state[N_INEXACT] > 0:
            _recompute_sums(points, bounds, sums, counts, state)
            _average(sums, counts, centers)
            prepare_centers(centers, rows, norms)
        n_moved, n_unsure = resolve_unsure(points, bounds, rows, norms, gamma, n_moved, n_unsure)
    state[N_MOVED], state[N_UNSURE] = n_moved, n_unsure


@inlined
def _recompute_sums(points, bounds, sums, counts, state):
    add_up(points.data, bounds.label, sums, counts)
    state[N_INEXACT] = 0


@inlined
def _is_undecided(total, tol, drift, k, always_exact):
    """Return whether rounding might decide if the centres have moved by no more than the tolerance."""
    if always_exact:
        return abs(total - tol) <= 1e-3 * tol
    return abs(total - tol) <= 1e-9 * tol + 8.0 * drift * np.sqrt(k * total) + 16.0 * k * drift * drift


@cached_strict
def add_up(data, label, sums, counts):
    """Sum the points of each cluster in their order, as scikit-learn does with one thread."""
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
    """Write upper bounds on the distances that the centres moved; return the sum of the squared distances."""
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
def _apply_moves(data, bounds, n_moved, sums, counts):
    """Relabel the points that move and update the cluster sums."""
    for index in range(n_moved):
        i = bounds.moved[index]
        old, new = bounds.label[i], bounds.target[index]
        bounds.label[i] = new
        counts[old] -= 1
        counts[new] += 1
        for t in range(data.shape[1]):
            sums[old, t] -= data[i, t]
        for t in range(data.shape[1]):
            sums[new, t] += data[i, t]


@cached_reordered
def inertia(rows, centers, label):
    """Return the sum of squared distances of the points to their centres."""
    total = 0.0
    for i in range(label.shape[0]):
        for t in range(rows.shape[1]):
            total += (rows[i, t] - centers[label[i], t]) ** 2
    return total
