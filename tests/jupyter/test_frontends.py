"""The explorer and the magic in JupyterLab and Voilà, in a real browser."""

from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from browser import Problems, Screen, find_browser, launch, open_notebook, until
from frontends import serve

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SETUP = """import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs
from compsil_jupyter import explore

X, _ = make_blobs([900, 500, 300, 80], 3, cluster_std=[1.6, 1.2, 1.0, 0.8], random_state=7)
df = pd.DataFrame(X, columns=["income", "visits", "basket"])
"""
QUICK = "ks=range(2, 7), sample_size=200"
# The tests stop the explorers with 9000 subsamples.
EXPLORERS = {
    "endless": f"explore(df, n_subsamples=9000, {QUICK})",
    "tabs": f"explore(df, n_subsamples=6, {QUICK})",
    "saving": f"explore(df, n_subsamples=3, {QUICK})",
    "left": f"explore(df, n_subsamples=9000, {QUICK})",
    "right": f"explore(df, n_subsamples=4, {QUICK})",
}


def cell(name):
    """Return code that shows an explorer with its name as a CSS class."""
    return f"{name} = {EXPLORERS[name]}\n{name}.add_class({name!r})\n{name}"


@contextmanager
def shown(desk, *names):
    """Show explorers in new cells (Voilà shows all of them from the start); close them at the end."""
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
        pytest.fail("Chromium is not installed. Run `make browser` to install it from the Debian packages.")
    with launch() as browser:
        yield browser


@pytest.fixture(scope="module", params=["lab", "voila"])
def server(request, browser, tmp_path_factory):
    with serve(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture(scope="module")
def desk(server, browser, tmp_path_factory):
    """A notebook with data, open in each front end in turn."""
    server.write("desk", SETUP, *(map(cell, EXPLORERS) if server.kind == "voila" else ()))
    with open_notebook(browser, server, "desk", tmp_path_factory.mktemp("evidence")) as desk:
        yield desk


def test_results_are_streamed_and_stopping_keeps_the_finished_subsamples(desk):
    with shown(desk, "endless") as (screen,):
        screen.wait_for_text("headline", "Press Run")
        assert screen.images.count() == 0
        expect(screen.part("stop")).to_be_disabled()
        screen.press("run")
        screen.wait_for_text("progress", r"[1-9]\d* of 9000 subsamples finished, about .* left")
        count = screen.count
        screen.image(screen.image())
        screen.wait_for_more(count)

        screen.press("stop")
        screen.wait_for_text("progress", r"^stopped after [1-9]\d* of 9000 subsamples; finished subsamples are kept$")
        screen.wait_for_text("headline", "partial")
        desk.kernel.run("endless.wait()")
        assert desk.kernel.value("endless.result.n_subsamples, endless.result.partial") == (screen.count, True)
        expect(screen.part("run")).to_be_enabled()

        check_that_choices_take_effect_immediately(desk, screen)
        check_that_a_comparison_can_be_cancelled(desk, screen)
        screen.choose("missing", "drop rows")
        screen.type("sample-size", "a lot")
        screen.wait_for_text("progress", "Settings have changed. Press Run to apply them")
        screen.press("run")
        screen.wait_for_text("error", "sample_size must be .* got 'a lot'")
        screen.type("sample-size", "0.5")
        screen.type("n-subsamples", "4")
        screen.run()
        expect(screen.part("error")).to_have_text("")
        expect(desk.page.get_by_text("Traceback")).to_have_count(0)
        assert "partial" not in screen.text("headline")
        assert desk.kernel.value("endless.result.n_subsamples, endless.result.partial") == (4, False)


def check_that_choices_take_effect_immediately(desk, screen):
    """Check that the image is updated when a choice setting changes, without a new run."""
    finished = screen.count
    screen.choose("rule", "lcb")
    screen.wait_for_text("headline", "lower bound")
    headline, image = screen.text("headline"), screen.image()
    screen.choose("transform", "step")
    screen.wait_for_change("headline", headline)
    image = screen.image(image)
    assert desk.kernel.value("endless.result.rule, endless.result.transform") == ("lcb", "step")

    screen.move("first", "Home")
    image = screen.image(image)
    # The bound is undefined for a single subsample.
    screen.wait_for_text("headline", "no k can be selected")
    screen.wait_for_text("error", "No k can be selected by rule='lcb' from a single subsample")
    screen.move("first", "ArrowRight")
    screen.wait_for_text("headline", "lower bound")
    screen.image(image)
    assert desk.kernel.value("endless.result.n_subsamples") == 2
    screen.move("first", "End")
    until(desk.page, lambda: desk.kernel.value("endless.result.n_subsamples") == finished, "all are in use again")
    assert screen.count == finished


def check_that_a_comparison_can_be_cancelled(desk, screen):
    screen.tab("Compare")
    expect(screen.part("cancel")).to_be_disabled()
    screen.press("compare")
    screen.wait_for_text("note-compare", r"[1-9]\d* of \d+ steps finished")
    screen.press("cancel")
    screen.wait_for_text("note-compare", r"^Stopped\.$")
    desk.kernel.run("endless.wait()")
    assert desk.kernel.value("endless.comparison") is None
    expect(screen.part("compare")).to_be_enabled()
    screen.tab("Curve")


def test_every_tab_shows_at_most_one_image(desk):
    with shown(desk, "tabs") as (screen,):
        screen.run()
        desk.kernel.run("tabs.wait()")
        images = {}
        # Do not start with the curve, because its final image may not have arrived yet.
        for name in ("Weights", "Stability", "Curve", "Clusters"):
            screen.tab(name)
            images[name] = screen.image()
            expect(screen.part(f"image-{name.lower()}")).to_be_visible()

        best_k = desk.kernel.value("tabs.result.best_k")
        key, k = ("ArrowRight", best_k + 1) if best_k < 6 else ("ArrowLeft", 5)
        screen.wait_for_text("k", f"^k{best_k}$")
        screen.move("k", key)
        screen.wait_for_text("k", f"^k{k}$")
        images["another k"] = screen.image(images["Clusters"])

        screen.tab("Compare")
        expect(screen.images).to_have_count(0)
        screen.press("compare")
        expect(screen.part("image-compare")).to_be_visible()
        images["Compare"] = screen.image()
        desk.kernel.run("tabs.wait()")
        choice = desk.kernel.value("tabs.comparison.choices")["composite"]
        screen.wait_for_text("note-compare", rf"select k = {choice}")

        for name in ("Table", "Code"):
            screen.tab(name)
            expect(screen.part(f"note-{name.lower()}")).to_be_visible()
            expect(screen.images).to_have_count(0)
        assert screen.part("note-table").locator("tr").count() == 1 + 5
        desk.kernel.run(screen.text("note-code").replace("print(", "str("))
        assert desk.kernel.value("result.best_k, labels.nunique()") == (best_k, k)
        screen.tab("Curve")
        assert screen.image() == images["Curve"]
        assert len(set(images.values())) == 6


def test_report_and_code_can_be_saved_and_downloaded(desk):
    with shown(desk, "saving") as (screen,):
        screen.press("save-report")
        screen.wait_for_text("saved", "^Not saved: there is no result yet. Press Run first.$")
        screen.run()
        for button, name, start in (
            ("save-report", "compsil-report.html", "<!doctype html>"),
            ("save-code", "compsil_selection.py", "import compsil_pandas"),
        ):
            screen.press(button)
            screen.wait_for_text("saved", f"^Saved as {name} in the working directory")
            with desk.page.expect_download() as download:
                screen.part("saved").get_by_text("download").click()
            written = (desk.server.notebooks / name).read_text("utf-8")
            assert written.startswith(start)
            assert download.value.suggested_filename == name
            assert download.value.path().read_text("utf-8") == written


def test_two_explorers_are_independent_and_closing_one_stops_it(desk):
    with shown(desk, "left", "right") as (left, right):
        left.press("run")
        left.wait_for_text("progress", r"[1-9]\d* of 9000 subsamples")
        right.run()
        desk.kernel.run("right.wait()")
        right.choose("rule", "lcb")
        right.tab("Weights")
        count, weights = left.count, right.image()
        left.image(left.image())
        left.wait_for_more(count)
        assert right.image() == weights
        assert right.count == 4
        expect(left.part("image-curve")).to_be_visible()
        assert desk.kernel.value("left.result.rule, right.result.rule") == ("max", "lcb")

        desk.kernel.run("left.close(); left.wait()")
        expect(desk.page.locator(".left")).to_have_count(0)
        working = "[thread.name for thread in __import__('threading').enumerate() if 'compsil' in thread.name]"
        assert desk.kernel.value(working) == []
        right.choose("transform", "linear")
        right.image(weights)
        assert desk.kernel.value("right.result.transform") == "linear"


@pytest.mark.parametrize("server", ["lab"], indirect=True)
def test_the_magic_shows_a_card_an_explorer_or_an_error_in_jupyterlab(desk):
    cells = desk.page.locator(".jp-CodeCell")
    with desk.watch("magic"):
        desk.enter("%load_ext compsil_jupyter")
        desk.enter("%compsil df -B 4 --ks 2:6 --sample-size 200 -o magic")
        card = cells.filter(has_text="-o magic").locator(".jp-RenderedHTMLCommon", has_text="number of clusters")
        card.wait_for()
        best_k, n_subsamples = desk.kernel.value("magic.best_k, magic.n_subsamples")
        expect(card).to_contain_text(f"number of clusters{best_k}")
        expect(card).to_contain_text(f"{n_subsamples} subsamples of 200 of 1,780 rows")

        desk.enter("%compsil explore df --ks 2:4 -B 3 --rule lcb -o opened")
        screen = Screen(desk.page)
        screen.run()
        screen.image()
        assert desk.kernel.value("opened.result.rule, opened.result.n_subsamples") == ("lcb", 3)
        desk.kernel.run("opened.close()")

        desk.enter("%compsil df --clusterer kmeens")
        error = cells.filter(has_text="kmeens").locator(".jp-RenderedText")
        expect(error).to_contain_text("UsageError")
        expect(error).to_contain_text("kmeans")
        expect(desk.page.get_by_text("Traceback")).to_have_count(0)


@pytest.mark.parametrize("server", ["voila"], indirect=True)
def test_the_explorer_notebook_runs_in_voila(browser, server, tmp_path):
    server.add("tour", nbformat.read(NOTEBOOKS / "03_explorer.ipynb", as_version=4))
    with open_notebook(browser, server, "tour", tmp_path) as tour, tour.watch("tour"):
        tour.page.locator(".compsil-explorer").first.wait_for()
        expect(tour.page.locator("[data-mime-type='application/vnd.jupyter.error']")).to_have_count(0)


@pytest.mark.parametrize("server", ["voila"], indirect=True)
def test_a_card_in_voila_has_no_broken_progress_bar(browser, server, tmp_path):
    server.write("card", SETUP, "from compsil_kit import select_k\nselect_k(df, ks=[2, 3], n_subsamples=4)")
    with open_notebook(browser, server, "card", tmp_path) as card, card.watch("card"):
        card.page.get_by_text("4 subsamples of").first.wait_for()
        for problem in ("model not found", "Error displaying widget"):
            expect(card.page.get_by_text(problem)).to_have_count(0)


def test_page_problems_are_detected(browser):
    page = browser.new_page()
    problems = Problems(page)
    page.set_content("<img src='http://example.org/a.png'><script>console.error('logged'); missing()</script>")
    until(page, lambda: len(problems) >= 4, "all problems are detected")
    page.close()
    for problem in ("logged", "missing is not defined", "requested http://example.org/a.png"):
        assert any(problem in each for each in problems)
