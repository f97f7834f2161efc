"""Classes, messages and results of exceptions, and the line to which warnings point."""

import pickle
import warnings

import pytest

from compsil_kit import ClusteringError, Interrupted, SelectionError
from compsil_kit.errors import PACKAGES, caller_level


@pytest.mark.parametrize("kind", [ClusteringError, SelectionError])
def test_failures_are_runtime_errors_that_may_have_a_result(kind):
    error = pickle.loads(pickle.dumps(kind("k=3 failed")))
    assert str(error) == "k=3 failed"
    assert isinstance(error, RuntimeError)
    assert isinstance(error, ValueError)
    assert error.result is None
    error.result = "partial result"
    assert kind("another").result is None


@pytest.mark.parametrize(
    ("given", "summary", "text"),
    [
        ((3, 6, "subsamples", "see x"), "stopped after 3 of 6 subsamples", "stopped after 3 of 6 subsamples; see x"),
        ((1, 4, "groups"), "stopped after 1 of 4 groups", "stopped after 1 of 4 groups"),
        ((1000, 2000, "rows read"), "stopped after 1,000 of 2,000 rows read", "stopped after 1,000 of 2,000 rows read"),
        ((), "stopped after 0 of 0 subsamples", "stopped after 0 of 0 subsamples"),
    ],
)
def test_interrupts_are_keyboard_interrupts_with_the_progress(given, summary, text):
    stop = Interrupted(*given)
    assert isinstance(stop, KeyboardInterrupt)
    assert not isinstance(stop, Exception)
    assert (stop.done, stop.total, stop.unit)[: len(given)] == given[:3]
    assert (stop.summary, str(stop), stop.result) == (summary, text, None)


def run_in(module, code, **values):
    """Run code as if it were in a module with this name."""
    namespace = {"__name__": module, "warnings": warnings, "caller_level": caller_level, **values}
    exec(compile(code, f"{module}.py", "exec"), namespace)
    return namespace


def test_warnings_point_to_the_caller_outside_the_packages():
    code = "def warn():\n    warnings.warn('look', UserWarning, stacklevel=caller_level())\n"
    call = run_in("compsil_kit._run.request", code)["warn"]
    for name in (*PACKAGES, "compsil_kit.select"):
        call = run_in(name, "def through():\n    call()\n", call=call)["through"]
    # A package with a similar name is another package.
    outside = run_in("compsil_kit_extra", "def through():\n    call()\n", call=call)["through"]
    for function, file in ((call, __file__), (outside, "compsil_kit_extra.py")):
        with pytest.warns(UserWarning, match="look") as caught:
            function()
        assert [warning.filename for warning in caught] == [file]
