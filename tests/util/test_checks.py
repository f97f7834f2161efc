"""Checks of plain values: the parameter, the rule and what was given, in plain words."""

from __future__ import annotations

import numpy as np
import pytest

from compsil_kit.util.checks import check_real, describe


@pytest.mark.parametrize("value", [2**300, -(2**300), 10**5000], ids=["large", "small", "unprintable"])
def test_huge_integers_are_described_not_printed(value):
    assert describe(value) == f"an integer of {value.bit_length()} bits"
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\); got"):
        check_real("share", value, low=0.0, high=1.0, open_ends=True)


@pytest.mark.parametrize(
    ("value", "text"), [(np.float64(2.5), "2.5"), (np.str_("a"), "'a'"), ("x" * 99, "'" + "x" * 56 + "...")]
)
def test_values_are_described_in_plain_words(value, text):
    assert describe(value) == text
