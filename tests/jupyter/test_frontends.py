"""The explorer and the magic where people meet them: JupyterLab and Voilà in a real browser."""

from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from browser import Complaints, Screen, find_browser, launch, open_notebook, until
from frontends import serve

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SETUP = """import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs
from compsil_jupyter import explore

X, _ = make_blobs([900, 500, 300, 80], 3, cluster_std=[1.6, 1.2, 1.0, 0.8], random_state=7)
df = pd.DataFrame(X, columns=["income", "visits", "basket"])
gaps = df.mask(df.visits > 9)
"""
QUICK = "ks=range(2, 7), sample_size=200"
# No machine finishes the endless ones before they are stopped.
EXPLORERS = {
    "endless": f"explore(df, n_subsamples=9000, {QUICK})",
    "tabs": f"explore(df, n_subsamples=6, {QUICK})",
    "saving": f"explore(df, n_subsamples=3, {QUICK})",
    "holes": f"explore(gaps, n_subsamples=3, {QUICK})",
    "left": f"explore(df, n_subsamples=9000, {QUICK})",
    "right": f"explore(df, n_subsamples=4, {QUICK})",
    "long": f"explore(df, n_subsamples=9000, {QUICK})",
}


def cell(name):
    """Return the lines that show an explorer, marked by its name."""
    return f"{name} = {EXPLORERS[name]}\n{name}.add_class({name!r})\n{name}"


@contextmanager
def shown(desk, *names):
    """Show explorers by new cells, or take those that Voilà's page has from the beginning; close them at the end."""
    with desk.watch(names[0]):
        for name in names:
            if desk.server.kind == "lab":
                desk.enter(cell(name))
        yield tuple(Screen(desk.page, name) for name in names)
        for name in names:
            desk.kernel.run(f"{name}.close()")
            expect(desk.page.locator(f".{name}")).to_have_count(0)


@pytest.fixture(scope="module")
def browser():
    if find_browser() is None:
        pytest.fail("there is no Chromium. `make browser` installs it from Debian's packages.")
    with launch() as browser:
        yield browser


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    with serve("lab", tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="module")
def voila(browser, tmp_path_factory):
    with serve("voila", tmp_path_factory.mktemp("voila")) as server:
        yield server


@pytest.fixture(scope="module", params=["lab", "voila"])
def desk(request, browser, tmp_path_factory):
    """A notebook with data, open in each front end in turn."""
    server = request.getfixturevalue(request.param)
    server.write("desk", SETUP, *(map(cell, EXPLORERS) if server.kind == "voila" else ()))
    with open_notebook(browser, server, "desk", tmp_path_factory.mktemp("evidence")) as desk:
        yield desk


def test_results_stream_in_and_what_is_finished_stays_when_stopped(desk):
    with shown(desk, "endless") as (screen,):
        screen.says("headline", "Press Run")
        assert screen.pictures.count() == 0
        expect(screen.part("stop")).to_be_disabled()
        screen.press("run")
        screen.says("progress", r"[1-9]\d* of 9000 subsamples finished, about .* left")
        count, curve = screen.count, screen.picture()
        screen.next_picture(curve)
        screen.grows(count)
        assert desk.kernel.value("endless.session.running")

        screen.press("stop")
        screen.says("progress", r"^stopped after [1-9]\d* of 9000 subsamples; finished subsamples are kept$")
        screen.says("headline", "partial")
        desk.kernel.run("endless.wait()")
        assert desk.kernel.value("endless.result.n_subsamples, endless.result.partial") == (screen.count, True)
        expect(screen.part("run")).to_be_enabled()

        check_that_readings_act_at_once(desk, screen)
        screen.type("n-subsamples", "4")
        screen.says("progress", "Settings have changed. Press Run to apply them")
        screen.run()
        assert screen.count == 4
        assert "partial" not in screen.text("headline")
        assert desk.kernel.value("endless.result.n_subsamples, endless.result.partial") == (4, False)


def check_that_readings_act_at_once(desk, screen):
    """Read the finished trials in other ways, and see the picture follow while nothing is computed anew."""
    finished = screen.count
    screen.choose("rule", "lcb")
    screen.says("headline", "lower bound")
    headline, picture = screen.text("headline"), screen.picture()
    screen.choose("transform", "step")
    screen.says_no_more("headline", headline)
    picture = screen.next_picture(picture)
    assert desk.kernel.value("endless.result.rule, endless.result.transform") == ("lcb", "step")

    screen.move("first", "Home")
    picture = screen.next_picture(picture)
    # The bound is undefined for a single subsample.
    screen.says("headline", "no k can be selected")
    screen.says("error", "No k can be selected by rule='lcb' from a single subsample")
    screen.move("first", "ArrowRight")
    screen.says("headline", "lower bound")
    screen.next_picture(picture)
    assert desk.kernel.value("endless.result.n_subsamples") == 2
    screen.move("first", "End")
    until(desk.page, lambda: desk.kernel.value("endless.result.n_subsamples") == finished, "all are used again")
    assert screen.count == desk.kernel.value("endless.session.n_finished") == finished


def test_every_tab_shows_one_picture_or_none(desk):
    with shown(desk, "tabs") as (screen,):
        screen.run()
        desk.kernel.run("tabs.wait()")
        pictures = {}
        # The curve is not the first: once others have arrived, its last picture has as well.
        for name in ("Weights", "Stability", "Curve", "Clusters"):
            screen.tab(name)
            pictures[name] = screen.picture()
            expect(screen.part(f"image-{name.lower()}")).to_be_visible()

        best_k = desk.kernel.value("tabs.result.best_k")
        key, k = ("ArrowRight", best_k + 1) if best_k < 6 else ("ArrowLeft", 5)
        screen.says("k", f"^k{best_k}$")
        screen.move("k", key)
        screen.says("k", f"^k{k}$")
        pictures["another k"] = screen.next_picture(pictures["Clusters"])

        screen.tab("Compare")
        expect(screen.pictures).to_have_count(0)
        screen.press("compare")
        expect(screen.part("image-compare")).to_be_visible()
        pictures["Compare"] = screen.picture()
        screen.says("note-compare", rf"choose k = {desk.kernel.value('tabs.comparison.choices')['composite']}")

        for name in ("Table", "Code"):
            screen.tab(name)
            expect(screen.part(f"note-{name.lower()}")).to_be_visible()
            expect(screen.pictures).to_have_count(0)
        assert screen.part("note-table").locator("tr").count() == 1 + 5
        desk.kernel.run(screen.text("note-code").replace("print(", "str("))
        assert desk.kernel.value("result.best_k, labels.nunique()") == (best_k, k)
        screen.tab("Curve")
        assert screen.picture() == pictures["Curve"]
        assert len(set(pictures.values())) == 6


def test_report_and_code_are_saved_and_can_be_downloaded(desk):
    with shown(desk, "saving") as (screen,):
        screen.press("save-report")
        screen.says("saved", "^Not saved: there is no result yet. Press Run first.$")
        screen.run()
        for button, name, beginning in (
            ("save-report", "compsil-report.html", "<!doctype html>"),
            ("save-code", "compsil_selection.py", "import compsil_pandas"),
            ("save-code", "compsil_selection-2.py", "import compsil_pandas"),
        ):
            screen.press(button)
            screen.says("saved", f"^Saved as {name} in the working directory")
            with desk.page.expect_download() as download:
                screen.part("saved").get_by_text("download").click()
            written = (desk.server.notebooks / name).read_text("utf-8")
            assert written.startswith(beginning)
            assert download.value.suggested_filename == name
            assert download.value.path().read_text("utf-8") == written


def test_errors_appear_inside_the_explorer(desk):
    with shown(desk, "holes") as (screen,):
        screen.press("run")
        screen.says("error", "missing values")
        assert desk.kernel.value("holes.result") is None
        expect(screen.part("run")).to_be_enabled()
        screen.choose("missing", "drop rows")
        screen.type("sample-size", "a lot")
        screen.press("run")
        screen.says("error", "sample_size must be .* got 'a lot'")
        screen.type("sample-size", "0.5")
        screen.run()
        expect(screen.part("error")).to_have_text("")
        screen.picture()
        assert desk.kernel.value("holes.result.n_subsamples, holes.session.settings['missing']") == (3, "drop")
        expect(desk.page.get_by_text("Traceback")).to_have_count(0)


def test_two_explorers_do_not_disturb_each_other_and_closing_one_ends_its_work(desk):
    with shown(desk, "left", "right") as (left, right):
        left.press("run")
        left.says("progress", r"[1-9]\d* of 9000 subsamples")
        right.run()
        desk.kernel.run("right.wait()")
        right.choose("rule", "lcb")
        right.tab("Weights")
        count, weights = left.count, right.picture()
        left.next_picture(left.picture())
        left.grows(count)
        assert right.picture() == weights
        assert right.count == 4
        expect(left.part("image-curve")).to_be_visible()
        rules = "[each.session.reading.choice['rule'] for each in (left, right)]"
        assert desk.kernel.value(rules) == ["max", "lcb"]

        desk.kernel.run("left.close(); left.wait()")
        expect(desk.page.locator(".left")).to_have_count(0)
        working = "[thread.name for thread in __import__('threading').enumerate() if 'compsil' in thread.name]"
        assert desk.kernel.value(working) == []
        right.choose("transform", "linear")
        right.next_picture(weights)
        assert desk.kernel.value("right.result.transform") == "linear"


def test_a_comparison_can_be_cancelled(desk):
    with shown(desk, "long") as (screen,):
        screen.tab("Compare")
        expect(screen.part("cancel")).to_be_disabled()
        screen.press("compare")
        screen.says("note-compare", r"[1-9]\d* of \d+ steps finished")
        screen.press("cancel")
        screen.says("note-compare", r"^Stopped\.$")
        desk.kernel.run("long.wait()")
        assert desk.kernel.value("long.session.comparing.phase, long.comparison") == ("stopped", None)
        expect(screen.part("compare")).to_be_enabled()


@pytest.mark.parametrize("desk", ["lab"], indirect=True)
def test_the_magic_in_jupyterlab(desk):
    cell = desk.page.locator(".jp-CodeCell")
    with desk.watch("magic"):
        desk.enter("%load_ext compsil_jupyter")
        desk.enter("%compsil df -B 4 --ks 2:6 --sample-size 200 -o magic")
        card = cell.filter(has_text="-o magic").locator(".jp-RenderedHTMLCommon", has_text="number of clusters")
        card.wait_for()
        best_k, n_subsamples = desk.kernel.value("magic.best_k, magic.n_subsamples")
        expect(card).to_contain_text(f"number of clusters{best_k}")
        expect(card).to_contain_text(f"{n_subsamples} subsamples of 200 of 1,780 rows")
        assert n_subsamples == 4

        desk.enter("%compsil explore df --ks 2:4 -B 3 --rule lcb -o opened")
        screen = Screen(desk.page)
        screen.run()
        screen.picture()
        assert desk.kernel.value("opened.result.rule, opened.result.n_subsamples") == ("lcb", 3)
        desk.kernel.run("opened.close()")

        desk.enter("%compsil df --clusterer kmeens")
        wrong = cell.filter(has_text="kmeens").locator(".jp-RenderedText")
        expect(wrong).to_contain_text("UsageError")
        expect(wrong).to_contain_text("kmeans")
        expect(desk.page.get_by_text("Traceback")).to_have_count(0)


def test_the_notebook_of_the_explorer_opens_in_voila(browser, voila, tmp_path):
    voila.take("tour", nbformat.read(NOTEBOOKS / "03_explorer.ipynb", as_version=4))
    with open_notebook(browser, voila, "tour", tmp_path) as tour, tour.watch("tour"):
        tour.page.locator(".compsil-explorer").first.wait_for()
        expect(tour.page.locator("[data-mime-type='application/vnd.jupyter.error']")).to_have_count(0)


def test_a_card_in_voila_does_not_stand_under_a_lost_progress_bar(browser, voila, tmp_path):
    voila.write("card", SETUP, "from compsil_kit import select_k\nselect_k(df, ks=[2, 3], n_subsamples=4)")
    with open_notebook(browser, voila, "card", tmp_path) as page, page.watch("card"):
        page.page.get_by_text("4 subsamples of").first.wait_for()
        expect(page.page.get_by_text("model not found")).to_have_count(0)
        expect(page.page.get_by_text("Error displaying widget")).to_have_count(0)


def test_the_browser_would_tell(browser, tmp_path):
    """The check of the check: errors and calls to other machines are found out."""
    page = browser.new_page()
    complaints = Complaints(page)
    page.set_content("<img src='http://example.org/a.png'><script>console.error('logged'); missing()</script>")
    until(page, lambda: len(complaints) >= 4, "all faults are told")
    page.close()
    for fault in ("logged", "missing is not defined", "asked for http://example.org/a.png"):
        assert any(fault in complaint for complaint in complaints)
