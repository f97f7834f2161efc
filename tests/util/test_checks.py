"""Checks of parameters raise errors that name the parameter, the rule and the value."""

import math

import numpy as np
import pytest

from compsil_kit._util.checks import check_bool, check_choice, check_integer, check_real, describe


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(2.5), "2.5"),
        (np.str_("a"), "'a'"),
        ("x" * 99, "'" + "x" * 56 + "..."),
        ("x" * 58, "'" + "x" * 58 + "'"),
        (None, "None"),
        (True, "True"),
        (["secret"], "a value of type list"),
        (np.arange(3), "a value of type ndarray"),
        (-(2**300), "an integer of 301 bits"),
        (2**300, "an integer of 301 bits"),
    ],
)
def test_describe_shortens_values_and_hides_contents(value, text):
    assert describe(value) == text


INTEGER = {"minimum": 2, "maximum": 5000}
CLOSED, OPEN = {"low": 0.0, "high": 1.0}, {"low": 0.0, "high": 1.0, "open_ends": True}
WORDS = {"allowed": ("max", "lcb")}


@pytest.mark.parametrize(
    ("check", "rule", "values"),
    [
        (check_integer, INTEGER, [2, np.int16(5), np.uint64(5000)]),
        (check_real, CLOSED, [0, 0.0, 1, np.float32(1), 0.5]),
        (check_choice, WORDS, ["max", "lcb"]),
        (check_bool, {}, [True, False]),
    ],
)
def test_valid_values_are_converted_to_python_types(check, rule, values):
    kind = {check_integer: int, check_real: float, check_choice: str, check_bool: bool}[check]
    for value in values:
        found = check("x", value, **rule)
        assert (found, type(found)) == (value, kind)


@pytest.mark.parametrize(
    ("check", "rule", "error", "message", "values"),
    [
        (check_integer, INTEGER, TypeError, "an integer of at least 2", [True, np.True_, 3.0, "3", None, [3]]),
        (check_integer, INTEGER, ValueError, "an integer of at least 2", [1, -(10**30)]),
        (check_integer, INTEGER, ValueError, "an integer of at most 5,000", [5001]),
        (check_real, CLOSED, TypeError, r"a number in \[0, 1\]", ["0.5", True, None, 1j, [0.5]]),
        (check_real, CLOSED, ValueError, r"a number in \[0, 1\]", [-0.1, 1.1, math.nan, -math.inf, 2**2000]),
        (check_real, OPEN, ValueError, r"a number in \(0, 1\)", [0.0, 1.0, -0.1, math.nan]),
        (check_real, {"low": 0.0, "high": math.inf}, ValueError, r"a number in \[0, inf\]", [math.inf]),
        (check_choice, WORDS, ValueError, "one of 'max', 'lcb'", ["best"]),
        (check_choice, WORDS, TypeError, "one of 'max', 'lcb'", [3]),
        (check_bool, {}, TypeError, "True or False", [1, 0, "yes", None, np.True_]),
    ],
)
def test_invalid_values_raise(check, rule, error, message, values):
    for value in values:
        with pytest.raises(error, match=rf"^x must be {message}; got .+\.$"):
            check("x", value, **rule)
