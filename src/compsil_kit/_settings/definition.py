"""What is said of a keyword, once for all surfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Keyword:
    """The definition of one keyword.

    ``read`` makes its value of text, ``spelling`` says how to write that text, and ``choices`` are words with a meaning
    of their own. The type of a switch, an option without a value, is ``bool``, with or without its default.
    The first sentence of ``doc`` is its help on a command line.
    ``interactive`` is another default for surfaces at which somebody waits: command line, magic, explorer, accessor.
    """

    type: str
    default: Any
    check: Callable[[Any], Any]
    doc: str
    read: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    spelling: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    interactive: Any = None

    @property
    def help(self) -> str:
        """One line for a command line: what it is, how to write it, and what it is if nothing is written."""
        first = self.doc.partition(". ")[0].rstrip(".")
        spelling = f": {self.spelling}" if self.spelling else ""
        default = "" if self.default is None or self.is_switch else f" (default: {_spelled(self.default)})"
        return f"{first[0].lower()}{first[1:]}{spelling}{default}".replace("``", "").replace("%", "%%")

    @property
    def is_switch(self) -> bool:
        """Whether it is an option without a value on a command line."""
        return self.type.partition(",")[0] == "bool"

    def where_somebody_waits(self) -> Keyword:
        """Return the definition with its default for interactive surfaces."""
        if self.interactive is None:
            return self
        told = self.type.replace(f"default={self.default!r}", f'default="{self.interactive}"')
        return replace(self, default=self.interactive, type=told)


def _spelled(value: Any) -> str:
    if isinstance(value, range):
        return f"{value[0]}:{value[-1]}"
    return f"{value:g}" if isinstance(value, float) else str(value)
