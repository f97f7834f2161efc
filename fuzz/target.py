"""A target: a reader or parser, its two sources of hostile input, and the check of what it makes of them.

Inputs are plain data (text, numbers, lists, dicts, bytes), so that one that was found can be kept in a small file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

# Inputs of one case, of either kind.
EXAMPLES = 20
MOST_TRIES = 200


@dataclass(frozen=True)
class Target:
    """A check, what draws structured inputs for it, and what makes damaged ones by a random generator."""

    name: str
    check: Callable[[Any], None]
    structured: SearchStrategy[Any]
    damaged: Callable[[Random], Any]


class Found(Exception):
    """Ends a case: an input with a problem, made as small as could be."""

    def __init__(self, value: Any) -> None:
        """Hold the input."""
        super().__init__("an input with a problem")
        self.value = value


def run_case(target: Target, number: int, is_bad: Callable[[Any], bool], examples: int = EXAMPLES) -> Any | None:
    """Run one case of a target: structured inputs if its number is even, damaged ones if it is odd; return a bad one.

    Whatever is drawn depends on the name of the target and the number alone.
    """
    if number % 2:
        random = Random(f"{target.name} {number}")
        values = (target.damaged(random) for _ in range(examples))
        found = next((value for value in values if is_bad(value)), None)
        return None if found is None else _smaller(found, is_bad)

    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, print_blob=False, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(target.structured)
    def run(value: Any) -> None:
        if is_bad(value):
            raise Found(value)

    try:
        run()
    except Found as found:
        return found.value
    return None


def _smaller(value: Any, is_bad: Callable[[Any], bool]) -> Any:
    """Return the input with as many pieces cut out of its content as it stays bad without."""
    content: Any = value.get("content") if isinstance(value, dict) else value
    if type(content) not in (bytes, str):
        return value
    size, tries = len(content) // 2, 0
    while size and tries < MOST_TRIES:
        at = 0
        while at < len(content) and tries < MOST_TRIES:
            tries += 1
            shorter = content[:at] + content[at + size :]
            candidate = {**value, "content": shorter} if isinstance(value, dict) else shorter
            if is_bad(candidate):
                content, value = shorter, candidate
            else:
                at += size
        size //= 2
    return value


def to_text(value: Any) -> str:
    """Return an input as JSON; bytes are marked, and written as the characters of the same numbers."""
    return json.dumps(value, default=lambda raw: {"bytes": raw.decode("latin-1")})


def from_text(text: str) -> Any:
    """Return the input that :func:`to_text` wrote."""
    return json.loads(text, object_hook=lambda item: item["bytes"].encode("latin-1") if "bytes" in item else item)
