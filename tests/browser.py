"""A browser on a notebook, and the explorer as a user sees and touches it."""

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
# Voilà's template asks for the icons of buttons there; without a network they are missing and nothing else is.
VOILA_ICONS = "https://cdn.jsdelivr.net/npm/@fortawesome/fontawesome-free@"
# The one picture that can be seen, as its pixels, once there is one and it is another than the old one. A picture's
# address changes with every new picture, perhaps just now: then it cannot be decoded, and the next frame is looked at.
SEEN = """async ([root, old, milliseconds]) => {
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
  throw new Error("waited in vain for another picture");
}"""
COUNT = r"(\d+) of \d+ subsamples"
GROWN = f"([part, count]) => Number((part.innerText.match(/{COUNT}/) || [0, 0])[1]) > count"
MILLISECONDS = PATIENCE * 1000

# Machines that test are busy, and five seconds are the default.
expect.set_options(timeout=MILLISECONDS)


def find_browser():
    """Return the path of a Chromium, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def launch():
    """Start the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Complaints(list):
    """What a page logs as an error, does not catch, or asks of other machines, which it does not get."""

    def __init__(self, page):
        """Listen to a page."""
        super().__init__()
        page.on("console", self._logged)
        page.on("pageerror", lambda error: self.append(f"not caught: {error}"))
        page.route(re.compile(r"^(?!(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:)"), self._refuse)

    def _logged(self, message):
        where = message.location.get("url", "")
        if message.type == "error" and not where.startswith(VOILA_ICONS):
            self.append(f"{message.text} ({where})")

    def _refuse(self, route):
        if not route.request.url.startswith(VOILA_ICONS):
            self.append(f"asked for {route.request.url}")
        route.abort()


@dataclass
class Notebook:
    """A notebook that is open in a front end, with its kernel."""

    server: Server
    page: Page
    kernel: Kernel | None
    complaints: Complaints
    evidence: Path

    @contextmanager
    def watch(self, name):
        """See to it that nothing complains; a failure leaves a screenshot and says where it is."""
        self.complaints.clear()
        try:
            yield
            assert self.complaints == []
        except BaseException as failure:
            picture = self.evidence / f"{self.server.kind}-{name}.png"
            self.page.screenshot(path=picture)
            failure.add_note(f"screenshot: {picture}\nserver's log: {self.server.log}\ncomplaints: {self.complaints}")
            raise

    def enter(self, code):
        """Type lines into a new cell, in JupyterLab, and run them."""
        self.page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:insert-cell-below']").click()
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".jp-Notebook .jp-Cell.jp-mod-active .cm-content")).to_be_focused()
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Shift+Enter")


@contextmanager
def open_notebook(browser, server, name, evidence, *, width=1440, height=1000):
    """Open a notebook and run it all."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(MILLISECONDS)
    notebook = Notebook(server, page, None, Complaints(page), evidence)
    try:
        with notebook.watch(f"opening-{name}"):
            # Voilà answers when it has run the cells.
            page.goto(server.url(name), timeout=NOTEBOOK_PATIENCE * 1000)
            if server.kind == "lab":
                run_all(page)
            until(page, server.note(name).exists, "all cells have run", NOTEBOOK_PATIENCE)
        notebook.kernel = Kernel(server.note(name))
        yield notebook
        notebook.kernel.close()
    finally:
        page.close()


def run_all(page):
    """Run all cells of the notebook in front by JupyterLab's menu."""
    # Earlier, JupyterLab would start a second kernel, or ask which one to use. The sign in the notebook's own toolbar
    # says idle too soon.
    page.locator("#jp-main-statusbar").get_by_text(" | Idle").wait_for()
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()


def until(page, condition, what, seconds=PATIENCE):
    """Wait until a condition holds that is none of the page, and let the page live meanwhile."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        page.wait_for_timeout(30)


class Screen:
    """One explorer on a page, found and touched as by a user."""

    def __init__(self, page, mark=""):
        """Wait for an explorer that is marked by a class of its own, or for the only one there is."""
        self.page, self.root = page, page.locator(f".compsil-explorer{mark and '.'}{mark}")
        self.root.wait_for()

    def part(self, name):
        """Return a part by the name that the explorer gives it."""
        return self.root.locator(f".compsil-{name}")

    def press(self, name):
        """Press a button."""
        self.part(name).click()

    def choose(self, name, label):
        """Choose from a list."""
        self.part(name).locator("select").select_option(label=label)

    def type(self, name, text):
        """Type into a field, and leave it."""
        field = self.part(name).locator("input")
        field.fill(text)
        field.press("Enter")

    def move(self, name, key):
        """Press a key on a slider."""
        self.part(name).locator(".noUi-handle").press(key)

    def tab(self, name):
        """Bring a tab to the front."""
        self.root.locator(".compsil-tabs .lm-TabBar-tab", has_text=re.compile(f"^{name}$")).click()

    def text(self, name):
        """Return what a part says."""
        return self.part(name).inner_text()

    def says(self, name, pattern, seconds=PATIENCE):
        """Wait until a part says something."""
        expect(self.part(name)).to_contain_text(re.compile(pattern), timeout=seconds * 1000)

    def says_no_more(self, name, text):
        """Wait until a part says something else."""
        expect(self.part(name)).not_to_have_text(text, use_inner_text=True)

    @property
    def count(self):
        """How many subsamples are finished, as the explorer says."""
        found = re.search(COUNT, self.text("progress"))
        return int(found[1]) if found else 0

    def grows(self, count):
        """Wait until more subsamples are finished."""
        self.page.wait_for_function(GROWN, arg=[self.part("progress").element_handle(), count])

    @property
    def pictures(self):
        """All pictures that can be seen."""
        return self.root.locator("img:visible")

    def picture(self):
        """Return the picture that can be seen, once there is exactly one."""
        return self.next_picture(None)

    def next_picture(self, old):
        """Wait until another picture is seen than the old one, and return it."""
        return self.page.evaluate(SEEN, [self.root.element_handle(), old, MILLISECONDS])

    def run(self, seconds=PATIENCE):
        """Press Run and wait for the end."""
        before = self.text("progress")
        self.press("run")
        self.says_no_more("progress", before)
        self.says("progress", r"(\d+) of \1 subsamples in", seconds)
