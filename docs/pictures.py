"""Draw the plot in the README from the bundled data set: ``python docs/pictures.py``.

The image metadata contain the plotted result as text, so that a test can check whether the image is up to date.
"""

from pathlib import Path

from matplotlib.figure import Figure

from compsil_kit import SelectionResult, select_k
from compsil_kit._show.plots import SIZE
from compsil_kit.datasets import imbalanced_blobs

CURVE = Path(__file__).parent / "_static" / "curve.png"


def shown() -> tuple[SelectionResult, str]:
    """Return the plotted result, and the text that the image metadata must contain."""
    result = select_k(imbalanced_blobs()[0])
    return result, repr(result)


def main() -> None:
    """Draw and save the plot."""
    result, text = shown()
    figure = Figure(figsize=SIZE, layout="constrained")
    result.plot(ax=figure.subplots())
    figure.savefig(CURVE, dpi=150, metadata={"Description": text})


if __name__ == "__main__":
    main()
