"""The line of ``%compsil``: its sub-command, its data, and its options, which are made from the keywords."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from keyword import iskeyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from compsil_jupyter.data import AUTO, column_names
from compsil_jupyter.magic.help import ABOUT, EXAMPLES
from compsil_kit.cli.options import TAKES, flags_of, specification
from compsil_kit.settings.keywords import ExploreKeywords, Keyword, TableKeywords, keywords_of
from compsil_kit.settings.reading import shown
from compsil_kit.settings.rules import CRITERIA, choice, optional
from compsil_kit.util.format import one_line

Names = dict[str, Any]
_IPYTHON = ("In", "Out", "exit", "quit", "open", "get_ipython")
SWITCH = "bool"
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A quoted string, an unclosed quote with all that follows, a comma before another item of a list, or one character.
_ATOM = re.compile(rf"""{QUOTED}|['"].*|,\s+(?=[^\s-])|.""", re.DOTALL)
_ITEM = re.compile(rf"""(?:^|,)((?:{QUOTED}|['"].*|[^,])*)""", re.DOTALL)


def _check_name(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise ValueError(f"must be a valid variable name, such as result; got {name!r}.")
    return name


def _options(command: str) -> dict[str, Keyword]:
    """Return the options of a sub-command by name; their ``choices`` take precedence over variables."""
    found = {**keywords_of(TableKeywords), **keywords_of(TAKES.get(command, ExploreKeywords))}
    scales = (AUTO, *found["scale"].choices)
    doc = "How to scale the columns; auto is standard for tables and none for arrays"
    scale = replace(found["scale"], default=AUTO, check=optional(choice("scale", scales)), doc=doc, choices=scales)
    found |= {"scale": scale, "sample_size": replace(found["sample_size"], choices=("auto",))}
    if command == "compare":
        found["criteria"] = replace(found["criteria"], choices=("all", *CRITERIA))
    if command == "report":
        found["compare"] = Keyword(SWITCH, None, bool, "Include the other criteria")
    if found.pop("progress", None):
        found["quiet"] = Keyword(SWITCH, None, bool, "Show no progress bar", flags=("-q", "--quiet"))
    doc = "Also store the result in this variable"
    return found | {"output": Keyword("str", None, _check_name, doc, flags=("-o", "--output"), metavar="NAME")}


COMMANDS = {command: _options(command) for command in ("select", "compare", "explore", "report")}
OPTIONS = {name: keyword for options in COMMANDS.values() for name, keyword in options.items()}
FLAGS = {flag: name for name, keyword in OPTIONS.items() for flag in flags_of(name, keyword)}


def make_parser(names: Names) -> Any:
    """Return a parser of all options, grouped by the sub-commands that take them; values may be among the names."""
    # A fixed width, as the help is not made where it is shown.
    style = partial(argparse.RawDescriptionHelpFormatter, width=100, max_help_position=32)
    parser: Any = MagicArgumentParser("", argparse.SUPPRESS, ABOUT, EXAMPLES, formatter_class=style)  # type: ignore[no-untyped-call]
    parser.allow_abbrev = False
    groups: dict[str, Any] = {}
    for name, keyword in OPTIONS.items():
        owners = [command for command in COMMANDS if name in COMMANDS[command]]
        title = "options" if len(owners) == len(COMMANDS) else f"options of {', '.join(owners)}"
        groups[title] = groups.get(title) or parser.add_argument_group(title)
        value = {"type": partial(_read, name, names), "metavar": keyword.metavar or f"{{{','.join(keyword.choices)}}}"}
        kind = {"action": "store_true"} if keyword.type == SWITCH else value
        shown = {"dest": name, "default": argparse.SUPPRESS, "help": specification(name, keyword)["help"]}
        groups[title].add_argument(*flags_of(name, keyword), **shown, **kind)
    return parser


def _read(name: str, names: Names, word: str) -> Any:
    """Return the value of an option: what the word means by itself, else the variable of this name."""
    if name == "columns":
        # Which words are columns depends on the data.
        return word
    keyword, text = OPTIONS[name], unquote(word)
    # Neither a quoted word nor the name of the output stands for a variable.
    variables = names if text == word and name != "output" else {}
    parts = [part.strip() for part in re.split("([:,])", text)]
    try:
        if text in variables and text not in keyword.choices:
            return keyword.check(variables[text])
        plain = "".join(str(variables.get(part, part)) for part in parts) if name == "ks" else text
        return keyword.check(keyword.read(plain))
    except (ValueError, TypeError, OSError) as error:
        hint = did_you_mean(parts, [*keyword.choices, *variables])
        message = f"unknown value {shown(text)}." if hint and keyword.choices else one_line(error)
        raise argparse.ArgumentTypeError(message + hint) from error


def parse_line(line: str, names: Names, *, in_cell: bool) -> tuple[str, list[str], dict[str, Any]]:
    """Return the sub-command, the expression of the data (not in a cell) and the file of a report, and the options."""
    known, words = make_parser(names).parse_known_args([word for word in split(line) if word])
    given = vars(known)
    # A variable that has the name of a sub-command is the data where it stands alone.
    is_command = words[:1] and words[0] in COMMANDS and (words[1:] or in_cell or words[0] not in names)
    command = words.pop(0) if is_command else "select"
    for name in given:
        if name not in COMMANDS[command]:
            flag, owners = flags_of(name, OPTIONS[name])[-1], [other for other in COMMANDS if name in COMMANDS[other]]
            raise UsageError(f"{command} has no option {flag}; it belongs to {', '.join(owners)}.")
    unknown = re.search(r"^--?[A-Za-z][\w-]*", "\n".join(words), re.MULTILINE)
    if unknown is not None:
        minus = f" Data that starts with a minus sign needs parentheses: ({unknown[0][:60]})."
        other = " %compsil? lists the options." if unknown[0].startswith("--") else minus
        raise UsageError(f"unknown option {shown(unknown[0])}.{did_you_mean([unknown[0]], FLAGS) or other}")
    expected = ["DATA"] * (not in_cell) + ["OUT.html"] * (command == "report")
    if len(words) < len(expected):
        usage = f"{'%' * (1 + in_cell)}compsil {' '.join([command, *expected])} [options]"
        raise UsageError(f"{expected[len(words)]} is missing. Usage: {usage}")
    n_data = len(words) - (command == "report")
    if in_cell and n_data:
        raise UsageError(f"unexpected argument {shown(words[0])}. The last line of a %%compsil cell is the data.")
    return command, [unquote(" ".join(words[:n_data])), *words[n_data:]], given


def read_columns(word: str, data: Any, names: Names) -> Any:
    """Return the columns that ``--columns`` names; a single word that is not a column may be a variable."""
    # The columns of arrays, and some of frames, have numbers for names; text comes first.
    known = {str(column): column for column in sorted(column_names(data), key=lambda column: isinstance(column, str))}
    if word.isidentifier() and word not in known and word in names:
        return names[word]
    return [known.get(name, name) for name in map(unquote, split_list(word)) if name]


def split(line: str) -> list[str]:
    """Split a line at spaces outside brackets and quotes, up to a comment; the last word is empty after a space."""
    words, depth = [""], 0
    for atom in _ATOM.findall(line):
        if atom == "#" and not words[-1]:
            break
        depth += (atom in "([{") - (atom in ")]}")
        if not atom.isspace() or depth > 0:
            words[-1] += atom
        elif words[-1]:
            words.append("")
    return words


def split_list(word: str) -> list[str]:
    """Split a word at commas outside quotes."""
    return [item.strip() for item in _ITEM.findall(word)]


def unquote(word: str) -> str:
    r"""Return a word without the quotes around it; inside them, \' and \" stand for the quote itself."""
    return re.sub(r"""\\(['"])""", r"\1", word[1:-1]) if re.fullmatch(QUOTED, word, re.DOTALL) else word


def did_you_mean(words: Iterable[str], known: Iterable[str]) -> str:
    """Return a question with the known spelling that is nearest to one of the words, or nothing."""
    # Without dashes, which all options have in common, and without what IPython itself defines.
    spelling = {name.lower().lstrip("-"): name for name in known if name[0] != "_" and name not in _IPYTHON}
    for word in words:
        near = difflib.get_close_matches(word.lower().lstrip("-"), spelling, n=1)
        if near and spelling[near[0]] != word:
            return f" Did you mean {spelling[near[0]]!r}?"
    return ""
