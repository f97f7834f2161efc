"""The examples in the documentation, run as they stand."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [path for path in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]) if "_build" not in path.parts]
BLOCK = re.compile(r"^```(?:pycon|python-console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(path):
    """The examples of a page; a blank line inside an output, which doctest takes for its end, is marked."""
    return [re.sub(r"\n\n(?!>>>|$)", "\n<BLANKLINE>\n", block) for block in BLOCK.findall(path.read_text())]


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("default")
def test_examples_are_true(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    runner.run(parser.get_doctest("\n".join(blocks(path)), {}, path.stem, str(path), 0), out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
        assert (path.parent / target).exists(), target
