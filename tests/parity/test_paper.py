"""The authors' package at the authors' settings, on committed data sets, and on repeated rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

from benchmarks.paper.protocols import AUTHORS, Unit
from benchmarks.paper.runs import against_theirs, run
from compsil_kit import silhouettes

# The warning comes from their use of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:the columns of X differ in scale")


@pytest.mark.parametrize("name", ["Wne", "Dgt"])
def test_equal_to_the_authors_package(name):
    theirs, _ = run(Unit("authors", name, seed=AUTHORS[name][1], part="compsil"))
    ours, _ = run(Unit("authors", name, seed=AUTHORS[name][1]))
    assert max(theirs["differences"].values()) < 1e-14
    assert theirs["choices"]["composite"] == ours["choices"]["composite"]


@pytest.fixture(scope="module")
def repeated():
    """Counts far from 0 with many equal rows, on which scikit-learn's distances lose digits."""
    X, _ = make_blobs(700, 4, centers=3, cluster_std=1.0, random_state=1)
    return np.round(X) / 3 + 20


def test_equal_to_the_authors_package_on_repeated_rows(repeated):
    keywords = {"ks": range(2, 6), "n_subsamples": 6, "random_state": range(42, 48)}
    theirs = against_theirs(repeated, keywords)
    assert 1e-10 < max(theirs["differences"].values()) < 1e-6
    assert max(theirs["differences_exact"].values()) < 1e-14


def test_silhouettes_of_repeated_rows_are_exact(repeated):
    labels = KMeans(6, n_init=1, random_state=0).fit_predict(repeated)
    exact = silhouette_score(cdist(repeated, repeated), labels, metric="precomputed")
    assert silhouettes(repeated, labels).micro == pytest.approx(exact, abs=1e-14)
    assert np.abs(silhouette_score(repeated, labels) - exact) > 1e-11
