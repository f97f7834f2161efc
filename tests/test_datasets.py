"""The demonstration data: data set S3 from the paper, identical in every call."""

import numpy as np

from compsil_kit.datasets import imbalanced_blobs


def test_imbalanced_blobs_have_two_large_and_three_small_clusters():
    X, y = imbalanced_blobs()
    assert X.shape == (2300, 2)
    assert np.bincount(y).tolist() == [1000, 1000, 100, 100, 100]
    spread = [X[y == c].std(axis=0).mean() for c in range(5)]
    assert min(spread[:2]) > 3 * max(spread[2:])


def test_imbalanced_blobs_are_standardised_and_reproducible():
    X, y = imbalanced_blobs()
    np.testing.assert_allclose([X.mean(axis=0), X.std(axis=0)], [[0, 0], [1, 1]], atol=1e-12)
    # The data must also be the same on every machine and in every release, because documented results depend on them.
    np.testing.assert_allclose(X[[0, -1]], [[0.511868, 0.323173], [2.437647, 1.943303]], atol=1e-5)
    again, labels = imbalanced_blobs()
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
