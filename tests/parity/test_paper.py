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


# A third of the rows of Blood are copies of others, which costs scikit-learn's distances some digits.
@pytest.mark.parametrize("name", ["Pks", "Dgt", "Bld"])
def test_equal_to_the_authors_package(name):
    theirs, _ = or_skip(run, Unit("authors", name, seed=AUTHORS[name][1], part="compsil"))
    ours, _ = run(Unit("authors", name, seed=AUTHORS[name][1]))
    assert max(theirs.get("differences_exact", theirs["differences"]).values()) < 1e-14
    assert max(theirs["differences"].values()) < 1e-9
    assert ("differences_exact" in theirs) == (name == "Bld")
    assert theirs["choices"]["composite"] == ours["choices"]["composite"]


def test_where_rows_repeat_ours_are_the_exact_silhouettes():
    X = or_skip(SETS["Bld"].load, "published")
    labels = KMeans(6, n_init=1, random_state=0).fit_predict(X)
    exact = silhouette_score(cdist(X, X), labels, metric="precomputed")
    assert silhouettes(X, labels).micro == pytest.approx(exact, abs=1e-14)
    assert np.abs(silhouette_score(X, labels) - exact) > 1e-11
