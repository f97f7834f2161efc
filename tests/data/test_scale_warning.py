"""Where columns differ in scale and nothing was said about it, one line says so, at the line that called."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

import compsil_pandas  # noqa: F401  (registers the accessor)
from compsil_kit import CompositeSilhouette, compare, plan_batches, prepare, select_k, stream
from compsil_kit.errors import ScaleWarning

X = make_blobs(90, 2, centers=3, random_state=0)[0]
WIDE = X * [1.0, 1000.0]
FEW = {"ks": [2, 3], "n_subsamples": 2}


@pytest.mark.parametrize(
    "call",
    [
        lambda X: select_k(X, **FEW),
        lambda X: select_k(pd.DataFrame(X), **FEW),
        lambda X: list(stream(X, **FEW)),
        lambda X: compare(X, criteria="composite", **FEW),
        lambda X: plan_batches(X, n_batches=1, **FEW),
        lambda X: CompositeSilhouette(**FEW).fit(X),
    ],
)
def test_it_is_said_once_and_where_it_was_called(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(WIDE)
    (warning,) = (w for w in caught if w.category is ScaleWarning)
    assert warning.filename == __file__
    assert "differ in scale by a factor of" in str(warning.message)
    assert "prepare(df, scale='standard')" in str(warning.message)
    assert "\n" not in str(warning.message)


@pytest.mark.parametrize(
    "call",
    [
        lambda: select_k(X, **FEW),
        lambda: select_k(prepare(pd.DataFrame(WIDE, columns=["a", "b"]), scale=None), **FEW),
        lambda: pd.DataFrame(WIDE, columns=["a", "b"]).compsil.select_k(**FEW),
        lambda: pd.DataFrame(WIDE, columns=["a", "b"]).compsil.select_k(scale=None, **FEW),
        lambda: select_k(sparse.csr_matrix(WIDE), **FEW),
        # One far value is no scale.
        lambda: select_k(np.vstack([X, [[0.0, 1e6]]]), **FEW),
        # A constant column has none.
        lambda: select_k(np.column_stack([X, np.ones(len(X))]), **FEW),
    ],
)
def test_nothing_is_said_where_scale_was_chosen_or_does_not_differ(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        call()
