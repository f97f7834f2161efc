"""The explorer's session, without widgets: runs, errors, choices of k, comparisons, stale threads and clusterings."""

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sessions import (
    KS,
    QUICK,
    Gate,
    cluster,
    compare,
    fail_after,
    finish,
    finished,
    on_all_rows,
    open_session,
    start,
)  # fmt: skip
from sklearn.metrics import pairwise_distances, silhouette_score
from waiting import PATIENCE, join, threads

import compsil_kit
import compsil_pandas  # noqa: F401  (for df.compsil)
from compsil_jupyter import display
from compsil_jupyter.session import Status, Task, describe_error
from compsil_jupyter.shown import Shown, comparison_settings
from compsil_kit import select_k


class TestRun:
    @pytest.mark.parametrize(
        ("settings", "n_steps"), [({"n_jobs": "auto"}, 6), ({"n_jobs": 2}, 6), ({"n_calibration": 2}, 8)]
    )
    def test_result_matches_select_k_and_grows_by_subsample(self, points, blobs, settings, n_steps):
        session = open_session(points, **QUICK, **settings)
        assert (session.result, session.status, session.stale) == (None, Status(), False)
        seen = []
        session.listen(lambda what: seen.append((what, session.n_finished, session.status.total)))
        result = finish(session)
        direct = select_k(blobs, **QUICK, **settings)
        np.testing.assert_array_equal(result.composite, direct.composite)
        assert (result.best_k, result.preparation.columns) == (direct.best_k, ("a", "b", "c"))
        assert (session.status.phase, session.status.done, session.status.total) == ("done", n_steps, n_steps)
        assert [n for what, n, _ in seen if what == "result"] == [1, 2, 3, 4, 5, 6]
        assert (seen[0], seen[-1]) == (("status", 0, n_steps), ("status", 6, n_steps))

    @pytest.mark.parametrize("n_finished", [0, 3])
    @pytest.mark.parametrize("act", ["stop", "close"])
    def test_stop_and_close_keep_the_finished_subsamples(self, points, n_finished, act):
        gate, heard = Gate(after=n_finished * len(KS)), []
        session = open_session(points, **QUICK, clusterer=gate)
        start(session, gate)
        session.listen(heard.append)
        getattr(session, act)()
        assert session.status.phase == "stopped"
        gate.go.set()
        session.wait(PATIENCE)
        assert session.status.phase == "stopped"
        assert session.n_finished == n_finished
        assert bool(heard) == (act == "stop")
        assert gate.calls < (n_finished + 2) * len(KS)

    def test_stop_without_a_run_does_nothing(self, session):
        session.stop()
        assert session.status.phase == "idle"
        finish(session)
        session.stop()
        assert session.status.phase == "done"

    def test_compilation_is_announced_before_the_first_subsample(self, session, monkeypatch):
        monkeypatch.setattr("compsil_jupyter.session.compile_notice", lambda plan, data: "Compiling")
        seen = []
        session.listen(lambda _: seen.append(display.format_progress(session)))
        finish(session)
        assert any("Compiling" in text for text in seen)
        assert "Compiling" not in seen[-1]


class TestErrors:
    def test_data_errors_can_be_fixed(self, points):
        session = open_session(points.mask((points.index == 3)[:, None] & (points.columns == "b")), **QUICK)
        assert finish(session) is None
        assert session.status.phase == "failed"
        assert "missing values in 'b' (1)" in session.status.error
        session.change(missing="drop")
        assert finish(session).preparation.n_dropped == 1
        assert session.status.error == ""

    @pytest.mark.parametrize(
        ("settings", "error", "n_finished"),
        [
            ({"sample_size": "half"}, "sample_size must be", 0),
            ({"n_subsamples": 1}, "n_subsamples with rule='lcb' must", 0),
            ({"clusterer": fail_after(2 * len(KS))}, "clustering into k=2 failed on subsample 2", 2),
            ({"clusterer": lambda X, k, seed: np.zeros(len(X)), "on_failure": "skip"}, "No k of 2..5 can be", 6),
        ],
    )
    def test_errors_keep_the_finished_subsamples(self, session, settings, error, n_finished):
        session.read(rule="lcb")
        session.change(**settings)
        finish(session)
        assert session.status.phase == "failed"
        assert session.status.error.startswith(error)
        assert session.n_finished == n_finished

    @pytest.mark.parametrize("n_finished", [0, 2])
    def test_a_failed_run_restores_the_previous_result(self, session, n_finished):
        before = finish(session)
        comparison, clusterings = compare(session), session.shown.clusterings
        session.change(clusterer=fail_after(n_finished * len(KS)))
        assert finish(session) is before
        assert (session.status.phase, session.status.done) == ("failed", n_finished)
        assert (session.shows_previous, session.stale) == (True, False)
        assert session.shown.comparison is comparison
        # The run paused the clusterings; a request resumes the computation.
        clusterings.prioritise(3)
        clusterings.wait(PATIENCE)
        assert clusterings.found.get(3) is not None
        session.change(clusterer="kmeans")
        assert finish(session) is not before
        assert not session.shows_previous

    def test_errors_are_described_on_one_line(self):
        assert describe_error(ValueError("ks must be\n  integers")) == "ks must be integers"
        assert describe_error(OSError("as it is")) == "as it is"
        assert describe_error(MemoryError()) == "MemoryError"
        assert describe_error(KeyError("x")) == "KeyError: 'x'"


class TestChoice:
    def test_changes_take_effect_without_a_run(self, session):
        raw = finish(session)
        session.read(transform="step", rule="lcb", z=2.0, first=4)
        expected = raw.reweigh(transform="step", rule="lcb", z=2.0, n_subsamples=4)
        np.testing.assert_array_equal(session.result.lcb, expected.lcb)
        assert (session.result.rule, session.result.n_subsamples) == ("lcb", 4)
        assert (session.n_finished, session.status.done) == (6, 6)
        session.read(first=100)
        assert session.result.n_subsamples == 6
        assert finish(session).rule == "lcb"

    def test_listeners_are_notified_only_of_changes(self, session):
        heard = []
        session.listen(heard.append)
        session.read(rule="max")
        session.change(n_subsamples=6)
        assert not heard
        session.read(rule="lcb")
        session.change(n_subsamples=7)
        assert heard == ["result", "status"]

    def test_a_criterion_with_several_initialisations_needs_another_run(self, session):
        finish(session)
        assert not session.needs_initialisations
        session.read(criterion="likely")
        assert session.result.criterion == "likely"
        assert (session.needs_initialisations, session.stale) == (True, False)
        session.change(scale="robust")
        assert session.stale
        session.change(scale=None)
        assert not session.stale
        assert finish(session).plan.n_starts == 5
        assert not session.needs_initialisations
        # Every run includes the scores of the first initialisation.
        session.read(criterion="composite")
        assert not session.needs_initialisations
        assert session.result.plan.n_starts == 5


class TestComparison:
    @pytest.mark.parametrize("after_run", [True, False])
    def test_the_comparison_matches_the_compare_function(self, session, blobs, after_run):
        if after_run:
            finish(session)
        else:
            session.change(ks=(2, 3))
        heard = []
        session.listen(lambda what: heard.append((what, session.comparing.phase, session.comparing.done)))
        expected = compsil_kit.compare(blobs, ks=KS if after_run else (2, 3), n_subsamples=6)
        assert compare(session).choices == expected.choices
        assert (heard[0], heard[-1]) == (("comparison", "running", 0), ("comparison", "done", session.comparing.total))
        assert session.comparing.total > 6
        assert session.comparing.seconds > 0

    @pytest.mark.parametrize(("steps", "kept"), [(1, None), (7, ["composite", "micro", "macro"])])
    def test_stop_keeps_the_finished_criteria(self, session, steps, kept):
        finish(session)
        session.listen(lambda _: session.comparing.done >= steps and session.stop_comparing())
        found = compare(session)
        assert session.comparing.phase == "stopped"
        assert (None if found is None else [criterion.name for criterion in found.criteria]) == kept

    @pytest.mark.parametrize("act", ["close", "compare", "start"])
    def test_another_task_stops_the_comparison(self, points, act):
        gate = Gate()
        session = open_session(points, ks=KS, n_subsamples=3, clusterer=gate)
        session.compare()
        assert gate.reached.wait(PATIENCE)
        first = session._comparing
        getattr(session, act)()
        assert first.stop.is_set()
        session.close()
        gate.go.set()
        join([first.thread])
        session.wait(PATIENCE)

    def test_errors_are_reported(self, points):
        session = open_session(points, ks=(2, 3), clusterer=fail_after(0))
        compare(session)
        assert session.comparing.phase == "failed"
        assert "out of luck" in session.comparing.error

    def test_comparison_is_kept_until_the_settings_of_the_result_change(self, session):
        finish(session)
        found = compare(session)
        finish(session)
        assert (session.shown.comparison, session.comparing) == (found, Status())
        gate = Gate()
        session.change(clusterer=gate)
        start(session, gate)
        # The displayed result and the comparison still use k-means; a new result stops the comparison.
        session.listen(lambda _: session.comparing.done and gate.go.set())
        session.compare()
        join(threads("compsil-explorer"))
        assert session.result.plan.clusterer == "Gate"
        assert (session.shown.comparison, session.comparing) == (None, Status())

    @pytest.mark.parametrize("seeds", [None, range(5)])
    def test_comparison_uses_the_subsamples_of_the_result(self, blobs, seeds):
        session = open_session(blobs, ks=(2, 3), n_subsamples=3, n_calibration=2, random_state=seeds)
        result = finish(session)
        assert compare(session).plan.seeds == result.plan.seeds[:3]

    def test_report_includes_the_comparison(self, session, tmp_path):
        with pytest.raises(ValueError, match="no result yet"):
            session.report(tmp_path / "none.html")
        finish(session)
        assert "Other criteria" not in session.report(tmp_path / "plain.html").read_text()
        compare(session)
        assert "Other criteria" in session.report(tmp_path / "full.html").read_text()

    @pytest.mark.parametrize(
        ("data", "metric", "limited"),
        [(np.eye(3), "euclidean", False), (np.eye(3), "precomputed", True), (sparse.eye(3), "euclidean", True)],
    )
    def test_criteria_that_need_points_are_omitted_without_points(self, data, metric, limited):
        found = comparison_settings(data, Shown({"metric": metric, "n_subsamples": 3, "random_state": 0}))
        expected = ["composite", "micro", "macro", "full-micro", "full-macro"] if limited else "all"
        assert found.get("criteria", "all") == expected


class TestStaleThreads:
    """A run or a comparison has no effect if it ends after a newer one has started."""

    @pytest.fixture
    def gates(self, session):
        """Gates that are opened before the session is closed."""
        gates = [Gate(), Gate()]
        yield gates
        for gate in gates:
            gate.go.set()

    def hold(self, session, held, fail_at):
        """Start a run that fails at a given call and blocks at a gate when it reports a result; return its thread."""
        session.change(clusterer=fail_after(fail_at))
        session.listen(lambda what: what == "result" and held.block())
        start(session, held)
        # Once the workers have ended, the remaining results are ready for the blocked thread.
        join(threads("compsil"))
        return threads("compsil-explorer")

    @pytest.mark.parametrize(("held_at", "calls"), [(1, 100), (6, 100), (1, len(KS))], ids=["result", "end", "error"])
    def test_an_old_run_does_not_affect_a_new_run(self, session, gates, held_at, calls):
        held, new = gates
        held.after, new.after = held_at - 1, len(KS)
        old = self.hold(session, held, calls)
        session._listeners.clear()
        first = threading.Event()
        session.change(clusterer=new, n_subsamples=3)
        session.listen(lambda what: what == "result" and first.set())
        start(session, new)
        assert first.wait(PATIENCE)
        held.go.set()
        join(old)
        assert (session.result.plan.n_subsamples, session.result.n_subsamples) == (3, 1)
        status = session.status
        assert (status.phase, status.done, status.total, status.error) == ("running", 1, 3, "")
        new.go.set()
        session.wait(PATIENCE)
        assert (session.status.phase, session.result.n_subsamples) == ("done", 3)

    def test_an_old_run_that_fails_does_not_change_the_displayed_result(self, session, gates):
        held, new = gates
        finish(session)
        old = self.hold(session, held, len(KS))
        session.change(clusterer=new, n_subsamples=2)
        start(session, new)
        before = session.shown
        assert before.result.n_subsamples == 1
        held.go.set()
        join(old)
        assert session.shown is before
        assert (session.status.phase, session.status.error) == ("running", "")

    def test_an_old_comparison_does_not_affect_a_new_comparison(self, session, gates):
        old_gate, new_gate = gates
        calls = itertools.count()

        def clusterer(X, k, seed):
            if next(calls) == 0:
                old_gate.block()
                raise RuntimeError("too late")
            return new_gate(X, k, seed)

        session.change(clusterer=clusterer)
        session.compare()
        assert old_gate.reached.wait(PATIENCE)
        old = threads("compsil-explorer")
        session.compare()
        assert new_gate.reached.wait(PATIENCE)
        old_gate.go.set()
        join(old)
        assert (session.comparing.phase, session.comparing.error) == ("running", "")
        new_gate.go.set()
        session.wait(PATIENCE)
        assert (session.comparing.phase, session.comparing.error) == ("done", "")
        assert set(session.shown.comparison.choices) >= {"composite", "micro"}


def test_a_task_is_a_daemon_and_measures_time(monkeypatch):
    clock = iter([5.0, 8.0])
    monkeypatch.setattr("compsil_jupyter.session.time", SimpleNamespace(monotonic=lambda: next(clock)))
    task = Task("status", {}, lambda task: None, total=10)
    assert (task.thread.daemon, task.status.seconds_left) == (True, None)
    task.update(done=4)
    assert (task.status.seconds, task.status.seconds_left) == (3.0, 4.5)


def found(clusterings):
    return [k for k in KS if clusterings.found.get(k) is not None]


@pytest.mark.parametrize(("k", "metric"), [(3, "euclidean"), (9, "manhattan")])
def test_labels_match_the_accessor(points, k, metric):
    session = finished(points, ks=(k,), n_subsamples=2, metric=metric)
    clustering = cluster(session, k)
    expected = points.compsil.cluster(k, scale=None, metric=metric).to_numpy()
    np.testing.assert_array_equal(clustering.labels, expected)
    assert clustering.scores.micro == pytest.approx(silhouette_score(points, expected, metric=metric))
    assert not session.shown.clusterings.sampled


def test_all_clusterings_are_computed_starting_with_the_requested_k(session):
    finish(session)
    heard = []
    session.listen(lambda what: heard.append((what, found(session.shown.clusterings))))
    cluster(session, 4)
    assert heard[0] == ("clusters", [4])
    assert heard[-1] == ("clusters", list(KS))
    assert len(heard) == len(KS)


def test_large_data_are_sampled():
    X = np.random.default_rng(0).normal(size=(10_001, 2))
    session = finished(X, ks=(2,), n_subsamples=1, sample_size=200)
    assert len(cluster(session, 2).labels) == 10_000
    clusterings = session.shown.clusterings
    assert len(np.unique(clusterings.points, axis=0)) == 10_000
    assert clusterings.projection[0].shape == (10_000, 2)
    assert (clusterings.n_rows, clusterings.sampled) == (10_001, True)


def test_pairwise_clusterers_get_one_subsample_and_distances_have_no_map(blobs):
    precomputed = {"clusterer": "agglomerative", "metric": "precomputed"}
    session = finished(pairwise_distances(blobs), ks=(2, 3), n_subsamples=2, sample_size=100, **precomputed)
    found = cluster(session, 2)
    assert (len(found.labels), found.scores.micro > 0) == (100, True)
    assert session.shown.clusterings.projection is None


def test_an_error_replaces_the_clustering(points):
    def fail(k):
        raise RuntimeError("too many rows")

    clusterer = on_all_rows(len(points), fail)
    session = finished(points, ks=(2,), n_subsamples=2, sample_size=100, clusterer=clusterer)
    assert cluster(session, 2) == "Clustering into k = 2 failed: too many rows"


@pytest.mark.parametrize(("end", "then"), [("close", [3]), ("pause", list(KS))])
def test_closing_and_pausing_finish_the_current_clustering(points, end, then):
    gate = Gate()
    clusterer = on_all_rows(len(points), lambda k: gate.block())
    session = finished(points, ks=KS, n_subsamples=2, sample_size=100, clusterer=clusterer)
    clusterings = session.shown.clusterings
    clusterings.prioritise(3)
    assert gate.reached.wait(PATIENCE)
    # Closing a session closes its clusterings.
    session.close() if end == "close" else clusterings.pause()
    gate.go.set()
    clusterings.wait(PATIENCE)
    assert found(clusterings) == [3]
    cluster(session, 3)
    assert found(clusterings) == then
