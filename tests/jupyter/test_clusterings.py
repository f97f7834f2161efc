"""The clusterings that the explorer draws: labels, order, samples of large data, failures."""

import numpy as np
import pytest
from sessions import KS, Gate, cluster, finish, on_all_rows, open_session
from sklearn.metrics import pairwise_distances, silhouette_score
from waiting import PATIENCE

import compsil_pandas  # noqa: F401  (for df.compsil)


def found(clusterings):
    return [k for k in KS if clusterings.found.get(k) is not None]


@pytest.mark.parametrize(("k", "metric"), [(3, "euclidean"), (9, "manhattan")])
def test_labels_equal_those_of_the_accessor(points, k, metric):
    session = open_session(points, ks=(k,), n_subsamples=2, metric=metric)
    finish(session)
    clustering = cluster(session, k)
    expected = points.compsil.cluster(k, scale=None, metric=metric).to_numpy()
    np.testing.assert_array_equal(clustering.labels, expected)
    assert clustering.scores.micro == pytest.approx(silhouette_score(points, expected, metric=metric))
    assert not session.shown.clusterings.sampled


def test_every_k_is_computed_the_requested_one_first(session):
    finish(session)
    heard = []
    session.listen(lambda what: heard.append((what, found(session.shown.clusterings))))
    cluster(session, 4)
    assert heard[0] == ("clusters", [4])
    assert heard[-1] == ("clusters", list(KS))
    assert len(heard) == len(KS)


def test_large_data_are_sampled():
    X = np.random.default_rng(0).normal(size=(10_001, 2))
    session = open_session(X, ks=(2,), n_subsamples=1, sample_size=200)
    finish(session)
    assert len(cluster(session, 2).labels) == 10_000
    clusterings = session.shown.clusterings
    assert len(np.unique(clusterings.points, axis=0)) == 10_000
    assert clusterings.projection[0].shape == (10_000, 2)
    assert (clusterings.n_rows, clusterings.sampled) == (10_001, True)


def test_clusterers_that_hold_all_pairs_get_the_size_of_a_subsample_and_distances_have_no_map(blobs):
    precomputed = {"clusterer": "agglomerative", "metric": "precomputed"}
    session = open_session(pairwise_distances(blobs), ks=(2, 3), n_subsamples=2, sample_size=100, **precomputed)
    finish(session)
    found = cluster(session, 2)
    assert (len(found.labels), found.scores.micro > 0) == (100, True)
    assert session.shown.clusterings.projection is None


def test_an_error_replaces_the_clustering(points):
    def fail(k):
        raise RuntimeError("too many rows")

    clusterer = on_all_rows(len(points), fail)
    session = open_session(points, ks=(2,), n_subsamples=2, sample_size=100, clusterer=clusterer)
    finish(session)
    assert cluster(session, 2) == "Clustering into k = 2 failed: too many rows"


@pytest.mark.parametrize(("end", "then"), [("close", [3]), ("pause", list(KS))])
def test_closing_and_pausing_finish_the_current_clustering(points, end, then):
    gate = Gate()
    clusterer = on_all_rows(len(points), lambda k: gate.block())
    session = open_session(points, ks=KS, n_subsamples=2, sample_size=100, clusterer=clusterer)
    finish(session)
    clusterings = session.shown.clusterings
    clusterings.prioritise(3)
    assert gate.reached.wait(PATIENCE)
    # A closed session closes its clusterings.
    session.close() if end == "close" else clusterings.pause()
    gate.go.set()
    clusterings.wait(PATIENCE)
    assert found(clusterings) == [3]
    cluster(session, 3)
    assert found(clusterings) == then
