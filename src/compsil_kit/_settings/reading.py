"""From text to the values of keywords: command lines, magics, templates. The caller puts the name before an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

NOTHING = ("", "none", "null")
ON, OFF = ("true", "yes", "on", "1"), ("false", "no", "off", "0", *NOTHING)
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A name in quotes, an unclosed quote with all that follows, or what stands before the next comma.
_NAME = re.compile(rf"""(?:^|,)\s*((?:{QUOTED}|['"].*)?[^,]*)""", re.DOTALL)
_RANGE = re.compile(r"range\((-?\d+), ?(-?\d+)(?:, ?(-?\d+))?\)")


def read_integer(text: str) -> int:
    """Read a whole number."""
    return int(_read(int, text, "a whole number"))


def read_number(text: str) -> float:
    """Read a number."""
    return float(_read(float, text, "a number"))


def read_optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader to which "none", "null" and nothing at all mean None."""
    return lambda text: None if text.strip().lower() in NOTHING else read(text)


def read_workers(text: str) -> int | str | None:
    """Read a number of workers, ``auto``, or nothing."""
    return "auto" if text.strip() == "auto" else read_optional(read_integer)(text)


def read_counts(text: str) -> range | list[int]:
    """Read ``2:10`` (both ends included), ``2:20:2``, ``2,3,5``, ``[2, 3, 5]`` or ``range(2, 11)``."""
    inner = text.strip().strip("[]()") if not text.strip().startswith("range") else text.strip()
    try:
        if match := _RANGE.fullmatch(inner):
            return range(*(int(part) for part in match.groups() if part is not None))
        if ":" not in inner:
            return [int(part) for part in inner.split(",") if part.strip()]
        first, last, *step = (int(part) for part in inner.split(":"))
        if step and step[0] < 1:
            raise ValueError("downwards")
        return range(first, last + 1, *step)
    except (ValueError, TypeError) as error:
        raise ValueError(f"must look like 2:10, 2:20:2 or 2,3,5; got {shown(text)}.") from error


def read_seeds(text: str) -> int | range | list[int]:
    """Read one seed, or one for each subsample in the form of :func:`read_counts`."""
    return int(text) if text.strip().lstrip("-").isdigit() else read_counts(text)


def read_starts(text: str) -> str | int:
    """Read ``auto`` or a whole number."""
    return "auto" if text.strip() in ("", "auto") else read_integer(text)


def read_subsamples(text: str) -> str | int:
    """Read ``auto`` or a whole number; nothing is neither."""
    return "auto" if text.strip() == "auto" else read_integer(text)


def read_switch(text: str) -> bool:
    """Read true or false, also as yes or no, on or off, 1 or 0; nothing means false."""
    word = text.strip().lower()
    if word not in (*ON, *OFF):
        raise ValueError(f"must be true or false; got {shown(text)}.")
    return word in ON


def read_size(text: str) -> str | int | float:
    """Read ``auto``, ``paper``, a number of rows, or a fraction of them."""
    word = text.strip().replace(",", "")
    if word in ("", "auto", "paper"):
        return word or "auto"
    try:
        return int(word)
    except ValueError:
        return float(_read(float, word, "auto, paper, a number of rows, or a fraction such as 0.5"))


def read_names(text: str) -> list[str]:
    """Read names with commas between them, in quotes where a name holds commas itself, or a JSON list."""
    if not text.strip().startswith("["):
        return [unquote(name) for name in split_list(text) if name]
    try:
        return [str(word) for word in json.loads(text.replace("'", '"') if '"' not in text else text)]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"must be names with commas between them, or a JSON list; got {shown(text)}.") from error


def split_list(text: str) -> list[str]:
    """Split text at commas outside quotes, which stay."""
    return [name.strip() for name in _NAME.findall(text)]


def unquote(word: str) -> str:
    r"""Return a word without the quotes around it; inside them, \' and \" stand for the quote itself."""
    return re.sub(r"""\\(['"])""", r"\1", word[1:-1]) if re.fullmatch(QUOTED, word, re.DOTALL) else word


def quote(name: str) -> str:
    """Return a name as :func:`read_names` and a line of words take it: in quotes where it needs them."""
    if re.fullmatch(r"[^\s,;#'\"()\[\]{}]+", name):
        return name
    mark = "'" if '"' in name else '"'
    return mark + name.replace(mark, rf"\{mark}") + mark


def read_criteria(text: str) -> str | list[str]:
    """Read ``all``, or names with commas between them."""
    return "all" if text.strip() == "all" else read_names(text)


def _read(kind: Callable[[str], Any], text: str, rule: str) -> Any:
    try:
        return kind(text.strip())
    except ValueError as error:
        raise ValueError(f"must be {rule}; got {shown(text)}.") from error


def shown(text: str) -> str:
    """Return text from outside in quotes, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
