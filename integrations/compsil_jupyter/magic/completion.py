"""Tab completion on a ``%compsil`` line: sub-commands, options, their values, columns, and data in scope."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from IPython.core.completer import (
    CompletionContext,
    Matcher,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.interactiveshell import InteractiveShell
from scipy import sparse

from compsil_jupyter.data import as_frame, is_table
from compsil_jupyter.magic.options import COMMANDS, Names, Option, options, public
from compsil_jupyter.magic.words import is_quoted, scan, split_commas

IDENTIFIER = "compsil"
# Also after an assignment: r = %compsil df
_MAGIC = re.compile(r"(?:[^%=]*=)?\s*%{1,2}compsil\s+(?P<rest>.*)", re.DOTALL)
_BARE = re.compile(r"\s*compsil\s+(?P<rest>[^=\s].*|)", re.DOTALL)


def make_matcher(shell: InteractiveShell) -> Matcher:
    """Return what IPython calls at every tab; it completes ``%compsil`` lines and leaves all others alone."""

    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        names = {name: value for name, value in shell.user_ns.items() if name not in shell.user_ns_hidden}
        found = _MAGIC.fullmatch(context.text_until_cursor)
        if found is None and shell.automagic and "compsil" not in names:
            found = _BARE.fullmatch(context.text_until_cursor)
        fragment, words = complete(found["rest"], names) if found else ("", [])
        return SimpleMatcherResult(
            completions=[SimpleCompletion(word) for word in words],
            matched_fragment=fragment,
            ordered=True,
            suppress=bool(words),
        )

    marked: Matcher = context_matcher(identifier=IDENTIFIER)(matcher)
    return marked


def complete(line: str, names: Names) -> tuple[str, list[str]]:
    """Return the fragment before the cursor and what it may become; nothing where Python itself should complete."""
    (*before, word), _ = scan(line)
    command = before[0] if before and before[0] in COMMANDS else "select"
    flags = {flag: option for option in options(command) for flag in option.flags if option.takes_value}
    if word.startswith("--") and "=" in word:
        flag, _, word = word.partition("=")
        before = [*before, flag]
    if before and before[-1] in flags:
        return _value(flags[before[-1]], word, _data(before, flags), names)
    if word.startswith("-"):
        return word, _starting(word, (flag for option in options(command) for flag in option.flags))
    if _data(before, flags):
        used = {option.name for option in options(command) if set(option.flags) & set(before)}
        return word, [option.flags[-1] for option in options(command) if not word and option.name not in used]
    return word, _starting(word, [*_variables(word, names), *([] if before else COMMANDS)])


def _value(option: Option, word: str, data: str, names: Names) -> tuple[str, list[str]]:
    if option.name == "columns":
        fragment = split_commas(word)[-1]
        taken = split_commas(word)[:-1]
        columns = [name for name in map(_quoted, _columns(data, names)) if name not in taken]
        return fragment, _starting(fragment, columns)
    if option.name == "output":
        return word, []
    # In 2:kmax or micro,gap only the last part is being written.
    fragment = re.split("[:,]", word)[-1]
    return fragment, _starting(fragment, [*option.literals, *(_variables(fragment, names) if fragment else [])])


def _data(before: list[str], flags: dict[str, Option]) -> str:
    """Return the first word that is data: neither a sub-command, nor an option, nor its value."""
    start = 1 if before and before[0] in COMMANDS else 0
    for at, word in enumerate(before[start:], start):
        if not word.startswith("-") and not (at and before[at - 1] in flags):
            return word
    return ""


def _variables(start: str, names: Names) -> list[str]:
    """Return data in scope; once something is typed, the other variables too, which may lead to data."""
    data = sorted(name for name in public(names) if _is_data(names[name]))
    return data + (sorted(set(public(names)) - set(data)) if start else [])


def _is_data(value: Any) -> bool:
    return is_table(value) or sparse.issparse(value) or (isinstance(value, np.ndarray) and value.ndim == 2)


def _columns(data: str, names: Names) -> list[str]:
    """Return the columns of the frame that an expression starts with; nothing is evaluated for a completion."""
    start = re.match(r"""["']?\(?([^\W\d]\w*)""", data)
    frame: Any = names.get(start[1]) if start else None
    if not _is_data(frame):
        return []
    if not is_table(frame):
        return [str(at) for at in range(frame.shape[1])]
    # A row-less copy, as some tables know their columns under another name.
    return [str(name) for name in as_frame(frame.head(0) if hasattr(frame, "head") else frame.slice(0, 0)).columns]


def _quoted(name: str) -> str:
    if re.fullmatch(r"[^\s,;#'\"()\[\]{}]+", name):
        return name
    quote = "'" if '"' in name else '"'
    return f"{quote}{name.replace(quote, chr(92) + quote)}{quote}"


def _starting(start: str, words: Iterable[str]) -> list[str]:
    """Return the words that go on from what is typed; a quote that is opened already counts as typed."""
    bare = start.lstrip("'\"") if not is_quoted(start) else start
    return [
        word for word in dict.fromkeys(words) if word.startswith(start) or (bare and _inside(word).startswith(bare))
    ]


def _inside(word: str) -> str:
    return word[1:-1] if is_quoted(word) else word
