"""Results equal the authors' package for equal seeds, including at the authors' settings."""

import numpy as np
import pytest
from compsil import CompSil
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler

from benchmarks.paper.protocols import AUTHORS, Unit
from benchmarks.paper.runs import against_theirs, run
from compsil_kit import select_k, silhouettes
from compsil_kit.datasets import imbalanced_blobs


def unlabelled(load):
    return StandardScaler().fit_transform(load(return_X_y=True)[0])


# These warnings come from compsil's use of pandas and from the unscaled test data.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:the columns of X differ in scale")

CASES = {
    "imbalanced": (lambda: imbalanced_blobs()[0], 12, 42),
    "wine": (lambda: unlabelled(load_wine), 10, 0),
    "iris, with duplicates": (lambda: load_iris(return_X_y=True)[0], 10, 7),
    "digits": (lambda: load_digits(return_X_y=True)[0][:900], 4, 3),
    "above the compiled threshold": (lambda: make_blobs(4500, 5, centers=5, random_state=1)[0], 3, 11),
}
TOLERANCE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("name", CASES)
def test_curves_equal_compsil_for_equal_seeds(name):
    make, n_subsamples, seed = CASES[name]
    X = make()
    theirs = CompSil(X, k_values=range(2, 8), num_samples=n_subsamples, random_state=seed, n_jobs=1)
    theirs.evaluate()
    table = theirs.get_results_dataframe()
    ours = select_k(X, ks=range(2, 8), n_subsamples=n_subsamples, random_state=range(seed, seed + n_subsamples))
    curve = ours.curve
    assert ours.plan.sample_size == theirs.sample_size
    for mine, other in {
        "score": "S_mM", "sem": "se S_mM", "lcb": "LCB S_mM", "micro": "avg S_micro", "macro": "avg S_macro",
        "weight": "w_micro",
    }.items():  # fmt: skip
        np.testing.assert_allclose(curve[mine], table[other], **TOLERANCE)
    assert ours.best_k == theirs.get_optimal_k()
    assert ours.reweigh(rule="lcb").best_k == theirs.get_optimal_k(use_lcb=True)


@pytest.mark.parametrize("size", [100, 0.37])
def test_sample_sizes_and_scores_equal_compsil(size):
    X, _ = make_blobs(301, 2, centers=3, random_state=0)
    theirs = CompSil(X, k_values=[2, 3], num_samples=3, sample_size=size, random_state=5, n_jobs=1)
    theirs.evaluate()
    ours = select_k(X, ks=[2, 3], n_subsamples=3, sample_size=size, random_state=[5, 6, 7])
    assert ours.plan.sample_size == theirs.sample_size
    np.testing.assert_allclose(ours.scores, theirs.get_results_dataframe()["S_mM"], **TOLERANCE)


@pytest.mark.parametrize("name", ["Wne", "Dgt"])
def test_runs_at_the_authors_settings_equal_compsil(name):
    theirs, _ = run(Unit("authors", name, seed=AUTHORS[name][1], part="compsil"))
    ours, _ = run(Unit("authors", name, seed=AUTHORS[name][1]))
    assert max(theirs["differences"].values()) < 1e-14
    assert theirs["choices"]["composite"] == ours["choices"]["composite"]


@pytest.fixture(scope="module")
def repeated():
    """Data far from the origin with many identical rows, for which scikit-learn's distances lose precision."""
    X, _ = make_blobs(700, 4, centers=3, cluster_std=1.0, random_state=1)
    return np.round(X) / 3 + 20


def test_runs_equal_compsil_on_repeated_rows(repeated):
    keywords = {"ks": range(2, 6), "n_subsamples": 6, "random_state": range(42, 48)}
    theirs = against_theirs(repeated, keywords)
    assert 1e-10 < max(theirs["differences"].values()) < 1e-6
    assert max(theirs["differences_exact"].values()) < 1e-14


def test_silhouettes_of_repeated_rows_are_exact(repeated):
    labels = KMeans(6, n_init=1, random_state=0).fit_predict(repeated)
    exact = silhouette_score(cdist(repeated, repeated), labels, metric="precomputed")
    assert silhouettes(repeated, labels).micro == pytest.approx(exact, abs=1e-14)
    assert np.abs(silhouette_score(repeated, labels) - exact) > 1e-11
