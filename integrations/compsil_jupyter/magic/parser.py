"""The line of ``%compsil``: its sub-command, its data, and its options, which are made from the keywords."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterable
from functools import partial
from keyword import iskeyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from compsil_jupyter.data import SCALE, column_names
from compsil_kit._settings.definition import Keyword
from compsil_kit._settings.reading import QUOTED, read_names, shown, unquote
from compsil_kit._util.format import did_you_mean as nearest_spelling
from compsil_kit.cli.options import TAKES, add_options, flags_of, options_of, told

_ABOUT = """Select the number of clusters by Composite Silhouette.

%compsil DATA [options]                    select the number of clusters; same as %compsil select DATA
%compsil compare DATA [options]            compare the composite silhouette with other criteria
%compsil explore DATA [options]            open the interactive explorer
%compsil report DATA OUT.html [options]    select, and write the result to an HTML file
%%compsil [options]                        run the cell and use its last line as the data

DATA is a Python expression that gives a table, an array or a sparse matrix; with --metric precomputed,
a matrix of distances. The result is returned, after an interrupt that of the finished subsamples; a
trailing ; hides it. The value of an option may be a variable, unless the word has a meaning of its own,
such as gmm or the name of a column. Column names that contain spaces or commas go in quotes."""
_EXAMPLES = """examples:
  r = %compsil df[df.city == "Oslo S"] --columns age,"net income" --ks 2:kmax -B 30 --rule lcb
  %compsil compare X[:, :-1] --clusterer gmm --criteria composite,gap -o result
  %config CompsilMagics.n_subsamples = 50    (%config CompsilMagics lists all defaults)"""
Names = dict[str, Any]
_IPYTHON = ("In", "Out", "exit", "quit", "open", "get_ipython")
# A quoted string, an unclosed quote with all that follows, a comma before another item of a list, or one character.
_ATOM = re.compile(rf"""{QUOTED}|['"].*|,\s+(?=[^\s-])|.""", re.DOTALL)


def _check_name(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise ValueError(f"must be a valid variable name, such as result; got {shown(name)}.")
    return name


def _options(command: str) -> dict[str, Keyword]:
    """Return the options of a sub-command by name; their ``choices`` take precedence over variables."""
    doc = "Also store the result in this variable"
    output = Keyword("str", None, _check_name, doc, flags=("-o", "--output"), metavar="NAME")
    return {**options_of(command), "scale": SCALE, "output": output}


COMMANDS = {command: _options(command) for command in TAKES}
OPTIONS = {name: keyword for options in COMMANDS.values() for name, keyword in options.items()}
FLAGS = {flag: name for name, keyword in OPTIONS.items() for flag in flags_of(name, keyword)}


def _owners(name: str) -> str:
    return ", ".join(command for command in COMMANDS if name in COMMANDS[command])


def make_parser(names: Names) -> Any:
    """Return a parser of all options, grouped by the sub-commands that take them; values may be among the names."""
    # A fixed width, as the help is not made where it is shown.
    style = partial(argparse.RawDescriptionHelpFormatter, width=100, max_help_position=32)
    # What is not given is left out, so that the defaults of %config count.
    parser: Any = MagicArgumentParser(  # type: ignore[no-untyped-call]
        "", argparse.SUPPRESS, _ABOUT, _EXAMPLES, formatter_class=style, argument_default=argparse.SUPPRESS
    )
    parser.allow_abbrev = False
    for owners in dict.fromkeys(map(_owners, OPTIONS)):
        group = parser.add_argument_group("options" if owners == _owners("output") else f"options of {owners}")
        mine = {name: keyword for name, keyword in OPTIONS.items() if _owners(name) == owners}
        add_options(group.add_argument, mine, partial(_read, names))
    return parser


def _read(names: Names, name: str, word: str) -> Any:
    """Return the value of an option: what the word means by itself, else the variable of this name."""
    if name == "columns":
        # Which words are columns depends on the data.
        return word
    keyword, text = OPTIONS[name], unquote(word)
    # Neither a quoted word nor the name of the output stands for a variable.
    variables = names if text == word and name != "output" else {}
    with told(keyword, text, own_names(variables)):
        if text in variables and text not in keyword.choices:
            return keyword.check(variables[text])
        if name == "ks":
            text = "".join(str(variables.get(part.strip(), part)) for part in re.split("([:,])", text))
        return keyword.check(keyword.read(text))


def parse_line(line: str, names: Names, *, in_cell: bool) -> tuple[str, list[str], dict[str, Any]]:
    """Return the sub-command, the expression of the data (not in a cell) and the file of a report, and the options."""
    known, words = make_parser(names).parse_known_args([word for word in split(line) if word])
    # A variable that has the name of a sub-command is the data where it stands alone.
    is_command = words[:1] and words[0] in COMMANDS and (words[1:] or in_cell or words[0] not in names)
    command = words.pop(0) if is_command else "select"
    for name in vars(known):
        if name not in COMMANDS[command]:
            flag = flags_of(name, OPTIONS[name])[-1]
            raise UsageError(f"{command} has no option {flag}; it belongs to {_owners(name)}.")
    unknown = re.search(r"^--?[A-Za-z][\w-]*", "\n".join(words), re.MULTILINE)
    if unknown is not None:
        minus = f" Data that starts with a minus sign needs parentheses: ({unknown[0][:60]})."
        other = " %compsil? lists the options." if unknown[0].startswith("--") else minus
        raise UsageError(f"unknown option {shown(unknown[0])}.{did_you_mean([unknown[0]], FLAGS) or other}")
    target = ["OUT.html"] * (command == "report")
    expected = target if in_cell else ["DATA", *target]
    if len(words) < len(expected):
        usage = f"{'%%' if in_cell else '%'}compsil {' '.join([command, *expected])} [options]"
        raise UsageError(f"{expected[len(words)]} is missing. Usage: {usage}")
    n_data = len(words) - len(target)
    if in_cell and n_data:
        raise UsageError(f"unexpected argument {shown(words[0])}. The last line of a %%compsil cell is the data.")
    return command, [unquote(" ".join(words[:n_data])), *words[n_data:]], vars(known)


def read_columns(word: str, data: Any, names: Names) -> Any:
    """Return the columns that ``--columns`` names; a single word that is not a column may be a variable."""
    is_column = word in map(str, column_names(data))
    return names[word] if word.isidentifier() and word in names and not is_column else read_names(word)


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


def own_names(names: Iterable[str]) -> list[str]:
    """Return the names of variables without those that IPython itself defines."""
    return [name for name in names if name[0] != "_" and name not in _IPYTHON]


def did_you_mean(words: Iterable[str], known: Collection[str]) -> str:
    """Return a question with the user's own name, or the option, that is nearest to a word that is not known."""
    return nearest_spelling([word for word in words if word not in known], own_names(known))
