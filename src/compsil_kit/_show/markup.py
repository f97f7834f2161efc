"""The one way by which values get into HTML: as text, escaped, whatever they are."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from compsil_kit._util.format import printable


def safe(value: object) -> str:
    """Return a value as text for HTML, in elements and in quoted attributes; control characters are shown escaped."""
    return escape(printable(str(value)))


def cells(values: Iterable[object], tag: str = "td", style: str = "") -> str:
    """Return a table row's cells."""
    look = f' style="{safe(style)}"' if style else ""
    return "".join(f"<{tag}{look}>{safe(value)}</{tag}>" for value in values)
