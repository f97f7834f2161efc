"""Optional packages: looked for without importing them, and named where they are missing."""

import importlib
import sys

import pytest

from compsil_kit._util.imports import has, require


def test_what_is_installed_is_found_without_importing_it():
    assert has("numpy")
    assert not has("no_such_package")
    assert "antigravity" not in sys.modules
    assert has("antigravity")
    assert "antigravity" not in sys.modules


def test_what_is_barred_from_being_imported_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "antigravity", None)
    assert not has("antigravity")


def test_what_is_there_is_imported():
    assert require("json", purpose="a test") is importlib.import_module("json")
    assert require("os.path", purpose="a test").join("a", "b")


@pytest.mark.parametrize("name", ["no_such_package", "no_such_package.inner"])
def test_what_is_missing_is_named_with_its_purpose(name):
    with pytest.raises(ImportError, match=r"^drawing needs the package 'no_such_package'\. .*pip install") as got:
        require(name, purpose="drawing")
    assert isinstance(got.value.__cause__, ModuleNotFoundError)


def test_a_package_that_lacks_another_one_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_dependency'"):
        require("half_there", purpose="drawing")
