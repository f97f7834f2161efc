"""The explorer's widgets, driven from Python: what a click or a slider does, and what is shown then."""

import base64
import html
import inspect
import io
import re
import sys
from threading import Event
from types import SimpleNamespace

import ipywidgets as widgets
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse
from sessions import Gate
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from waiting import PATIENCE, until

import compsil_jupyter
import compsil_pandas  # noqa: F401  (df.compsil.explore)
from compsil_jupyter import Explorer, display, explore
from compsil_jupyter.clusterings import Clustering
from compsil_jupyter.controls import KEYWORDS, follow, label, options, table_controls, tooltip
from compsil_jupyter.data import validate_sparse
from compsil_jupyter.session import Session
from compsil_jupyter.state import Status
from compsil_jupyter.view import TABS, _unused_path, _variable_name
from compsil_kit import select_k
from compsil_kit._method.selection import CRITERIA
from compsil_kit._method.silhouette import silhouettes
from compsil_kit._settings.keywords import ExploreKeywords, TableKeywords, defaults_of, keywords_of
from compsil_kit._show import report
from compsil_kit._show.cluster_plots import project
from compsil_kit._util.format import percent

SMALL = {"ks": [2, 3, 4, 5], "n_subsamples": 5}


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"]).assign(city="Oslo")


@pytest.fixture
def explorer(frame):
    opened = explore(frame, **SMALL)
    yield opened
    opened.close()
    opened.wait(PATIENCE)


def parts(widget):
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts(child))]


def find(explorer, name):
    """The one widget that carries a class, as a stylesheet would find it."""
    (found,) = [part for part in parts(explorer) if f"compsil-{name}" in part._dom_classes]
    return found


def run(explorer):
    find(explorer, "run").click()
    explorer.wait(PATIENCE)


def show(explorer, tab):
    find(explorer, "tabs").selected_index = TABS.index(tab)


def text(explorer, name):
    return " ".join(re.sub(r"<[^>]+>", " ", find(explorer, name).value).split())


def picture(explorer, tab):
    return bytes(find(explorer, f"image-{tab}").value)


def pictures(explorer):
    """The names of the pictures that are there to be seen, whatever tab is in front."""
    shown = (tab for tab in TABS[:5] if find(explorer, f"image-{tab.lower()}").layout.display != "none")
    return {tab for tab in shown if picture(explorer, tab.lower()).startswith(b"\x89PNG")}


class TestRun:
    def test_shows_the_choice(self, explorer, frame):
        assert "Press" in text(explorer, "headline")
        run(explorer)
        direct = frame.compsil.select_k(["a", "b", "c"], **SMALL)
        np.testing.assert_array_equal(explorer.result.composite, direct.composite)
        assert f"k* = {direct.best_k}" in text(explorer, "headline")
        assert "5 of 5 subsamples in" in text(explorer, "progress")
        assert find(explorer, "stop").disabled
        assert not find(explorer, "run").disabled

    def test_draws_the_curve_again_as_subsamples_come_in(self, frame, monkeypatch):
        monkeypatch.setattr("compsil_jupyter.view.REDRAW_SECONDS", 0.0)
        explorer = explore(frame, **SMALL)
        seen = []
        find(explorer, "image-curve").observe(lambda change: seen.append(change["new"]), names="value")
        run(explorer)
        assert len(seen) >= 5
        assert len(set(seen)) == len(seen)
        explorer.close()

    def test_stop_keeps_what_is_finished(self, frame):
        explorer = explore(frame, ks=[2, 3], n_subsamples=2000)
        find(explorer, "image-curve").observe(lambda _: find(explorer, "stop").click(), names="value")
        run(explorer)
        assert 0 < explorer.result.n_subsamples < 2000
        assert explorer.result.partial
        assert "stopped after" in text(explorer, "progress")
        assert "partial result" in text(explorer, "headline")
        assert "partial result" in text(explorer, "warnings")
        explorer.close()

    def test_says_when_settings_have_changed(self, explorer):
        run(explorer)
        find(explorer, "scale").value = "robust"
        assert "Settings have changed. Press Run to apply them." in text(explorer, "progress")
        run(explorer)
        assert "changed" not in text(explorer, "progress")
        assert explorer.result.preparation.scale == "robust"

    def test_settings_changed_during_a_run_are_mentioned_when_it_has_ended(self, frame):
        held = Gate(after=0)
        explorer = explore(frame, clusterer=held, **SMALL)
        find(explorer, "run").click()
        assert held.reached.wait(PATIENCE)
        find(explorer, "scale").value = "robust"
        assert "changed" not in text(explorer, "progress")
        held.go.set()
        explorer.wait(PATIENCE)
        assert "Settings have changed. Press Run to apply them." in text(explorer, "progress")
        explorer.close()

    def test_a_growing_result_is_counted_and_not_called_partial(self, frame, monkeypatch):
        monkeypatch.setattr("compsil_jupyter.view.REDRAW_SECONDS", 0.0)
        explorer = explore(frame, ks=[2, 3], n_subsamples=4, rule="lcb")
        seen = []

        def look(_):
            if explorer.session.running:
                seen.append({name: text(explorer, name) for name in ("progress", "headline", "warnings", "error")})

        find(explorer, "image-curve").observe(look, names="value")
        run(explorer)
        assert [said["progress"].partition(",")[0] for said in seen[:2]] == [
            "1 of 4 subsamples finished", "2 of 4 subsamples finished",
        ]  # fmt: skip
        # A single subsample has no lower bound; that is no error while others are to come.
        assert seen[0]["headline"] == "no k can be selected yet"
        assert "2 of 4 subsamples finished" in seen[1]["headline"]
        assert not [said for said in seen if said["error"] or said["warnings"] or "partial" in said["headline"]]
        assert "subsamples finished" not in text(explorer, "headline")
        explorer.close()

    def test_the_result_of_an_earlier_run_is_called_so(self, explorer):
        run(explorer)
        seen = []

        def look(what):
            if what == "status" and explorer.session.running:
                seen.append((text(explorer, "headline"), find(explorer, "first").value))

        explorer.session.listen(look)
        run(explorer)
        assert "· previous result micro: 4, macro: 4" in seen[0][0]
        assert seen[0][1] == 1
        assert "previous" not in text(explorer, "headline")

    def test_warnings_are_told_in_plain_words(self, blobs):
        explorer = explore(blobs[:100], ks=[2, 3, 4, 5], n_subsamples=4)
        run(explorer)
        assert "every subsample is the whole data set" in text(explorer, "warnings").lower()
        assert len(explorer.result.warnings) >= 1
        explorer.close()


class TestSettings:
    def test_every_input_reaches_the_session(self, explorer):
        find(explorer, "columns").value = ("a", "c")
        find(explorer, "scale").value = "none"
        find(explorer, "missing").value = "drop"
        find(explorer, "ks").value = (3, 6)
        find(explorer, "n-subsamples").value = 7
        find(explorer, "sample-size").value = "0.5"
        find(explorer, "clusterer").value = "gmm"
        find(explorer, "metric").value = "manhattan"
        find(explorer, "seed").value = 9
        found = explorer.session.settings
        assert found["columns"] == ["a", "c"]
        assert (found["scale"], found["missing"]) == (None, "drop")
        assert found["ks"] == (3, 4, 5, 6)
        assert (found["n_subsamples"], found["sample_size"]) == (7, 0.5)
        assert (found["clusterer"], found["metric"], found["random_state"]) == ("gmm", "manhattan", 9)
        run(explorer)
        plan = explorer.result.plan
        assert (plan.ks, plan.clusterer, plan.metric, plan.n_features) == ((3, 4, 5, 6), "gmm", "manhattan", 2)

    def test_as_many_subsamples_as_it_takes(self, explorer):
        count, switch = find(explorer, "n-subsamples"), find(explorer, "adaptive")
        assert (switch.value, count.disabled) == (False, False)
        switch.value = True
        assert explorer.session.settings["n_subsamples"] == "auto"
        assert count.disabled
        run(explorer)
        n = explorer.result.n_subsamples
        assert n % 10 == 0
        assert not explorer.result.partial
        assert f"{n} of {n} subsamples in" in text(explorer, "progress")
        find(explorer, "compare").click()
        explorer.wait(PATIENCE)
        assert explorer.session.comparison.plan.n_subsamples == n
        switch.value = False
        assert explorer.session.settings["n_subsamples"] == 5
        assert not count.disabled

    def test_the_call_may_leave_their_number_open(self, frame):
        explorer = explore(frame, ks=[2, 3], n_subsamples="auto")
        assert find(explorer, "adaptive").value
        assert (find(explorer, "n-subsamples").value, find(explorer, "n-subsamples").disabled) == (30, True)
        assert explorer.session.shown.n_subsamples == 30
        explorer.close()

    @pytest.mark.parametrize(("typed", "read"), [("auto", "auto"), (" 2,000 ", 2000), ("0.25", 0.25), ("", "auto")])
    def test_sizes_as_people_type_them(self, explorer, typed, read):
        find(explorer, "sample-size").value = "77"
        find(explorer, "sample-size").value = typed
        assert explorer.session.settings["sample_size"] == read

    def test_all_columns_means_all_numeric_ones(self, explorer):
        assert find(explorer, "columns").value == ("a", "b", "c")
        find(explorer, "columns").value = ("a",)
        find(explorer, "columns").value = ("a", "b", "c")
        assert explorer.session.settings["columns"] is None

    def test_menus_and_tooltips_are_those_of_the_keywords(self, explorer):
        known = {**keywords_of(TableKeywords), **keywords_of(ExploreKeywords)}
        for name in ("scale", "missing", "clusterer", "criterion", "transform", "rule"):
            assert tuple(value for _, value in find(explorer, name)._options_full) == known[name].choices
        metrics = find(explorer, "metric")._options_full
        assert {value for _, value in metrics} == set(known["metric"].choices) - {"precomputed"}
        typed = "sample-size", "n-starts"
        for name in ("scale", "missing", "clusterer", "criterion", "transform", "rule", "metric", *typed):
            assert find(explorer, name).tooltip == known[name.replace("-", "_")].help
        assert find(explorer, "ks").tooltip.startswith("candidate numbers of clusters")
        # How a command line spells the candidates is of no use to a slider, nor "auto" to a field of numbers.
        assert find(explorer, "n-subsamples").tooltip == "number of subsamples to score (default: 30)"
        assert "2:20:2" not in find(explorer, "ks").tooltip

    def test_how_the_widgets_look(self, explorer):
        """Bounds, what is shown in empty fields, and that nothing is computed while a slider moves."""
        at_the_end = {"continuous_update": False}
        expected = {
            "columns": {"rows": 3},
            "ks": {"value": (2, 5), "min": 2, "max": 20, **at_the_end},
            "n-subsamples": {"value": 5, "min": 1, "max": 10_000},
            "sample-size": {"value": "auto", "placeholder": "auto, 0.5, 2000", **at_the_end},
            "n-starts": {"value": "auto", "placeholder": "auto, 5", **at_the_end},
            "structure": {"value": False},
            "seed": {"value": 42, "min": 0, "max": 2**32 - 1, "disabled": False},
            "delta": {"value": 0.05, "options": (0.1, 0.05, 0.01, 0.001)},
            "first": {"value": 1, "min": 1, "max": 10_000, "disabled": True, **at_the_end},
            "k": {"value": 2, "options": (2, 3, 4, 5), **at_the_end},
            "run": {"description": "Run", "icon": "play", "button_style": "primary", "disabled": False},
            "stop": {"description": "Stop", "icon": "stop", "button_style": "", "disabled": True},
            "compare": {"description": "Compare", "button_style": ""},
            "cancel": {"description": "Cancel", "button_style": ""},
            "save-report": {"description": "Save report"},
            "save-code": {"description": "Save code"},
            "tabs": {"titles": TABS, "selected_index": 0},
        }
        for name, traits in expected.items():
            assert {trait: getattr(find(explorer, name), trait) for trait in traits} == traits, name
        (bar,) = (part for part in parts(explorer) if isinstance(part, widgets.IntProgress))
        assert (bar.value, bar.min, bar.max, bar.bar_style) == (0, 0, 1, "")
        for tab in TABS[:5]:
            image = find(explorer, f"image-{tab.lower()}")
            assert (image.format, image.layout.max_width, image.layout.object_fit) == ("png", "100%", "contain")

    def test_how_wide_the_widgets_are(self, explorer):
        left = "scale", "missing", "ks", "n-subsamples", "sample-size", "clusterer", "n-starts", "metric", "seed"
        top = {"criterion": "180px", "transform": "210px", "rule": "110px", "delta": "230px", "first": "300px"}
        for name in (*left, "structure"):
            found = find(explorer, name)
            assert (found.layout.width, found.style.description_width) == ("auto", "104px"), name
        for name, width in top.items():
            found = find(explorer, name)
            assert (found.layout.width, found.style.description_width) == (width, "initial"), name
        assert find(explorer, "columns").layout.width == "auto"
        assert find(explorer, "k").layout.width == "420px"
        inputs, shown = explorer.view.body.children
        assert (inputs.layout.flex, inputs.layout.max_width) == ("0 0 270px", "270px")
        assert (shown.layout.flex, shown.layout.min_width) == ("1 1 560px", "0")
        assert (explorer.view.body.layout.flex_flow, explorer.view.body.layout.grid_gap) == ("row wrap", "16px")

    def test_hints_are_the_title_of_labels(self, explorer):
        for name in ("scale", "ks", "n-subsamples", "seed", "structure", "criterion", "delta", "first"):
            found = find(explorer, name)
            assert f'<span title="{html.escape(found.tooltip)}">' in found.description
            assert found.description_allow_html
            assert "%%" not in found.tooltip
        assert find(explorer, "seed").tooltip == tooltip("random_state")
        assert find(explorer, "columns").tooltip == tooltip("columns")
        assert KEYWORDS["sample_size"].spelling not in tooltip("sample_size")
        assert KEYWORDS["sample_size"].spelling in tooltip("sample_size", typed=True)
        assert label("a", 'b "c"')["description"] == '<span title="b &quot;c&quot;">a</span>'

    @pytest.mark.parametrize(("n_columns", "n_rows"), [(1, 2), (2, 2), (3, 3), (8, 8), (9, 8)])
    def test_the_list_of_columns_is_two_to_eight_rows_high(self, n_columns, n_rows):
        session = Session(np.zeros((4, n_columns)), {**defaults_of(TableKeywords), "scale": None})
        _, columns, scale, _ = table_controls(session)
        assert (columns.rows, scale.value) == (n_rows, "none")

    @pytest.mark.parametrize(("given", "said"), [(None, "random"), (range(5), "one per subsample")])
    def test_seeds_that_are_no_number_are_only_shown(self, frame, given, said):
        explorer = explore(frame, random_state=given, **SMALL)
        (seed,) = (part for part in parts(explorer) if "seed</span>" in getattr(part, "description", ""))
        assert (seed.value, seed.disabled) == (said, True)
        explorer.close()

    def test_words_to_choose_from_and_what_was_given_beside_them(self):
        class Own:
            pass

        own = Own()
        plain = [("a", "a"), ("b", "b")]
        for given, more in (("b", []), ("c", [("c", "c")]), (own, [("Own", own)]), (np.abs, [("absolute", np.abs)])):
            assert options(["a", "b"], given) == plain + more

    def test_numbers_beyond_the_usual_ends_can_be_given(self, frame):
        explorer = explore(frame, ks=range(2, 31), n_subsamples=20_000)
        assert find(explorer, "n-subsamples").max == 20_000
        find(explorer, "structure").value = True
        assert explorer.session.settings["structure"] is True
        explorer.close()

    def test_the_slider_of_k_reaches_the_candidates_that_were_given(self, frame):
        explorer = explore(frame, ks=range(3, 31), n_subsamples=2)
        ks = find(explorer, "ks")
        assert (ks.value, ks.max) == ((3, 30), 30)
        ks.value = (3, 28)
        assert explorer.session.settings["ks"] == tuple(range(3, 29))
        explorer.close()

    def test_given_objects_are_on_offer(self, frame):
        def mine(X, k, seed):
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        explorer = explore(frame, clusterer=mine, random_state=range(5), transform=np.abs, **SMALL)
        assert find(explorer, "clusterer").label == "mine"
        assert find(explorer, "transform").label == "absolute"
        run(explorer)
        assert explorer.result.plan.seeds == (0, 1, 2, 3, 4)
        find(explorer, "clusterer").value = "kmeans"
        run(explorer)
        assert explorer.result.plan.clusterer == "kmeans"
        explorer.close()

    @pytest.mark.parametrize(("keywords", "message"), [
        ({"columns": ["incme"]}, "'incme'"),
        ({"columns": ["city"]}, "'city'.* not numeric"),
        ({"ks": [1, 2]}, "ks must be"),
        ({"ks": "2:10"}, "ks must be integers of at least 2, such as range"),
        ({"scale": "log"}, "scale must be one of"),
        ({"missing": "ignore"}, "missing must be one of"),
        ({"rule": "min"}, "rule must be one of"),
        ({"transform": "cosh"}, "transform must be"),
        ({"z": -1}, r"z must be a number in \[0, 1e\+06\]; got -1.0"),
        ({"n_subsamples": 0}, "n_subsamples must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"sample_size": "half"}, "sample_size must be"),
        ({"on_failure": "ignore"}, "on_failure must be one of"),
        ({"clusterer": "kmean"}, "clusterer must be one of"),
        ({"metric": "euclid"}, "metric must be"),
        ({"random_state": range(3)}, "30 are needed, got 3"),
        ({"rule": "lcb", "n_subsamples": 1}, "n_subsamples with rule='lcb' must be an integer of at least 2"),
        ({"clusterer": "kmeans", "metric": "precomputed"}, "precomputed"),
        ({"n_subsample": 5}, "unexpected keyword argument 'n_subsample'. Did you mean 'n_subsamples'?"),
        ({"checkpoint": "run.json"}, "unexpected keyword argument 'checkpoint'"),
    ])  # fmt: skip
    def test_wrong_ones_are_refused_when_it_opens(self, frame, keywords, message):
        with pytest.raises((ValueError, TypeError), match=message):
            explore(frame, **keywords)

    def test_the_signature_shows_every_keyword_with_its_default(self):
        parameters = inspect.signature(explore).parameters
        own = {"data": inspect.Parameter.empty, "columns": None, "scale": "auto", "missing": "raise"}
        assert {name: p.default for name, p in parameters.items()} == own | defaults_of(
            ExploreKeywords, interactive=True
        )
        assert "{keywords}" not in explore.__doc__
        assert "z : float, default=1.0" in explore.__doc__

    def test_a_column_may_be_named_alone(self, frame):
        assert explore(frame, "b").session.settings["columns"] == ["b"]


class TestReading:
    def test_acts_at_once(self, explorer):
        run(explorer)
        before = picture(explorer, "curve")
        find(explorer, "transform").value = "step"
        assert explorer.result.transform == "step"
        assert picture(explorer, "curve") != before
        find(explorer, "rule").value = "lcb"
        assert explorer.result.rule == "lcb"
        assert explorer.session.status.done == 5

    def test_another_criterion(self, explorer):
        run(explorer)
        before = picture(explorer, "curve")
        find(explorer, "criterion").value = "likely"
        assert explorer.result.criterion == "likely"
        assert picture(explorer, "curve") != before
        assert "score" not in text(explorer, "headline")
        assert f"confidence {percent(explorer.result.best_score)}" in text(explorer, "headline")
        assert repr(explorer).endswith(f", confidence {percent(explorer.result.best_score)}, 5 subsamples")
        assert "Press Run to compute them" in text(explorer, "progress")
        show(explorer, "Stability")
        assert "not to the criterion likely" in text(explorer, "note-stability")
        find(explorer, "criterion").value = "macro"
        assert "With probability 0.95" in text(explorer, "note-stability")
        headline = text(explorer, "headline")
        assert f"score {explorer.result.best_score:.4f}" in headline
        assert "macro:" not in headline
        assert f"composite: {explorer.result.choices['composite']}" in headline

    @pytest.mark.parametrize(("typed", "read"), [("5", 5), (" auto ", "auto"), (" many ", "many")])
    def test_starts_are_read_as_they_are_typed(self, explorer, typed, read):
        find(explorer, "n-starts").value = typed
        assert explorer.session.settings["n_starts"] == read

    def test_a_second_opinion_is_shown(self, blobs):
        explorer = explore(blobs, ks=range(2, 6), n_subsamples=6)
        run(explorer)
        for name in CRITERIA:
            find(explorer, "criterion").value = name
            told = explorer.result.second_opinion is not None
            assert ("compare the two clusterings" in text(explorer, "warnings")) is told
        explorer.close()

    def test_first_subsamples(self, explorer):
        first = find(explorer, "first")
        assert first.disabled
        run(explorer)
        assert (first.max, first.value, first.disabled) == (5, 5, False)
        first.value = 3
        assert explorer.result.n_subsamples == 3
        first.value = 5
        assert explorer.session.reading.first is None

    def test_delta_moves_the_bound(self, explorer):
        run(explorer)
        show(explorer, "Stability")
        before = picture(explorer, "stability")
        assert "With probability 0.95" in text(explorer, "note-stability")
        find(explorer, "delta").value = 0.001
        assert "With probability 0.999" in text(explorer, "note-stability")
        assert picture(explorer, "stability") != before


class TestTabs:
    def test_each_has_its_picture_once_it_is_in_front(self, explorer):
        assert pictures(explorer) == set()
        run(explorer)
        assert pictures(explorer) == {"Curve"}
        show(explorer, "Weights")
        show(explorer, "Stability")
        assert pictures(explorer) == {"Curve", "Weights", "Stability"}

    def test_nothing_is_drawn_twice(self, explorer):
        run(explorer)
        drawn = []
        find(explorer, "image-curve").observe(drawn.append, names="value")
        show(explorer, "Table")
        show(explorer, "Curve")
        assert not drawn

    def test_clusters_of_the_k_under_the_slider(self, explorer, monkeypatch):
        run(explorer)
        show(explorer, "Clusters")
        assert find(explorer, "k").value == explorer.result.best_k
        explorer.session.clusterings.wait(PATIENCE)
        first = picture(explorer, "clusters")
        assert first.startswith(b"\x89PNG")
        monkeypatch.setattr("compsil_jupyter.display.draw_clusters", None)  # all were drawn ahead
        find(explorer, "k").value = 2 if explorer.result.best_k != 2 else 3
        assert picture(explorer, "clusters") != first

    def test_the_slider_follows_the_candidates(self, explorer):
        run(explorer)
        find(explorer, "ks").value = (6, 8)
        run(explorer)
        assert find(explorer, "k").options == (6, 7, 8)

    def test_clusters_that_fail_say_so(self, frame):
        def refuses_all(X, k, seed):
            if len(X) == len(frame):
                raise RuntimeError("too many <rows>")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        explorer = explore(frame, clusterer=refuses_all, sample_size=100, **SMALL)
        run(explorer)
        show(explorer, "Clusters")
        explorer.session.clusterings.wait(PATIENCE)
        assert "too many &lt;rows&gt;" in find(explorer, "note-clusters").value
        assert "Clusters" not in pictures(explorer)
        explorer.close()

    def test_a_picture_stays_until_the_next_is_ready_and_goes_if_there_is_none(self, frame):
        go_on = Event()

        def refuses_four(X, k, seed):
            if len(X) == len(frame) and k == 4:
                assert go_on.wait(PATIENCE)
                raise RuntimeError("no four")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        explorer = explore(frame, clusterer=refuses_four, sample_size=100, ks=[2, 4], n_subsamples=5)
        run(explorer)
        find(explorer, "k").value = 2
        show(explorer, "Clusters")
        until(lambda: "Clusters" in pictures(explorer), "two clusters are drawn")
        find(explorer, "k").value = 4
        assert "Clusters" in pictures(explorer)
        go_on.set()
        explorer.session.clusterings.wait(PATIENCE)
        assert "no four" in find(explorer, "note-clusters").value
        assert "Clusters" not in pictures(explorer)
        find(explorer, "k").value = 2
        assert "Clusters" in pictures(explorer)
        explorer.close()

    def test_compare_on_demand(self, explorer):
        run(explorer)
        show(explorer, "Compare")
        assert explorer.comparison is None
        find(explorer, "compare").click()
        explorer.wait(PATIENCE)
        assert "choose k =" in text(explorer, "note-compare")
        assert "Compare" in pictures(explorer)
        assert explorer.comparison.choices["composite"] == explorer.result.best_k

    def test_the_comparison_is_as_high_as_in_the_report(self, explorer):
        run(explorer)
        show(explorer, "Compare")
        find(explorer, "compare").click()
        explorer.wait(PATIENCE)
        *_, printed = re.findall(r'base64,([^"]+)', report.render(explorer.result, explorer.comparison))
        there = Image.open(io.BytesIO(base64.b64decode(printed)))
        here = Image.open(io.BytesIO(picture(explorer, "compare")))
        assert here.height / display.DPI == pytest.approx(there.height / there.info["dpi"][1], abs=0.02)

    def test_table_and_code(self, explorer):
        run(explorer)
        show(explorer, "Table")
        assert f"{explorer.result.best_score:.4f}" in text(explorer, "note-table")
        show(explorer, "Code")
        assert "Replace 'data'" in html.unescape(text(explorer, "note-code"))
        assert "result = data.compsil.select_k(" in text(explorer, "note-code")
        find(explorer, "rule").value = "lcb"
        assert "rule=&quot;lcb&quot;" in find(explorer, "note-code").value

    def test_the_code_has_the_name_or_the_expression_of_the_data(self, explorer, frame, monkeypatch):
        notebook = SimpleNamespace(user_ns={"_": frame, "other": 1, "customers": frame})
        monkeypatch.setattr("IPython.get_ipython", lambda: notebook)
        run(explorer)
        show(explorer, "Code")
        assert "result = customers.compsil.select_k(" in text(explorer, "note-code")
        explorer.expression = "customers[customers.a > 0]"
        show(explorer, "Table")
        show(explorer, "Code")
        assert "result = customers[customers.a > 0].compsil" in html.unescape(text(explorer, "note-code"))

    def test_the_table_lists_failures(self, frame):
        def sometimes(X, k, seed):
            if k == 5:
                raise RuntimeError("<not> five")
            return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

        explorer = explore(frame, clusterer=sometimes, on_failure="skip", **SMALL)
        run(explorer)
        show(explorer, "Table")
        assert "&lt;not&gt; five" in find(explorer, "note-table").value
        explorer.close()


class TestRedrawing:
    """What is drawn again while a run is in progress, on a clock of our own."""

    @pytest.fixture
    def shown(self, explorer, monkeypatch):
        """A finished run that goes on, and what a change shows of it after so many seconds."""
        run(explorer)
        clock = SimpleNamespace(monotonic=lambda: clock.now, now=100.0)
        monkeypatch.setattr("compsil_jupyter.view.time", clock)

        def shown(what, seconds, done, phase="running"):
            clock.now += seconds
            explorer.session.status = Status(phase, done, 5)
            explorer.view._update(what)
            # The headline is shown together with the picture.
            return [re.search(r"(\d) of 5|$", text(explorer, name))[1] for name in ("progress", "headline")]

        return shown

    def test_pictures_of_growing_results_keep_apart(self, shown):
        assert shown("status", 0, 1) == ["1", "1"]
        assert shown("result", 0.39, 2) == ["2", "1"]
        assert shown("result", 0.01, 3) == ["3", "3"]
        assert shown("status", 0.1, 4) == ["4", "4"]
        assert shown("result", 0.1, 5, "stopped") == ["5", None]

    def test_the_first_result_is_drawn_at_once(self, shown):
        assert shown("status", 0, 0) == ["0", "0"]
        assert shown("result", 0.1, 1) == ["1", "1"]

    @pytest.mark.parametrize(
        ("phase", "style"),
        [("idle", ""), ("running", ""), ("done", "success"), ("failed", "danger"), ("stopped", "warning")],
    )
    def test_the_bar_has_the_colour_of_the_phase(self, explorer, shown, phase, style):
        shown("status", 0, 3, phase)
        (bar,) = (part for part in parts(explorer) if isinstance(part, widgets.IntProgress))
        assert (bar.value, bar.max, bar.bar_style) == (3, 5, style)
        assert find(explorer, "run").disabled == (phase == "running")
        assert find(explorer, "stop").disabled == (phase != "running")

    def test_clusters_wait_for_the_end_of_a_run(self, explorer, shown):
        show(explorer, "Clusters")
        explorer.session.clusterings.wait(PATIENCE)
        assert "Clusters" in pictures(explorer)
        shown("status", 0, 3)
        assert "Clusters" not in pictures(explorer)
        assert text(explorer, "note-clusters") == "Clusters are shown after the run."
        shown("status", 0, 5, "done")
        assert "Clusters" in pictures(explorer)

    def test_the_code_names_no_k_before_the_run_has_ended(self, explorer, shown):
        show(explorer, "Code")
        assert ".cluster(" in find(explorer, "note-code").value
        shown("status", 0, 3)
        assert ".cluster(" not in find(explorer, "note-code").value

    def test_the_buttons_of_a_comparison(self, explorer):
        show(explorer, "Compare")
        for phase, disabled in (("idle", (False, True)), ("running", (True, False)), ("done", (False, True))):
            explorer.session.comparing = Status(phase)
            explorer.view._update("comparison")
            assert (find(explorer, "compare").disabled, find(explorer, "cancel").disabled) == disabled

    def test_the_slider_of_clusters_is_placed_once_per_run(self, explorer, shown):
        slider, best = find(explorer, "k"), explorer.result.best_k
        assert slider.value == best
        slider.value = 5
        shown("status", 0, 5, "done")
        assert slider.value == 5
        run(explorer)
        assert slider.value == best

    def test_empty_tabs_before_there_is_a_result(self, explorer):
        for tab in ("Table", "Stability"):
            show(explorer, tab)
            assert find(explorer, f"note-{tab.lower()}").value == ""
        show(explorer, "Code")
        assert "select_k(" in find(explorer, "note-code").value
        assert ".cluster(" not in find(explorer, "note-code").value


@pytest.fixture
def figures(monkeypatch):
    """The figures that were made into pictures."""
    made = []
    canvas = display.FigureCanvasAgg
    monkeypatch.setattr(display, "FigureCanvasAgg", lambda figure: made.append(figure) or canvas(figure))
    return made


def shown_in(picture, figures):
    """The size of the one figure behind a picture, and the labels beside its axes, which all show something."""
    (figure,) = figures
    image, (width, height) = Image.open(io.BytesIO(picture)), figure.get_size_inches()
    assert (image.format, image.mode) == ("PNG", "RGB")
    assert image.size == (round(width * 110), round(height * 110))
    assert all(axes.has_data() for axes in figure.axes)
    assert figure.get_layout_engine() is not None
    return (round(width, 2), round(height, 2)), [axes.get_ylabel() for axes in figure.axes]


class TestPictures:
    """What is drawn for given facts, without any widget."""

    @pytest.mark.parametrize(
        ("draw", "size", "labels"),
        [
            (display.draw_curve, (8.6, 4.6), ["silhouette"]),
            (display.draw_weights, (8.6, 4.6), ["discrepancy", "weight of micro (0: macro only)"]),
            (lambda result: display.draw_stability(result, 0.05), (12.4, 8.8),
             ["selection probability", "adjusted Rand index", "composite silhouette"]),
        ],
    )  # fmt: skip
    def test_of_a_result(self, blobs, figures, draw, size, labels):
        assert shown_in(draw(select_k(blobs, ks=[2, 3], n_subsamples=3)), figures) == (size, labels)

    @pytest.mark.parametrize(
        ("mapped", "size", "labels"), [(True, (12.4, 4.8), ["second component"]), (False, (8.6, 4.6), [])]
    )
    def test_of_a_clustering(self, blobs, figures, mapped, size, labels):
        codes = (blobs[:, 0] > 0).astype(int)
        projection = (np.roll(project(blobs)[0], 1), 0.5) if mapped else None
        picture = display.draw_clusters(
            SimpleNamespace(points=blobs, projection=projection), Clustering(codes, silhouettes(blobs, codes))
        )
        assert shown_in(picture, figures) == (size, [*labels, "cluster (number of points)"])
        # The projection is the one that was computed once for all clusterings.
        titles = [axes.get_title(loc="left") for axes in figures[0].axes]
        told = [title for title in titles if "explain" in title]
        assert told == ["k = 2; the two axes explain 50 % of the variance"] * mapped


class TestErrors:
    def test_appear_inside(self, frame):
        holed = frame.copy()
        holed.loc[2, "a"] = np.nan
        explorer = explore(holed, **SMALL)
        run(explorer)
        assert "missing values in &#x27;a&#x27; (1)" in find(explorer, "error").value
        assert explorer.result is None
        find(explorer, "missing").value = "drop"
        run(explorer)
        assert find(explorer, "error").value == ""
        assert explorer.result.preparation.n_dropped == 1
        explorer.close()

    def test_the_result_before_them_stays(self, explorer):
        run(explorer)
        before, curve = explorer.result, picture(explorer, "curve")
        find(explorer, "ks").value = (2, 8)
        find(explorer, "sample-size").value = "a lot"
        run(explorer)
        assert text(explorer, "error").startswith("sample_size must be")
        assert text(explorer, "error").endswith("The result of the previous run is still shown.")
        assert text(explorer, "progress") == "failed after 0 of 5 subsamples"
        assert f"k* = {before.best_k}" in text(explorer, "headline")
        assert "previous result" in text(explorer, "headline")
        assert explorer.result is before
        assert picture(explorer, "curve") == curve
        assert (find(explorer, "first").max, find(explorer, "first").value) == (5, 5)
        show(explorer, "Clusters")
        assert find(explorer, "k").options == (2, 3, 4, 5)
        assert find(explorer, "k").value == before.best_k
        find(explorer, "sample-size").value = "auto"
        run(explorer)
        assert text(explorer, "error") == ""
        assert find(explorer, "k").options == tuple(range(2, 9))

    def test_no_k_can_be_selected(self, frame):
        explorer = explore(frame, clusterer=lambda X, k, seed: np.zeros(len(X)), on_failure="skip", **SMALL)
        run(explorer)
        assert text(explorer, "headline").startswith("no k can be selected")
        assert text(explorer, "error").startswith("No k of 2..5 can be selected")
        assert find(explorer, "k").value == 2
        explorer.close()

    def test_no_columns_chosen(self, explorer):
        find(explorer, "columns").value = ()
        run(explorer)
        assert "columns must name at least one column" in text(explorer, "error")

    def test_markup_in_names_stays_text(self, frame):
        named = frame.rename(columns={"a": "<b>bold</b>"})
        explorer = explore(named, columns=["<b>bold</b>", "b"], **SMALL)
        run(explorer)
        for tab in ("Table", "Code"):
            show(explorer, tab)
            shown = find(explorer, f"note-{tab.lower()}").value
            assert "&lt;b&gt;bold&lt;/b&gt;" in shown
            assert "<b>bold" not in shown
        explorer.close()


class TestSaving:
    def test_report_and_code(self, explorer, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run(explorer)
        find(explorer, "save-report").click()
        assert "Saved as compsil-report.html in the working directory" in text(explorer, "saved")
        assert 'download="compsil-report.html"' in find(explorer, "saved").value
        find(explorer, "save-code").click()
        assert (tmp_path / "compsil-report.html").read_text().startswith("<!doctype html>")
        assert "select_k(" in (tmp_path / "compsil_selection.py").read_text()

    def test_writes_over_nothing(self, explorer, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run(explorer)
        (tmp_path / "compsil_selection.py").write_text("mine")
        find(explorer, "save-code").click()
        find(explorer, "save-code").click()
        assert (tmp_path / "compsil_selection.py").read_text() == "mine"
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "compsil_selection-2.py", "compsil_selection-3.py", "compsil_selection.py",
        ]  # fmt: skip

    def test_names_are_free_and_those_of_the_notebook(self, frame, tmp_path, monkeypatch):
        path = tmp_path / "a.b.html"
        assert _unused_path(path) == path
        path.touch()
        assert _unused_path(path) == tmp_path / "a.b-2.html"
        assert _variable_name(frame) is None
        names = {"_1": frame, "copy": frame.copy()}
        monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(user_ns=names))
        assert _variable_name(frame) is None
        names["mine"] = frame
        assert _variable_name(frame) == "mine"

    def test_a_file_that_cannot_be_written_is_told(self, explorer, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        def full(*_):
            raise OSError("disk <full>")

        monkeypatch.setattr("pathlib.Path.write_text", full)
        find(explorer, "save-code").click()
        assert "Not saved: disk &lt;full&gt;" in find(explorer, "saved").value

    def test_without_a_result_says_so(self, explorer, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        find(explorer, "save-report").click()
        assert "Not saved: there is no result yet" in text(explorer, "saved")
        assert not list(tmp_path.iterdir())


class TestKindsOfData:
    def test_arrays_are_not_scaled(self, blobs):
        explorer = explore(blobs, **SMALL)
        run(explorer)
        np.testing.assert_array_equal(explorer.result.composite, select_k(blobs, **SMALL).composite)
        assert find(explorer, "columns").value == (0, 1, 2)
        assert find(explorer, "scale").label == "none"
        explorer.close()

    def test_sparse_matrices(self, blobs):
        X = sparse.csr_matrix(np.maximum(blobs, 0))
        explorer = explore(X, **SMALL)
        run(explorer)
        np.testing.assert_array_equal(explorer.result.composite, select_k(X, **SMALL).composite)
        show(explorer, "Compare")
        find(explorer, "compare").click()
        explorer.wait(PATIENCE)
        assert "Compare" in pictures(explorer)
        explorer.close()
        with pytest.raises(ValueError, match="columns and scale must be None"):
            explore(X, scale="standard")

    def test_polars(self, blobs):
        import polars as pl

        explorer = explore(pl.DataFrame(blobs, schema=["a", "b", "c"]), **SMALL)
        run(explorer)
        assert explorer.result.preparation.scale == "standard"
        explorer.close()

    def test_distances_are_what_they_are_also_in_a_frame(self, blobs):
        distances = pd.DataFrame(pairwise_distances(blobs[:200]))
        explorer = explore(distances, metric="precomputed", clusterer="agglomerative", **SMALL)
        run(explorer)
        assert explorer.result.preparation.scale is None
        show(explorer, "Clusters")
        explorer.session.clusterings.wait(PATIENCE)
        assert "Clusters" in pictures(explorer)
        explorer.close()

    @pytest.mark.parametrize("data", [5, "text", [[1, 2], [3]]])
    def test_what_is_no_table_is_refused(self, data):
        with pytest.raises((TypeError, ValueError), match=r"X (as text )?must"):
            explore(data)

    def test_by_the_accessor(self, frame):
        explorer = frame.compsil.explore(["a", "b"], ks=[2, 3])
        assert isinstance(explorer, Explorer)
        assert find(explorer, "columns").value == ("a", "b")
        assert explorer.session.settings["columns"] == ["a", "b"]


class TestLife:
    def test_closing_stops_the_work_and_removes_every_part(self, frame):
        explorer = explore(frame, ks=[2, 3], n_subsamples=100_000)
        explorer.run()
        every = parts(explorer)
        explorer.close()
        explorer.wait(PATIENCE)
        assert explorer.session.status.phase == "stopped"
        assert not explorer.session._selecting.thread.is_alive()
        assert all(part.comm is None for part in every if isinstance(part, widgets.Widget))

    def test_stop_is_that_of_the_button(self, frame):
        held = Gate(after=0)
        explorer = explore(frame, clusterer=held, **SMALL)
        explorer.run()
        assert held.reached.wait(PATIENCE)
        explorer.stop()
        assert explorer.session.status.phase == "stopped"
        held.go.set()
        explorer.close()
        explorer.wait(PATIENCE)

    def test_closing_removes_what_is_at_rest(self, frame):
        explorer = explore(frame, **SMALL)
        every = parts(explorer)
        assert find(explorer, "explorer") is explorer
        assert sum(isinstance(part, widgets.Image) for part in every) == 5
        explorer.close()
        assert all(part.comm is None for part in every)

    def test_two_side_by_side(self, frame):
        one, two = explore(frame, **SMALL), explore(frame, "a", ks=[2, 3], n_subsamples=4)
        both = widgets.HBox([one, two])
        one.run()
        two.run()
        one.wait(PATIENCE)
        two.wait(PATIENCE)
        assert (one.result.n_subsamples, two.result.n_subsamples) == (5, 4)
        assert (one.result.plan.n_features, two.result.plan.n_features) == (3, 1)
        assert picture(one, "curve") != picture(two, "curve")
        both.close()
        one.close()
        two.close()

    @pytest.mark.parametrize(
        ("facts", "said"),
        [
            ({}, "k* = 3 of 2..4, score 0.5000, 8 subsamples"),
            ({"criterion": "likely"}, "k* = 3 of 2..4, confidence 50 %, 8 subsamples"),
            ({"partial": True}, "k* = 3 of 2..4, score 0.5000, 8 of 30 subsamples"),
            ({"_best_index": None}, "no k of 2..4, 8 subsamples"),
        ],
    )
    def test_the_line_of_a_result(self, facts, said):
        result = {
            "_best_index": 1, "best_k": 3, "best_score": 0.5, "criterion": "composite", "partial": False,
            "ks": (2, 3, 4), "n_subsamples": 8, "plan": SimpleNamespace(n_subsamples=30),
        }  # fmt: skip
        assert Explorer.__repr__(SimpleNamespace(result=SimpleNamespace(**(result | facts)))) == f"Explorer: {said}"

    def test_says_in_a_line_what_is_shown(self, explorer):
        assert repr(explorer) == "Explorer: no result yet"
        run(explorer)
        found = explorer.result
        score = f"{found.best_score:.4f}"
        assert repr(explorer) == f"Explorer: k* = {found.best_k} of 2..5, score {score}, 5 subsamples"


def test_without_widgets_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"the explorer needs the package 'ipywidgets'.*pip install ipywidgets"):
        _ = compsil_jupyter.explore


@pytest.mark.parametrize(
    ("state", "wanted", "shown"),
    [
        ({"n_finished": 0}, None, (10_000, 1, True)),
        ({"n_finished": 1}, None, (1, 1, True)),
        ({"n_finished": 2}, None, (2, 2, False)),
        ({"n_finished": 5}, 3, (5, 3, False)),
        ({"n_finished": 5}, 8, (5, 5, False)),
        ({"running": True}, 3, (5, 3, False)),
        ({"shows_previous": True}, 3, (5, 3, False)),
        ({"running": True, "shows_previous": True}, 3, (10_000, 1, True)),
    ],
)
def test_the_slider_of_subsamples_ends_at_the_finished_ones(state, wanted, shown):
    usual = {"n_finished": 5, "running": False, "shows_previous": False}
    slider = widgets.IntSlider(4, min=1, max=10_000)
    follow(slider, SimpleNamespace(reading=SimpleNamespace(first=wanted), **(usual | state)))
    assert (slider.max, slider.value, slider.disabled) == shown


def test_a_sparse_matrix_is_taken_as_it_is():
    validate_sparse(None, None)
    for columns, scale in ((["a"], None), (None, "standard")):
        with pytest.raises(ValueError, match=r"^columns and scale must be None for a sparse matrix"):
            validate_sparse(columns, scale)
