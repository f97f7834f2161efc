"""Validation of plain data read from files: types, ranges, shapes and a digest against damage.

A check takes a value and its path in the data, and returns the value or raises. Messages never quote the contents,
because the file may be something else altogether.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import Any

Check = Callable[[Any, str], Any]

MAX_TEXT = 100_000


def integer(low: int, high: int | None = None) -> Check:
    """Accept an integer in [low, high], also written as 2.0; not a boolean."""
    rule = f"a whole number of at least {low}" + ("" if high is None else f" and at most {high:,}")

    def check(value: Any, where: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
            raise ValueError(f"{where} must be {rule}.")
        return value

    return check


def real(low: float, high: float) -> Check:
    """Accept a finite number in [low, high]; not a boolean or a string."""

    def check(value: Any, where: str) -> float:
        # Compared before the conversion, because a long integer may overflow a float. NaN fails every comparison.
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"{where} must be a number in [{low:g}, {high:g}].")
        return float(value)

    return check


def _check(valid: Callable[[Any], bool], rule: str) -> Check:
    def check(value: Any, where: str) -> Any:
        if not valid(value):
            raise ValueError(f"{where} must be {rule}.")
        return value

    return check


text = _check(
    lambda value: isinstance(value, str) and len(value) <= MAX_TEXT, f"text of at most {MAX_TEXT:,} characters"
)
flag = _check(lambda value: isinstance(value, bool), "true or false")
# For entries that are validated later, when their shape is known.
anything = _check(lambda _: True, "anything")


def choice(allowed: Collection[Any]) -> Check:
    """Accept one of the given values."""
    return _check(
        lambda value: not isinstance(value, dict | list) and value in allowed, f"one of {', '.join(map(str, allowed))}"
    )


def optional(check: Check) -> Check:
    """Accept null as well."""
    return lambda value, where: None if value is None else check(value, where)


def list_of(check: Check, length: int | None = None) -> Check:
    """Accept a list of valid entries, of the given length if there is one."""

    def check_list(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
            raise ValueError(f"{where} must be a list{'' if length is None else f' of {length:,} entries'}.")
        return [check(item, f"{where}[{at}]") for at, item in enumerate(value)]

    return check_list


def mapping_of(check: Check) -> Check:
    """Accept a mapping from text to valid values."""

    def check_mapping(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{where} must map names to values.")
        return {name: check(item, f"{where}.{name}") for name, item in value.items()}

    return check_mapping


def record(fields: Mapping[str, Check]) -> Check:
    """Accept a mapping with these fields; others, which a later release may add, are dropped."""

    def check_record(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must map names to values.")
        missing = [name for name in fields if name not in value]
        if missing:
            raise ValueError(f"{where} is incomplete: it has no {', '.join(missing)}.")
        return {name: check(value[name], f"{where}.{name}") for name, check in fields.items()}

    return check_record


def digest(data: Any) -> str:
    """Return a digest of plain data that is independent of key order and of how integers are written."""
    return blake2b(json.dumps(_canonical(data), sort_keys=True).encode(), digest_size=16).hexdigest()


def _canonical(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _canonical(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_canonical(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with a digest of all other entries."""
    return {**data, "digest": digest({name: value for name, value in data.items() if name != "digest"})}


def check_digest(data: Mapping[str, Any], where: str) -> None:
    """Raise if the data changed since they were written; files of earlier releases have no digest."""
    try:
        same = "digest" not in data or data["digest"] == signed(data)["digest"]
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply to be a file of this package.") from None
    if not same:
        raise ValueError(f"{where} was changed or damaged since it was written: its digest does not match.")
