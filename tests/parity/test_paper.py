"""The authors' package at the authors' settings, on sets of the paper that take seconds."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from benchmarks.paper.data import SETS, MissingData
from benchmarks.paper.protocols import AUTHORS, Unit
from benchmarks.paper.runs import run
from compsil_kit import silhouettes

# Their use of pandas is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def or_skip(load, *arguments):
    try:
        return load(*arguments)
    except MissingData as error:
        pytest.skip(str(error))


# A third of the rows of Blood are copies of others, which costs scikit-learn's distances some digits: see below.
@pytest.mark.parametrize(("name", "tolerance"), [("Pks", 1e-10), ("Dgt", 1e-10), ("Bld", 1e-9)])
def test_equal_to_the_authors_package(name, tolerance):
    theirs, _ = or_skip(run, Unit("authors", name, seed=AUTHORS[name][1], part="compsil"))
    ours, _ = run(Unit("authors", name, seed=AUTHORS[name][1]))
    assert max(theirs["differences"].values()) < tolerance
    assert theirs["choices"]["composite"] == ours["choices"]["composite"]
    assert (theirs["copies"] > 0) == (tolerance > 1e-10)


def test_where_rows_repeat_ours_are_the_exact_silhouettes():
    X = or_skip(SETS["Bld"].load, "published")
    labels = KMeans(6, n_init=1, random_state=0).fit_predict(X)
    exact = silhouette_score(cdist(X, X), labels, metric="precomputed")
    assert silhouettes(X, labels).micro == pytest.approx(exact, abs=1e-14)
    assert np.abs(silhouette_score(X, labels) - exact) > 1e-11
