"""Check imports, public names, documented parameters, docstring examples and the contents of the wheel."""

import ast
import doctest
import importlib
import importlib.metadata
import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpydoc.docscrape
import pytest

import compsil_kit

ROOT = Path(__file__).parents[2]
PUBLIC = [getattr(compsil_kit, name) for name in compsil_kit.__all__]
# Number of example lines in the docstrings of each module.
EXAMPLES = {
    ".".join(path.relative_to(root).with_suffix("").parts): len(re.findall(r"^ *>>> ", path.read_text(), re.MULTILINE))
    for root in (ROOT / "src", ROOT / "integrations")
    for path in sorted(root.rglob("*.py"))
    if ">>> " in path.read_text()
}
HEAVY = ["pandas", "matplotlib", "IPython", "ipywidgets", "airflow", "numba", "tqdm", "polars", "pyarrow"]


ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run_python(code, **options):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_importing_the_package_loads_no_dependencies():
    code = f"import sys, compsil_kit; print([m for m in {[*HEAVY, 'numpy', 'sklearn']} if m in sys.modules])"
    assert run_python(code) == "[]"


def test_the_engine_can_be_imported_without_heavy_packages():
    """Block heavy packages, because scikit-learn imports pandas if pandas is installed."""
    code = ABSENT.format(names=HEAVY)
    run_python(f"{code}import compsil_kit\nfor name in compsil_kit.__all__:\n    getattr(compsil_kit, name)")


def test_selections_work_without_the_optional_packages():
    absent = ["numba", "polars", "pyarrow", "dask", "IPython", "ipywidgets", "sklearn_extra"]
    code = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "numba" else find(name, package)
from sklearn.datasets import make_blobs
from compsil_kit import select_k
result = select_k(make_blobs(4000, 3, centers=3, random_state=0)[0], ks=[2, 3, 4], n_subsamples=3)
assert result.best_k == 2, result
result.curve, result.explain(), result.plot()
try:
    select_k(make_blobs(100)[0], clusterer="kmedoids")
except ImportError as error:
    assert "pip install scikit-learn-extra" in str(error)
else:
    raise AssertionError("kmedoids without scikit-learn-extra")
"""
    run_python(ABSENT.format(names=absent) + code, env={"MPLBACKEND": "agg"})


def test_public_names_are_sorted_and_complete():
    assert {"select_k", "CompositeSilhouette", "silhouettes", "stream", "SelectionResult"} <= set(compsil_kit.__all__)
    assert list(compsil_kit.__all__) == sorted(compsil_kit.__all__)
    names = (
        "best_k best_score ks micro macro weights composite scores sem lcb curve reweigh explain plot to_dict from_dict"
    )
    assert set(names.split()) <= set(dir(compsil_kit.SelectionResult))


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_documented_parameters_match_the_signature(thing):
    assert inspect.getdoc(thing)
    functions = [thing] if inspect.isfunction(thing) else []
    if inspect.isclass(thing):
        functions = [each for name, each in inspect.getmembers(thing, inspect.isfunction) if not name.startswith("_")]
    for function in functions:
        if function.__qualname__.startswith("_") or not function.__module__.startswith("compsil"):
            continue
        doc = numpydoc.docscrape.FunctionDoc(function)
        documented = [
            name.strip("* ") for entry in doc["Parameters"] for name in re.split(r"[,\s\\]+", entry.name) if name
        ]
        real = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
        assert documented == real, function.__qualname__


def test_the_estimator_documents_its_parameters():
    doc = numpydoc.docscrape.ClassDoc(compsil_kit.CompositeSilhouette)
    real = inspect.signature(compsil_kit.CompositeSilhouette).parameters
    assert [entry.name for entry in doc["Parameters"]] == list(real)


def test_main_interfaces_have_docstring_examples():
    assert {"compsil_kit.select", "compsil_kit.estimator", "compsil_pandas.accessor"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring_examples_produce_their_output(name):
    done = doctest.testmod(importlib.import_module(name))
    assert (done.failed, done.attempted) == (0, EXAMPLES[name])


def test_the_wheel_contains_the_four_packages(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    files = zipfile.ZipFile(wheel).namelist()
    for package in ("compsil_kit", "compsil_pandas", "compsil_jupyter", "compsil_airflow"):
        assert f"{package}/__init__.py" in files
        assert f"{package}/py.typed" in files
    for data in ("__init__.pyi", "adapters.pyi", "_method/likelihood.json"):
        assert f"compsil_kit/{data}" in files
    assert not [name for name in files if name.startswith(("tests/", "benchmarks/", "docs/"))]


def test_the_changelog_has_an_entry_for_the_version():
    version = compsil_kit.__version__
    assert importlib.metadata.version("compsil-kit") == version
    assert re.search(rf"^## \[?(Unreleased|{re.escape(version)})", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_packages_have_docstrings():
    files = [path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("__init__.py")]
    assert len(files) > 7
    assert [path for path in files if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_no_module_exceeds_300_lines():
    files = [path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in files}
    assert {path: count for path, count in lines.items() if count > 300} == {}
