"""From the text that templates render to, to the values of parameters. Every error names its parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compsil_kit._settings.reading import read_integer, read_names, read_number, read_optional

# The operator's own parameters; those of the engine are read by their definitions.
_OWN: dict[str, Callable[[str], Any]] = {
    "labels_keep": read_optional(read_names),
    "min_probability": read_optional(read_number),
    "min_confidence": read_optional(read_number),
    "fallback_k": read_optional(read_integer),
    "n_batches": read_integer,
    **{
        name: read_optional(str)
        for name in ("labels_path", "report_path", "report_url", "checkpoint", "base_dir", "on_unsure")
    },
}


def coerce(name: str, value: Any) -> Any:
    """Return the value of a parameter; text is converted, anything else stays as it is."""
    try:
        if isinstance(value, str):
            return _reader(name)(value)
        if isinstance(value, list | tuple) and _holds_numbers(name):
            return [read_integer(item) if isinstance(item, str) else item for item in value]
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    return value


def _reader(name: str) -> Callable[[str], Any]:
    from compsil_kit._settings.keywords import SelectKeywords, TableKeywords, keywords_of

    if name in _OWN:
        return _OWN[name]
    keyword = (keywords_of(SelectKeywords) | keywords_of(TableKeywords)).get(name)
    return str if keyword is None else keyword.read


def _holds_numbers(name: str) -> bool:
    """Tell whether a list given for a parameter is one of numbers: candidate counts or seeds, but not columns."""
    from compsil_kit._settings.keywords import SelectKeywords, keywords_of

    return name in keywords_of(SelectKeywords)
