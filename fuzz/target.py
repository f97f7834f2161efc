"""Define targets: a reader or parser, two sources of hostile input, and a check of the outcome.

Inputs are plain data (text, numbers, lists, dicts, bytes), so that findings can be stored in small files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

# Number of inputs in one case.
EXAMPLES = 20
MAX_TRIES = 200


@dataclass(frozen=True)
class Target:
    """A check, a strategy for structured inputs, and a generator for damaged inputs."""

    name: str
    check: Callable[[Any], None]
    structured: SearchStrategy[Any]
    damaged: Callable[[Random], Any]


class Found(Exception):
    """Raised to end a case with a minimised input that causes a problem."""

    def __init__(self, value: Any) -> None:
        """Store the input."""
        super().__init__("an input with a problem")
        self.value = value


def run_case(target: Target, number: int, is_bad: Callable[[Any], bool], examples: int = EXAMPLES) -> Any | None:
    """Run one case (even numbers: structured inputs, odd numbers: damaged inputs), and return a bad input or None.

    The inputs depend only on the target's name and the number of the case.
    """
    if number % 2:
        random = Random(f"{target.name} {number}")
        values = (target.damaged(random) for _ in range(examples))
        found = next((value for value in values if is_bad(value)), None)
        return None if found is None else _minimise(found, is_bad)

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


def _minimise(value: Any, is_bad: Callable[[Any], bool]) -> Any:
    """Remove parts of the content as long as the input still causes a problem."""
    content: Any = value.get("content") if isinstance(value, dict) else value
    if type(content) not in (bytes, str):
        return value
    size, tries = len(content) // 2, 0
    while size and tries < MAX_TRIES:
        at = 0
        while at < len(content) and tries < MAX_TRIES:
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
    """Convert an input to JSON; bytes are marked and stored as Latin-1 strings."""
    return json.dumps(value, default=lambda raw: {"bytes": raw.decode("latin-1")})


def from_text(text: str) -> Any:
    """Convert the output of :func:`to_text` back to an input."""
    return json.loads(text, object_hook=lambda item: item["bytes"].encode("latin-1") if "bytes" in item else item)
