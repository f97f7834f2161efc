"""Checks of plain values: the parameter, the rule and what was given, in plain words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compsil_kit._util.checks import check_bool, check_choice, check_integer, check_real, describe, is_integer


@pytest.mark.parametrize("value", [2**300, -(2**300), 10**5000], ids=["large", "small", "unprintable"])
def test_huge_integers_are_described_not_printed(value):
    assert describe(value) == f"an integer of {value.bit_length()} bits"
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\); got"):
        check_real("share", value, low=0.0, high=1.0, open_ends=True)


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
    ],
)
def test_values_are_described_in_plain_words(value, text):
    assert describe(value) == text


@pytest.mark.parametrize("value", [0, -3, 10**30, np.int8(3), np.uint64(3)])
def test_integers(value):
    assert is_integer(value)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, [3]])
def test_what_is_no_integer(value):
    assert not is_integer(value)
    with pytest.raises(TypeError, match=r"^n must be an integer of at least 2; got .+\.$"):
        check_integer("n", value, minimum=2)


def test_integers_within_bounds():
    assert check_integer("n", 2, minimum=2, maximum=5) == 2
    assert check_integer("n", np.int16(5), minimum=2, maximum=5) == 5
    assert type(check_integer("n", np.int16(5), minimum=2)) is int
    with pytest.raises(ValueError, match=r"^n must be an integer of at least 2; got 1\.$"):
        check_integer("n", 1, minimum=2)
    with pytest.raises(ValueError, match=r"^n must be an integer of at most 5,000; got 5001\.$"):
        check_integer("n", 5001, minimum=2, maximum=5000)


@pytest.mark.parametrize("value", [0, 0.0, 1, np.float32(1), 0.5])
def test_numbers_with_their_ends(value):
    found = check_real("x", value, low=0.0, high=1.0)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.1, math.nan, math.inf])
def test_numbers_without_their_ends(value):
    with pytest.raises(ValueError, match=r"^x must be a number in \(0, 1\); got "):
        check_real("x", value, low=0.0, high=1.0, open_ends=True)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, -math.inf])
def test_numbers_out_of_range(value):
    with pytest.raises(ValueError, match=r"^x must be a number in \[0, 1\]; got "):
        check_real("x", value, low=0.0, high=1.0)


def test_infinity_is_no_number_even_where_there_is_no_bound():
    with pytest.raises(ValueError, match="got inf"):
        check_real("x", math.inf, low=0.0, high=math.inf)


@pytest.mark.parametrize("value", ["0.5", True, None, 1j, [0.5]])
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match=r"^x must be a number in \[0, 1\]; got "):
        check_real("x", value, low=0.0, high=1.0)


def test_words():
    assert check_choice("rule", "max", ("max", "lcb")) == "max"
    with pytest.raises(ValueError, match=r"^rule must be one of 'max', 'lcb'; got 'best'\.$"):
        check_choice("rule", "best", ("max", "lcb"))
    with pytest.raises(TypeError, match=r"^rule must be one of 'max', 'lcb'; got 3\.$"):
        check_choice("rule", 3, ("max", "lcb"))


def test_true_and_false():
    assert check_bool("refit", True) is True
    assert check_bool("refit", False) is False
    for value in (1, 0, "yes", None, np.True_):
        with pytest.raises(TypeError, match=r"^refit must be True or False; got "):
            check_bool("refit", value)
