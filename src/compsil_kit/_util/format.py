"""Format numbers, percentages, durations, lists and errors for display."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence

_UNITS = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}


def number(value: float, digits: int = 4) -> str:
    """Format a number with a fixed number of decimals, or return a dash if it is undefined."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def whole_percent(value: float) -> int:
    """Return a fraction as a whole number of per cent, rounded as in :func:`percent`."""
    return round(100 * float(value))


def percent(value: float) -> str:
    """Format a fraction as a percentage, or return a dash if it is undefined.

    Only an exact 0 is shown as "0 %", and only an exact 1 as "100 %".
    """
    if not math.isfinite(value):
        return "–"
    if 0 < value <= 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= value < 1 else f"{whole_percent(value)} %"


def sentence(text: str) -> str:
    """Capitalise the first letter, unless the string starts with the symbol k."""
    return text if text.startswith("k ") else text[:1].upper() + text[1:]


def format_ks(ks: tuple[int, ...]) -> str:
    """Format candidates as ``2..10`` if they are consecutive, or as a list otherwise."""
    if len(ks) > 2 and ks[-1] - ks[0] == len(ks) - 1:
        return f"{ks[0]}..{ks[-1]}"
    shown = ", ".join(map(str, ks[:12]))
    return shown if len(ks) <= 12 else f"{shown}, ... {ks[-1]}"


def format_seconds(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def format_bytes(n_bytes: float) -> str:
    """Format a size in bytes with at least two digits."""
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if n_bytes >= 0.9995 * size), ("B", 1))
    value = n_bytes / size
    return f"{value:.1f} {unit}" if value < 9.95 and size > 1 else f"{value:,.0f} {unit}"


def shorten(names: tuple[str, ...], most: int = 12) -> str:
    """Return the first names, truncated if they are long, and the total number if some are omitted."""
    return few([_cut(printable(name).replace("\n", "\\n")) for name in names], most)


def few(items: Sequence[object], most: int = 8) -> str:
    """Return the first items and, if some are omitted, the total number."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown}, ... ({len(items)} in all)"


def quoted(name: object) -> str:
    """Return a name in quotes, truncated if it is long."""
    return repr(_cut(name) if isinstance(name, str) else name)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def listed(names: Sequence[str], one: str, several: str) -> str:
    """Return the names in quotes, followed by the singular or plural phrase that fits their number."""
    return f"{few([*map(quoted, names)])} {one if len(names) == 1 else several}"


def did_you_mean(words: Iterable[str], known: Iterable[str]) -> str:
    """Suggest the known name that is most similar to one of the words, or return an empty string."""
    # Ignore case and the leading dashes of options.
    spelling = {name.lower().lstrip("-"): name for name in known}
    for word in words:
        for near in difflib.get_close_matches(word.lower().lstrip("-"), spelling, n=1):
            return f" Did you mean {quoted(spelling[near])}?"
    return ""


def one_line(error: Exception) -> str:
    """Return the message of an error on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return printable(" ".join(str(error).split())) or type(error).__name__


def printable(text: str) -> str:
    """Escape control characters, except line breaks."""
    shown = (char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text)
    return "".join(shown)
