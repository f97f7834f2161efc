"""Templates render to text: from text to the values the engine takes. Every failure names its parameter."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

NOTHING = ("", "none", "null")
_RANGE = re.compile(r"range\((-?\d+), ?(-?\d+)(?:, ?(-?\d+))?\)")


def cast(name: str, value: Any) -> Any:
    """Return a parameter's value; text becomes what the parameter holds, anything else stays as it is."""
    return _CASTS[name](name, value) if name in _CASTS else value


def _number(kind: Callable[[str], Any], words: str) -> Callable[[str, Any], Any]:
    def convert(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return kind(value.strip())
        except ValueError as error:
            raise ValueError(f"{name} must be {words}; got {_show(value)}.") from error

    return convert


def _optional(convert: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Let text that stands for nothing be None."""
    return lambda name, value: None if _is_nothing(value) else convert(name, value)


def _is_nothing(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in NOTHING


def _as_given(_: str, value: Any) -> Any:
    return value


def _counts(name: str, value: Any) -> Any:
    """Read ``2:10`` (both ends included), ``2,3,5``, ``[2, 3, 5]`` or ``range(2, 11)``; items may be text."""
    if isinstance(value, str):
        value = _split_counts(name, value.strip())
    if isinstance(value, list | tuple):
        return [_integer(name, item) for item in value]
    return value


def _split_counts(name: str, text: str) -> Any:
    if match := _RANGE.fullmatch(text):
        return range(*(int(part) for part in match.groups() if part is not None))
    parts = text.strip("[]()").split(":") if ":" in text else None
    if parts is None:
        return [item.strip() for item in text.strip("[]()").split(",") if item.strip()]
    if len(parts) not in (2, 3):
        raise ValueError(f"{name} must look like 2:10, 2:20:2, 2,3,5 or [2, 3, 5]; got {_show(text)}.")
    first, last, step = (_integer(name, part) for part in (*parts, "1")[:3])
    if step < 1:
        raise ValueError(f"{name} must go upwards, as in 2:20:2; got {_show(text)}.")
    return list(range(first, last + 1, step))


def _names(name: str, value: Any) -> Any:
    """Read ``a, b`` or, for names with commas, a JSON list."""
    if not isinstance(value, str):
        return value
    if not value.strip().startswith("["):
        return [word.strip() for word in value.split(",") if word.strip()]
    try:
        return [str(word) for word in json.loads(value.replace("'", '"') if '"' not in value else value)]
    except ValueError as error:
        raise ValueError(
            f"{name} must be names with commas between them, or a JSON list; got {_show(value)}."
        ) from error


def _size(name: str, value: Any) -> Any:
    if not isinstance(value, str) or value.strip() == "auto":
        return value.strip() if isinstance(value, str) else value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    raise ValueError(f"{name} must be 'auto', a number of rows, or a fraction of them; got {_show(value)}.")


def _seeds(name: str, value: Any) -> Any:
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return _counts(name, value)
    return _integer(name, value)


def _show(value: str) -> str:
    return repr(value if len(value) <= 60 else value[:57] + "...")


_integer = _number(int, "a whole number")
_real = _number(float, "a number")
_CASTS: dict[str, Callable[[str, Any], Any]] = {
    "ks": _counts,
    "n_subsamples": _integer,
    "n_calibration": _integer,
    "sample_size": _size,
    "z": _real,
    "n_jobs": _optional(_integer),
    "random_state": _optional(_seeds),
    "columns": _optional(_names),
    "scale": _optional(_as_given),
    "labels_keep": _optional(_names),
    "min_probability": _optional(_real),
    "fallback_k": _optional(_integer),
    "n_batches": _integer,
    **{name: _optional(_as_given) for name in ("labels_path", "report_path", "report_url", "checkpoint", "base_dir")},
}
