"""The final fit uses all rows and cannot modify them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from small_runs import split

from compsil_kit._method.clusterers import Clusterer, resolve_clusterer
from compsil_kit._method.labels import fit_all_rows
from compsil_kit._method.metrics import resolve_metric

EUCLIDEAN = resolve_metric("euclidean")
X, _ = make_blobs(90, 2, centers=3, random_state=0)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_final_fit_cannot_modify_the_data(form):
    def spoil(X, k, seed):
        if sparse.issparse(X):
            X.data[:] = 0.0
        else:
            with pytest.raises(ValueError, match="read-only"):
                X[0] = 0.0
        return split(X, k, seed)

    given = form(X)
    estimator, labels = fit_all_rows(Clusterer("spoil", function=spoil), given, 3, 0)
    assert estimator is None
    assert labels.tolist() == split(X, 3, 0).tolist()
    assert np.array_equal(given.toarray() if sparse.issparse(given) else given, X)


def test_the_final_fit_uses_ten_initialisations_for_kmeans_given_by_name():
    by_name, _ = fit_all_rows(resolve_clusterer("kmeans", EUCLIDEAN), X, 3, 11)
    by_estimator, _ = fit_all_rows(resolve_clusterer(KMeans(n_init=2), EUCLIDEAN), X, 3, 11)
    assert by_name.get_params()["n_init"] == 10
    assert by_name.get_params()["random_state"] == 11
    assert by_estimator.get_params()["n_init"] == 2
