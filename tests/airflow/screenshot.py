"""Take the screenshot of the grid view for the guide: ``screenshot.py OUT.png``."""

import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from live import live_airflow
from playwright.sync_api import sync_playwright

FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
DAG = "compsil_spread"
RUNS = 4
WIDE = 430
# Return whether all finite animations have finished.
STILL = """() => document.getAnimations().every(
  animation => animation.playState !== "running" || animation.effect.getComputedTiming().endTime === Infinity
)"""


def main(out: str) -> None:
    """Run the example with mapped tasks several times, and take a screenshot of its grid."""
    with tempfile.TemporaryDirectory(prefix="compsil-shot-") as folder:
        home = Path(folder)
        dags = home / "dags"
        shutil.copytree(resources.files("compsil_airflow") / "example_dags", dags)
        with live_airflow(home, dags, COMPSIL_EXAMPLES=str(home / "examples")) as live:
            for _ in range(RUNS):
                run = live.trigger(DAG)
                assert live.wait(DAG, run) == "success"
            take_screenshot(f"{live.url}/dags/{DAG}/runs/{run}/tasks/select_k.combine/xcom", Path(out))


def take_screenshot(url: str, out: Path) -> None:
    """Open the XCom of the last step, expand the task group in the grid, and save a screenshot."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 610}, color_scheme="light")
        page.goto(url)
        page.get_by_label("Toggle group").first.click()
        page.get_by_text("combine", exact=True).first.wait_for()
        handle = page.get_by_role("separator").first.bounding_box()
        assert handle is not None
        page.mouse.move(handle["x"] + 1, 300)
        page.mouse.down()
        page.mouse.move(WIDE, 300, steps=8)
        page.mouse.up()
        page.get_by_text("return_value").first.wait_for()
        # Wait until the grid has faded in.
        page.wait_for_load_state("networkidle")
        page.wait_for_function(STILL)
        page.screenshot(path=str(out))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
