"""Rows that are the same count once."""

import numpy as np
import pytest
from scipy import sparse

from compsil_kit._data.distinct import check_enough_distinct


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_as_many_distinct_rows_as_clusters_are_enough(form):
    rows = form(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [3.0, 3.0], [2.0, 0.0]]))
    check_enough_distinct(rows, 3)
    with pytest.raises(ValueError, match=r"up to 4 clusters, but X has only 3 distinct rows\. Pass ks of at most 3\."):
        check_enough_distinct(rows, 4)
    with pytest.raises(ValueError, match="X is constant"):
        check_enough_distinct(rows[:2], 2)


@pytest.mark.parametrize(("k_max", "n_distinct"), [(4, 3), (2, 1)])
def test_of_rows_that_were_not_fetched_nothing_is_said(k_max, n_distinct):
    rows = np.arange(12.0)[:, None] % n_distinct
    with pytest.raises(ValueError, match=rf"all subsamples together have only {n_distinct} distinct row\(s\)\. "):
        check_enough_distinct(rows, k_max, whole=False)


def test_zeros_that_are_stored_make_no_row_distinct():
    stored = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="X is constant"):
        check_enough_distinct(stored, 2)
    with pytest.raises(ValueError, match="X is constant"):
        check_enough_distinct(np.array([[0.0, 1.0], [-0.0, 1.0]]), 2)
    assert stored.nnz == 3
