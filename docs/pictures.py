"""Draw the picture of the README from the embedded data: ``python docs/pictures.py``.

The picture carries what it shows as text, so that a test can tell whether it is stale.
"""

from pathlib import Path

from matplotlib.figure import Figure

from compsil_kit import SelectionResult, select_k
from compsil_kit._show.plots import SIZE
from compsil_kit.datasets import imbalanced_blobs

CURVE = Path(__file__).parent / "_static" / "curve.png"


def shown() -> tuple[SelectionResult, str]:
    """Return the result that the picture shows, and the text that it must carry."""
    result = select_k(imbalanced_blobs()[0])
    return result, repr(result)


def main() -> None:
    """Draw and save."""
    result, text = shown()
    figure = Figure(figsize=SIZE, layout="constrained")
    result.plot(ax=figure.subplots())
    figure.savefig(CURVE, dpi=150, metadata={"Description": text})


if __name__ == "__main__":
    main()
