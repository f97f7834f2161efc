"""The clusterings that the explorer draws: their labels, their order, samples of large data, failures."""

from threading import Event

import numpy as np
import pandas as pd
import pytest
from sessions import KS, QUICK, finish, settings
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from waiting import PATIENCE

import compsil_pandas  # noqa: F401  (for df.compsil)
from compsil_jupyter.session import Session


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"])


@pytest.fixture
def session(frame):
    opened = Session(frame, QUICK)
    yield opened
    opened.close()
    opened.wait(PATIENCE)


class TestClusterings:
    def test_are_those_of_the_accessor(self, session, frame):
        finish(session)
        session.clusterings.prioritise(3)
        session.clusterings.wait(PATIENCE)
        expected = frame.compsil.cluster(3, scale=None)
        np.testing.assert_array_equal(session.clusterings.get(3).labels, expected.to_numpy())
        assert not session.clusterings.sampled

    def test_are_those_of_the_first_seed_under_the_metric_of_the_run(self, frame):
        session = Session(frame, settings(ks=(9,), n_subsamples=2, metric="manhattan"))
        finish(session)
        session.clusterings.prioritise(9)
        session.clusterings.wait(PATIENCE)
        found = session.clusterings.get(9)
        expected = frame.compsil.cluster(9, scale=None, metric="manhattan").to_numpy()
        np.testing.assert_array_equal(found.labels, expected)
        assert found.scores.micro == pytest.approx(silhouette_score(frame, expected, metric="manhattan"))

    def test_come_for_every_k(self, session):
        finish(session)
        told = []
        session.listen(told.append)
        session.clusterings.prioritise(4)
        session.clusterings.wait(PATIENCE)
        assert all(session.clusterings.get(k) is not None for k in KS)
        assert told == ["clusters"] * len(KS)

    def test_the_wanted_one_comes_first(self, session):
        finish(session)
        order = []
        session.listen(lambda _: order.append([k for k in KS if session.clusterings.get(k) is not None]))
        session.clusterings.prioritise(4)
        session.clusterings.wait(PATIENCE)
        assert order[0] == [4]

    def test_large_data_are_sampled(self):
        X = np.random.default_rng(0).normal(size=(10_001, 2))
        session = Session(X, settings(ks=(2,), n_subsamples=1, sample_size=200))
        finish(session)
        session.clusterings.prioritise(2)
        session.clusterings.wait(PATIENCE)
        assert len(session.clusterings.get(2).labels) == 10_000
        assert session.clusterings.points.shape == (10_000, 2)
        assert len(np.unique(session.clusterings.points, axis=0)) == 10_000
        assert session.clusterings.projection[0].shape == (10_000, 2)
        assert (session.clusterings.n_rows, session.clusterings.sampled) == (10_001, True)

    def test_clusterers_that_hold_all_pairs_get_no_more_than_a_subsample(self, blobs):
        pairs = settings(ks=(2, 3), n_subsamples=2, sample_size=100, clusterer="agglomerative")
        session = Session(blobs, pairs)
        finish(session)
        session.clusterings.prioritise(2)
        session.clusterings.wait(PATIENCE)
        assert len(session.clusterings.get(2).labels) == 100

    def test_a_failure_is_told_in_its_place(self, frame):
        def refuses_all(X, k, seed):
            if len(X) == len(frame):
                raise RuntimeError("too many rows")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        session = Session(frame, settings(ks=(2,), n_subsamples=2, sample_size=100, clusterer=refuses_all))
        finish(session)
        session.clusterings.prioritise(2)
        session.clusterings.wait(PATIENCE)
        assert session.clusterings.get(2) == "Clustering into k = 2 failed: too many rows"

    def test_of_distances_have_no_map(self, blobs):
        from sklearn.metrics import pairwise_distances

        session = Session(
            pairwise_distances(blobs),
            settings(ks=(2, 3), n_subsamples=2, clusterer="agglomerative", metric="precomputed"),
        )
        finish(session)
        session.clusterings.prioritise(2)
        session.clusterings.wait(PATIENCE)
        assert session.clusterings.projection is None
        assert session.clusterings.get(2).scores.micro > 0

    def test_close_ends_them(self, session):
        finish(session)
        clusterings = session.clusterings
        session.close()
        clusterings.prioritise(3)
        clusterings.wait(PATIENCE)
        assert [k for k in KS if clusterings.get(k) is not None] == []

    @pytest.mark.parametrize(("end", "then"), [("close", [3]), ("pause", list(KS))])
    def test_they_end_after_the_one_in_progress_and_go_on_after_a_pause(self, frame, end, then):
        begun, go_on = Event(), Event()

        def waits(X, k, seed):
            if len(X) == len(frame):
                begun.set()
                go_on.wait(PATIENCE)
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        session = Session(frame, settings(ks=KS, n_subsamples=2, sample_size=100, clusterer=waits))
        finish(session)
        clusterings = session.clusterings
        clusterings.prioritise(3)
        assert begun.wait(PATIENCE)
        getattr(clusterings, end)()
        go_on.set()
        clusterings.wait(PATIENCE)
        assert [k for k in KS if clusterings.get(k) is not None] == [3]
        clusterings.prioritise(3)
        clusterings.wait(PATIENCE)
        assert [k for k in KS if clusterings.get(k) is not None] == then
