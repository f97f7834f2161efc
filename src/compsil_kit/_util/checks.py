"""Check parameters. Every error message names the parameter, the rule and the value."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np


def describe(value: object) -> str:
    """Return a short description of a parameter value; containers are described by type, without their contents."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float | str):
        plain = value.item() if isinstance(value, np.generic) else value
        text = repr(plain)
        return text if len(text) <= 60 else text[:57] + "..."
    return f"a value of type {type(value).__name__}"


def is_integer(value: object) -> bool:
    """Return whether a value is an integer; booleans and numeric strings do not count."""
    # NumPy registers its integer scalars as Integral, and its bool as neither Integral nor Real.
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, *, minimum: int, maximum: int | None = None) -> int:
    """Return the value as an int, or raise if it is not an integer within the bounds."""
    rule = f"{name} must be an integer of at least {minimum}"
    if not is_integer(value):
        raise TypeError(f"{rule}; got {describe(value)}.")
    if value < minimum:
        raise ValueError(f"{rule}; got {describe(int(value))}.")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be an integer of at most {maximum:,}; got {describe(int(value))}.")
    return int(value)


def check_real(name: str, value: Any, *, low: float, high: float, open_ends: bool = False) -> float:
    """Return the value as a float, or raise if it is not a finite number within the bounds."""
    left, right = "()" if open_ends else "[]"
    rule = f"{name} must be a number in {left}{low:g}, {high:g}{right}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{rule}; got {describe(value)}.")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"{rule}; got {describe(value)}.") from error
    inside = low < number < high if open_ends else low <= number <= high
    if not math.isfinite(number) or not inside:
        raise ValueError(f"{rule}; got {number!r}.")
    return number


def check_choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return the value, or raise if it is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} must be one of {', '.join(map(repr, allowed))}; got {describe(value)}.")
    return value


def check_bool(name: str, value: Any) -> bool:
    """Return the value, or raise if it is not True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {describe(value)}.")
    return value
