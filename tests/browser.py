"""Open notebooks in a browser, and use the explorer as a user would."""

import re
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from waiting import NOTEBOOK_PATIENCE, PATIENCE

from frontends import Kernel, Server

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
# Voilà's template loads button icons from this URL; without a network, only the icons are missing.
VOILA_ICONS = "https://cdn.jsdelivr.net/npm/@fortawesome/fontawesome-free@"
# Return the pixels of the only visible image once they differ from the old pixels. An image that is being replaced
# cannot be decoded, so the function tries again in the next frame.
NEXT_IMAGE = """async ([root, old, milliseconds]) => {
  const visible = image => image.getClientRects().length && getComputedStyle(image).visibility !== "hidden";
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const images = [...root.querySelectorAll("img")].filter(visible);
    const decoded = images.length === 1 && await images[0].decode().then(() => true, () => false);
    if (decoded) {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [images[0].naturalWidth, images[0].naturalHeight];
      canvas.getContext("2d").drawImage(images[0], 0, 0);
      if (canvas.toDataURL() !== old) return canvas.toDataURL();
    }
    await new Promise(requestAnimationFrame);
  }
  throw new Error("no new image appeared");
}"""
COUNT = r"(\d+) of \d+ subsamples"
HAS_MORE = f"([part, count]) => Number((part.innerText.match(/{COUNT}/) || [0, 0])[1]) > count"
MILLISECONDS = PATIENCE * 1000

# The default of five seconds is too short for busy machines.
expect.set_options(timeout=MILLISECONDS)


def find_browser():
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def launch():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Problems(list):
    """The page's console errors, uncaught exceptions, and blocked requests to other machines."""

    def __init__(self, page):
        super().__init__()
        page.on("console", self._add_logged)
        page.on("pageerror", lambda error: self.append(f"uncaught: {error}"))
        page.route(re.compile(r"^(?!(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:)"), self._block)

    def _add_logged(self, message):
        source = message.location.get("url", "")
        if message.type == "error" and not source.startswith(VOILA_ICONS):
            self.append(f"{message.text} ({source})")

    def _block(self, route):
        if not route.request.url.startswith(VOILA_ICONS):
            self.append(f"requested {route.request.url}")
        route.abort()


@dataclass
class Notebook:
    """A notebook opened in a front end, and its kernel."""

    server: Server
    page: Page
    kernel: Kernel | None
    problems: Problems
    evidence: Path

    @contextmanager
    def watch(self, name):
        """Fail if the page has problems; attach a screenshot to every failure."""
        self.problems.clear()
        try:
            yield
            assert self.problems == []
        except BaseException as failure:
            image = self.evidence / f"{self.server.kind}-{name}.png"
            self.page.screenshot(path=image)
            failure.add_note(f"screenshot: {image}\nserver log: {self.server.log}\nproblems: {self.problems}")
            raise

    def enter(self, code):
        """Type code into a new cell of JupyterLab and run it."""
        self.page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:insert-cell-below']").click()
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".jp-Notebook .jp-Cell.jp-mod-active .cm-content")).to_be_focused()
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Shift+Enter")


@contextmanager
def open_notebook(browser, server, name, evidence, *, width=1440, height=1000):
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(MILLISECONDS)
    notebook = Notebook(server, page, None, Problems(page), evidence)
    file = server.connection_file(name)
    try:
        with notebook.watch(f"opening-{name}"):
            # Voilà responds only after running all cells.
            page.goto(server.url(name), timeout=NOTEBOOK_PATIENCE * 1000)
            if server.kind == "lab":
                run_all(page)
            until(page, file.exists, "all cells have run", NOTEBOOK_PATIENCE)
        notebook.kernel = Kernel(file)
        yield notebook
        notebook.kernel.close()
    finally:
        page.close()


def run_all(page):
    # Before the kernel is idle, JupyterLab would start a second kernel or ask for a kernel. The toolbar shows the idle
    # state too early, so wait for the status bar.
    page.locator("#jp-main-statusbar").get_by_text(" | Idle").wait_for()
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()


def until(page, condition, what, seconds=PATIENCE):
    """Wait for a condition outside the page while the page keeps running."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"timed out after {seconds} s waiting until {what}"
        page.wait_for_timeout(30)


class Screen:
    """An explorer on a page."""

    def __init__(self, page, mark=""):
        """Wait for the explorer with this CSS class, or for the only explorer on the page."""
        self.page, self.root = page, page.locator(f".compsil-explorer{mark and '.'}{mark}")
        self.root.wait_for()

    def part(self, name):
        return self.root.locator(f".compsil-{name}")

    def press(self, name):
        self.part(name).click()

    def choose(self, name, label):
        self.part(name).locator("select").select_option(label=label)

    def type(self, name, text):
        """Type into a field and press Enter."""
        field = self.part(name).locator("input")
        field.fill(text)
        field.press("Enter")

    def move(self, name, key):
        """Press a key on a slider."""
        self.part(name).locator(".noUi-handle").press(key)

    def tab(self, name):
        self.root.locator(".compsil-tabs .lm-TabBar-tab", has_text=re.compile(f"^{name}$")).click()

    def text(self, name):
        return self.part(name).inner_text()

    def wait_for_text(self, name, pattern, seconds=PATIENCE):
        expect(self.part(name)).to_contain_text(re.compile(pattern), timeout=seconds * 1000)

    def wait_for_change(self, name, text):
        expect(self.part(name)).not_to_have_text(text, use_inner_text=True)

    @property
    def count(self):
        """The displayed number of finished subsamples."""
        found = re.search(COUNT, self.text("progress"))
        return int(found[1]) if found else 0

    def wait_for_more(self, count):
        self.page.wait_for_function(HAS_MORE, arg=[self.part("progress").element_handle(), count])

    @property
    def images(self):
        return self.root.locator("img:visible")

    def image(self, old=None):
        """Wait until the only visible image differs from the old one, and return it."""
        return self.page.evaluate(NEXT_IMAGE, [self.root.element_handle(), old, MILLISECONDS])

    def run(self, seconds=PATIENCE):
        before = self.text("progress")
        self.press("run")
        self.wait_for_change("progress", before)
        self.wait_for_text("progress", r"(\d+) of \1 subsamples in", seconds)
