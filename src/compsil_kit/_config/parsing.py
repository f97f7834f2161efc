"""Parse settings from text: command lines, magics, templates. Callers prepend the name of the setting to an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal

from compsil_kit._util.checks import describe

NONE_WORDS = ("", "none", "null")
TRUE_WORDS, FALSE_WORDS = ("true", "yes", "on", "1"), ("false", "no", "off", "0", *NONE_WORDS)
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A quoted name, an unclosed quote with the rest of the text, or the text before the next comma.
_NAME = re.compile(rf"""(?:^|,)\s*((?:{QUOTED}|['"].*)?[^,]*)""", re.DOTALL)
_RANGE = re.compile(r"range\((-?\d+), ?(-?\d+)(?:, ?(-?\d+))?\)")


def parse_integer(text: str) -> int:
    """Parse an integer."""
    return int(_convert(int, text, "an integer"))


def parse_number(text: str) -> float:
    """Parse a number."""
    return float(_convert(float, text, "a number"))


def parse_optional(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser that maps "none", "null" and the empty text to None."""
    return lambda text: None if text.strip().lower() in NONE_WORDS else parse(text)


def parse_integer_or_auto(text: str) -> int | Literal["auto"]:
    """Parse ``auto`` or an integer."""
    return "auto" if text.strip() == "auto" else parse_integer(text)


def parse_n_jobs(text: str) -> int | Literal["auto"] | None:
    """Parse a number of workers, ``auto`` or nothing."""
    return "auto" if text.strip() == "auto" else parse_optional(parse_integer)(text)


def parse_n_starts(text: str) -> int | Literal["auto"]:
    """Parse a number of initialisations; the empty text means ``auto``."""
    return parse_integer_or_auto(text or "auto")


def parse_integers(text: str) -> range | list[int]:
    """Parse ``2:10`` (both ends included), ``2:20:2``, ``2,3,5``, ``[2, 3, 5]`` or ``range(2, 11)``."""
    inner = text.strip() if text.strip().startswith("range") else text.strip().strip("[]()")
    try:
        if match := _RANGE.fullmatch(inner):
            return range(*(int(part) for part in match.groups() if part is not None))
        if ":" not in inner:
            return [int(part) for part in inner.split(",") if part.strip()]
        first, last, *step = (int(part) for part in inner.split(":"))
        if step and step[0] < 1:
            raise ValueError("negative step")
        return range(first, last + 1, *step)
    except (ValueError, TypeError) as error:
        raise ValueError(f"must look like 2:10, 2:20:2 or 2,3,5; got {describe(text)}.") from error


def parse_seeds(text: str) -> int | range | list[int]:
    """Parse one seed, or one seed per subsample as in :func:`parse_integers`."""
    return int(text) if text.strip().lstrip("-").isdigit() else parse_integers(text)


def parse_switch(text: str) -> bool:
    """Parse true or false, yes or no, on or off, 1 or 0; the empty text means false."""
    word = text.strip().lower()
    if word not in (*TRUE_WORDS, *FALSE_WORDS):
        raise ValueError(f"must be true or false; got {describe(text)}.")
    return word in TRUE_WORDS


def parse_sample_size(text: str) -> str | int | float:
    """Parse ``auto``, ``paper``, a number of rows, or a fraction of the rows."""
    word = text.strip().replace(",", "")
    if word in ("", "auto", "paper"):
        return word or "auto"
    try:
        return int(word)
    except ValueError:
        return float(_convert(float, word, "auto, paper, a number of rows, or a fraction such as 0.5"))


def parse_names(text: str) -> list[str]:
    """Parse names separated by commas (a name that contains commas is quoted), or a JSON list."""
    if not text.strip().startswith("["):
        return [unquote(name) for name in split_list(text) if name]
    try:
        return [str(word) for word in json.loads(text.replace("'", '"') if '"' not in text else text)]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"must be names separated by commas, or a JSON list; got {describe(text)}.") from error


def parse_criteria(text: str) -> str | list[str]:
    """Parse ``all``, or names separated by commas."""
    return "all" if text.strip() == "all" else parse_names(text)


def split_list(text: str) -> list[str]:
    """Split text at commas outside quotes; the quotes are kept."""
    return [name.strip() for name in _NAME.findall(text)]


def unquote(word: str) -> str:
    r"""Remove the quotes around a word; inside them, \' and \" stand for the quote itself."""
    return re.sub(r"""\\(['"])""", r"\1", word[1:-1]) if re.fullmatch(QUOTED, word, re.DOTALL) else word


def quote(name: str) -> str:
    """Quote a name for :func:`parse_names` and command lines if it needs quotes."""
    if re.fullmatch(r"[^\s,;#'\"()\[\]{}]+", name):
        return name
    mark = "'" if '"' in name else '"'
    return mark + name.replace(mark, rf"\{mark}") + mark


def _convert(kind: Callable[[str], Any], text: str, rule: str) -> Any:
    try:
        return kind(text.strip())
    except ValueError as error:
        raise ValueError(f"must be {rule}; got {describe(text)}.") from error
