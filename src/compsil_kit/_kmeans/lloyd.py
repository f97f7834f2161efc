"""Lloyd's iterations: reassign the points and recompute the centres until scikit-learn would stop."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.assign import reassign, resolve_ambiguous
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

# Return values of :func:`lloyd`: converged; the caller must resolve ambiguous labels; a cluster became empty; or
# convergence might depend on rounding.
DONE, RESOLVE, EMPTY, UNDECIDED = 0, 1, 2, 3
# Positions in ``state``: number of iterations, moves since the sums were last recomputed, points that move, ambiguous
# points, whether the caller has just resolved the ambiguous points, and whether this is the last assignment.
N_ITERATIONS, N_INEXACT, N_MOVED, N_AMBIGUOUS, RESOLVED, LAST = 0, 1, 2, 3, 4, 5


@cached_fused
def lloyd(points, bounds, centers, sums, counts, state, gamma, tol, max_iter, always_exact):
    """Iterate until convergence, or until the caller must resolve ambiguous labels.

    Cluster sums are updated for the points that move, and the bounds allow for the rounding error of these updates. If
    a label is too close to call, the sums are recomputed in the same order as in scikit-learn, which makes the centres
    bit-for-bit identical. In single precision (``always_exact``), the sums are recomputed in every iteration.
    """
    shifts, old = np.empty(centers.shape[0]), np.empty(centers.shape)
    reach = points.lengths.max()
    while True:
        if state[RESOLVED] == 0:
            if counts.min() == 0:
                return EMPTY
            if always_exact:
                add_up(points.data, bounds.label, sums, counts)
                state[N_INEXACT] = 0
            old[:] = centers
            _average(sums, counts, centers)
            state[N_ITERATIONS] += 1
            if state[N_MOVED] == 0:
                return DONE
            # Bound on how far scikit-learn's centres and our centres can be from the exact means.
            n_terms = bounds.label.shape[0] + state[N_INEXACT] + 8.0
            drift = 0.0 if always_exact else 4.0 * UNIT_ROUNDOFF * reach * n_terms
            total = _measure_shifts(old, centers, 2.0 * drift, shifts)
            if _is_undecided(total, tol, drift, centers.shape[0], always_exact):
                return UNDECIDED
            state[LAST] = int(total <= tol or state[N_ITERATIONS] == max_iter)
            _find_moves(points, bounds, centers, sums, counts, state, gamma, drift, reach, shifts)
            if state[N_AMBIGUOUS] > 0:
                return RESOLVE
        state[RESOLVED] = 0
        _apply_moves(points.data, bounds, state[N_MOVED], sums, counts)
        state[N_INEXACT] += state[N_MOVED]
        if state[LAST] == 1:
            return DONE


@inlined
def _find_moves(points, bounds, centers, sums, counts, state, gamma, drift, reach, shifts):
    """Find the points that move, and compare ambiguous points again with exact centres."""
    rows, norms, furthest = prepare_centers(centers)
    gaps = np.empty(centers.shape[0])
    fixed = gamma * furthest * furthest + 4.0 * drift * furthest
    slope = 2.0 * gamma * furthest + 4.0 * drift
    _half_gaps(rows, norms, fixed + slope * furthest, gaps)
    slack = 16.0 * UNIT_ROUNDOFF * reach * (state[N_ITERATIONS] + 10.0)
    n_moved, n_ambiguous = reassign(points, bounds, rows, norms, shifts, gaps, fixed, slope, slack)
    if n_ambiguous > 0:
        if state[N_INEXACT] > 0:
            add_up(points.data, bounds.label, sums, counts)
            state[N_INEXACT] = 0
            _average(sums, counts, centers)
            rows, norms, _ = prepare_centers(centers)
        n_moved, n_ambiguous = resolve_ambiguous(points, bounds, rows, norms, gamma, n_moved, n_ambiguous)
    state[N_MOVED], state[N_AMBIGUOUS] = n_moved, n_ambiguous


@inlined
def _is_undecided(total, tol, drift, k, always_exact):
    """Return whether the convergence check might depend on rounding."""
    if always_exact:
        return abs(total - tol) <= 1e-3 * tol
    return abs(total - tol) <= 1e-9 * tol + 8.0 * drift * np.sqrt(k * total) + 16.0 * k * drift * drift


@cached_strict
def add_up(data, label, sums, counts):
    """Sum the points of each cluster in row order, as scikit-learn does with one thread."""
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
    """Write the means; like scikit-learn, multiply by the inverse count in the dtype of the data."""
    for j in range(sums.shape[0]):
        alpha = sums.dtype.type(1.0 / counts[j])
        for t in range(sums.shape[1]):
            centers[j, t] = sums[j, t] * alpha


@inlined
def _measure_shifts(old, new, extra, shifts):
    """Write upper bounds on the shifts of the centres; return the sum of the squared shifts."""
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
    """Write half the distance from each centre to the nearest other centre, rounded down."""
    for i in range(norms.shape[0]):
        gaps[i] = np.inf
        for j in range(i):
            # The rows are -2 c, so their product is 4 times the product of the centres.
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
    """Return the sum of squared distances from the points to their centres."""
    total = 0.0
    for i in range(label.shape[0]):
        for t in range(rows.shape[1]):
            total += (rows[i, t] - centers[label[i], t]) ** 2
    return total
