"""Pictures that code draws show what the code says now."""

import runpy
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"


def test_the_picture_of_the_readme_is_not_stale():
    drawn = runpy.run_path(str(DOCS / "pictures.py"))
    assert Image.open(drawn["CURVE"]).text["Description"] == drawn["shown"]()[1], "run: python docs/pictures.py"
