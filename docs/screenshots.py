"""Take the screenshots of the explorer and the magic for the README and the guides: ``python docs/screenshots.py``.

This needs Chromium and the packages in the ``test`` group. The screenshots are written to ``docs/_static``.
"""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from playwright.sync_api import Browser, Locator  # noqa: E402

from browser import Screen, launch, open_notebook  # noqa: E402
from frontends import serve  # noqa: E402

STATIC = HERE / "_static"
# The curve is not the first tab, so that its last image has arrived before the screenshot.
PICTURES, TEXTS = ("Weights", "Stability", "Curve", "Clusters", "Compare"), ("Table", "Code")
# Simulated customers of a shop: many who come occasionally, some who come often, and a few who spend a lot.
CUSTOMERS = """import numpy as np
import pandas as pd
from compsil_jupyter import explore

rng = np.random.default_rng(4)
groups = {1400: (31, 2, 22), 650: (38, 7, 31), 260: (52, 4, 74), 70: (95, 9, 140)}
customers = pd.DataFrame(
    np.vstack([rng.normal(centre, [6, 1, 9], (size, 3)) for size, centre in groups.items()]),
    columns=["income", "visits", "basket"],
).round(1)
"""


def save(png: bytes, name: str) -> None:
    """Write an image with an adaptive palette, which looks the same and takes a third of the space."""
    file, full = STATIC / name, Image.open(io.BytesIO(png)).convert("RGB")
    colours, where, counts = np.unique(
        np.asarray(full, dtype=int).reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    # Keep the most frequent colours exactly; spread the other colours so that thin lines do not lose theirs.
    spread = full.quantize(224, Image.Quantize.MAXCOVERAGE).getpalette()
    palette = np.vstack([colours[np.argsort(counts)[-32:]], np.reshape(spread, (-1, 3))])
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=-1).argmin(axis=1).astype(np.uint8)
    few = Image.frombytes("P", full.size, nearest[where.ravel()].tobytes())
    few.putpalette(palette.astype(np.uint8).tobytes())
    few.save(file, optimize=True)
    print(f"{file.relative_to(HERE.parent)}: {file.stat().st_size / 1024:.0f} KB")


def with_margin(element: Locator, margin: int = 8) -> bytes:
    """Return a screenshot of an element with a margin around it."""
    box = element.bounding_box()
    corner = {side: box[side] - margin for side in ("x", "y")}
    return element.page.screenshot(clip=corner | {side: box[side] + 2 * margin for side in ("width", "height")})


def take_explorer(browser: Browser, folder: Path) -> None:
    """Take a screenshot of every tab of the explorer in Voilà, where the page contains nothing else."""
    with serve("voila", folder / "voila") as server:
        server.write("explorer", CUSTOMERS, "explorer = explore(customers)\nexplorer")
        with open_notebook(browser, server, "explorer", folder, width=1216, height=1400) as notebook:
            screen = Screen(notebook.page)
            screen.run()
            notebook.kernel.run("explorer.wait(60)")
            for name in (*PICTURES, *TEXTS):
                screen.tab(name)
                if name == "Compare":
                    screen.press("compare")
                    screen.wait_for_text("note-compare", "choose k", seconds=120)
                if name in PICTURES:
                    screen.image()
                else:
                    screen.wait_for_text(f"note-{name.lower()}", "customers|columns")
                # Move the mouse away, because a button or tab under the pointer changes colour.
                notebook.page.mouse.move(0, 0)
                save(with_margin(screen.root), f"explorer-{name.lower()}.png")


def take_magic(browser: Browser, folder: Path) -> None:
    """Take a screenshot of a line with the magic and the resulting card in JupyterLab."""
    with serve("lab", folder / "lab") as server:
        server.write("magic", f"%load_ext compsil_jupyter\n{CUSTOMERS}")
        with open_notebook(browser, server, "magic", folder, height=1400) as notebook:
            notebook.enter("%compsil customers --ks 2:10 --rule lcb -o result")
            cell = notebook.page.locator(".jp-CodeCell", has_text="--rule lcb")
            cell.locator(".jp-OutputArea-executeResult .jp-RenderedHTMLCommon").wait_for(timeout=60_000)
            notebook.page.mouse.move(0, 0)
            save(cell.screenshot(), "magic.png")


def main() -> None:
    """Take all screenshots."""
    with tempfile.TemporaryDirectory() as folder, launch() as browser:
        take_explorer(browser, Path(folder))
        take_magic(browser, Path(folder))


if __name__ == "__main__":
    main()
