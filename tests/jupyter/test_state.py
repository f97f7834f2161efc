"""The state behind the explorer, without any widget: runs, stopping, reading otherwise, clusters, comparing, code."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

import compsil_pandas  # noqa: F401  (the generated code uses the accessor)
from compsil_jupyter.explorer.clusterings import MOST_ROWS
from compsil_jupyter.explorer.code import code
from compsil_jupyter.explorer.session import Session, in_words
from compsil_jupyter.explorer.settings import Settings, Status
from compsil_kit import compare, select_k

QUICK = Settings(scale=None, ks=(2, 3, 4, 5), n_subsamples=6)


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"])


@pytest.fixture
def session(frame):
    opened = Session(frame, QUICK)
    yield opened
    opened.close()
    opened.wait(20)


def finish(session):
    session.start()
    session.wait(60)
    return session.result


class Gate:
    """A clusterer that stops at its n-th call until it is let through."""

    def __init__(self, after):
        self.after, self.calls = after, 0
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, X, k, seed):
        self.calls += 1
        if self.calls > self.after:
            self.reached.set()
            assert self.go.wait(60)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


class TestRun:
    def test_gives_what_select_k_gives(self, session, blobs):
        result = finish(session)
        direct = select_k(blobs, ks=QUICK.ks, n_subsamples=6)
        np.testing.assert_array_equal(result.composite, direct.composite)
        assert result.best_k == direct.best_k
        assert result.preparation.columns == ("a", "b", "c")
        assert session.status.phase == "done"
        assert (session.status.done, session.status.total) == (6, 6)

    def test_nothing_before(self, session):
        assert session.result is None
        assert session.status == Status()
        assert not session.stale

    def test_grows_subsample_by_subsample(self, session):
        seen = []
        session.listen(lambda what: seen.append((what, session.n_finished)))
        finish(session)
        assert [n for what, n in seen if what == "result"] == [1, 2, 3, 4, 5, 6]
        assert seen[0] == ("status", 0)
        assert seen[-1] == ("status", 6)

    def test_stop_keeps_what_is_finished(self, frame):
        gate = Gate(after=3 * len(QUICK.ks))
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=6, clusterer=gate))
        session.start()
        assert gate.reached.wait(60)
        session.stop()
        assert session.status.phase == "stopped"
        gate.go.set()
        session.wait(60)
        assert session.result.n_subsamples == 3
        assert session.result.partial
        assert session.status.phase == "stopped"
        # The fourth subsample was told to stop at its next step.
        assert gate.calls < 5 * len(QUICK.ks)

    def test_stop_before_the_first_subsample(self, frame):
        gate = Gate(after=0)
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, clusterer=gate))
        session.start()
        assert gate.reached.wait(60)
        session.stop()
        gate.go.set()
        session.wait(60)
        assert session.result is None
        assert session.status.phase == "stopped"

    def test_stop_without_a_run_does_nothing(self, session):
        session.stop()
        assert session.status.phase == "idle"
        finish(session)
        session.stop()
        assert session.status.phase == "done"

    def test_a_new_run_takes_the_place_of_the_old_one(self, frame):
        gate = Gate(after=2 * len(QUICK.ks))
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=4, clusterer=gate))
        session.start()
        assert gate.reached.wait(60)
        session.change(clusterer="kmeans", n_subsamples=3)
        session.start()
        session.wait(60)
        gate.go.set()
        time.sleep(0.2)
        assert session.result.n_subsamples == 3
        assert session.result.plan.clusterer == "kmeans"
        assert session.status.phase == "done"

    def test_close_stops_and_tells_nobody(self, frame):
        gate = Gate(after=len(QUICK.ks))
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=50, clusterer=gate))
        heard = []
        session.start()
        assert gate.reached.wait(60)
        session.listen(heard.append)
        session.close()
        gate.go.set()
        session.wait(60)
        assert not heard
        assert gate.calls < 3 * len(QUICK.ks)

    def test_two_sessions_do_not_disturb_each_other(self, frame, blobs):
        one, two = Session(frame, QUICK), Session(frame * 2, Settings(ks=(2, 3), n_subsamples=5))
        one.start()
        two.start()
        one.wait(60)
        two.wait(60)
        assert one.result.ks == (2, 3, 4, 5)
        assert two.result.ks == (2, 3)
        np.testing.assert_array_equal(one.result.composite, select_k(blobs, ks=QUICK.ks, n_subsamples=6).composite)

    def test_time_left(self):
        assert Status("running", done=0, total=10, seconds=3).seconds_left is None
        assert Status("running", done=4, total=10, seconds=2).seconds_left == pytest.approx(3.0)

    def test_workers_give_the_same(self, frame, blobs):
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=6, n_jobs=2))
        np.testing.assert_array_equal(finish(session).composite, select_k(blobs, ks=QUICK.ks, n_subsamples=6).composite)


class TestErrors:
    def test_of_the_data_are_told(self, frame):
        holed = frame.copy()
        holed.loc[3, "b"] = np.nan
        session = Session(holed, QUICK)
        assert finish(session) is None
        assert session.status.phase == "failed"
        assert "missing values in 'b' (1)" in session.status.error

    def test_can_be_mended_and_run_again(self, frame):
        holed = frame.copy()
        holed.loc[3, "b"] = np.nan
        session = Session(holed, QUICK)
        finish(session)
        session.change(missing="drop")
        assert finish(session).preparation.n_dropped == 1
        assert session.status.error == ""

    def test_of_a_setting_name_it(self, session):
        session.change(sample_size="half")
        finish(session)
        assert session.status.error.startswith("sample_size must be")

    def test_of_a_clusterer_keep_the_finished_part(self, frame):
        calls = []

        def breaks(X, k, seed):
            calls.append(k)
            if len(calls) > 2 * len(QUICK.ks):
                raise RuntimeError("out of luck")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=6, clusterer=breaks))
        result = finish(session)
        assert session.status.phase == "failed"
        assert "out of luck" in session.status.error
        assert result.n_subsamples == 2

    def test_no_k_can_be_selected(self, frame):
        def always_one(X, k, seed):
            return np.zeros(len(X))

        session = Session(frame, Settings(scale=None, ks=(2, 3), clusterer=always_one, on_failure="skip"))
        finish(session)
        assert session.status.phase == "failed"
        assert session.status.error.startswith("No k of 2, 3 can be selected")

    def test_in_words(self):
        assert in_words(ValueError("ks must be\n  integers")) == "ks must be integers"
        assert in_words(MemoryError()) == "MemoryError"
        assert in_words(KeyError("x")) == "KeyError: 'x'"


class TestReading:
    def test_acts_at_once_without_computing(self, session):
        finish(session)
        raw = session._raw
        session.read(transform="step", rule="lcb", z=2.0, first=4)
        assert session._raw is raw
        expected = raw.reweigh(transform="step", rule="lcb", z=2.0, n_subsamples=4)
        np.testing.assert_array_equal(session.result.composite, expected.composite)
        assert session.result.rule == "lcb"
        assert session.result.n_subsamples == 4
        assert session.n_finished == 6

    def test_holds_for_the_next_run(self, session):
        session.read(rule="lcb")
        assert finish(session).rule == "lcb"

    def test_more_subsamples_than_there_are_means_all(self, session):
        session.read(first=100)
        assert finish(session).n_subsamples == 6

    def test_is_told_only_when_it_changes(self, session):
        heard = []
        session.listen(heard.append)
        session.read(rule="max")
        session.change(n_subsamples=6)
        assert not heard
        session.read(rule="lcb")
        session.change(n_subsamples=7)
        assert heard == ["result", "status"]

    def test_changed_settings_make_the_result_stale(self, session):
        finish(session)
        assert not session.stale
        session.change(scale="robust")
        assert session.stale
        session.change(scale=None)
        assert not session.stale


class TestClusterings:
    def test_are_those_of_the_accessor(self, session, frame):
        finish(session)
        session.clusterings.want(3)
        session.clusterings.wait(60)
        expected = frame.compsil.cluster(3, scale=None)
        np.testing.assert_array_equal(session.clusterings.get(3).labels, expected.to_numpy())

    def test_come_for_every_k(self, session):
        finish(session)
        told = []
        session.listen(told.append)
        session.clusterings.want(4)
        session.clusterings.wait(60)
        assert all(session.clusterings.get(k) is not None for k in QUICK.ks)
        assert told == ["clusters"] * len(QUICK.ks)

    def test_the_wanted_one_comes_first(self, session):
        finish(session)
        order = []
        session.listen(lambda _: order.append([k for k in QUICK.ks if session.clusterings.get(k) is not None]))
        session.clusterings.want(4)
        session.clusterings.wait(60)
        assert order[0] == [4]

    def test_large_data_are_sampled(self):
        X = np.random.default_rng(0).normal(size=(MOST_ROWS + 500, 2))
        session = Session(X, Settings(scale=None, ks=(2,), n_subsamples=1, sample_size=200))
        finish(session)
        session.clusterings.want(2)
        session.clusterings.wait(60)
        assert len(session.clusterings.get(2).labels) == MOST_ROWS
        assert session.clusterings.points.shape == (MOST_ROWS, 2)

    def test_clusterers_that_hold_all_pairs_get_no_more_than_a_subsample(self, blobs):
        settings = Settings(scale=None, ks=(2, 3), n_subsamples=2, sample_size=100, clusterer="agglomerative")
        session = Session(blobs, settings)
        finish(session)
        session.clusterings.want(2)
        session.clusterings.wait(60)
        assert len(session.clusterings.get(2).labels) == 100

    def test_a_failure_is_told_in_its_place(self, frame):
        def refuses_all(X, k, seed):
            if len(X) == len(frame):
                raise RuntimeError("too many rows")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        session = Session(frame, Settings(scale=None, ks=(2,), n_subsamples=2, sample_size=100, clusterer=refuses_all))
        finish(session)
        session.clusterings.want(2)
        session.clusterings.wait(60)
        assert session.clusterings.get(2) == "Clustering into k = 2 failed: too many rows"

    def test_of_distances_have_no_map(self, blobs):
        from sklearn.metrics import pairwise_distances

        session = Session(
            pairwise_distances(blobs),
            Settings(scale=None, ks=(2, 3), n_subsamples=2, clusterer="agglomerative", metric="precomputed"),
        )
        finish(session)
        session.clusterings.want(2)
        session.clusterings.wait(60)
        assert session.clusterings.projection is None
        assert session.clusterings.get(2).scores.micro > 0

    def test_close_ends_them(self, session):
        finish(session)
        clusterings = session.clusterings
        session.close()
        clusterings.want(3)
        assert clusterings.get(3) is None


class TestComparison:
    def test_is_that_of_compare(self, session, blobs):
        finish(session)
        session.compare()
        session.wait(120)
        expected = compare(blobs, ks=QUICK.ks, n_subsamples=6)
        assert session.comparison.choices == expected.choices
        assert session.comparing.phase == "done"

    def test_stop_leaves_none(self, session, monkeypatch):
        finish(session)
        session.listen(lambda what: what == "comparison" and session.comparing.done and session.stop_comparing())
        session.compare()
        session.wait(120)
        assert session.comparing.phase == "stopped"
        assert session.comparison is None

    def test_errors_are_told(self, frame):
        def refuses(X, k, seed):
            raise RuntimeError("no")

        session = Session(frame, Settings(scale=None, ks=(2, 3), clusterer=refuses))
        session.compare()
        session.wait(60)
        assert session.comparing.phase == "failed"
        assert "no" in session.comparing.error

    def test_a_new_run_forgets_it(self, session):
        finish(session)
        session.compare()
        session.wait(120)
        finish(session)
        assert session.comparison is None

    def test_the_report_holds_it(self, session, tmp_path):
        finish(session)
        plain = session.report(tmp_path / "plain.html").read_text()
        session.compare()
        session.wait(120)
        assert "Other criteria" not in plain
        assert "Other criteria" in session.report(tmp_path / "full.html").read_text()

    def test_no_report_before_a_result(self, session, tmp_path):
        with pytest.raises(ValueError, match="no result yet"):
            session.report(tmp_path / "none.html")


def execute(lines, **names):
    """Run generated code as a user would, and return what it leaves behind."""
    space = dict(names)
    exec(compile(lines, "generated", "exec"), space)  # the point of the test
    return space


class TestCode:
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_of_a_frame_gives_the_same(self, frame, scale, capsys):
        session = Session(
            frame, Settings(columns=("a", "c"), scale=scale, ks=(2, 3, 4), n_subsamples=5, random_state=3)
        )
        finish(session)
        session.read(rule="lcb", z=1.5, transform="linear")
        space = execute(code(session, "df", k=3), df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)
        np.testing.assert_array_equal(space["result"].lcb, session.result.lcb)
        session.clusterings.want(3)
        session.clusterings.wait(60)
        np.testing.assert_array_equal(space["labels"].to_numpy(), session.clusterings.get(3).labels)
        assert "k = " in capsys.readouterr().out

    @pytest.mark.parametrize("settings", [
        Settings(scale=None, ks=(2, 4, 6), n_subsamples=4),
        Settings(scale="robust", columns=(0, 2), ks=(2, 3), n_subsamples=4, clusterer="gmm", metric="manhattan"),
        Settings(scale=None, ks=(2, 3), n_subsamples=3, random_state=(5, 9, 11), sample_size=0.5),
        Settings(scale=None, ks=(2, 3), n_subsamples=3, n_calibration=2, on_failure="skip", n_jobs=2),
    ])  # fmt: skip
    def test_of_an_array_gives_the_same(self, blobs, settings):
        session = Session(blobs, settings)
        finish(session)
        space = execute(code(session, "X", k=2), X=blobs)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_a_sparse_matrix(self, blobs):
        X = sparse.csr_matrix(np.maximum(blobs, 0))
        session = Session(X, QUICK)
        finish(session)
        session.compare()
        session.wait(120)
        space = execute(code(session, "X", k=3), X=X)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)
        assert space["comparison"].choices == session.comparison.choices

    def test_of_polars(self, frame):
        import polars as pl

        data = pl.DataFrame({name: frame[name].to_numpy() for name in frame})
        session = Session(data, QUICK)
        finish(session)
        space = execute(code(session, "data"), data=data)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_one_column(self, frame):
        session = Session(frame["a"], QUICK)
        finish(session)
        space = execute(code(session, "s"), s=frame["a"])
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_an_estimator_imports_it(self, frame):
        session = Session(frame, Settings(scale=None, ks=(2, 3), n_subsamples=3, clusterer=KMeans(n_init=2)))
        finish(session)
        lines = code(session, "df")
        assert "from sklearn.cluster import KMeans" in lines
        np.testing.assert_array_equal(execute(lines, df=frame)["result"].composite, session.result.composite)

    def test_of_the_first_subsamples(self, session, frame):
        finish(session)
        session.read(first=4)
        space = execute(code(session, "df"), df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_says_that_a_run_is_not_finished(self, frame):
        gate = Gate(after=2 * len(QUICK.ks))
        session = Session(frame, Settings(scale=None, ks=QUICK.ks, n_subsamples=6, clusterer=gate))
        session.start()
        assert gate.reached.wait(60)
        session.stop()
        gate.go.set()
        session.wait(60)
        assert "# On show are 2 of these subsamples: the run is not finished." in code(session, "df")

    def test_awkward_column_names(self, frame):
        named = frame.set_axis(['say "hi"', "naïve\\path", ("two", "levels")], axis=1)
        session = Session(named, Settings(columns=tuple(named.columns[:2]), ks=(2, 3), n_subsamples=2))
        finish(session)
        space = execute(code(session, "df"), df=named)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_data_without_a_name_has_a_place_to_put_it(self, session, frame):
        finish(session)
        first, _, rest = code(session, None).partition("\n")
        assert first == "df = ...  # put the explorer's data here"
        np.testing.assert_array_equal(execute(rest, df=frame)["result"].composite, session.result.composite)

    def test_says_when_a_sample_is_on_show(self):
        X = np.random.default_rng(0).normal(size=(MOST_ROWS + 500, 2))
        session = Session(X, Settings(scale=None, ks=(2,), n_subsamples=1, sample_size=200))
        finish(session)
        assert "# All rows; a sample is on show." in code(session, "X", k=2)

    def test_is_about_what_is_on_show(self, session):
        finish(session)
        session.change(ks=(2, 3))
        assert "ks=range(2, 6)" in code(session, "df")
