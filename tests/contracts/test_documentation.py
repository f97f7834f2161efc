"""Check the examples, links, figures and images in the documentation."""

import ast
import doctest
import os
import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import matplotlib as mpl
import pytest
from PIL import Image
from sklearn.datasets import load_wine

from benchmarks.readme import read_table, with_figures
from compsil_kit.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [path for path in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]) if "_build" not in path.parts]
BLOCK = re.compile(r"^```(?:pycon|python-console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(path):
    """Return the examples on a page, with <BLANKLINE> for blank lines within outputs."""
    return [re.sub(r"\n\n(?!>>>|$)", "\n<BLANKLINE>\n", block) for block in BLOCK.findall(path.read_text())]


def test_pages_have_examples_and_links():
    """Prevent the tests below from passing because there is nothing to check."""
    assert {path.stem for path in PAGES if blocks(path)} >= {"quickstart", "pandas", "clusterers", "metrics", "method"}
    assert len(list(console_examples())) > 5
    assert {path.stem for path in PAGES if links(path)} >= {"README", "index", "evidence"}


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("default")
def test_python_examples_produce_the_documented_output(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    runner.run(parser.get_doctest("\n".join(blocks(path)), {}, path.stem, str(path), 0), out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries >= len(blocks(path))


def console_examples():
    text = (ROOT / "docs/guides/command-line.md").read_text()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = command.partition("\n")
            yield pytest.param(line, output, id=line[:60])


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    data = load_wine(as_frame=True)
    frame = data.data[["alcohol", "flavanoids", "color_intensity", "proline"]].assign(
        cultivar=data.target_names[data.target]
    )
    frame.to_csv(folder / "wine.csv", index=False)
    # A previous command in the guide writes this file, but it may run in another process.
    frame.to_csv(folder / "wine_de.csv", sep=";", decimal=",", index=False)
    frame.to_parquet(folder / "wine.parquet")
    return folder


@pytest.mark.parametrize(("command", "output"), list(console_examples()))
def test_command_line_examples_produce_the_documented_output(command, output, wine):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=wine, env=environment, capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    assert doctest.OutputChecker().check_output(output or "...", printed, FLAGS), printed
    # The exit status is 2 for usage errors and missing files.
    assert done.returncode == (2 if "error:" in output else 0), printed


def test_the_readme_image_is_up_to_date():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    assert Image.open(drawn["CURVE"]).text["Description"] == drawn["shown"]()[1], "run: python docs/pictures.py"


def test_readme_shows_the_output_of_the_demo(capsys):
    shown = next(b for b in re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S))
    assert main(["demo"]) == 0
    assert shown.strip() in capsys.readouterr().out


def links(path):
    """Return the relative link targets on a page."""
    return re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text())


@pytest.mark.parametrize("path", [p for p in PAGES if links(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_relative_links_exist(path):
    assert [target for target in links(path) if not (path.parent / target).exists()] == []


def test_readme_figures_match_the_benchmarks():
    """`make bench` writes both files."""
    table = read_table((ROOT / "docs" / "benchmarks.md").read_text())
    text = (ROOT / "README.md").read_text()
    assert with_figures(text, table) == text
    task = next(task for task in table if task.startswith("complete selection, N = 2,000"))
    assert with_figures(text, {**table, task: ("9 s", "8 s", "7777")}) != text


def test_method_page_names_existing_functions():
    rows = re.findall(r"\| (`compsil_kit[^|]*?) \| (`[^|]*?) \|", (ROOT / "docs" / "method.md").read_text())
    assert len(rows) > 10
    for modules, functions in rows:
        homes = [import_module(name) for name in re.findall("`(.+?)`", modules)]
        assert [name for name in re.findall("`(.+?)`", functions) if not any(hasattr(h, name) for h in homes)] == []


def signatures(path):
    """Yield (name, docstring, defaults as source code) for every function and every class with an __init__."""
    for node in ast.walk(ast.parse(path.read_text())):
        functions = [node] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ClassDef):
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        for function in functions:
            positional = [*function.args.posonlyargs, *function.args.args]
            found = [*zip(reversed(positional), reversed(function.args.defaults), strict=False)]
            found += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            defaults = {each.arg: ast.unparse(value) for each, value in found if value is not None}
            yield node.name, ast.get_docstring(node) or "", defaults


def documented_defaults(docstring):
    """Yield (parameter, default as source code); the default is "None" for parameters documented as optional."""
    for names, kind in re.findall(r"^(\w+(?:, \w+)*) : (.+)$", docstring, re.MULTILINE):
        default = re.search(r"default=(.+)$", kind)
        if default or kind.endswith("optional"):
            for name in names.split(", "):
                yield name, default[1] if default else "None"


def test_documented_defaults_match_the_code():
    """Parse the files instead of importing them, because some host applications may not be installed."""
    compared = []
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "integrations").rglob("*.py")]):
        for function, docstring, defaults in signatures(path):
            for name, documented in documented_defaults(docstring):
                # Defaults that are named constants cannot be compared without importing the module.
                if not defaults.get(name, "A").isupper():
                    expected = ast.unparse(ast.parse(documented, mode="eval"))
                    assert defaults[name] == expected, f"{path.name}: {name} of {function}"
                    compared.append((path.parent.name, function, name))
    assert {"compsil_kit", "compsil_pandas", "compsil_airflow", "compsil_prefect"} <= {c[0] for c in compared}
    assert ("compsil_airflow", "select_k_mapped", "n_batches") in compared
    assert len(compared) > 40
