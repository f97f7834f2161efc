"""Lazy imports, optional packages, and pausing the garbage collector."""

import gc
import importlib
import sys

import pytest

from compsil_kit._util.imports import gc_paused, has, lazy_names, require


def test_names_of_a_stub_are_loaded_on_first_use(tmp_path):
    (tmp_path / "module.pyi").write_text("from os.path import join as join\nfrom json import dumps as dumps\na: int\n")
    load, names, public = lazy_names("module", str(tmp_path / "module.py"))
    assert names() == public == ["dumps", "join"]
    assert load("join")("a", "b") == "a/b"
    with pytest.raises(AttributeError, match="module 'module' has no attribute 'a'"):
        load("a")


def test_packages_are_found_without_importing_them(monkeypatch):
    assert has("numpy")
    assert not has("no_such_package")
    assert has("antigravity")
    assert "antigravity" not in sys.modules
    # None blocks an import.
    monkeypatch.setitem(sys.modules, "antigravity", None)
    assert not has("antigravity")


def test_a_missing_package_is_named_with_its_purpose(tmp_path, monkeypatch):
    assert require("os.path", purpose="a test") is importlib.import_module("os.path")
    for name in ("no_such_package", "no_such_package.inner"):
        with pytest.raises(ImportError, match=r"^drawing needs the 'no_such_package' package\. .*pip install"):
            require(name, purpose="drawing")
    (tmp_path / "half_there.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_dependency'"):
        require("half_there", purpose="drawing")


@pytest.fixture
def _restored():
    yield
    gc.enable()


@pytest.mark.usefixtures("_restored")
def test_collection_resumes_unless_it_was_disabled():
    with gc_paused():
        assert not gc.isenabled()
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_collection_resumes_after_overlapping_pauses():
    pauses = [gc_paused(), gc_paused()]
    for pause in pauses:
        pause.__enter__()
    for pause in pauses:
        pause.__exit__(None, None, None)
    assert gc.isenabled()


def created_in_pause():
    """Return the youngest generation with an object that was created during a pause."""
    with gc_paused():
        created = [object()]
    return next(generation for generation in range(3) if any(each is created for each in gc.get_objects(generation)))


def test_new_objects_are_moved_to_the_oldest_generation_unless_others_are_frozen():
    assert created_in_pause() == 2
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        assert created_in_pause() == 0
        # Some frozen objects may have been deleted since.
        assert gc.get_freeze_count() > before // 2
    finally:
        gc.unfreeze()
