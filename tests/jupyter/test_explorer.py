"""The explorer's widgets, driven from Python: inputs, tabs, errors and saved files."""

import re
import sys
from threading import Event
from types import SimpleNamespace

import ipywidgets as widgets
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sessions import Result, on_all_rows, visible_text
from sklearn.cluster import KMeans
from waiting import PATIENCE, until

import compsil_jupyter
import compsil_pandas  # noqa: F401  (df.compsil.explore)
from compsil_jupyter import Explorer, explore
from compsil_jupyter.controls import SETTINGS, follow, label_keywords
from compsil_jupyter.session import Session, Status
from compsil_jupyter.view import TABS, _descendants, _unused_path, _variable_name

SMALL = {"ks": [2, 3, 4, 5], "n_subsamples": 5}


@pytest.fixture
def frame(points):
    return points.assign(city="Oslo")


@pytest.fixture
def opened():
    """Return a function that opens explorers, which are closed after the test."""
    explorers = []

    def opened(data, *columns, **keywords):
        explorers.append(explore(data, *columns, **{**SMALL, **keywords}))
        return explorers[-1]

    yield opened
    for explorer in explorers:
        explorer.close()
        explorer.wait(PATIENCE)


@pytest.fixture
def explorer(frame, opened):
    return opened(frame)


def find(explorer, name):
    """Return the only widget with this CSS class."""
    (found,) = [part for part in _descendants(explorer) if f"compsil-{name}" in part._dom_classes]
    return found


def run(explorer):
    find(explorer, "run").click()
    explorer.wait(PATIENCE)


def show(explorer, tab):
    find(explorer, "tabs").selected_index = TABS.index(tab)


def text(explorer, name):
    return visible_text(find(explorer, name).value)


def image(explorer, tab):
    return bytes(find(explorer, f"image-{tab.lower()}").value)


def images(explorer):
    """Return the tabs whose image is visible."""
    shown = (tab for tab in TABS[:5] if find(explorer, f"image-{tab.lower()}").layout.display != "none")
    return {tab for tab in shown if image(explorer, tab).startswith(b"\x89PNG")}


class TestRun:
    def test_run_shows_the_result(self, explorer, frame):
        assert repr(explorer) == "Explorer: no result yet"
        assert "Press" in text(explorer, "headline")
        run(explorer)
        direct = frame.compsil.select_k(["a", "b", "c"], **SMALL)
        np.testing.assert_array_equal(explorer.result.composite, direct.composite)
        assert f"k* = {direct.best_k}" in text(explorer, "headline")
        assert "5 of 5 subsamples in" in text(explorer, "progress")
        expected = f"Explorer: k* = {direct.best_k} of 2..5, score {direct.best_score:.4f}, 5 subsamples"
        assert repr(explorer) == expected

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            ({"criterion": "likely"}, "k* = 3 of 2..4, confidence 50 %, 8 subsamples"),
            ({"partial": True}, "k* = 3 of 2..4, score 0.5000, 8 of 30 subsamples"),
            ({"k": None}, "no k of 2..4, 8 subsamples"),
        ],
    )
    def test_repr_shows_the_selected_k_and_the_subsamples(self, result, expected):
        usual = {
            "best_score": 0.5, "criterion": "composite", "partial": False,
            "ks": (2, 3, 4), "n_subsamples": 8, "plan": SimpleNamespace(n_subsamples=30),
        }  # fmt: skip
        explorer = SimpleNamespace(result=Result(**(usual | result)))
        assert Explorer.__repr__(explorer) == f"Explorer: {expected}"


class TestInputs:
    def test_every_input_changes_the_session(self, explorer):
        same = {"missing": "drop", "clusterer": "gmm", "metric": "manhattan", "structure": True}
        for name, given in {
            **same, "columns": ("a", "c"), "scale": "none", "ks": (3, 6), "n-subsamples": 7, "sample-size": "0.5",
            "n-starts": "2", "seed": 9, "criterion": "micro", "transform": "step", "rule": "lcb", "delta": 0.1,
        }.items():  # fmt: skip
            find(explorer, name).value = given
        expected = {
            **same, "columns": ["a", "c"], "scale": None, "ks": (3, 4, 5, 6), "n_subsamples": 7, "sample_size": 0.5,
            "n_starts": 2, "random_state": 9,
        }  # fmt: skip
        settings, reading = explorer.session.settings, explorer.session.reading
        assert {name: settings[name] for name in expected} == expected
        assert reading.choice == {"criterion": "micro", "transform": "step", "rule": "lcb", "z": 1.0}
        assert reading.delta == 0.1
        # Selecting all columns restores the default, None.
        find(explorer, "columns").value = ("a", "b", "c")
        assert explorer.session.settings["columns"] is None

    def test_checkbox_makes_the_number_of_subsamples_adaptive(self, frame, opened):
        explorer = opened(frame, ks=[2, 3], n_subsamples="auto")
        count, switch = find(explorer, "n-subsamples"), find(explorer, "adaptive")
        assert (switch.value, count.disabled, count.value) == (True, True, 30)
        run(explorer)
        n = explorer.result.n_subsamples
        assert (n % 10, explorer.result.partial) == (0, False)
        assert f"{n} of {n} subsamples in" in text(explorer, "progress")
        switch.value = False
        assert (explorer.session.settings["n_subsamples"], count.disabled) == (30, False)
        switch.value = True
        assert (explorer.session.settings["n_subsamples"], count.disabled) == ("auto", True)

    def test_text_fields_parse_numbers_and_keep_invalid_input(self, explorer):
        for typed, expected in (("77", 77), (" 2,000 ", 2000), ("", "auto"), (" many ", "many")):
            find(explorer, "sample-size").value = typed
            assert explorer.session.settings["sample_size"] == expected

    def test_choices_and_tooltips_come_from_the_settings(self, explorer):
        for name in ("scale", "missing", "clusterer", "criterion", "transform", "rule"):
            found = find(explorer, name)
            assert tuple(value for _, value in found._options_full) == SETTINGS[name].choices
            assert found.tooltip == SETTINGS[name].help
        assert "precomputed" not in dict(find(explorer, "metric")._options_full)
        # Only tooltips of text fields describe the syntax of the value.
        assert find(explorer, "sample-size").tooltip == SETTINGS["sample_size"].help
        assert find(explorer, "n-subsamples").tooltip == "number of subsamples to score (default: 30)"
        assert label_keywords("a", 'b "c"')["description"] == '<span title="b &quot;c&quot;">a</span>'

    def test_inputs_accept_initial_values_outside_the_usual_choices(self, frame, opened):
        explorer = opened(frame, clusterer=KMeans(), transform=np.abs, ks=range(3, 31), n_subsamples=20_000)
        assert (find(explorer, "clusterer").label, find(explorer, "transform").label) == ("KMeans", "absolute")
        assert (find(explorer, "ks").value, find(explorer, "ks").max) == ((3, 30), 30)
        assert find(explorer, "n-subsamples").max == 20_000

    @pytest.mark.parametrize(("random_state", "shown"), [(None, "random"), (range(5), "one per subsample")])
    def test_seed_input_is_disabled_unless_the_seed_is_an_integer(self, frame, opened, random_state, shown):
        explorer = opened(frame, random_state=random_state)
        (seed,) = (part for part in _descendants(explorer) if "seed</span>" in getattr(part, "description", ""))
        assert (seed.value, seed.disabled) == (shown, True)

    def test_explore_raises_for_invalid_arguments(self, frame):
        with pytest.raises(ValueError, match=r"'city'.* not numeric"):
            explore(frame, columns=["city"])
        with pytest.raises(ValueError, match="30 are needed, got 3"):
            explore(frame, random_state=range(3))


class TestReading:
    def test_changes_take_effect_without_a_run(self, explorer):
        run(explorer)
        first, before = find(explorer, "first"), image(explorer, "curve")
        first.value = 3
        assert explorer.result.n_subsamples == 3
        assert image(explorer, "curve") != before
        first.value = 5
        assert explorer.session.reading.first is None
        show(explorer, "Stability")
        before = image(explorer, "stability")
        find(explorer, "delta").value = 0.001
        assert "With probability 0.999" in text(explorer, "note-stability")
        assert image(explorer, "stability") != before
        find(explorer, "criterion").value = "likely"
        assert "not to the likely criterion" in text(explorer, "note-stability")
        assert "Press Run to compute them" in text(explorer, "progress")

    @pytest.mark.parametrize(
        ("state", "first", "expected"),
        [
            ({"n_finished": 1}, None, (1, 1, True)),
            ({"n_finished": 2}, None, (2, 2, False)),
            ({"n_finished": 5}, 3, (5, 3, False)),
            ({"n_finished": 5}, 8, (5, 5, False)),
            ({"running": True, "shows_previous": True}, 3, (10_000, 1, True)),
        ],
    )
    def test_subsample_slider_follows_the_finished_subsamples(self, state, first, expected):
        usual = {"n_finished": 5, "running": False, "shows_previous": False}
        slider = widgets.IntSlider(4, min=1, max=10_000)
        follow(slider, SimpleNamespace(reading=SimpleNamespace(first=first), **(usual | state)))
        assert (slider.max, slider.value, slider.disabled) == expected


class TestTabs:
    def test_images_are_drawn_once_when_their_tab_is_selected(self, explorer):
        for tab in ("Table", "Stability"):
            show(explorer, tab)
            assert find(explorer, f"note-{tab.lower()}").value == ""
        show(explorer, "Curve")
        assert images(explorer) == set()
        run(explorer)
        assert images(explorer) == {"Curve"}
        drawn = []
        find(explorer, "image-curve").observe(drawn.append, names="value")
        for tab in ("Weights", "Stability", "Curve"):
            show(explorer, tab)
        assert images(explorer) == {"Curve", "Weights", "Stability"}
        assert not drawn

    def test_clusters_are_drawn_in_advance(self, explorer, monkeypatch):
        run(explorer)
        show(explorer, "Clusters")
        slider, best = find(explorer, "k"), explorer.result.best_k
        assert slider.value == best
        explorer.session.shown.clusterings.wait(PATIENCE)
        before = image(explorer, "clusters")
        monkeypatch.setattr("compsil_jupyter.display.draw_clusters", None)
        slider.value = 5 if best != 5 else 4
        assert image(explorer, "clusters") != before
        find(explorer, "ks").value = (6, 8)
        run(explorer)
        assert (slider.options, slider.value) == ((6, 7, 8), explorer.result.best_k)

    def test_cluster_image_stays_until_the_next_image_or_an_error(self, frame, opened):
        go_on = Event()

        def fail_for_four(k):
            if k == 4:
                assert go_on.wait(PATIENCE)
                raise RuntimeError("no <four>")

        explorer = opened(frame, clusterer=on_all_rows(len(frame), fail_for_four), sample_size=100, ks=[2, 4])
        run(explorer)
        slider = find(explorer, "k")
        slider.value = 2
        show(explorer, "Clusters")
        until(lambda: "Clusters" in images(explorer), "two clusters are drawn")
        slider.value = 4
        assert "Clusters" in images(explorer)
        go_on.set()
        explorer.session.shown.clusterings.wait(PATIENCE)
        assert "no &lt;four&gt;" in find(explorer, "note-clusters").value
        assert "Clusters" not in images(explorer)
        slider.value = 2
        assert "Clusters" in images(explorer)

    def test_comparison_buttons_reflect_the_status(self, explorer, monkeypatch):
        show(explorer, "Compare")
        for phase, disabled in (("running", (True, False)), ("done", (False, True))):
            monkeypatch.setattr(Session, "comparing", Status(phase))
            explorer.view._update("comparison")
            assert (find(explorer, "compare").disabled, find(explorer, "cancel").disabled) == disabled

    def test_table_and_code_are_escaped(self, frame, opened):
        explorer = opened(frame.rename(columns={"a": "<b>bold</b>"}), ["<b>bold</b>", "b"])
        run(explorer)
        for tab in ("Table", "Code"):
            show(explorer, tab)
            assert "<b>bold</b>" in text(explorer, f"note-{tab.lower()}")
            assert "<b>bold" not in find(explorer, f"note-{tab.lower()}").value
        assert "result = data.compsil.select_k(" in text(explorer, "note-code")
        find(explorer, "rule").value = "lcb"
        assert 'rule="lcb"' in text(explorer, "note-code")
        show(explorer, "Table")
        assert f"{explorer.result.best_score:.4f}" in text(explorer, "note-table")

    def test_code_uses_the_variable_name_or_the_data_expression(self, explorer, frame, monkeypatch):
        names = {"_": frame, "copy": frame.copy()}
        monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(user_ns=names))
        assert _variable_name(frame) is None
        names["customers"] = frame
        show(explorer, "Code")
        assert "result = customers.compsil.select_k(" in text(explorer, "note-code")
        explorer.expression = "customers[customers.a > 0]"
        show(explorer, "Table")
        show(explorer, "Code")
        assert "result = customers[customers.a > 0].compsil" in text(explorer, "note-code")


class TestUpdates:
    """Updates during a run, with a clock set by the test."""

    @pytest.fixture
    def update(self, explorer, monkeypatch):
        """Change the status of a finished run; return the subsample counts shown in the progress and the headline."""
        run(explorer)
        clock = SimpleNamespace(monotonic=lambda: clock.now, now=100.0)
        monkeypatch.setattr("compsil_jupyter.view.time", clock)

        def update(what, seconds, done, phase="running"):
            clock.now += seconds
            monkeypatch.setattr(Session, "status", Status(phase, done, 5))
            explorer.view._update(what)
            # The headline changes together with the image.
            return [re.search(r"(\d) of 5|$", text(explorer, name))[1] for name in ("progress", "headline")]

        return update

    def test_growing_results_are_drawn_at_a_limited_rate(self, update):
        assert update("status", 0, 1) == ["1", "1"]
        assert update("result", 0.39, 2) == ["2", "1"]
        assert update("result", 0.01, 3) == ["3", "3"]
        assert update("status", 0.1, 4) == ["4", "4"]
        assert update("result", 0.1, 5, "stopped") == ["5", None]
        # The first result of a run is also drawn without delay.
        assert update("status", 0, 0) == ["0", "0"]
        assert update("result", 0.1, 1) == ["1", "1"]

    def test_progress_bar_and_buttons_reflect_the_status(self, explorer, update):
        (bar,) = (part for part in _descendants(explorer) if isinstance(part, widgets.IntProgress))
        for phase, style in {"running": "", "done": "success", "failed": "danger", "stopped": "warning"}.items():
            update("status", 0, 3, phase)
            assert (bar.value, bar.max, bar.bar_style) == (3, 5, style)
            assert find(explorer, "run").disabled == (phase == "running") != find(explorer, "stop").disabled

    def test_clusters_are_hidden_during_a_run(self, explorer, update):
        show(explorer, "Clusters")
        explorer.session.shown.clusterings.wait(PATIENCE)
        assert "Clusters" in images(explorer)
        update("status", 0, 3)
        assert "Clusters" not in images(explorer)
        assert text(explorer, "note-clusters") == "Clusters are shown after the run."
        show(explorer, "Code")
        assert ".cluster(" not in text(explorer, "note-code")
        find(explorer, "k").value = 5
        update("status", 0, 5, "done")
        assert ".cluster(k=5" in text(explorer, "note-code")


def test_an_error_keeps_the_previous_result(explorer):
    run(explorer)
    before, curve = explorer.result, image(explorer, "curve")
    find(explorer, "ks").value = (2, 8)
    find(explorer, "sample-size").value = "a lot"
    run(explorer)
    assert text(explorer, "error").startswith("sample_size must be")
    assert "previous result" in text(explorer, "headline")
    assert explorer.result is before
    assert image(explorer, "curve") == curve
    assert (find(explorer, "first").max, find(explorer, "first").value) == (5, 5)
    assert find(explorer, "k").options == (2, 3, 4, 5)


def test_saving_never_overwrites_a_file(explorer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compsil_selection.py").write_text("mine")
    find(explorer, "save-code").click()
    assert "Saved as compsil_selection-2.py in the working directory" in text(explorer, "saved")
    assert 'download="compsil_selection-2.py"' in find(explorer, "saved").value
    assert (tmp_path / "compsil_selection.py").read_text() == "mine"
    assert "select_k(" in (tmp_path / "compsil_selection-2.py").read_text()
    assert _unused_path(tmp_path / "compsil_selection.py") == tmp_path / "compsil_selection-3.py"
    find(explorer, "save-report").click()
    assert text(explorer, "saved") == "Not saved: there is no result yet. Press Run first."


class TestData:
    @pytest.mark.parametrize(
        ("data", "keywords", "scale"),
        [
            (sparse.eye(9, format="csr"), {}, None),
            (pl.DataFrame(np.eye(9)), {}, "standard"),
            # Distances are not scaled, even in a frame.
            (pd.DataFrame(np.eye(9)), {"metric": "precomputed", "clusterer": "agglomerative"}, None),
        ],
        ids=["sparse", "polars", "distances"],
    )
    def test_default_scale_depends_on_the_type_of_data(self, opened, data, keywords, scale):
        assert opened(data, **keywords).session.settings["scale"] == scale

    @pytest.mark.parametrize("given", [{"scale": "standard"}, {"columns": [0]}])
    def test_columns_and_scale_raise_for_a_sparse_matrix(self, given):
        with pytest.raises(ValueError, match="columns and scale must be None for a sparse matrix"):
            explore(sparse.eye(9, format="csr"), **given)

    @pytest.mark.parametrize("data", [5, "text", [[1, 2], [3]]])
    def test_explore_rejects_invalid_data(self, data):
        with pytest.raises((TypeError, ValueError), match=r"X (as text )?must"):
            explore(data)

    def test_the_accessor_opens_the_explorer(self, frame):
        explorer = frame.compsil.explore(["a", "b"], ks=[2, 3])
        assert isinstance(explorer, Explorer)
        assert find(explorer, "columns").value == ("a", "b")
        explorer.close()

    def test_explore_without_ipywidgets_raises_and_names_the_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
        with pytest.raises(ImportError, match=r"the explorer needs the package 'ipywidgets'.*pip install ipywidgets"):
            _ = compsil_jupyter.explore
