"""Warnings point to the line outside these packages that called them."""

import warnings

from compsil_kit._util.warn import PACKAGES, caller_level


def inside(name, code, **values):
    """Run code as if it stood in a module of this name."""
    namespace = {"__name__": name, "warnings": warnings, "caller_level": caller_level, **values}
    exec(compile(code, f"{name}.py", "exec"), namespace)
    return namespace


def caught(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    (warning,) = seen
    return warning


def test_the_caller_outside_the_packages_is_named():
    code = "def warn():\n    warnings.warn('look', UserWarning, stacklevel=caller_level())\n"
    call = inside("compsil_kit._run.request", code)["warn"]
    for name in (*PACKAGES, "compsil_kit.select"):
        call = inside(name, "def through():\n    call()\n", call=call)["through"]
    assert caught(call).filename == __file__
    # A similar name is another package.
    outside = inside("compsil_kit_extra", "def through():\n    call()\n", call=call)["through"]
    assert caught(outside).filename == "compsil_kit_extra.py"
