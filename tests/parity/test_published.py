"""Scores at the authors' settings equal the published scores to the last printed digit."""

import numpy as np
import pytest

from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import Results
from benchmarks.paper.store import RESULTS
from compsil_kit import select_k

# For each data set: number of subsamples, first seed, values of k, and the published S_mM for each k.
PUBLISHED = {
    "S1": (10, 42, range(2, 11), [
        0.56054, 0.709444, 0.836336, 0.87285, 0.752707, 0.641014, 0.568956, 0.492783, 0.415331,
    ]),
    "S2": (10, 42, range(2, 11), [
        0.537075, 0.688234, 0.655173, 0.68275, 0.692483, 0.625011, 0.558184, 0.509032, 0.457742,
    ]),
    "S3": (100, 42, range(2, 11), [
        0.622789, 0.610609, 0.604998, 0.670353, 0.597272, 0.562358, 0.530197, 0.504444, 0.482736,
    ]),
    "S4": (20, 42, range(7, 17), [
        0.581382, 0.59958, 0.591446, 0.60283, 0.608784, 0.611473, 0.610452, 0.609278, 0.608403, 0.591695,
    ]),
    "Pks": (30, 42, (2, 3, 7), [0.404756, 0.27855, 0.208671]),
    "Bld": (50, 42, range(2, 8), [0.418685, 0.343843, 0.378063, 0.384144, 0.383864, 0.378738]),
    "Wne": (100, 42, range(2, 11), [
        0.26453, 0.287542, 0.232023, 0.191509, 0.167972, 0.149581, 0.140941, 0.139646, 0.137247,
    ]),
    "Dgt": (10, 10, range(2, 11), [
        0.121688, 0.130635, 0.135369, 0.149358, 0.17089, 0.173319, 0.176317, 0.182065, 0.184826,
    ]),
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore:the columns of X differ in scale")
# The Parkinsons and Blood data are not committed, but our results for them are.
RECORDED = ("Pks", "Bld")


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name not in RECORDED])
def test_curve_equals_the_published_curve(name):
    n_subsamples, seed, ks, expected = PUBLISHED[name]
    settings = {"n_subsamples": n_subsamples, "random_state": range(seed, seed + n_subsamples), "n_jobs": 2}
    result = select_k(SETS[name].load("published"), ks=ks, **settings)
    np.testing.assert_allclose(result.scores, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", PUBLISHED)
def test_committed_curve_equals_the_published_curve(name):
    n_subsamples, seed, ks, expected = PUBLISHED[name]
    (unit,) = Results(RESULTS).find(protocol="authors", set=name, part="subsamples")
    assert (unit["n_subsamples"], unit["seed"]) == (n_subsamples, seed)
    found = dict(zip(unit["ks"], unit["values"]["composite"], strict=True))
    np.testing.assert_allclose([found[k] for k in ks], expected, rtol=0, atol=1e-6)
