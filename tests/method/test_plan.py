"""What is decided before computing: candidates, the size of a subsample, the work ahead."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from compsil_kit import select_k

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


@pytest.mark.parametrize("k", [20, 25])
def test_as_many_clusters_as_rows_are_refused(k):
    with pytest.raises(ValueError, match=f"ks must be smaller.*got k={k} .*Pass smaller ks, or a larger sample_size"):
        select_k(GOOD, ks=(2, k), sample_size=20)


@pytest.mark.parametrize("ks", [range(2, 10**9), itertools.count(2)])
def test_endless_candidates_are_refused_at_once(ks):
    with pytest.raises(ValueError, match="ks must hold at most 1,000,000 candidates"):
        select_k(GOOD, ks=ks)
