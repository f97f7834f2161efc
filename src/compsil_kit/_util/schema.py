"""What data from outside must look like: types, ranges and shapes, checked before anything is made of them.

A check takes a value and the place it was found at, and returns the value or says what it must be. Contents are never
quoted: a file may be something else altogether.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import Any

Check = Callable[[Any, str], Any]

MOST_TEXT = 100_000


def integer(low: int, high: int | None = None) -> Check:
    """Check for a whole number; booleans are none."""

    def check(value: Any, where: str) -> int:
        if isinstance(value, float) and value.is_integer():
            # Some programs write 2 as 2.0.
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
            limit = "" if high is None else f" and at most {high:,}"
            raise ValueError(f"{where} must be a whole number of at least {low}{limit}.")
        return value

    return check


def real(low: float, high: float) -> Check:
    """Check for a finite number; numbers as text are none."""

    def check(value: Any, where: str) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        # Whole numbers of any length are compared as they are: as floats they might overflow.
        if not number or (isinstance(value, float) and not math.isfinite(value)) or not low <= value <= high:
            raise ValueError(f"{where} must be a number in [{low:g}, {high:g}].")
        return float(value)

    return check


def anything(value: Any, _: str) -> Any:
    """Take what is checked later, when the shape it must have is known."""
    return value


def text(value: Any, where: str) -> str:
    """Check for text of reasonable length."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ValueError(f"{where} must be text of at most {MOST_TEXT:,} characters.")
    return value


def flag(value: Any, where: str) -> bool:
    """Check for true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false.")
    return value


def choice(allowed: Collection[Any]) -> Check:
    """Check for one of several values."""

    def check(value: Any, where: str) -> Any:
        if isinstance(value, dict | list) or value not in allowed:
            raise ValueError(f"{where} must be one of {', '.join(map(str, allowed))}.")
        return value

    return check


def optional(check: Check) -> Check:
    """Check that also takes null."""
    return lambda value, where: None if value is None else check(value, where)


def list_of(check: Check, length: int | None = None) -> Check:
    """Check for a list, of a given length where that is known."""

    def check_list(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
            many = "" if length is None else f" of {length:,} entries"
            raise ValueError(f"{where} must be a list{many}.")
        return [check(item, f"{where}[{at}]") for at, item in enumerate(value)]

    return check_list


def mapping_of(check: Check) -> Check:
    """Check for a mapping from text to values of one kind."""

    def check_mapping(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{where} must map names to values.")
        return {name: check(item, f"{where}.{name}") for name, item in value.items()}

    return check_mapping


def record(fields: Mapping[str, Check]) -> Check:
    """Check for a mapping with these fields; others are passed over, as a later release may add some."""

    def check_record(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must map names to values.")
        missing = [name for name in fields if name not in value]
        if missing:
            raise ValueError(f"{where} is incomplete: it has no {', '.join(missing)}.")
        return {name: check(value[name], f"{where}.{name}") for name, check in fields.items()}

    return check_record


def digest(data: Any) -> str:
    """Return a digest of plain data that does not depend on how a program orders keys or writes whole numbers."""
    return blake2b(json.dumps(_canonical(data), sort_keys=True).encode(), digest_size=16).hexdigest()


def _canonical(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _canonical(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_canonical(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with a digest of themselves, in the place of any that they have."""
    return {**data, "digest": _digest_of_rest(data)}


def _digest_of_rest(data: Mapping[str, Any]) -> str:
    return digest({name: value for name, value in data.items() if name != "digest"})


def check_digest(data: Mapping[str, Any], where: str) -> None:
    """Refuse data that were changed since they were written; files of earlier releases have no digest."""
    try:
        same = "digest" not in data or data["digest"] == _digest_of_rest(data)
    except RecursionError:
        raise ValueError(f"{where} is nested more deeply than anything that was written.") from None
    if not same:
        raise ValueError(f"{where} was changed or damaged since it was written: its digest does not match.")
