"""Parse HTML pages, and load them in a browser."""

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

VOID = {"meta", "img", "br", "hr", "link", "input", "circle", "polyline", "polygon"}


class Page(HTMLParser):
    """The tags, links, table rows, style sheet and other text of a page; mismatched tags raise an error."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text, self.style, self.rows, self.open = [], [], "", "", [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        links = ("src", "href", "xlink:href", "srcset", "action", "data")
        self.links += [value for name, value in attrs if name in links]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            self.style += data
        else:
            self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def browse(page, folder):
    """Load a page in a browser; return the page after its scripts have run, and the console messages."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("Chromium is not installed. Run `make browser` to install it from the Debian packages.")
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--enable-logging=stderr", "--v=0", "--window-size=640,900",
        f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# Record in the page how many images are broken, whether it scrolls sideways, and whether a script was injected.
PROBE = """<script>
window.alert = () => { document.body.dataset.attacked = "yes"; };
window.addEventListener("load", () => {
  const images = [...document.images];
  document.body.dataset.broken = images.filter(image => !image.naturalWidth).length;
  document.body.dataset.images = images.length;
  document.body.dataset.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  document.body.dataset.answer = document.querySelector("svg circle, .big") ? "seen" : "missing";
});
</script>"""
