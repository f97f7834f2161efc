"""Squared distances between points and centres as ``|c|² - 2 x·c``, which differ from them by ``|x|²`` alone."""

from __future__ import annotations

import numpy as np

from compsil_kit._kmeans.arrays import WIDTH, fused, inlined, reordered


@fused
def double(centers, rows, norms):
    """Write -2 c and |c|² of the centres; return the largest length."""
    largest = 0.0
    for j in range(centers.shape[0]):
        total = 0.0
        for t in range(centers.shape[1]):
            c = centers[j, t]
            rows[j, t] = -2.0 * c
            total += c * c
        norms[j] = total
        largest = max(largest, total)
    return np.sqrt(largest)


@reordered
def dot(a, b):
    """Return the product of two rows."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@fused
def compare_block(block, rows, norms, first, n_rows, out):
    """Write |c|² - 2 x·c of a block's points for up to four centres, from ``first`` on.

    Four centres and four coordinates at a time: each number that is loaded serves four products.
    """
    r1, r2, r3 = first + min(1, n_rows - 1), first + min(2, n_rows - 1), first + min(3, n_rows - 1)
    b0, b1, b2, b3 = out[0], out[1], out[2], out[3]
    for p in range(WIDTH):
        b0[p], b1[p], b2[p], b3[p] = norms[first], norms[r1], norms[r2], norms[r3]
    t, d = 0, block.shape[0]
    while t + 4 <= d:
        x0, x1, x2, x3 = block[t], block[t + 1], block[t + 2], block[t + 3]
        c0, c1 = rows[first, t : t + 4], rows[r1, t : t + 4]
        if n_rows > 2:
            _four_by_four(b0, b1, b2, b3, c0, c1, rows[r2, t : t + 4], rows[r3, t : t + 4], x0, x1, x2, x3)
        else:
            _two_by_four(b0, b1, c0, c1, x0, x1, x2, x3)
        t += 4
    if t + 2 <= d:
        c0, c1, c2, c3 = rows[first, t : t + 2], rows[r1, t : t + 2], rows[r2, t : t + 2], rows[r3, t : t + 2]
        _four_by_two(b0, b1, b2, b3, c0, c1, c2, c3, block[t], block[t + 1])
        t += 2
    if t < d:
        _four_by_one(b0, b1, b2, b3, rows[first, t], rows[r1, t], rows[r2, t], rows[r3, t], block[t])


@inlined
def _four_by_four(b0, b1, b2, b3, c0, c1, c2, c3, x0, x1, x2, x3):
    c00, c01, c02, c03 = c0[0], c0[1], c0[2], c0[3]
    c10, c11, c12, c13 = c1[0], c1[1], c1[2], c1[3]
    c20, c21, c22, c23 = c2[0], c2[1], c2[2], c2[3]
    c30, c31, c32, c33 = c3[0], c3[1], c3[2], c3[3]
    for p in range(WIDTH):
        u, v, w, z = x0[p], x1[p], x2[p], x3[p]
        b0[p] += c00 * u + c01 * v + c02 * w + c03 * z
        b1[p] += c10 * u + c11 * v + c12 * w + c13 * z
        b2[p] += c20 * u + c21 * v + c22 * w + c23 * z
        b3[p] += c30 * u + c31 * v + c32 * w + c33 * z


@inlined
def _two_by_four(b0, b1, c0, c1, x0, x1, x2, x3):
    c00, c01, c02, c03 = c0[0], c0[1], c0[2], c0[3]
    c10, c11, c12, c13 = c1[0], c1[1], c1[2], c1[3]
    for p in range(WIDTH):
        u, v, w, z = x0[p], x1[p], x2[p], x3[p]
        b0[p] += c00 * u + c01 * v + c02 * w + c03 * z
        b1[p] += c10 * u + c11 * v + c12 * w + c13 * z


@inlined
def _four_by_two(b0, b1, b2, b3, c0, c1, c2, c3, x0, x1):
    c00, c01, c10, c11 = c0[0], c0[1], c1[0], c1[1]
    c20, c21, c30, c31 = c2[0], c2[1], c3[0], c3[1]
    for p in range(WIDTH):
        u, v = x0[p], x1[p]
        b0[p] += c00 * u + c01 * v
        b1[p] += c10 * u + c11 * v
        b2[p] += c20 * u + c21 * v
        b3[p] += c30 * u + c31 * v


@inlined
def _four_by_one(b0, b1, b2, b3, c0, c1, c2, c3, x):
    for p in range(WIDTH):
        u = x[p]
        b0[p] += c0 * u
        b1[p] += c1 * u
        b2[p] += c2 * u
        b3[p] += c3 * u


@fused
def keep_three(values, j, best, second, third, label, other):
    """Keep the three smallest values of each point of a block, and whose the first two are."""
    for p in range(WIDTH):
        v, b, s = values[p], best[p], second[p]
        first, next_ = v < b, v < s
        third[p] = s if next_ else min(third[p], v)
        second[p] = b if first else (v if next_ else s)
        other[p] = label[p] if first else (j if next_ else other[p])
        best[p] = v if first else b
        label[p] = j if first else label[p]


@fused
def compare_point(x, rows, norms):
    """Return the two nearest centres of a point, and |c|² - 2 x·c of the three nearest."""
    first, second, third = np.inf, np.inf, np.inf
    own, other = 0, 0
    for j in range(norms.shape[0]):
        value = norms[j] + dot(rows[j], x)
        if value < first:
            third, second, first = second, first, value
            other, own = own, j
        elif value < second:
            third, second, other = second, value, j
        elif value < third:
            third = value
    return own, other, first, second, third
