"""The notebooks run without errors or warnings, and are committed without outputs."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from waiting import NOTEBOOK_PATIENCE

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
# The notebooks demonstrate this warning.
EXPECTED_WARNING = "ColumnWarning"


@cache
def executed(path):
    """Run a notebook in a new kernel, once for all tests."""
    notebook = nbformat.read(path, as_version=4)
    return NotebookClient(notebook, timeout=NOTEBOOK_PATIENCE, kernel_name="python3").execute()


def outputs(notebook, kind):
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output for cell in cells for output in cell.outputs if output.output_type == kind]


def explorer_widgets(notebook, name):
    """Return the widgets with this CSS class from all explorers."""
    widgets = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    return [widget for widget in widgets if f"compsil-{name}" in widget["state"].get("_dom_classes", ())]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    printed = [output["text"] for output in outputs(executed(path), "stream") if output.name == "stderr"]
    assert not [text for text in printed if re.search("Traceback|Error|Warning", text.replace(EXPECTED_WARNING, ""))]


def test_quickstart_shows_cards_and_plots():
    shown = outputs(executed(NOTEBOOKS[0]), "execute_result")
    cards = [output for output in shown if "compsil-card" in output.data.get("text/html", "")]
    plots = [output for output in outputs(executed(NOTEBOOKS[0]), "display_data") if "image/png" in output.data]
    assert len(cards) == 3
    assert len(plots) == 5


def test_displayed_explorers_have_results():
    notebook = executed(NOTEBOOKS[2])
    views = "application/vnd.jupyter.widget-view+json"
    displayed = [output for output in outputs(notebook, "execute_result") if views in output.data]
    headlines = [widget["state"]["value"] for widget in explorer_widgets(notebook, "headline")]
    errors = [widget["state"]["value"] for widget in explorer_widgets(notebook, "error")]
    assert len(displayed) == 3
    assert sum("k* =" in text for text in headlines) == 3
    assert set(errors) == {""}


def test_published_figures_are_reproduced():
    printed = "".join(output["text"] for output in outputs(executed(NOTEBOOKS[4]), "stream"))
    assert "39 of 39 are equal to the last printed digit" in printed
    runs, difference = re.search(r"(\d+) runs, largest difference of any score: (\S+) ", printed).groups()
    assert int(runs) == 12
    assert float(difference) < 1e-9


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_no_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
