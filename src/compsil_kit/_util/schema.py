"""Validation of plain data read from files: types, ranges, shapes and a digest against damage.

A check takes a value and its path in the data, and returns the value or raises. Messages never quote the contents,
because the file may be another file altogether.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import Any, get_type_hints

Check = Callable[[Any, str], Any]

MAX_TEXT = 100_000


def _check(valid: Callable[[Any], bool], rule: str, convert: Callable[[Any], Any] = lambda value: value) -> Check:
    def check(value: Any, where: str) -> Any:
        if not valid(value):
            raise ValueError(f"{where} must be {rule}.")
        return convert(value)

    return check


def integer(low: int, high: int | None = None) -> Check:
    """Accept an integer in [low, high], also written as 2.0; not a boolean."""

    def valid(value: Any) -> bool:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool) and low <= value and (high is None or value <= high)

    return _check(valid, f"a whole number of at least {low}" + ("" if high is None else f" and at most {high:,}"), int)


def real(low: float, high: float) -> Check:
    """Accept a finite number in [low, high]; not a boolean or a string."""

    def valid(value: Any) -> bool:
        # Compared before the conversion, because a long integer may overflow a float. NaN fails every comparison.
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return _check(valid, f"a number in [{low:g}, {high:g}]", float)


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
    a_list = _check(
        lambda value: isinstance(value, list | tuple) and length in (None, len(value)),
        f"a list{'' if length is None else f' of {length:,} entries'}",
    )
    return lambda value, where: [check(item, f"{where}[{at}]") for at, item in enumerate(a_list(value, where))]


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


def checks_of(cls: type) -> dict[str, Check]:
    """Return the checks in the annotations of a class, by field."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


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
