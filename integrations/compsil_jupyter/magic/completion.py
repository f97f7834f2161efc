"""Tab completion on a ``%compsil`` line: sub-commands, options and their values, columns, and data in scope."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.getipython import get_ipython

from compsil_jupyter.data import column_names, is_data
from compsil_jupyter.magic.parser import COMMANDS, FLAGS, OPTIONS, Names, own_names, split
from compsil_kit._settings.reading import quote, split_list, unquote

# Also after an assignment: r = %compsil df
_MAGIC = re.compile(r"(?:[^%=]*=)?\s*%{1,2}compsil\s+(?P<rest>.*)", re.DOTALL)
_AUTOMAGIC = re.compile(r"\s*compsil\s+(?P<rest>[^=\s].*|)", re.DOTALL)


@context_matcher()  # type: ignore[untyped-decorator]
def match_compsil(context: CompletionContext) -> SimpleMatcherResult:
    """Complete a ``%compsil`` line when IPython asks for it, at every tab, and leave all other lines alone."""
    shell: Any = get_ipython()
    names = {name: shell.user_ns[name] for name in own_names(shell.user_ns)}
    line = _MAGIC.fullmatch(context.text_until_cursor)
    if line is None and shell.automagic and "compsil" not in names:
        line = _AUTOMAGIC.fullmatch(context.text_until_cursor)
    fragment, words = complete(line["rest"], names) if line else ("", [])
    # A quote that is already open counts as typed.
    fitting = [word for word in dict.fromkeys(words) if unquote(word).startswith(fragment.lstrip("'\""))]
    found = [SimpleCompletion(word) for word in fitting]
    return SimpleMatcherResult(completions=found, matched_fragment=fragment, ordered=True, suppress=bool(found))


def complete(line: str, names: Names) -> tuple[str, list[str]]:
    """Return the fragment before the cursor, and the words among which it may be completed."""
    *before, word = split(line)
    command = before.pop(0) if before and before[0] in COMMANDS else ""
    if word.startswith("--") and "=" in word:
        flag, _, word = word.partition("=")
        before.append(flag)
    takes_value = {flag for flag, name in FLAGS.items() if not OPTIONS[name].is_switch}
    data = next((each for last, each in pairwise(["", *before]) if each[0] != "-" and last not in takes_value), "")
    if before and FLAGS.get(before[-1]) == "columns":
        *taken, fragment = split_list(word)
        # A space that was typed inside of quotes is part of what is completed.
        fragment += word[len(word.rstrip()) :] if fragment else ""
        return fragment, [column for column in _columns(data, names) if column not in taken]
    if before and before[-1] in takes_value:
        # Of 2:kmax or micro,gap only the last part is being typed.
        fragment = re.split("[:,]", word)[-1]
        return fragment, [*OPTIONS[FLAGS[before[-1]]].choices, *(_variables(fragment, names) if fragment else [])]
    flags = [flag for flag, name in FLAGS.items() if name in COMMANDS[command or "select"]]
    if word.startswith("-"):
        return word, flags
    if data:
        used = {FLAGS.get(each) for each in before}
        return word, [] if word else [flag for flag in flags if flag[1] == "-" and FLAGS[flag] not in used]
    return word, _variables(word, names) + ([] if before or command else list(COMMANDS))


def _variables(fragment: str, names: Names) -> list[str]:
    """Return the data in scope and, once something is typed, the other variables, which may lead to data."""
    data = sorted(name for name in names if is_data(names[name]))
    return data + (sorted(set(names) - set(data)) if fragment else [])


def _columns(data: str, names: Names) -> list[str]:
    """Return the columns of the variable that an expression starts with, in quotes where a line needs them."""
    start = re.match(r"""["']?\(?([^\W\d]\w*)""", data)
    value = names.get(start[1]) if start else None
    return [quote(str(name)) for name in column_names(value)] if is_data(value) else []
