"""Take the pictures of the explorer and the magic that README and guides show: ``python docs/screenshots.py``.

It needs Chromium and the packages of the group ``test``; it writes into ``docs/_static``.
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
# The curve is not the first: by then its last picture has arrived.
PICTURES, TEXTS = ("Weights", "Stability", "Curve", "Clusters", "Compare"), ("Table", "Code")
# Customers of a shop: many who come now and then, some who come often, few who spend much.
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
    """Write a picture with a palette of its own, a third as large and to the eye the same."""
    file, full = STATIC / name, Image.open(io.BytesIO(png)).convert("RGB")
    colours, where, counts = np.unique(
        np.asarray(full, dtype=int).reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    # Areas keep their colour exactly; the others are spread so that those of thin lines are not lost.
    spread = full.quantize(224, Image.Quantize.MAXCOVERAGE).getpalette()
    palette = np.vstack([colours[np.argsort(counts)[-32:]], np.reshape(spread, (-1, 3))])
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=-1).argmin(axis=1).astype(np.uint8)
    few = Image.frombytes("P", full.size, nearest[where.ravel()].tobytes())
    few.putpalette(palette.astype(np.uint8).tobytes())
    few.save(file, optimize=True)
    print(f"{file.relative_to(HERE.parent)}: {file.stat().st_size / 1024:.0f} KB")


def with_margin(element: Locator, margin: int = 8) -> bytes:
    """Take an element and a little of what is around it."""
    box = element.bounding_box()
    corner = {side: box[side] - margin for side in ("x", "y")}
    return element.page.screenshot(clip=corner | {side: box[side] + 2 * margin for side in ("width", "height")})


def take_explorer(browser: Browser, folder: Path) -> None:
    """Take every tab of the explorer, in Voilà, where nothing else is on the page."""
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
                # A pointer that rests on a button or tab changes its colour.
                notebook.page.mouse.move(0, 0)
                save(with_margin(screen.root), f"explorer-{name.lower()}.png")


def take_magic(browser: Browser, folder: Path) -> None:
    """Take the magic's line and its card, in JupyterLab."""
    with serve("lab", folder / "lab") as server:
        server.write("magic", f"%load_ext compsil_jupyter\n{CUSTOMERS}")
        with open_notebook(browser, server, "magic", folder, height=1400) as notebook:
            notebook.enter("%compsil customers --ks 2:10 --rule lcb -o result")
            cell = notebook.page.locator(".jp-CodeCell", has_text="--rule lcb")
            cell.locator(".jp-OutputArea-executeResult .jp-RenderedHTMLCommon").wait_for(timeout=60_000)
            notebook.page.mouse.move(0, 0)
            save(cell.screenshot(), "magic.png")


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder, launch() as browser:
        take_explorer(browser, Path(folder))
        take_magic(browser, Path(folder))


if __name__ == "__main__":
    main()
