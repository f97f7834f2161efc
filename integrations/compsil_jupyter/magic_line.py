"""The ``%compsil`` line: parsing into sub-command, data and options, and tab completion."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterable
from functools import partial
from itertools import pairwise
from keyword import iskeyword
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.magic_arguments import MagicArgumentParser

from compsil_jupyter.data import SCALE, column_names, is_data
from compsil_kit.adapters import (
    CONFIGS,
    QUOTED,
    add_options,
    describe,
    flags_of,
    options_of,
    parse_names,
    quote,
    split_list,
    unquote,
    usage_errors,
)
from compsil_kit.adapters import did_you_mean as nearest_spelling
from compsil_kit.config import Setting

_DESCRIPTION = """Select the number of clusters using Composite Silhouette.

%compsil DATA [options]                    select the number of clusters; same as %compsil select DATA
%compsil compare DATA [options]            compare the composite silhouette with other criteria
%compsil explore DATA [options]            open the interactive explorer
%compsil report DATA OUT.html [options]    select the number of clusters and write an HTML report
%%compsil [options]                        run the cell and use its last expression as the data

DATA is a Python expression that gives a table, an array or a sparse matrix, or a distance matrix with
--metric precomputed. The magic returns the result; after an interrupt, the result covers the finished
subsamples. End the line with a semicolon to suppress the output. An option value may be a variable name,
unless it is itself a valid value (such as gmm) or a column name. Put column names that contain spaces or
commas in quotes."""
_EXAMPLES = """examples:
  r = %compsil df[df.city == "Oslo S"] --columns age,"net income" --ks 2:kmax -B 30 --rule lcb
  %compsil compare X[:, :-1] --clusterer gmm --criteria composite,gap -o result
  %config CompsilMagics.n_subsamples = 50    (%config CompsilMagics lists all defaults)"""
Names = dict[str, Any]
_IPYTHON = ("In", "Out", "exit", "quit", "open", "get_ipython")
# A quoted string, an unclosed quote and the rest of the line, a comma before a list item, or one character.
_TOKEN = re.compile(rf"""{QUOTED}|['"].*|,\s+(?=[^\s-])|.""", re.DOTALL)
# Also matches after an assignment, as in r = %compsil df.
_MAGIC = re.compile(r"(?:[^%=]*=)?\s*%{1,2}compsil\s+(?P<rest>.*)", re.DOTALL)
_AUTOMAGIC = re.compile(r"\s*compsil\s+(?P<rest>[^=\s].*|)", re.DOTALL)


def _validate_name(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise ValueError(f"must be a valid variable name, such as result; got {describe(name)}.")
    return name


def _options(command: str) -> dict[str, Setting]:
    """Return the options of a sub-command by name; their ``choices`` take precedence over variables."""
    doc = "Also store the result in this variable"
    output = Setting("str", None, _validate_name, doc, flags=("-o", "--output"), metavar="NAME")
    return {**options_of(command), "scale": SCALE, "output": output}


COMMANDS = {command: _options(command) for command in CONFIGS}
OPTIONS = {name: keyword for options in COMMANDS.values() for name, keyword in options.items()}
FLAGS = {flag: name for name, keyword in OPTIONS.items() for flag in flags_of(name, keyword)}


def _owners(name: str) -> str:
    return ", ".join(command for command in COMMANDS if name in COMMANDS[command])


def make_parser(names: Names) -> Any:
    """Return a parser for all options, grouped by sub-command; option values may name variables in ``names``."""
    # Use a fixed width, because the help is built once at import, before the terminal width is known.
    style = partial(argparse.RawDescriptionHelpFormatter, width=100, max_help_position=32)
    # Omitted options are absent from the namespace, so that %config defaults apply.
    parser: Any = MagicArgumentParser(  # type: ignore[no-untyped-call]
        "", argparse.SUPPRESS, _DESCRIPTION, _EXAMPLES, formatter_class=style, argument_default=argparse.SUPPRESS
    )
    parser.allow_abbrev = False
    for owners in dict.fromkeys(map(_owners, OPTIONS)):
        group = parser.add_argument_group("options" if owners == _owners("output") else f"options for {owners}")
        own = {name: keyword for name, keyword in OPTIONS.items() if _owners(name) == owners}
        add_options(group.add_argument, own, partial(_read_option, names))
    return parser


def _read_option(names: Names, name: str, word: str) -> Any:
    """Return the value of an option; a word that is not one of the choices may name a variable."""
    if name == "columns":
        # Resolved by read_columns, once the data are known.
        return word
    keyword, text = OPTIONS[name], unquote(word)
    # Neither a quoted word nor the output name refers to a variable.
    variables = names if text == word and name != "output" else {}
    with usage_errors(keyword, text, user_names(variables)):
        if text in variables and text not in keyword.choices:
            return keyword.validate(variables[text])
        if name == "ks":
            text = "".join(str(variables.get(part.strip(), part)) for part in re.split("([:,])", text))
        return keyword.validate(keyword.parse(text))


def parse_line(line: str, names: Names, *, in_cell: bool) -> tuple[str, list[str], dict[str, Any]]:
    """Return the sub-command, the data expression (empty in a cell) with the report path, and the options."""
    known, words = make_parser(names).parse_known_args([word for word in split(line) if word])
    # If nothing follows, a variable with the name of a sub-command is the data.
    is_command = words[:1] and words[0] in COMMANDS and (words[1:] or in_cell or words[0] not in names)
    command = words.pop(0) if is_command else "select"
    for name in vars(known):
        if name not in COMMANDS[command]:
            flag = flags_of(name, OPTIONS[name])[-1]
            raise UsageError(f"{command} has no option {flag}; it belongs to {_owners(name)}.")
    unknown = re.search(r"^--?[A-Za-z][\w-]*", "\n".join(words), re.MULTILINE)
    if unknown is not None:
        minus = f" Put data that starts with a minus sign in parentheses: ({unknown[0][:60]})."
        other = " %compsil? lists the options." if unknown[0].startswith("--") else minus
        raise UsageError(f"unknown option {describe(unknown[0])}.{did_you_mean([unknown[0]], FLAGS) or other}")
    target = ["OUT.html"] * (command == "report")
    expected = target if in_cell else ["DATA", *target]
    if len(words) < len(expected):
        usage = f"{'%%' if in_cell else '%'}compsil {' '.join([command, *expected])} [options]"
        raise UsageError(f"{expected[len(words)]} is missing. Usage: {usage}")
    n_data = len(words) - len(target)
    if in_cell and n_data:
        hint = "In a %%compsil cell, the last expression is the data."
        raise UsageError(f"unexpected argument {describe(words[0])}. {hint}")
    return command, [unquote(" ".join(words[:n_data])), *words[n_data:]], vars(known)


def read_columns(word: str, data: Any, names: Names) -> Any:
    """Return the value of ``--columns``; a single word that is not a column may name a variable."""
    is_column = word in map(str, column_names(data))
    return names[word] if word.isidentifier() and word in names and not is_column else parse_names(word)


def split(line: str) -> list[str]:
    """Split a line at spaces outside brackets and quotes, up to a comment; a trailing space adds an empty word."""
    words, depth = [""], 0
    for token in _TOKEN.findall(line):
        if token == "#" and not words[-1]:
            break
        depth += (token in "([{") - (token in ")]}")
        if not token.isspace() or depth > 0:
            words[-1] += token
        elif words[-1]:
            words.append("")
    return words


def user_names(names: Iterable[str]) -> list[str]:
    """Return the variable names, except those defined by IPython."""
    return [name for name in names if name[0] != "_" and name not in _IPYTHON]


def did_you_mean(words: Iterable[str], known: Collection[str]) -> str:
    """Return a suggestion for the first unknown word, chosen from the known names."""
    return nearest_spelling([word for word in words if word not in known], user_names(known))


@context_matcher()  # type: ignore[untyped-decorator]
def match_compsil(context: CompletionContext) -> SimpleMatcherResult:
    """Complete ``%compsil`` lines; IPython calls this for every line."""
    shell: Any = get_ipython()
    names = {name: shell.user_ns[name] for name in user_names(shell.user_ns)}
    line = _MAGIC.fullmatch(context.text_until_cursor)
    if line is None and shell.automagic and "compsil" not in names:
        line = _AUTOMAGIC.fullmatch(context.text_until_cursor)
    fragment, words = complete(line["rest"], names) if line else ("", [])
    # An unclosed quote is part of what the user has typed.
    matching = [word for word in dict.fromkeys(words) if unquote(word).startswith(fragment.lstrip("'\""))]
    found = [SimpleCompletion(word) for word in matching]
    return SimpleMatcherResult(completions=found, matched_fragment=fragment, ordered=True, suppress=bool(found))


def complete(line: str, names: Names) -> tuple[str, list[str]]:
    """Return the fragment before the cursor and the candidate words for it."""
    *before, word = split(line)
    command = before.pop(0) if before and before[0] in COMMANDS else ""
    if word.startswith("--") and "=" in word:
        flag, _, word = word.partition("=")
        before.append(flag)
    takes_value = {flag for flag, name in FLAGS.items() if not OPTIONS[name].is_switch}
    data = next((each for last, each in pairwise(["", *before]) if each[0] != "-" and last not in takes_value), "")
    if before and FLAGS.get(before[-1]) == "columns":
        *taken, fragment = split_list(word)
        # A space typed inside quotes belongs to the fragment.
        fragment += word[len(word.rstrip()) :] if fragment else ""
        return fragment, [column for column in _quoted_columns(data, names) if column not in taken]
    if before and before[-1] in takes_value:
        # In 2:kmax or micro,gap, the user is typing only the last part.
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
    """Return the data variables and, after the first character, the other variables, whose attributes may be data."""
    data = sorted(name for name in names if is_data(names[name]))
    return data + (sorted(set(names) - set(data)) if fragment else [])


def _quoted_columns(expression: str, names: Names) -> list[str]:
    """Return the column names of the variable at the start of an expression, quoted if necessary."""
    start = re.match(r"""["']?\(?([^\W\d]\w*)""", expression)
    value = names.get(start[1]) if start else None
    return [quote(str(name)) for name in column_names(value)] if is_data(value) else []
