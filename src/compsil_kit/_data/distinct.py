"""Whether the rows can be told apart into as many clusters as are asked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse


def check_enough_distinct(matrix: Any, k_max: int, *, whole: bool = True) -> None:
    """Refuse data with fewer distinct rows than clusters asked for; it stops looking as soon as there are enough.

    Unless they are the ``whole`` data, others may be among those that were not fetched.
    """
    n_rows = matrix.shape[0]
    size = min(n_rows, 2 * k_max)
    while True:
        n_distinct = _count_distinct(matrix[:size])
        if n_distinct >= k_max or size == n_rows:
            break
        size = min(n_rows, size * 8)
    if n_distinct < k_max and not whole:
        raise ValueError(
            f"ks asks for up to {k_max} clusters, but all subsamples together have only {n_distinct} distinct "
            "row(s). Pass smaller ks, or a larger sample_size."
        )
    if n_distinct == 1:
        raise ValueError("X is constant: every row is the same, so there is nothing to cluster.")
    if n_distinct < k_max:
        raise ValueError(
            f"ks asks for up to {k_max} clusters, but X has only {n_distinct} distinct rows. "
            f"Pass ks of at most {n_distinct}."
        )


def _count_distinct(rows: Any) -> int:
    if sparse.issparse(rows):
        tidy = rows.copy()
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        edges = tidy.indptr
        return len({(tidy.indices[a:b].tobytes(), tidy.data[a:b].tobytes()) for a, b in pairwise(edges)})
    # + 0.0 turns -0.0 into 0.0, which has other bytes; equal rows then have equal bytes.
    return len({row.tobytes() for row in np.ascontiguousarray(rows) + 0.0})
