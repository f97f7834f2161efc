"""The options of a ``%compsil`` line: those of the command line that make sense here, and how they are read."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from numbers import Number
from typing import Any, NoReturn

from IPython.core.error import UsageError

from compsil_jupyter.data import AUTO
from compsil_jupyter.magic.words import is_quoted, unquote
from compsil_kit.cli import options as cli_options
from compsil_kit.criteria.compare import CRITERIA
from compsil_kit.data.table import SCALERS
from compsil_kit.method.metrics import NAMES as METRICS
from compsil_kit.util.checks import describe, is_integer

COMMANDS = {
    "select": "select the number of clusters (the word may be left out)",
    "compare": "put the composite silhouette beside the other criteria",
    "explore": "open the interactive explorer",
    "report": "write the selection into one HTML file",
}
_IPYTHONS_OWN = ("In", "Out", "exit", "quit", "open", "get_ipython")
Names = Mapping[str, Any]


@dataclass(frozen=True)
class Option:
    """One option: how it is spelled, its group in the help, and what argparse is told of it."""

    flags: tuple[str, ...]
    group: str
    spec: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The keyword it stands for."""
        return str(self.spec.get("dest", self.flags[-1].lstrip("-").replace("-", "_")))

    @property
    def takes_value(self) -> bool:
        """Whether a value follows."""
        return "action" not in self.spec

    @property
    def literals(self) -> tuple[str, ...]:
        """The words that mean themselves, even where a variable has the same name."""
        words = {"sample_size": ("auto",), "criteria": ("all", *CRITERIA)}
        return tuple(self.spec.get("choices", words.get(self.name, ())))


@cache
def options(command: str) -> tuple[Option, ...]:
    """Return the options of a sub-command; they are the command line's, spelled and explained as there."""
    found: list[Option] = []

    def group(title: str) -> Callable[..., None]:
        return lambda *flags, **spec: found.append(Option(flags, title, spec))

    cli_options.add_preparation(group("data"), scales=(AUTO, *SCALERS, "none"), scale=AUTO)
    cli_options.add_method(group("method"), metrics=METRICS)
    if command == "compare":
        cli_options.add_criteria(group("criteria (compare)"))
    else:
        cli_options.add_choice(group("choice (select, explore, report)"))
    if command == "report":
        cli_options.add_comparison(group("report"))
    if command in ("select", "report"):
        cli_options.add_checkpoint(group("choice (select, explore, report)"))
    output = group("output")
    output("-o", "--output", metavar="NAME", type=_variable, help="store what is returned under this name, and show it")
    if command != "explore":
        cli_options.add_quiet(output)
    return tuple(found)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line in a notebook, without a traceback."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong."""
        raise UsageError(message.removeprefix("argument "))


def parse(command: str, words: list[str], names: Names) -> tuple[list[str], dict[str, Any]]:
    """Return the words that are no options, and the options that were given, by the keyword they stand for."""
    parser = Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for option in options(command):
        spec = {} if option.takes_value else {"action": option.spec["action"]}
        parser.add_argument(*option.flags, dest=option.name, default=argparse.SUPPRESS, **spec)
    _check_flags(command, words)
    found, rest = parser.parse_known_args(words)
    given = vars(found)
    for option in options(command):
        if option.takes_value and option.name in given:
            given[option.name] = read(option, names, given[option.name])
    return rest, given


def read(option: Option, names: Names, word: str) -> Any:
    """Return the value of an option: what it says if that can be read so, else the variable of this name."""
    text = unquote(word)
    convert = option.spec.get("type", str)
    if option.name == "columns":
        # Which names are columns is known once the data is there.
        return word
    is_name = text.isidentifier() and not is_quoted(word) and option.name != "output"
    if is_name and text not in option.literals and text in names:
        return names[text]
    if option.name == "ks":
        text = _numbers(text, names)
    try:
        value = convert(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{option.flags[-1]}: {error}") from error
    except ValueError as error:
        raise UsageError(_complaint(option, text, names)) from error
    words = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    wrong = [word for word in words if option.literals and word not in option.literals]
    if wrong:
        raise UsageError(_complaint(option, wrong[0], names))
    return value


def _numbers(text: str, names: Names) -> str:
    """Put the values of variables into 2:kmax or 2,3,kmax."""
    parts = re.split("([:,])", text)
    for at, part in enumerate(parts):
        if part.strip().isidentifier():
            value = look_up(part.strip(), names)
            if not is_integer(value):
                raise UsageError(f"--ks: {part.strip()!r} must hold an integer; it holds {describe(value)}.")
            parts[at] = str(int(value))
    return "".join(parts)


def look_up(name: str, names: Names) -> Any:
    """Return the value of a variable, or say which one comes near."""
    if name not in names:
        raise UsageError(f"name {name!r} is not defined.{did_you_mean(name, public(names))}")
    return names[name]


def _complaint(option: Option, text: str, names: Names) -> str:
    flag, kind = option.flags[-1], option.spec.get("type")
    near = did_you_mean(text, option.literals)
    if near:
        return f"{flag}: {text!r} is unknown.{near}"
    fitting = [name for name in public(names) if kind not in (int, float) or isinstance(names[name], Number)]
    near = did_you_mean(text, fitting) if text.isidentifier() else ""
    rule = "an integer" if kind is int else "a number" if kind is float else f"one of {', '.join(option.literals)}"
    if option.name == "sample_size":
        rule = "auto, a number of rows, a fraction such as 0.5"
    return f"{flag} must be {rule}, or the name of a variable; got {text!r}.{near}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the nearest known spelling, or nothing."""
    # Without dashes, which all options have in common.
    spelling = {name.lower().lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lower().lstrip("-"), spelling, n=1)
    return f" Did you mean {spelling[near[0]]!r}?" if near else ""


def public(names: Names) -> list[str]:
    """Return the names a user would think of as variables."""
    return [name for name in names if not name.startswith("_") and name not in _IPYTHONS_OWN]


def _variable(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise argparse.ArgumentTypeError(f"must be a name to store under, such as result; got {text!r}.")
    return text


def _check_flags(command: str, words: list[str]) -> None:
    """Refuse options that do not exist, before argparse takes them and their values for data."""
    known = {flag for option in options(command) for flag in option.flags}
    for word in words:
        found = re.match(r"--?[A-Za-z][\w-]*", word)
        # A short option may have its value right behind it: -B30.
        if found is None or found[0] in known or (word[1] != "-" and word[:2] in known):
            continue
        raise UsageError(f"unknown option {found[0]!r}.{_hint(found[0], command, known)}")


def _hint(flag: str, command: str, known: set[str]) -> str:
    owners = [name for name in COMMANDS if any(flag in option.flags for option in options(name))]
    if owners:
        return f" It belongs to %compsil {owners[0]}, not to {command}."
    if not flag.startswith("--"):
        return did_you_mean(flag, known) or f" Data that starts with a minus needs brackets: ({flag})."
    return did_you_mean(flag, known) or " %compsil? lists the options."
