"""The session behind the explorer, without any widget: runs, stopping, errors, choosing, comparing."""

import re
import threading
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import made_up
from scipy import sparse
from sessions import KS, QUICK, Gate, finish, settings
from sklearn.cluster import KMeans
from waiting import PATIENCE, join, threads

from compsil_jupyter import display
from compsil_jupyter.session import Session, available_criteria, describe_error
from compsil_jupyter.state import Reading, Shown, Status, Task
from compsil_kit import compare, select_k
from compsil_kit._criteria.compare import NEED_POINTS
from compsil_kit._method.selection import MULTI_INIT_CRITERIA
from compsil_kit._result.trials import Failure
from compsil_kit._settings.keywords import ChoiceKeywords, defaults_of
from compsil_kit._settings.rules import CRITERIA


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"])


@pytest.fixture
def session(frame):
    opened = Session(frame, QUICK)
    yield opened
    opened.close()
    opened.wait(PATIENCE)


class TestRun:
    def test_gives_what_select_k_gives(self, session, blobs):
        result = finish(session)
        direct = select_k(blobs, ks=KS, n_subsamples=6)
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
        gate = Gate(after=3 * len(KS))
        session = Session(frame, settings(ks=KS, n_subsamples=6, clusterer=gate))
        session.start()
        assert gate.reached.wait(PATIENCE)
        session.stop()
        assert session.status.phase == "stopped"
        gate.go.set()
        session.wait(PATIENCE)
        assert session.result.n_subsamples == 3
        assert session.result.partial
        assert session.status.phase == "stopped"
        # The fourth subsample was told to stop at its next step.
        assert gate.calls < 5 * len(KS)

    def test_stop_before_the_first_subsample(self, frame):
        gate = Gate(after=0)
        session = Session(frame, settings(ks=KS, clusterer=gate))
        session.start()
        assert gate.reached.wait(PATIENCE)
        session.stop()
        gate.go.set()
        session.wait(PATIENCE)
        assert session.result is None
        assert session.status.phase == "stopped"

    def test_stop_without_a_run_does_nothing(self, session):
        session.stop()
        assert session.status.phase == "idle"
        finish(session)
        session.stop()
        assert session.status.phase == "done"

    def test_a_late_result_of_an_old_run_is_ignored(self, session):
        held, go = threading.Event(), threading.Event()

        def hold_once(what):
            if what == "result" and not held.is_set():
                held.set()
                assert go.wait(PATIENCE)

        session.listen(hold_once)
        session.start()
        assert held.wait(PATIENCE)
        # All other results of this run are ready, and its thread is held before it can take them.
        join(threads("compsil"))
        old = threads("compsil-explorer")
        session.change(n_subsamples=3)
        session.start()
        session.wait(PATIENCE)
        new, status = session.result, session.status
        go.set()
        join(old)
        assert session.result is new
        assert session.status == status
        assert (new.plan.n_subsamples, status.phase, status.done) == (3, "done", 3)

    def test_close_stops_and_tells_nobody(self, frame):
        gate = Gate(after=len(KS))
        session = Session(frame, settings(ks=KS, n_subsamples=50, clusterer=gate))
        heard = []
        session.start()
        assert gate.reached.wait(PATIENCE)
        session.listen(heard.append)
        session.close()
        gate.go.set()
        session.wait(PATIENCE)
        assert not heard
        assert gate.calls < 3 * len(KS)

    def test_two_sessions_do_not_disturb_each_other(self, frame, blobs):
        one, two = Session(frame, QUICK), Session(frame * 2, settings(ks=(2, 3), n_subsamples=5))
        one.start()
        two.start()
        one.wait(PATIENCE)
        two.wait(PATIENCE)
        assert one.result.ks == (2, 3, 4, 5)
        assert two.result.ks == (2, 3)
        np.testing.assert_array_equal(one.result.composite, select_k(blobs, ks=KS, n_subsamples=6).composite)

    def test_subsamples_for_calibration_count_as_steps(self, blobs):
        session = Session(blobs, settings(ks=(2, 3), n_subsamples=3, n_calibration=2))
        finish(session)
        assert (session.status.done, session.status.total, session.n_finished) == (5, 5, 3)

    def test_time_left(self):
        assert Status("running", done=0, total=10, seconds=3).seconds_left is None
        assert Status("running", done=4, total=10, seconds=2).seconds_left == pytest.approx(3.0)

    def test_workers_give_the_same(self, frame, blobs):
        session = Session(frame, settings(ks=KS, n_subsamples=6, n_jobs=2))
        np.testing.assert_array_equal(finish(session).composite, select_k(blobs, ks=KS, n_subsamples=6).composite)


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
            if len(calls) > 2 * len(KS):
                raise RuntimeError("out of luck")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        session = Session(frame, settings(ks=KS, n_subsamples=6, clusterer=breaks))
        result = finish(session)
        assert session.status.phase == "failed"
        assert "out of luck" in session.status.error
        assert result.n_subsamples == 2

    def test_no_k_can_be_selected(self, frame):
        def always_one(X, k, seed):
            return np.zeros(len(X))

        session = Session(frame, settings(ks=(2, 3), clusterer=always_one, on_failure="skip"))
        finish(session)
        assert session.status.phase == "failed"
        assert session.status.error.startswith("No k of 2, 3 can be selected")

    def test_a_combination_that_the_engine_refuses(self, session):
        session.change(n_subsamples=1)
        session.read(rule="lcb")
        finish(session)
        assert session.status.phase == "failed"
        assert session.status.error.startswith("n_subsamples with rule='lcb' must be an integer of at least 2")

    @pytest.mark.parametrize("after", [0, 2], ids=["at once", "after two subsamples"])
    def test_the_finished_result_before_a_failed_run_stays(self, session, after):
        calls = []

        def breaks(X, k, seed):
            calls.append(k)
            if len(calls) > after * len(KS):
                raise RuntimeError("out of luck")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        before = finish(session)
        session.compare()
        session.wait(PATIENCE)
        comparison, clusterings = session.comparison, session.clusterings
        session.change(clusterer=breaks)
        assert finish(session) is before
        assert (session.status.phase, session.status.done) == ("failed", after)
        assert "out of luck" in session.status.error
        assert session.shows_previous
        assert not session.stale
        assert session.comparison is comparison
        # Clusterings were paused by the run, and go on when they are asked for.
        session.clusterings.prioritise(3)
        session.clusterings.wait(PATIENCE)
        assert clusterings.get(3) is not None
        session.change(clusterer="kmeans")
        assert finish(session) is not before
        assert not session.shows_previous

    def test_the_result_before_a_run_stays_until_there_is_a_new_one(self, session):
        before = finish(session)
        gate = Gate(after=0)
        session.change(clusterer=gate)
        session.start()
        assert gate.reached.wait(PATIENCE)
        assert session.result is before
        assert session.shows_previous
        session.stop()
        gate.go.set()
        session.wait(PATIENCE)
        assert session.result is before
        assert session.status.phase == "stopped"

    def test_in_one_line(self):
        assert describe_error(ValueError("ks must be\n  integers")) == "ks must be integers"
        for kind in (TypeError, RuntimeError, ImportError, OSError):
            assert describe_error(kind("as it is")) == "as it is"
        assert describe_error(MemoryError()) == "MemoryError"
        assert describe_error(KeyError("x")) == "KeyError: 'x'"


@pytest.mark.parametrize(
    ("data", "metric", "all_of_them"),
    [(np.eye(3), "euclidean", True), (np.eye(3), "precomputed", False), (sparse.eye_array(3), "euclidean", False)],
)
def test_criteria_that_need_points_are_left_out_where_there_are_none(data, metric, all_of_them):
    found = available_criteria(data, settings(metric=metric))
    if all_of_them:
        assert found == "all"
    else:
        assert found == [name for name in CRITERIA if name not in NEED_POINTS]


class TestReading:
    def test_acts_at_once_without_computing(self, session):
        raw = finish(session)
        session.read(transform="step", rule="lcb", z=2.0, first=4)
        assert session.status.done == 6
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

    def test_another_criterion_chooses_at_once(self, session):
        finish(session)
        raw = session.shown.result
        session.read(criterion="likely")
        assert session.result.criterion == "likely"
        assert session.result.best_k == raw.reweigh(criterion="likely").best_k
        assert session.shown.result is raw
        assert not session.stale

    def test_a_criterion_of_several_starts_asks_for_another_run(self, session):
        finish(session)
        assert not session.needs_initialisations
        session.read(criterion="stable")
        assert session.needs_initialisations
        assert "best of several initialisations. Press Run" in display.format_progress(session)
        assert finish(session).plan.n_starts == 5
        assert not session.needs_initialisations
        # The paper's score is that of the first start, so there is nothing to compute for it.
        session.read(criterion="composite")
        assert not session.needs_initialisations
        assert session.result.plan.n_starts == 5

    @pytest.mark.parametrize("given", [{"clusterer": "birch"}, {"n_starts": 1}, {"n_starts": 2}])
    def test_starts_that_were_asked_for_are_enough(self, frame, given):
        session = Session(frame, settings(ks=KS, n_subsamples=2, **given))
        finish(session)
        session.read(criterion="stable")
        assert not session.needs_initialisations

    def test_a_rule_that_the_criterion_does_not_know_is_told(self, session):
        session.read(rule="lcb")
        finish(session)
        session.read(criterion="likely")
        assert session.result._best_index is None
        assert "a confidence has no lower bound" in display.format_problem(session)

    def test_changed_settings_make_the_result_stale(self, session):
        finish(session)
        assert not session.stale
        session.change(scale="robust")
        assert session.stale
        session.change(n_subsamples=7)
        session.change(scale=None, n_subsamples=6)
        assert not session.stale


def test_a_run_that_begins_by_compiling_says_so(session, monkeypatch):
    monkeypatch.setattr("compsil_jupyter.session.first_words", lambda request: "Compiling <first>")
    seen = []
    session.listen(lambda _: seen.append(display.format_progress(session)))
    finish(session)
    assert any("Compiling &lt;first&gt;" in text for text in seen)
    assert "Compiling" not in seen[-1]


class TestComparison:
    def test_is_that_of_compare(self, session, blobs):
        finish(session)
        session.compare()
        session.wait(PATIENCE)
        expected = compare(blobs, ks=KS, n_subsamples=6)
        assert session.comparison.choices == expected.choices
        assert session.comparing.phase == "done"

    def test_stop_leaves_none(self, session, monkeypatch):
        finish(session)
        session.listen(lambda what: what == "comparison" and session.comparing.done and session.stop_comparing())
        session.compare()
        session.wait(PATIENCE)
        assert session.comparing.phase == "stopped"
        assert session.comparison is None

    def test_stop_keeps_the_criteria_that_are_finished(self, session):
        finish(session)
        n_subsamples = session.settings["n_subsamples"]
        session.listen(lambda _: session.comparing.done >= n_subsamples + 1 and session.stop_comparing())
        session.compare()
        session.wait(PATIENCE)
        assert session.comparing.phase == "stopped"
        assert [criterion.name for criterion in session.comparison.criteria] == ["composite", "micro", "macro"]
        assert "Only the finished criteria are shown" in display.format_comparison(
            session.comparing, session.comparison
        )

    def test_a_new_run_drops_what_a_stopped_comparison_has_found(self, session):
        finish(session)
        session.compare()
        session.start()
        join(threads("compsil-explorer"))
        assert (session.comparing, session.comparison) == (Status(), None)

    @pytest.mark.parametrize("act", ["close", "compare", "start"])
    def test_is_stopped_by_the_end_another_or_a_run(self, frame, act):
        gate = Gate(after=0)
        session = Session(frame, settings(ks=KS, n_subsamples=3, clusterer=gate))
        session.compare()
        assert gate.reached.wait(PATIENCE)
        first = session._comparing
        getattr(session, act)()
        assert first.stop.is_set()
        session.close()
        gate.go.set()
        join([first.thread])
        session.wait(PATIENCE)

    def test_tells_of_its_steps_and_its_end(self, session):
        finish(session)
        heard = []
        session.listen(lambda what: heard.append((what, session.comparing.phase, session.comparing.done)))
        session.compare()
        session.wait(PATIENCE)
        assert heard[0] == ("comparison", "running", 0)
        assert heard[-1] == ("comparison", "done", session.comparing.total)
        assert session.comparing.total > 6
        assert session.comparing.seconds > 0

    def test_needs_no_run_before_it(self, session, blobs):
        session.change(ks=(2, 3))
        session.compare()
        session.wait(PATIENCE)
        assert session.comparison.choices == compare(blobs, ks=(2, 3), n_subsamples=6).choices

    def test_errors_are_told(self, frame):
        def refuses(X, k, seed):
            raise RuntimeError("no")

        session = Session(frame, settings(ks=(2, 3), clusterer=refuses))
        session.compare()
        session.wait(PATIENCE)
        assert session.comparing.phase == "failed"
        assert "no" in session.comparing.error

    def test_belongs_to_the_settings_of_the_result(self, session):
        finish(session)
        session.compare()
        session.wait(PATIENCE)
        found = session.comparison
        finish(session)
        assert session.comparison is found
        session.change(ks=(2, 3))
        finish(session)
        assert session.comparison is None
        assert session.comparing == Status()

    def test_of_other_settings_is_stopped_by_a_new_result(self, session, blobs):
        finish(session)
        gate = Gate(after=0)
        session.change(clusterer=gate)
        session.start()
        assert gate.reached.wait(PATIENCE)
        # The result shown is still that of k-means, and so is what is compared.
        session.listen(lambda what: session.comparing.done and gate.go.set())
        session.compare()
        join(threads("compsil-explorer"))
        assert session.result.plan.clusterer == "Gate"
        assert session.comparison is None
        assert session.comparing == Status()

    @pytest.mark.parametrize("seeds", [None, range(5)])
    def test_on_the_subsamples_of_the_result(self, blobs, seeds):
        session = Session(blobs, settings(ks=(2, 3), n_subsamples=3, n_calibration=2, random_state=seeds))
        result = finish(session)
        session.compare()
        session.wait(PATIENCE)
        assert session.comparison.plan.seeds == result.plan.seeds[:3]

    def test_the_report_holds_it(self, session, tmp_path):
        finish(session)
        plain = session.report(tmp_path / "plain.html").read_text()
        session.compare()
        session.wait(PATIENCE)
        assert "Other criteria" not in plain
        assert "Other criteria" in session.report(tmp_path / "full.html").read_text()

    def test_no_report_before_a_result(self, session, tmp_path):
        with pytest.raises(ValueError, match="no result yet"):
            session.report(tmp_path / "none.html")


def test_a_task_does_not_hold_up_the_end_of_the_program():
    assert Task(settings(), lambda task: None).thread.daemon


def test_a_task_counts_the_seconds_since_it_was_made(monkeypatch):
    clock = iter([5.0, 8.0])
    monkeypatch.setattr("compsil_jupyter.state.time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert Task(settings(), lambda task: None).seconds == 3.0


@pytest.mark.parametrize(("given", "repeats"), [(7, 7), (None, (4, 5)), (range(4, 6), (4, 5))])
def test_what_repeats_the_subsamples(given, repeats):
    done = SimpleNamespace(plan=SimpleNamespace(seeds=(4, 5)))
    assert Shown({"random_state": given}, result=done).random_state == repeats
    assert Shown({"random_state": given}).random_state is given


def test_defaults_of_a_reading_and_of_a_status(frame):
    assert Reading() == Reading(defaults_of(ChoiceKeywords), delta=0.05, first=None)
    assert Status() == Status("idle", 0, 0, 0.0, "", "")
    assert Session(frame, QUICK).reading == Reading()
    given = Reading(delta=0.01)
    assert Session(frame, QUICK, given).reading is given


def at_rest(result, **state):
    """A session that shows a result, after two of eight subsamples and three seconds."""
    usual = {"running": False, "shows_previous": False, "stale": False, "needs_initialisations": False}
    return SimpleNamespace(result=result, **({"status": Status("idle", 2, 8, 3.0)} | usual | state))


def words(markup):
    """What a page shows of it, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


class TestTexts:
    """What the explorer says of given numbers."""

    @pytest.mark.parametrize(("n_failed", "more"), [(0, ""), (20, ""), (21, "… and 1 more"), (50, "… and 30 more")])
    def test_failures_are_listed_up_to_twenty(self, n_failed, more):
        rows = np.full((2, 60), 0.5)
        failures = tuple(Failure(3, at, at, "no <luck>") for at in range(n_failed))
        said = display.format_table(made_up(rows, rows, failures=failures))
        assert said.count("no &lt;luck&gt;") == min(n_failed, 20)
        assert ("Failed clusterings" in said) == (n_failed > 0)
        assert said.count("… and") == bool(more)
        assert more in said
        assert "60 subsamples of 800 of 1,000 rows" in said

    def test_the_bound_says_whether_it_is_strict_and_what_it_proves(self):
        near, far = np.full((2, 400), 0.5), np.array([[0.9] * 400, [0.1] * 400])
        loose = display.format_guarantee(made_up(far, far), 0.05)
        assert "With probability 0.95, every score is within ±0.15 of its expected value (approximately;" in loose
        assert "Proving the lead of 0.800 would take 55 subsamples." in loose
        strict = display.format_guarantee(made_up(far, far, calibration=np.zeros((2, 3))), 0.01)
        assert "With probability 0.99" in strict
        assert "expected value. The lead of 0.800 is proven." in strict
        assert "lead" not in display.format_guarantee(made_up(near, near), 0.05)
        nothing = np.full((2, 4), np.nan)
        assert display.format_guarantee(made_up(nothing, nothing), 0.05) == ""
        for criterion in MULTI_INIT_CRITERIA:
            assert f"not to the criterion {criterion}." in display.format_guarantee(
                SimpleNamespace(_best_index=0, criterion=criterion), 0.05
            )

    @pytest.mark.parametrize(
        ("facts", "state", "said"),
        [
            ({}, {}, "k* = 3 confidence 93 % · selection probability 71 % · score 0.5000 ± 0.0200 macro: 2"),
            ({"confidence": [np.nan], "selection_probability": [np.nan], "sem": [np.nan]}, {},
             "k* = 3 score 0.5000 macro: 2"),
            ({"rule": "lcb", "selection_probability": [np.nan], "choices": {}}, {},
             "k* = 3 confidence 93 % · score 0.5000 ± 0.0200, lower bound 0.4800"),
            ({"criterion": "likely"}, {}, "k* = 3 confidence 93 % · selection probability 71 % composite: 3, macro: 2"),
            ({"partial": True, "criterion": "likely", "choices": {}}, {},
             "k* = 3 confidence 93 % · selection probability 71 % · partial result"),
            ({"partial": True, "criterion": "likely", "choices": {}}, {"running": True},
             "k* = 3 confidence 93 % · selection probability 71 % · 2 of 8 subsamples finished"),
            ({"criterion": "likely", "choices": {}}, {"running": True, "shows_previous": True},
             "k* = 3 confidence 93 % · selection probability 71 % · previous result"),
            ({"structure": SimpleNamespace(found=False, verdict="No <clusters>."), "choices": {}}, {},
             "No <clusters>. k* = 3 confidence 93 % · selection probability 71 % · score 0.5000 ± 0.0200"),
            ({"_best_index": None}, {}, "no k can be selected"),
            ({"_best_index": None}, {"running": True}, "no k can be selected yet"),
        ],
    )  # fmt: skip
    def test_the_headline(self, facts, state, said):
        result = {
            "_best_index": 0, "best_k": 3, "best_score": 0.5, "criterion": "composite", "rule": "max", "partial": False,
            "structure": None, "confidence": [0.93], "selection_probability": [0.71], "sem": [0.02], "lcb": [0.48],
            "choices": {"composite": 3, "micro": None, "macro": 2},
        }  # fmt: skip
        shown = display.format_headline(at_rest(SimpleNamespace(**(result | facts)), **state))
        assert words(shown) == said

    def test_the_headline_before_there_is_a_result(self):
        assert (
            words(display.format_headline(at_rest(None))) == "Press Run . The curve appears after the first subsample."
        )
        assert words(display.format_headline(at_rest(None, running=True))) == "Waiting for the first subsample …"

    def test_problems_are_told_once_the_run_has_ended(self):
        unclear = SimpleNamespace(_best_index=None, explain=lambda: "No <k>.")
        assert words(display.format_problem(at_rest(unclear))) == "No <k>."
        for fine in (at_rest(None), at_rest(unclear, running=True), at_rest(SimpleNamespace(_best_index=0))):
            assert display.format_problem(fine) == ""
        failed = {"status": Status("failed", error="no <luck>")}
        assert words(display.format_problem(at_rest(unclear, **failed))) == "no <luck>"
        kept = "no <luck> The result of the previous run is still shown."
        assert words(display.format_problem(at_rest(None, shows_previous=True, **failed))) == kept

    def test_warnings_wait_for_the_end_of_a_run(self):
        found = SimpleNamespace(warnings=["two <odd> columns.", "three rows."])
        assert words(display.format_warnings(at_rest(found))) == "Two <odd> columns. Three rows."
        assert display.format_warnings(at_rest(found, running=True)) == display.format_warnings(at_rest(None)) == ""
        assert display.format_warnings(at_rest(SimpleNamespace(warnings=[]))) == ""

    @pytest.mark.parametrize(
        ("status", "state", "said"),
        [
            ({}, {}, ""),
            ({}, {"stale": True}, "Settings have changed. Press Run to apply them."),
            ({"phase": "done"}, {}, "2 of 8 subsamples in 3 s"),
            ({"phase": "done"}, {"needs_initialisations": True},
             "2 of 8 subsamples in 3 s. This criterion uses the best of several initialisations. "
             "Press Run to compute them"),
            ({"phase": "running"}, {"stale": True, "running": True},
             "2 of 8 subsamples finished, about 9 s left"),
            ({"phase": "running"}, {"needs_initialisations": True, "running": True},
             "2 of 8 subsamples finished, about 9 s left"),
            ({"phase": "running", "done": 0}, {"running": True}, "0 of 8 subsamples finished"),
            ({"phase": "running", "done": 0, "note": "compiling"}, {"running": True}, "compiling"),
        ],
    )  # fmt: skip
    def test_the_progress(self, status, state, said):
        session = at_rest(None, status=replace(at_rest(None).status, **status), **state)
        assert words(display.format_progress(session)) == said

    def test_the_progress_of_a_comparison(self):
        status = at_rest(None).status
        assert (
            words(display.format_comparison(replace(status, phase="running"), None))
            == "2 of 8 steps finished, about 9 s left"
        )
        assert words(display.format_comparison(Status("running"), None)) == "Starting …"
        assert words(display.format_comparison(Status("running", total=8), None)) == "0 of 8 steps finished"
        assert words(display.format_comparison(Status("stopped"), None)) == "Stopped."
        assert words(display.format_comparison(Status("failed", error="no <luck>"), None)) == "no <luck>"
        assert words(display.format_comparison(status, None)) == ""
        found = SimpleNamespace(explain=lambda: "All <agree>.")
        assert words(display.format_comparison(status, found)) == "All <agree>."
        early = "Stopped. Only the finished criteria are shown. All <agree>."
        assert words(display.format_comparison(Status("stopped"), found)) == early

    def test_an_error_has_its_note_below_it(self):
        assert display.format_error("") == ""
        assert "a &lt;b&gt;" in display.format_error("a <b>")
        assert "<div" not in display.format_error("a").removeprefix("<div")
        assert display.format_error("a", "c <d>").index("a") < display.format_error("a", "c <d>").index("c &lt;d&gt;")

    def test_a_clustering_is_on_its_way_failed_or_one_of_a_sample(self):
        whole, part = (
            SimpleNamespace(sampled=sampled, points=np.zeros((10_000, 2)), n_rows=12_345) for sampled in (False, True)
        )
        assert "Clustering into k = 4 …" in display.format_clusters(whole, None, 4)
        assert "no &lt;four&gt;" in display.format_clusters(whole, "no <four>", 4)
        assert display.format_clusters(whole, object(), 4) == ""
        assert "a random sample of 10,000 of 12,345 rows" in display.format_clusters(part, object(), 4)
