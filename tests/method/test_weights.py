"""From discrepancies to weights: the transformations, and functions that are none."""

from __future__ import annotations

import numpy as np
import pytest

from compsil_kit import select_k

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


def test_a_transformation_that_does_not_fit_is_found_before_the_work():
    def forbidden(X, k, seed):
        raise AssertionError("work was done")

    with pytest.raises(ValueError, match="transform 'int' must take an array"):
        select_k(GOOD, ks=2, n_subsamples=2, transform=int, clusterer=forbidden)
