"""A digest of an array, so that data can be told apart without being kept."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

_BLOCK_BYTES = 16 * 2**20
DIGEST_BYTES = 16
# What the digest of a table outside memory begins with: it is another one than that of the same rows in memory.
OUTSIDE = "outside memory "


def content_digest(X: Any) -> str:
    """Return a digest of a dense or sparse array, read in blocks: one on disk is never loaded whole."""
    hasher = blake2b(f"{X.shape} {X.dtype}".encode(), digest_size=DIGEST_BYTES)
    for part in (X.indptr, X.indices, X.data) if sparse.issparse(X) else (np.atleast_1d(X),):
        for block in _blocks(part):
            hasher.update(block.tobytes())
    return hasher.hexdigest()


def _blocks(array: Any) -> Iterator[Any]:
    step = max(1, _BLOCK_BYTES * len(array) // max(1, array.nbytes))
    return (array[low : low + step] for low in range(0, len(array), step))
