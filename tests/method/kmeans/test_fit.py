"""Labels equal scikit-learn's for all kinds of data: ties, duplicates, lattices, outliers, and both precisions."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.kmeans_labels import KINDS, compare_fits
from compsil_kit._kmeans.fit import Fits


def check(fits, X, k, **keywords):
    """Check that the labels equal scikit-learn's."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fits.labels(KMeans(k, **keywords))
        np.testing.assert_array_equal(found, KMeans(k, **keywords).fit_predict(X))
    assert found.dtype == np.int32


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_labels_equal_scikit_learn_for_every_kind_of_data(kind, dtype):
    counts = compare_fits(seed=7, n_fits=60, kind=kind, dtype=dtype)
    assert counts["fits"] >= 60
    assert counts["different"] == 0


def test_lattices_use_every_fallback_to_scikit_learn():
    """Without fallbacks, the lattices in the test above would not be a meaningful case."""
    counts = compare_fits(seed=2, n_fits=150, kind="lattice", dtype="float64")
    assert min(counts["handed over"], counts["starts"], counts["settled"]) > 0


def test_ordinary_data_need_no_fallback():
    for seed, spread in enumerate([0.5, 1.0, 3.0]):
        X = make_blobs(2000, 10, centers=6, cluster_std=spread, random_state=seed)[0]
        fits = Fits(X, 1e-4)
        for k in range(2, 11):
            check(fits, X, k, random_state=seed)
        assert dict(fits.counts) == {"fits": 9}


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_one_preparation_is_shared_by_all_ks_seeds_and_initialisations(seed):
    X = make_blobs(700, 4, centers=5, random_state=0)[0] + 100.0
    fits = Fits(X, 1e-4)
    for k in (2, 9, 30):
        for n_init in (1, "auto", 4):
            check(fits, X, k, random_state=seed, n_init=n_init)
    assert fits.counts["handed over"] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_explicit_initial_centres_match_scikit_learn(dtype):
    X = make_blobs(500, 3, centers=4, random_state=3)[0].astype(dtype)
    fits = Fits(X, 1e-4)
    check(fits, X, 4, init=X[:4], n_init=1)
    with pytest.raises(ValueError, match="does not match the number of clusters"):
        fits.labels(KMeans(5, init=X[:4], n_init=1))


def test_scikit_learn_fits_data_whose_squares_are_out_of_range():
    X = make_blobs(300, 2, random_state=0)[0] * 1e-160
    fits = Fits(X, 1e-4)
    check(fits, X, 3, random_state=0)
    assert fits.counts["handed over"] == 1


def test_too_few_distinct_points_emit_the_warning_from_scikit_learn():
    X = np.repeat([[0.0], [1.0], [5.0]], 100, axis=0)
    with pytest.warns(ConvergenceWarning, match="Number of distinct clusters"):
        Fits(X, 1e-4).labels(KMeans(4, random_state=0))


def test_equally_good_initialisations_are_decided_by_scikit_learn():
    """Both ways to halve a square have the same inertia, so the choice depends on rounding in scikit-learn."""
    X = np.repeat([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], 40, axis=0)
    fits = Fits(X, 1e-4)
    for seed in range(5):
        check(fits, X, 2, random_state=seed, n_init=6)


def test_is_compiled_detects_loops_in_memory_and_in_the_cache(tmp_path):
    """Start two processes; the first compiles into an empty cache, and the second finds the cached loops."""
    code = """
import numpy as np
from sklearn.cluster import KMeans
from compsil_kit._kmeans.fit import Fits, is_compiled
before = is_compiled()
Fits(np.random.default_rng(0).normal(size=(50, 2)), 0.0).labels(KMeans(2, random_state=0))
print(before, is_compiled())
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for expected in ("False True", "True True"):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
